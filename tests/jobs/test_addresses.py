"""Where outgoing events may go, and where they may not."""

import ipaddress

import pytest

from jobs.addresses import AddressRefused, addresses_of, check_address, check_url

PORTS = frozenset({443, 8443})

REFUSED_ADDRESSES = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.8.9.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700::1%eth0",
    "fec0::1",
    "ff02::1",
]


@pytest.mark.parametrize("text", REFUSED_ADDRESSES)
def test_an_address_that_is_not_public_is_refused(text):
    with pytest.raises(AddressRefused, match="^address_refused$"):
        check_address(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", ["8.8.8.8", "100.63.255.255", "172.32.0.1", "2606:4700::1111"])
def test_a_public_address_is_allowed(text):
    check_address(ipaddress.ip_address(text))


def test_the_embedded_default_may_use_loopback_and_nothing_else_that_is_private():
    check_address(ipaddress.ip_address("127.0.0.1"), local=True)
    check_address(ipaddress.ip_address("::1"), local=True)
    for text in set(REFUSED_ADDRESSES) - {"127.0.0.1", "::1"}:
        with pytest.raises(AddressRefused):
            check_address(ipaddress.ip_address(text), local=True)


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://example.com/", "scheme_refused"),
        ("ftp://example.com/", "scheme_refused"),
        ("file:///etc/passwd", "scheme_refused"),
        ("//example.com/", "scheme_refused"),
        ("https://user:word@example.com/", "url_malformed"),
        ("https://example.com@10.0.0.1/", "url_malformed"),
        ("https://example.com/#part", "url_malformed"),
        ("https://example.com\\@10.0.0.1/", "url_malformed"),
        ("https://exa mple.com/", "url_malformed"),
        ("https://example.com/\r\nHost: x", "url_malformed"),
        ("https://例え.jp/", "url_malformed"),
        ("https://example.com:99999/", "url_malformed"),
        ("https://[::1/", "url_malformed"),
        ("https://example.com:22/", "port_refused"),
        ("https://example.com:6379/", "port_refused"),
        ("https://example.com:0/", "port_refused"),
        ("https:///path", "host_malformed"),
        ("https://-a-.com/", "host_malformed"),
        ("https://2130706433/", "host_malformed"),
        ("https://0x7f000001/", "host_malformed"),
        ("https://0x7f.1/", "host_malformed"),
        ("https://127.1/", "host_malformed"),
        ("https://0177.0.0.1/", "host_malformed"),
        ("https://127.0.0.1./", "host_malformed"),
        ("https://" + "a" * 64 + ".com/", "host_malformed"),
        ("https://example.com/" + "a" * 2048, "url_malformed"),
        *((f"https://{text}/", "address_refused") for text in REFUSED_ADDRESSES if ":" not in text),
        *(
            (f"https://[{text}]/", "address_refused")
            for text in REFUSED_ADDRESSES
            if ":" in text and "%" not in text
        ),
    ],
)
def test_a_url_that_breaks_a_rule_is_refused_by_its_name(url, rule):
    with pytest.raises(AddressRefused, match=f"^{rule}$"):
        check_url(url, ports=PORTS)


def test_a_url_is_taken_apart_as_it_will_be_asked_for():
    target = check_url("https://Hooks.Example.com:8443/a%20b?c=d", ports=PORTS)
    assert (target.scheme, target.host, target.port) == ("https", "hooks.example.com", 8443)
    assert (target.path, target.authority) == ("/a%20b?c=d", "hooks.example.com:8443")
    assert check_url("https://[2606:4700::1]", ports=PORTS).authority == "[2606:4700::1]"
    assert check_url("https://example.com", ports=PORTS).path == "/"


def test_only_the_embedded_default_takes_http_and_high_ports():
    assert check_url("http://localhost:9000/x", ports=PORTS, local=True).port == 9000
    assert check_url("http://example.com/", ports=PORTS, local=True).port == 80
    for url in ("http://localhost:22/", "http://10.0.0.1:9000/", "gopher://localhost:9000/"):
        with pytest.raises(AddressRefused):
            check_url(url, ports=PORTS, local=True)


@pytest.mark.parametrize(
    "found",
    [
        ["10.0.0.1"],
        ["8.8.8.8", "127.0.0.1"],
        ["2606:4700::1111", "::ffff:169.254.169.254"],
        ["127.0.0.1"],
        ["fd00:ec2::254"],
    ],
)
def test_a_name_with_one_address_that_is_not_public_is_refused(found):
    target = check_url("https://example.com/", ports=PORTS)
    with pytest.raises(AddressRefused, match="^address_refused$"):
        addresses_of(target, resolve=lambda host, port: found)


def test_a_name_that_means_nothing_is_refused_by_its_name():
    target = check_url("https://nowhere.invalid/", ports=PORTS)
    for answer in ([], ["not an address"]):
        with pytest.raises(AddressRefused, match="^name_unresolved$"):
            addresses_of(target, resolve=lambda host, port, answer=answer: answer)


def test_the_names_of_this_machine_are_refused_by_what_they_resolve_to():
    target = check_url("https://localhost/", ports=PORTS)
    with pytest.raises(AddressRefused, match="^address_refused$"):
        addresses_of(target)
    assert set(addresses_of(target, local=True)) <= {"127.0.0.1", "::1"}

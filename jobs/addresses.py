"""Where outgoing events may go: rules for URLs, and for the addresses behind their names.

A URL is judged when an endpoint is registered; the addresses of its host are judged at each
connection, which then goes to the address that was judged and to no other.

https://www.iana.org/assignments/iana-ipv4-special-registry
https://www.iana.org/assignments/iana-ipv6-special-registry
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import field_validator

from jobs.errors import PermanentError
from jobs.settings import Fragment

MAX_URL_CHARS = 2048
#: Addresses of one host that are tried.
MAX_ADDRESSES = 4

_URL = re.compile(r"[\x21-\x7e]+")
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")
#: What the C library would take for an IPv4 address in another spelling: 0x7f.1, 2130706433.
_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9A-Fa-f]*)\.?")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
#: What `socket.getaddrinfo` does, as far as it is used here: (host, port) → addresses.
Resolve = Callable[[str, int], Sequence[str]]

_REFUSED_V4 = [
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
]
#: Of IPv6 only global unicast is allowed, and of that nothing that carries an IPv4 address along.
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_REFUSED_V6 = [
    ipaddress.IPv6Network(network)
    for network in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
]


class AddressRefused(PermanentError):
    """Events are not sent there; the message is the rule, one stable word."""

    code = "address_refused"


class EndpointSettings(Fragment):
    """Where events may be sent to; web and scheduler share it."""

    #: Ports that endpoints may have, comma separated.
    endpoint_ports: str = "443,8443"
    #: Also http, loopback and any port above 1023: for the embedded default and tests only.
    endpoint_allow_local: bool = False

    def allowed_ports(self) -> frozenset[int]:
        """Return the ports as numbers."""
        return frozenset(int(part) for part in self.endpoint_ports.split(","))

    @field_validator("endpoint_ports")
    @classmethod
    def _ports_are_numbers(cls, value: str) -> str:
        if not all(part.strip().isdigit() for part in value.split(",")):
            raise ValueError("ENDPOINT_PORTS is a comma separated list of port numbers")
        return value


@dataclass(frozen=True, kw_only=True)
class Target:
    """A URL that events may be sent to. `host` carries no brackets; `path` has the query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Return the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


_PORTS = {"https": 443, "http": 80}


def check_url(url: str, *, ports: frozenset[int], local: bool = False) -> Target:
    """Return the parts of a URL that events may be sent to. Asks no name server.

    https on one of `ports`; `local` also takes http, and any port above 1023. Raises
    AddressRefused with the rule that it breaks.
    """
    if len(url) > MAX_URL_CHARS or not _URL.fullmatch(url):
        raise AddressRefused("url_malformed")
    try:
        parts = urlsplit(url)
        host, given_port = parts.hostname or "", parts.port
    except ValueError as error:
        raise AddressRefused("url_malformed") from error
    if parts.scheme not in (("https", "http") if local else ("https",)):
        raise AddressRefused("scheme_refused")
    if "@" in parts.netloc or "#" in url or "\\" in url:
        raise AddressRefused("url_malformed")
    port = _PORTS[parts.scheme] if given_port is None else given_port
    if port not in ports and not (local and (port > 1023 or given_port is None)):
        raise AddressRefused("port_refused")
    literal = _literal(host)
    if literal is not None:
        check_address(literal, local=local)
    elif not _NAME.fullmatch(host) or _NUMERIC.fullmatch(host) or len(host) > 253:
        raise AddressRefused("host_malformed")
    query = f"?{parts.query}" if parts.query else ""
    return Target(scheme=parts.scheme, host=host, port=port, path=f"{parts.path or '/'}{query}")


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def check_address(address: Address, *, local: bool = False) -> None:
    """Raise AddressRefused for an address that is not public; `local` allows loopback as well."""
    if isinstance(address, ipaddress.IPv4Address):
        refused = any(address in network for network in _REFUSED_V4)
    else:
        refused = (
            address not in _GLOBAL_V6
            or address.scope_id is not None
            or any(address in network for network in _REFUSED_V6)
        )
    if refused and not (local and address.is_loopback and str(address) in _LOOPBACK):
        raise AddressRefused("address_refused")


_LOOPBACK = ("127.0.0.1", "::1")


def resolve_host(host: str, port: int) -> Sequence[str]:
    """Ask the system for the addresses of a host. Raises OSError or UnicodeError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[4][0]) for address in found]


def addresses_of(
    target: Target, *, resolve: Resolve = resolve_host, local: bool = False
) -> list[str]:
    """Resolve a host once and return its addresses, all of them checked.

    One address that is not public refuses the name: who mixes them is up to something. Raises
    AddressRefused.
    """
    try:
        found = list(dict.fromkeys(resolve(target.host, target.port)))
        addresses = [ipaddress.ip_address(text) for text in found]
    except (OSError, UnicodeError, ValueError) as error:
        raise AddressRefused("name_unresolved") from error
    if not addresses:
        raise AddressRefused("name_unresolved")
    for address in addresses:
        check_address(address, local=local)
    return [str(address) for address in addresses[:MAX_ADDRESSES]]

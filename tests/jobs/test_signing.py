"""Only a holder of a secret signs; whatever a stranger sends is SignatureInvalid."""

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.errors import SignatureInvalid
from jobs.signing import sign, verify

OLD, NEW = b"o" * 24, b"n" * 24
NOW = 1_796_000_000
BODY = '{"名":1}'.encode()
HEADERS = sign([NEW], "msg_1", NOW, BODY)


def test_a_signature_is_standard_webhooks():
    digest = hmac.new(NEW, b"msg_1.1796000000." + BODY, hashlib.sha256).digest()

    signature = "v1," + base64.b64encode(digest).decode()
    assert HEADERS["webhook-signature"] == signature
    assert (HEADERS["webhook-id"], HEADERS["webhook-timestamp"]) == ("msg_1", "1796000000")


def test_the_published_example_verifies():
    """The example of the specification's libraries: secret, id, time, body, signature."""
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = sign([secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')

    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_id_comes_back_from_a_good_request():
    assert verify([NEW], HEADERS, BODY, now=NOW) == "msg_1"
    lists = {name.title(): [value] for name, value in HEADERS.items()}
    assert verify([NEW], lists, BODY, now=NOW + 299) == "msg_1"


def test_every_secret_verifies_while_the_first_one_signs():
    assert verify([OLD, NEW], HEADERS, BODY, now=NOW) == "msg_1"
    assert sign([NEW, OLD], "msg_1", NOW, BODY) == HEADERS


def test_one_of_several_signatures_is_enough():
    several = {**HEADERS, "webhook-signature": "v2,x v1,AAAA " + HEADERS["webhook-signature"]}

    assert verify([NEW], several, BODY, now=NOW) == "msg_1"


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "msg_2"},
        {"webhook-id": ""},
        {"webhook-id": "msg.1"},
        {"webhook-id": ["msg_1", "msg_1"]},
        {"webhook-timestamp": "1796000001"},
        {"webhook-timestamp": "+1796000000"},
        {"webhook-timestamp": "1796000000.0"},
        {"webhook-timestamp": "１７９６００００００"},
        {"webhook-timestamp": "9" * 400},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,"},
        {"webhook-signature": "v1,日本"},
        {"webhook-signature": "v1," + "A" * 44},
        {"webhook-signature": " ".join(["v1,A"] * 100)},
        {"webhook-signature": []},
    ],
)
def test_anything_changed_is_invalid(change):
    with pytest.raises(SignatureInvalid):
        verify([NEW], {**HEADERS, **change}, BODY, now=NOW)


def test_another_body_secret_or_time_is_invalid():
    for secrets, body, now in (
        ([NEW], BODY + b" ", NOW),
        ([OLD], BODY, NOW),
        ([NEW], BODY, NOW + 301),
        ([NEW], BODY, NOW - 301),
    ):
        with pytest.raises(SignatureInvalid):
            verify(secrets, HEADERS, body, now=now)


@given(st.dictionaries(st.sampled_from([*HEADERS, "x"]), st.text()), st.binary())
def test_nothing_received_raises_anything_else(headers, body):
    with pytest.raises(SignatureInvalid):
        verify([NEW], headers, body, now=NOW)

"""A sealed password opens with the worker's key, for its own import, and in no other way."""

import base64
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from jobs.errors import SealInvalid
from jobs.sealing import new_pair, seal, unseal
from jobs.settings import WorkerSettings, decode_sealing_key

PUBLIC, PRIVATE = (decode_sealing_key(text) for text in new_pair())
OTHER = decode_sealing_key(new_pair()[1])


@given(st.text(min_size=1, max_size=255).filter(lambda text: text.isprintable()))
def test_what_is_sealed_opens_again(secret: str) -> None:
    sealed = seal(PUBLIC, secret, "import-1")
    assert secret not in sealed or len(secret) < 3
    assert unseal([OTHER, PRIVATE], sealed, "import-1") == secret


def test_a_seal_is_another_one_each_time_and_holds_for_one_import() -> None:
    first, second = (seal(PUBLIC, "合言葉", "import-1") for _ in range(2))
    assert first != second
    with pytest.raises(SealInvalid):
        unseal([PRIVATE], first, "import-2")


@pytest.mark.parametrize("sealed", ["", "sealed1.", "sealed1.!!!", "sealed1.AAAA", "合言葉"])
def test_what_was_never_sealed_is_told_by_its_class(sealed: str) -> None:
    with pytest.raises(SealInvalid):
        unseal([PRIVATE], sealed, "import-1")
    with pytest.raises(SealInvalid):
        unseal([], seal(PUBLIC, "x", "import-1"), "import-1")


def test_a_pair_is_printed_as_settings() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "jobs.sealing"], capture_output=True, text=True, check=True
    )
    settings = dict(line.split("=", 1) for line in done.stdout.splitlines())
    public = decode_sealing_key(settings["SEALING_PUBLIC_KEY"])
    private = decode_sealing_key(settings["SEALING_PRIVATE_KEYS"])
    assert unseal([private], seal(public, "secret", "i"), "i") == "secret"


def test_a_wrong_key_is_refused_and_not_echoed() -> None:
    wrong = base64.b64encode(b"short").decode()
    secret = "whsec_" + base64.b64encode(b"g" * 24).decode()
    with pytest.raises(ValidationError) as caught:
        WorkerSettings(
            webhook_secrets=SecretStr(secret),
            web_url="http://x",
            sealing_private_keys=SecretStr(wrong),
        )
    assert "sealing key" in str(caught.value)
    assert wrong not in str(caught.value)

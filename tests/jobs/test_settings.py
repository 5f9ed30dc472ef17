"""Settings say what is wrong without saying what was given."""

import base64

import pytest
from pydantic import ValidationError

from jobs.settings import WebhookSettings, WorkerSettings, decode_secrets

GOOD = "whsec_" + base64.b64encode(b"g" * 24).decode()


def test_several_secrets_are_read_in_order():
    other = "whsec_" + base64.b64encode(b"h" * 32).decode()

    settings = WebhookSettings(webhook_secrets=f"{GOOD}, {other}")

    assert settings.secrets() == [b"g" * 24, b"h" * 32]
    assert GOOD not in repr(settings)


@pytest.mark.parametrize("text", ["", ",", "plain", "whsec_!!!", "whsec_c2hvcnQ=", GOOD + ",x"])
def test_unusable_secrets_are_refused_and_not_echoed(text):
    with pytest.raises(ValueError, match="webhook secret"):
        decode_secrets(text)
    with pytest.raises(ValidationError) as caught:
        WebhookSettings(webhook_secrets=text)
    assert not text.strip(",") or text not in str(caught.value)


def test_a_worker_reads_its_queues_and_back_offs():
    settings = WorkerSettings(
        webhook_secrets=GOOD, web_url="http://x", worker_queues="page_import, code2des"
    )

    assert settings.queues() == ["page_import", "code2des"]
    assert settings.backoffs() == [10, 60, 300, 900]


@pytest.mark.parametrize("wrong", [{"backoff_seconds": "soon"}, {"worker_threads": 0}])
def test_wrong_numbers_are_refused(wrong):
    with pytest.raises(ValidationError):
        WorkerSettings(webhook_secrets=GOOD, web_url="http://x", **wrong)

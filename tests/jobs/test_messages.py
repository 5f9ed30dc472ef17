"""The encoding of a message is frozen: these bytes never change for schema 1."""

import base64
import dataclasses
import json

import dramatiq
import pytest

from jobs.errors import MessageInvalid, ReportInvalid
from jobs.messages import (
    JobMessage,
    Report,
    ReportError,
    ReportEvent,
    ResultRef,
    decode_message,
    encode_message,
)

MESSAGE = JobMessage(
    import_id="0197f1f0-0000-7000-8000-000000000001",
    type="page_import",
    bucket="torikomi",
    object_key="imports/0197f1f0-0000-7000-8000-000000000001/source",
    object_version="v1",
    content_type="application/pdf",
    size_bytes=10,
    sha256="ab" * 32,
    created_at="2026-11-30T01:02:03.456+00:00",
    traceparent=None,
    options={"言語": "日本語", "a": [1, None, True]},
)

GOLDEN = (
    '{"actor_name":"import_page","args":[],"kwargs":{"message":{"bucket":"torikomi",'
    '"content_type":"application/pdf","created_at":"2026-11-30T01:02:03.456+00:00",'
    '"import_id":"0197f1f0-0000-7000-8000-000000000001",'
    '"object_key":"imports/0197f1f0-0000-7000-8000-000000000001/source",'
    '"object_version":"v1","options":{"a":[1,null,true],"言語":"日本語"},"schema":1,"sha256":"'
    + "ab"
    * 32
    + '","size_bytes":10,"traceparent":null,"type":"page_import"}},'
    '"message_id":"0197f1f0-0000-7000-8000-000000000001","message_timestamp":1796000523456,'
    '"options":{},"queue_name":"page_import"}'
)


def test_the_encoding_of_schema_1_is_these_bytes():
    assert base64.b64decode(encode_message(MESSAGE)).decode() == GOLDEN


def test_the_order_in_which_jsonb_returns_the_keys_does_not_matter():
    shuffled = dict(reversed(list(json.loads(json.dumps(MESSAGE.to_json())).items())))

    assert encode_message(JobMessage.from_json(shuffled)) == encode_message(MESSAGE)


def test_dramatiq_reads_what_the_encoder_writes():
    message = dramatiq.Message.decode(base64.b64decode(encode_message(MESSAGE)))

    assert (message.queue_name, message.actor_name) == ("page_import", "import_page")
    assert message.message_id == MESSAGE.import_id
    assert JobMessage.from_json(message.kwargs["message"]) == MESSAGE


def test_a_message_survives_the_wire():
    assert decode_message(encode_message(MESSAGE)) == MESSAGE


@pytest.mark.parametrize(
    "body",
    ["", "!", "bm8=", base64.b64encode(b"[]").decode(), base64.b64encode(b"[" * 10**5).decode()],
)
def test_bodies_that_are_not_ours_are_invalid(body):
    with pytest.raises(MessageInvalid):
        decode_message(body)


def test_a_message_of_another_schema_or_type_is_invalid():
    for change in ({"schema": 2}, {"type": "page_export"}, {"created_at": "yesterday"}):
        with pytest.raises(MessageInvalid):
            JobMessage.from_json({**MESSAGE.to_json(), **change})


def test_a_message_too_large_for_a_batch_of_ten_is_refused():
    with pytest.raises(MessageInvalid):
        encode_message(dataclasses.replace(MESSAGE, options={"x": "y" * 65536}))


def test_reports_survive_the_wire():
    result = ResultRef(parser_version="1", sha256="cd" * 32, size_bytes=5, detected_type="a/b")
    for report in (
        Report(event=ReportEvent.PROCESSING, import_id="i", type="page_import"),
        Report(event=ReportEvent.PROGRESS, import_id="i", type="code2des", run=2, done=1, total=9),
        Report(
            event=ReportEvent.COMPLETED, import_id="i", type="page_import", run=1, result=result
        ),
        Report(
            event=ReportEvent.FAILED,
            import_id="i",
            type="page_import",
            run=1,
            error=ReportError(code="file_empty", message="空"),
        ),
    ):
        assert Report.from_bytes(report.to_bytes()) == report


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        b'{"schema":1,"event":"processing","import_id":1,"type":"page_import"}',
        b'{"schema":1,"event":"completed","import_id":"i","type":"page_import","run":1}',
        b'{"schema":1,"event":"progress","import_id":"i","type":"page_import"}',
        b'{"schema":1,"event":"processing","import_id":"i","type":"page_import","extra":1}',
    ],
)
def test_bodies_that_are_no_report_are_invalid(raw):
    with pytest.raises(ReportInvalid):
        Report.from_bytes(raw)

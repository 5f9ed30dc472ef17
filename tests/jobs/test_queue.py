"""Every entry of a batch is accounted for; dead letters are read without being lost."""

import json

import pytest

from jobs.errors import QueueUnavailable
from jobs.messages import encode_message
from jobs.queue import OutgoingMessage, QueueClient, QueueDepth, Rejection
from jobs.settings import QueueSettings
from tests.jobs.conftest import eventually
from tests.jobs.web_double import faulty_way


def outgoing(account, number: int = 1) -> list[OutgoingMessage]:
    messages = [account.store(b"x") for _ in range(number)]
    return [OutgoingMessage(m.import_id, encode_message(m), "subject") for m in messages]


@pytest.fixture
def client(account) -> QueueClient:
    return QueueClient(account.queue_settings)


def test_a_batch_arrives_byte_for_byte(account, client):
    entries = outgoing(account, 10)

    outcome = client.send_batch("page_import", entries)

    assert outcome.sent == {entry.id for entry in entries}
    assert (outcome.rejected, outcome.unknown) == ({}, frozenset())
    received = account.sqs.receive_message(QueueUrl=account.url(), MaxNumberOfMessages=10)
    bodies = {message["Body"] for message in received["Messages"]}
    assert bodies == {entry.body for entry in entries}


def test_the_entries_that_sqs_refuses_are_told_from_those_it_took(account, client):
    (good,) = outgoing(account)
    bad = OutgoingMessage("bad", "\x01", "subject")

    outcome = client.send_batch("page_import", [good, bad])

    assert outcome.sent == {good.id}
    assert outcome.rejected == {"bad": Rejection("InvalidMessageContents", permanent=True)}


def test_an_entry_that_the_answer_does_not_name_is_unknown(account):
    with faulty_way(account.endpoint_url) as way:
        way.rewrite = lambda action, body: (
            json.dumps({"Successful": json.loads(body)["Successful"][:1], "Failed": []}).encode()
            if action == "SendMessageBatch"
            else body
        )
        client = QueueClient(
            account.queue_settings.model_copy(update={"aws_endpoint_url": way.url})
        )

        first, second = outgoing(account, 2)
        outcome = client.send_batch("page_import", [first, second])

    assert (outcome.sent, outcome.unknown) == ({first.id}, {second.id})


def test_a_request_that_fails_as_a_whole_is_unavailable(account, client):
    entries = outgoing(account)
    unreachable = QueueSettings(aws_endpoint_url="http://127.0.0.1:9", aws_region="us-east-1")
    with pytest.raises(QueueUnavailable) as no_answer:
        QueueClient(unreachable).send_batch("page_import", entries)
    with pytest.raises(QueueUnavailable) as no_queue:
        client.send_batch("page_exports", entries)

    assert no_answer.value.reason == "EndpointConnectionError"
    assert "NonExistentQueue" in no_queue.value.reason or "DoesNotExist" in no_queue.value.reason


def test_more_than_ten_entries_are_a_mistake_of_ours(account, client):
    with pytest.raises(ValueError, match="1 to 10"):
        client.send_batch("page_import", outgoing(account) * 11)


def test_depths_count_what_waits_what_is_held_and_what_is_dead(account, client):
    client.send_batch("page_import", outgoing(account, 3))
    account.sqs.receive_message(QueueUrl=account.url(), MaxNumberOfMessages=1)
    account.send_body("dead", "page_import_dlq")

    assert client.depths("page_import") == QueueDepth(visible=2, in_flight=1, delayed=0, dead=1)


def test_dead_letters_are_read_decoded_and_deleted_one_by_one(account, client):
    message = account.store(b"x")
    account.send_body(encode_message(message), "page_import_dlq")
    account.send_body("anything", "page_import_dlq")

    letters = []
    eventually(lambda: letters.extend(client.receive_dead("page_import")) or len(letters) == 2)

    by_id = {letter.import_id: letter for letter in letters}
    assert by_id[message.import_id].message == message
    assert by_id[None].message is None
    client.delete_dead("page_import", by_id[message.import_id].receipt)
    assert account.count("page_import_dlq") == 1

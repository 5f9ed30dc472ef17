"""The fixtures every other test stands on."""

import boto3
import psycopg2
import pytest

from models.database import connection, fetch, schema_is_current

_COUNT = "select count(*) as n from batch"


def test_the_database_is_migrated_and_configured(database: str) -> None:
    with connection():
        assert schema_is_current()


@pytest.mark.parametrize("repetition", [1, 2])
def test_rows_of_one_test_are_gone_in_the_next(database: str, repetition: int) -> None:
    with connection():
        assert fetch(_COUNT) == [{"n": 0}]
    with psycopg2.connect(database) as other, other.cursor() as cursor:
        cursor.execute(
            "insert into batch (id, type, created_by, updated_by)"
            " values ('b', 'code2des', 's', 's')"
        )
    other.close()
    with connection():
        assert fetch(_COUNT) == [{"n": 1}]


def test_this_process_reaches_the_provisioned_emulator_by_its_environment(aws: object) -> None:
    queues = boto3.client("sqs").list_queues()["QueueUrls"]

    assert {url.rpartition("/")[2] for url in queues} >= {
        "torikomi_page_import",
        "torikomi_page_import_dlq",
        "torikomi_code2des",
        "torikomi_code2des_dlq",
    }

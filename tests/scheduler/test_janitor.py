"""Retention and orphans on the real object store."""

from datetime import timedelta

import boto3
import pytest

from jobs.settings import StorageSettings
from jobs.storage import Storage
from models import ids
from scheduler.janitor import Janitor
from tests.builders import change, child, old_id, register, report, rows


@pytest.fixture
def bucket(aws):
    """The bucket, emptied of everything."""
    s3 = boto3.client("s3")
    listed = s3.list_object_versions(Bucket="torikomi")
    for entry in [*listed.get("Versions", []), *listed.get("DeleteMarkers", [])]:
        s3.delete_object(Bucket="torikomi", Key=entry["Key"], VersionId=entry["VersionId"])
    return s3


@pytest.fixture
def janitor(bucket, scheduler_settings):
    return Janitor(Storage(StorageSettings()), scheduler_settings)


def keys(bucket) -> list[str]:
    return [entry["Key"] for entry in bucket.list_objects_v2(Bucket="torikomi").get("Contents", [])]


def store(bucket, key: str) -> str:
    bucket.put_object(Bucket="torikomi", Key=key, Body=b"x")
    return key


@pytest.fixture
def aged(monkeypatch):
    """Let every stored object count as old; the UUIDv7 in the key still decides."""
    monkeypatch.setattr("scheduler.janitor.ORPHAN_AGE", timedelta(seconds=-5))


def test_an_object_without_a_row_is_deleted_once_it_is_a_day_old(janitor, bucket, aged):
    orphan = store(bucket, f"imports/{old_id(30)}/source")
    assert janitor.collect_orphans() == [orphan]
    assert keys(bucket) == []


def test_a_fresh_object_without_a_row_is_an_upload_under_way(janitor, bucket):
    fresh = store(bucket, f"imports/{ids.uuid7()}/source")
    young = store(bucket, f"imports/{old_id(30)}/source")
    assert janitor.collect_orphans() == []
    assert keys(bucket) == sorted([fresh, young])


def test_objects_with_a_row_and_foreign_keys_are_left_alone(janitor, bucket, aged):
    _, (child_id,) = register()
    kept = [
        store(bucket, f"imports/{child_id}/source"),
        store(bucket, f"imports/{child_id}/results/1-{'a' * 64}"),
        store(bucket, "imports/not-one-of-ours/source"),
    ]
    assert janitor.collect_orphans() == []
    assert keys(bucket) == sorted(kept)


def test_a_dry_run_names_orphans_and_deletes_none(janitor, bucket, aged):
    orphan = store(bucket, f"imports/{old_id(30)}/source")
    assert janitor.collect_orphans(dry_run=True) == [orphan]
    assert keys(bucket) == [orphan]


def test_long_listings_are_walked_over_several_passes(bucket, scheduler_settings, database, aged):
    made = sorted(store(bucket, f"imports/{old_id(30)}/source") for _ in range(7))
    small = scheduler_settings.model_copy(update={"orphan_limit": 3})
    passes = [Janitor(Storage(StorageSettings()), small).collect_orphans() for _ in range(4)]
    assert [len(each) for each in passes] == [3, 3, 1, 0]
    assert sorted(key for each in passes for key in each) == made


def test_a_source_goes_thirty_days_after_the_end_and_the_status_stays(janitor, bucket):
    _, (ended, recent, running) = register(3)
    for child_id in (ended, recent):
        report(child_id, "completed")
        store(bucket, f"imports/{child_id}/source")
    change("UPDATE page_import SET created_at = created_at - interval '40 days'")
    change(
        "UPDATE page_import SET completed_at = completed_at - interval '31 days' WHERE id = %s",
        (ended,),
    )
    assert janitor.retire() == 1
    assert keys(bucket) == [f"imports/{recent}/source"]
    assert child(ended)["source_expired_at"] is not None
    assert child(ended)["status"] == "completed"
    assert child(running)["source_expired_at"] is None
    assert janitor.retire() == 0


def test_a_result_goes_ninety_days_after_completion(janitor, bucket):
    _, (child_id,) = register()
    report(child_id, "completed")
    store(bucket, f"imports/{child_id}/results/1-{'d' * 64}")
    change(
        """UPDATE page_import SET created_at = created_at - interval '100 days',
           completed_at = completed_at - interval '91 days'"""
    )
    janitor.retire()
    assert keys(bucket) == []
    assert rows("SELECT 1 AS one FROM page") == []
    assert child(child_id)["result_expired_at"] is not None


def test_what_a_crash_left_of_an_expired_source_is_collected(janitor, bucket, aged):
    _, (child_id,) = register()
    left = store(bucket, f"imports/{child_id}/source")
    change("UPDATE page_import SET source_expired_at = now()")
    assert janitor.collect_orphans() == [left]


def test_pictures_of_pages_go_with_the_result(janitor, bucket):
    _, (child_id,) = register()
    report(child_id, "completed")
    for number in (1, 2):
        store(bucket, f"imports/{child_id}/pages/{number}-{'b' * 64}")
    source = store(bucket, f"imports/{child_id}/source")
    change("UPDATE page_import SET created_at = now() - interval '91 days'")
    change("UPDATE page_import SET completed_at = now() - interval '91 days'")
    change("UPDATE page_import SET source_expired_at = now()")

    janitor.retire()

    assert keys(bucket) == [source]


def test_pictures_without_a_row_are_orphans(janitor, bucket, aged):
    orphans = [
        store(bucket, f"imports/{child}/pages/{number}-{'b' * 64}")
        for child in (old_id(30), old_id(29))
        for number in (1, 2)
    ]
    _, (child_id,) = register()
    kept = store(bucket, f"imports/{child_id}/pages/1-{'b' * 64}")

    assert sorted(janitor.collect_orphans()) == sorted(orphans)
    assert keys(bucket) == [kept]


def test_pictures_of_an_import_without_a_result_go_after_its_source(janitor, bucket, aged):
    _, (child_id,) = register()
    report(child_id, "failed")
    left = store(bucket, f"imports/{child_id}/pages/1-{'b' * 64}")
    assert janitor.collect_orphans() == []

    change("UPDATE page_import SET source_expired_at = now()")

    assert janitor.collect_orphans() == [left]

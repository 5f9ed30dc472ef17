"""Files go in and come out whole, in bounded memory; trouble is told apart from absence."""

import hashlib
import io
import os
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from moto import mock_aws

from jobs.errors import ObjectCorrupt, ObjectMissing, StorageUnavailable
from jobs.settings import StorageSettings
from jobs.storage import PART_BYTES, SourceMetadata, Storage, result_key, source_key
from tests.jobs.conftest import ROOT
from tests.jobs.web_double import faulty_way


@pytest.fixture
def child_id() -> str:
    return str(uuid.uuid4())


@pytest.fixture
def moto_storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Storage]:
    """The same calls against another implementation, at low volume."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        s3 = boto3.client("s3", region_name="us-east-1")
        s3.create_bucket(Bucket="torikomi")
        s3.put_bucket_versioning(Bucket="torikomi", VersioningConfiguration={"Status": "Enabled"})
        yield Storage(StorageSettings(aws_endpoint_url=None, aws_region="us-east-1"))


class Trickle:
    """A stream that gives a few bytes at a time and may break."""

    def __init__(self, content: bytes, *, breaks_at: int | None = None) -> None:
        self.content, self.breaks_at, self.given = io.BytesIO(content), breaks_at, 0

    def read(self, size: int, /) -> bytes:
        if self.breaks_at is not None and self.given >= self.breaks_at:
            raise ConnectionResetError("the client went away")
        chunk = self.content.read(min(size, 70_001))
        self.given += len(chunk)
        return chunk


def put(storage: Storage, child_id: str, content: bytes) -> Any:
    return storage.put_source(
        child_id, Trickle(content), file_name="請求書 1.pdf", content_type="application/pdf"
    )


@pytest.mark.parametrize(
    "size", [0, 1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES + 5]
)
def test_a_source_of_any_size_comes_back_as_it_was(storage, child_id, tmp_path, size):
    content = os.urandom(size)

    stored = put(storage, child_id, content)
    found = storage.fetch_source(
        stored.key, stored.version, tmp_path / "x", size_bytes=size, sha256=stored.sha256
    )

    assert stored.key == f"imports/{child_id}/source" == source_key(child_id)
    assert stored.version is not None
    assert (stored.size_bytes, stored.sha256) == (size, hashlib.sha256(content).hexdigest())
    assert (tmp_path / "x").read_bytes() == content
    assert found == SourceMetadata("請求書 1.pdf", "application/pdf")
    assert b"".join(storage.open_source(stored.key, stored.version)) == content


def test_a_stream_that_breaks_leaves_no_object_and_no_upload(storage, child_id, aws):
    stream = Trickle(bytes(3 * PART_BYTES), breaks_at=2 * PART_BYTES + 100)

    with pytest.raises(ConnectionResetError):
        storage.put_source(child_id, stream, file_name="x", content_type="text/plain")

    s3 = boto3.client("s3", endpoint_url=aws.endpoint_url, region_name=aws.account.region)
    uploads = s3.list_multipart_uploads(Bucket="torikomi").get("Uploads", [])
    assert [upload for upload in uploads if child_id in upload["Key"]] == []
    with pytest.raises(ObjectMissing):
        storage.open_source(source_key(child_id), None).__next__()


def test_s3_failing_in_the_middle_of_an_upload_is_unavailable(child_id, aws):
    with faulty_way(aws.endpoint_url) as way:
        settings = StorageSettings(aws_endpoint_url=way.url, aws_region=aws.account.region)
        way.fault = lambda action: 503 if "partNumber=2" in action else None

        with pytest.raises(StorageUnavailable):
            put(Storage(settings), child_id, bytes(2 * PART_BYTES))

        assert any(a.startswith("DELETE") and "uploadId" in a for a in way.passed), "aborted"


def test_an_object_with_other_bytes_is_corrupt(storage, child_id, tmp_path):
    stored = put(storage, child_id, b"content")
    for expected in ({"size_bytes": 8, "sha256": stored.sha256}, {"size_bytes": 7, "sha256": "0"}):
        with pytest.raises(ObjectCorrupt):
            storage.fetch_source(stored.key, stored.version, tmp_path / "x", **expected)


def test_absence_is_not_trouble_and_trouble_is_not_absence(storage, child_id, tmp_path, aws):
    with pytest.raises(ObjectMissing):
        storage.fetch_source(
            source_key(child_id), None, tmp_path / "x", size_bytes=1, sha256="0" * 64
        )
    for settings in (
        {"s3_bucket": "no-such-bucket", "aws_endpoint_url": aws.endpoint_url},
        {"aws_endpoint_url": "http://127.0.0.1:9"},
    ):
        elsewhere = Storage(StorageSettings(aws_region=aws.account.region, **settings))
        with pytest.raises(StorageUnavailable):
            elsewhere.check()
        with pytest.raises(StorageUnavailable):
            put(elsewhere, child_id, b"x")
    with faulty_way(aws.endpoint_url) as way:
        settings = StorageSettings(aws_endpoint_url=way.url, aws_region=aws.account.region)
        way.fault = lambda action: 403
        with pytest.raises(StorageUnavailable):
            Storage(settings).find_result(child_id, "1")


def test_a_silent_s3_is_unavailable(child_id, aws):
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        server.close()
        storage = Storage(StorageSettings(aws_endpoint_url=url, aws_region=aws.account.region))
        with pytest.raises(StorageUnavailable):
            storage.find_result(child_id, "1")


def results_are_stored_once(storage, child_id, tmp_path):
    path = tmp_path / "result"
    path.write_bytes(b"packed")
    digest = hashlib.sha256(b"packed").hexdigest()

    assert storage.find_result(child_id, "1") is None
    assert storage.put_result(child_id, "1", path) == (digest, 6)
    assert storage.put_result(child_id, "1", path) == (digest, 6)
    assert storage.find_result(child_id, "1") == (digest, 6)
    assert storage.find_result(child_id, "2") is None
    storage.fetch_result(child_id, "1", digest, 6, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b"packed"
    assert result_key(child_id, "1", digest) == f"imports/{child_id}/results/1-{digest}"
    assert storage.delete(result_key(child_id, "1", digest)) == 1, "written once"


def test_a_result_is_stored_once_under_its_digest(storage, child_id, tmp_path):
    results_are_stored_once(storage, child_id, tmp_path)


def test_another_s3_agrees(moto_storage, child_id, tmp_path):
    content = os.urandom(PART_BYTES + 1)
    stored = put(moto_storage, child_id, content)
    moto_storage.fetch_source(
        stored.key, stored.version, tmp_path / "x", size_bytes=len(content), sha256=stored.sha256
    )

    assert (tmp_path / "x").read_bytes() == content
    results_are_stored_once(moto_storage, child_id, tmp_path)


def test_a_refused_source_is_removed_and_a_second_removal_is_no_trouble(storage, child_id):
    stored = put(storage, child_id, b"x")

    storage.delete_source(stored.key, stored.version)
    storage.delete_source(stored.key, stored.version)

    with pytest.raises(ObjectMissing):
        next(iter(storage.open_source(stored.key, None)))


def test_only_old_objects_are_listed(storage, child_id):
    stored = put(storage, child_id, b"x")
    now = datetime.now(UTC)

    old = {found.key for found in storage.list_older_than(now - timedelta(hours=1))}
    all_keys = {found.key for found in storage.list_older_than(now + timedelta(hours=1))}

    assert stored.key not in old
    assert stored.key in all_keys


def test_60_megabytes_go_in_and_out_in_bounded_memory(aws, tmp_path):
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from jobs.settings import StorageSettings; from jobs.storage import Storage\n"
        "url, region, where = sys.argv[1:]\n"
        "storage = Storage(StorageSettings(aws_endpoint_url=url, aws_region=region))\n"
        "storage.check()\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "before = peak()\n"
        "with open('/dev/zero', 'rb') as zero:\n"
        "    left = [60 << 20]\n"
        "    class Stream:\n"
        "        def read(self, size, /):\n"
        "            size = min(size, left[0]); left[0] -= size; return zero.read(size)\n"
        "    stored = storage.put_source('big', Stream(), file_name='x', content_type='a/b')\n"
        "storage.fetch_source(stored.key, stored.version, Path(where),"
        " size_bytes=stored.size_bytes, sha256=stored.sha256)\n"
        "print(peak() - before)\n"
    )

    arguments = [aws.endpoint_url, aws.account.region, str(tmp_path / "big")]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= 32
    assert (tmp_path / "big").stat().st_size == 60 << 20

"""The way to S3: one client with short limits, and its errors in our words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from urllib3.exceptions import HTTPError

from jobs import metrics
from jobs.errors import JobsError, ObjectMissing, StorageUnavailable
from jobs.settings import StorageSettings

#: 405: the version named is a delete marker. NoSuchBucket is trouble, not a missing object.
_MISSING_CODES = frozenset({"NoSuchKey", "NoSuchVersion", "404", "MethodNotAllowed", "405"})
_EXISTS_CODES = frozenset({"PreconditionFailed", "412"})


class AlreadyStored(JobsError):
    """A create-only write found the key taken."""

    code = "already_stored"


def client(settings: StorageSettings) -> Any:
    """Build a client (botocore ships no types); no network is used."""
    return boto3.session.Session().client(
        "s3",
        endpoint_url=settings.aws_endpoint_url,
        region_name=settings.aws_region,
        config=Config(
            connect_timeout=3,
            read_timeout=20,
            retries={"total_max_attempts": 2, "mode": "standard"},
            signature_version="s3v4",
            # Default checksums break S3-compatible stores: https://github.com/boto/boto3/issues/4400
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            max_pool_connections=32,
            s3={"addressing_style": "path" if settings.aws_endpoint_url else "auto"},
        ),
    )


@contextmanager
def translated(operation: str) -> Iterator[None]:
    """Turn botocore's, urllib3's and socket errors into ours. Wrap only the S3 call itself."""
    try:
        yield
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", "Unknown"))
        if code in _MISSING_CODES:
            raise ObjectMissing(f"{operation}: {code}") from error
        if code in _EXISTS_CODES:
            raise AlreadyStored(f"{operation}: {code}") from error
        metrics.STORAGE_FAILURES.labels(operation, metrics.reason(code)).inc()
        raise StorageUnavailable(f"{operation}: {code}") from error
    except (BotoCoreError, HTTPError, OSError) as error:
        metrics.STORAGE_FAILURES.labels(operation, type(error).__name__).inc()
        raise StorageUnavailable(f"{operation}: {type(error).__name__}") from error

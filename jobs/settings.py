"""Settings that web, scheduler and worker share, one fragment per part; processes compose them.

Read from environment variables of the same name. Secrets are SecretStr and never shown in errors.
"""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

#: Standard Webhooks asks for 24 to 64 random bytes.
#: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
MIN_SECRET_BYTES = 24
SEALING_KEY_BYTES = 32
SECRET_PREFIX = "whsec_"  # noqa: S105 - the public prefix of a secret, not a secret


class Fragment(BaseSettings):
    """Base of every fragment: unknown and empty variables are ignored, wrong ones not echoed."""

    model_config = SettingsConfigDict(
        extra="ignore", hide_input_in_errors=True, frozen=True, env_ignore_empty=True
    )


class LogSettings(Fragment):
    """How a process writes its log."""

    #: json for machines, pretty for people, auto: pretty on a terminal and else json
    log_format: Literal["auto", "json", "pretty"] = "auto"
    #: the least level that is logged
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"


class MetricsSettings(Fragment):
    """Where /metrics and the liveness of scheduler and worker are told; never the public port."""

    #: the address that numbers and liveness are told on; never a public one
    metrics_host: str = "127.0.0.1"
    #: Scheduler and worker touch it every 5 s while they do their work; none when empty.
    heartbeat_file: Path | None = None
    #: Set by systemd: where its watchdog hears the same.
    notify_socket: str = ""
    #: Where spans go by OTLP over HTTP; none are made when empty. Needs the extra `otel`.
    otel_exporter_otlp_endpoint: str = ""


class AwsSettings(Fragment):
    """Where AWS is. Credentials are read by boto3 itself and never pass through here."""

    #: only for an emulator or another S3 and SQS
    aws_endpoint_url: str | None = None
    #: the region of bucket, queues and user pool
    aws_region: str | None = None


class StorageSettings(AwsSettings):
    """The object store."""

    #: the bucket of sources and results; versioned
    s3_bucket: str = "torikomi"


class QueueSettings(AwsSettings):
    """The message queues: `{namespace}_{type}` and `{namespace}_{type}_dlq`."""

    #: queues are `{namespace}_page_import`, `{namespace}_code2des`, and each with `_dlq`
    queue_namespace: str = "torikomi"


class WebhookSettings(Fragment):
    """The secrets that sign reports: the first signs, all verify."""

    #: comma separated `whsec_` and base64 of at least 24 random bytes; the first signs, all verify
    webhook_secrets: SecretStr

    @field_validator("webhook_secrets")
    @classmethod
    def _secrets_decode(cls, value: SecretStr) -> SecretStr:
        decode_secrets(value.get_secret_value())
        return value

    def secrets(self) -> list[bytes]:
        """Return the decoded secrets in the order given."""
        return decode_secrets(self.webhook_secrets.get_secret_value())


def decode_secrets(text: str) -> list[bytes]:
    """Decode a comma separated list of `whsec_<base64>`. Raises ValueError without the value."""
    secrets = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        if not item.startswith(SECRET_PREFIX):
            raise ValueError(f"each webhook secret starts with {SECRET_PREFIX}")
        try:
            secret = base64.b64decode(item.removeprefix(SECRET_PREFIX), validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("a webhook secret is not base64") from None
        if len(secret) < MIN_SECRET_BYTES:
            raise ValueError(f"each webhook secret needs at least {MIN_SECRET_BYTES} bytes")
        secrets.append(secret)
    if not secrets:
        raise ValueError("at least one webhook secret is needed")
    return secrets


def decode_sealing_key(text: str) -> bytes:
    """Decode one key of jobs.sealing. Raises ValueError without the value."""
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("a sealing key is not base64") from None
    if len(key) != SEALING_KEY_BYTES:
        raise ValueError(f"a sealing key has {SEALING_KEY_BYTES} bytes")
    return key


class WorkerSettings(LogSettings, MetricsSettings, StorageSettings, QueueSettings, WebhookSettings):
    """Everything a worker may know. There is no database here, on purpose."""

    #: 0: no listener
    worker_metrics_port: int = Field(default=9466, ge=0, le=65_535)
    #: where a worker reaches the web process
    web_url: str
    #: Open the passwords of files; comma separated, all are tried. See jobs/sealing.py.
    sealing_private_keys: SecretStr = SecretStr("")
    #: the import types that this worker takes, comma separated
    worker_queues: str = "page_import,code2des"
    #: messages of each queue at work at once
    worker_threads: int = Field(default=2, ge=1, le=10)
    #: where sources and results lie while they are worked on; the system's when empty
    worker_temp_dir: Path | None = None
    #: the longest time that reading one file may take
    parse_wall_seconds: float = Field(default=600, gt=0)
    #: the CPU time that reading one file may take
    parse_cpu_seconds: int = Field(default=300, ge=1)
    #: the memory that reading one file may take
    parse_memory_bytes: int = Field(default=1 << 30, ge=64 << 20)
    #: the largest result, before it is compressed
    parse_output_bytes: int = Field(default=256 << 20, ge=1 << 10)
    #: Processor and wall time for the pictures of one file's pages.
    image_seconds: float = Field(default=150, ge=1)
    #: Text in scanned pages is read when the program tesseract is installed.
    ocr: Literal["auto", "off"] = "auto"
    #: Processor time for the text of one scanned page, and wall time for those of one file.
    ocr_page_seconds: float = Field(default=60, ge=1)
    #: the time that reading the text of one file's pictures may take; what is left stays unread
    ocr_file_seconds: float = Field(default=1800, ge=1)
    #: An invisible message of a killed worker comes back after this; it is extended while held.
    visibility_seconds: int = Field(default=120, ge=1, le=43_200)
    #: how often a held message's visibility is extended; at most half of VISIBILITY_SECONDS
    heartbeat_seconds: float = Field(default=30, gt=0)
    #: Longest time a job may keep its message invisible: fetch, parse and every wait inside.
    job_deadline_seconds: float = Field(default=6 * 3600, gt=0, le=42_000)
    #: Visibility after the first, second … failed receive; the last value repeats.
    backoff_seconds: str = "10,60,300,900"
    #: how long one receive waits for messages
    long_poll_seconds: int = Field(default=10, ge=1, le=20)
    #: how often a worker reports progress
    progress_seconds: float = Field(default=10, gt=0, le=30)
    #: Pause between two probes of a closed gate (S3 or web unreachable).
    probe_seconds: float = Field(default=5, gt=0)
    #: How long a report of an import that the web does not know is tried again.
    unknown_import_seconds: float = Field(default=10, ge=0)
    #: how long a worker takes to end after SIGTERM
    stop_seconds: float = Field(default=15, gt=0, le=19)
    #: Messages visible but none started for this long: the process exits for its supervisor.
    watchdog_seconds: float = Field(default=300, gt=0)

    def queues(self) -> list[str]:
        """Return the import types whose queues this worker consumes."""
        return [name for name in (part.strip() for part in self.worker_queues.split(",")) if name]

    def private_keys(self) -> list[bytes]:
        """Return the keys that open passwords, in the order given."""
        texts = self.sealing_private_keys.get_secret_value().split(",")
        return [decode_sealing_key(text) for text in texts if text.strip()]

    @model_validator(mode="after")
    def _private_keys_decode(self) -> Self:
        self.private_keys()
        return self

    def backoffs(self) -> list[int]:
        """Return the visibility back-offs in seconds."""
        return [int(part) for part in self.backoff_seconds.split(",")]

    @field_validator("backoff_seconds")
    @classmethod
    def _backoffs_are_numbers(cls, value: str) -> str:
        if not all(part.strip().isdigit() for part in value.split(",")):
            raise ValueError("BACKOFF_SECONDS is a comma separated list of whole seconds")
        return value

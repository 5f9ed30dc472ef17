"""What the web process is told by its environment."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, SecretStr, field_validator, model_validator

from jobs.addresses import EndpointSettings
from jobs.settings import AwsSettings, MetricsSettings, WebhookSettings, decode_sealing_key

MIN_SESSION_SECRET_BYTES = 32


class WebSettings(AwsSettings, MetricsSettings, WebhookSettings, EndpointSettings):
    """Settings of the HTTP edge; database, storage and log settings are fragments of their own."""

    #: 0: no listener
    web_metrics_port: int = Field(default=9464, ge=0, le=65_535)
    #: Where the web processes of one machine keep their counts; the Procfile makes it.
    prometheus_multiproc_dir: Path | None = None

    #: `https://cognito-idp.{region}.amazonaws.com/{pool}`, exactly as tokens name it
    cognito_issuer: str
    #: where the pool publishes its keys
    cognito_jwks_url: str
    #: the client of the pool that tokens are for; without a secret
    cognito_client_id: str
    #: the pool
    cognito_user_pool_id: str = ""
    #: only for an emulator of Cognito
    cognito_endpoint_url: str | None = None

    #: Members of this group of the user pool see the operator page.
    operator_group: str = "operators"

    #: at least 32 bytes; signs form tokens and the operator's pass
    session_secret: SecretStr
    #: 0 only where there is no https
    secure_cookies: bool = True
    #: a browser session ends after this without a request
    session_idle_seconds: int = Field(default=8 * 3600, ge=60)
    #: a browser session ends after this in any case
    session_absolute_seconds: int = Field(default=7 * 24 * 3600, ge=60)

    #: The largest single file; 10 MB is the everyday case.
    max_upload_bytes: int = Field(default=64 << 20, ge=1)
    #: The largest file that a client may put into S3 itself; what parsers bear is their limit.
    max_direct_bytes: int = Field(default=64 << 20, ge=1, le=5 << 30)
    #: The largest JSON body of a batch; 100,000 items of ordinary length fit three times.
    max_batch_json_bytes: int = Field(default=64 << 20, ge=1)
    #: files in one multipart batch
    max_batch_files: int = Field(default=500, ge=1, le=10_000)
    #: A body that is silent this long, or slower than the rate, is answered 408.
    body_idle_seconds: float = Field(default=30, gt=0)
    #: the slowest body that is borne
    body_min_bytes_per_second: int = Field(default=1024, ge=1)
    #: The largest result object, inflated, that a report may bring in.
    max_result_bytes: int = Field(default=512 << 20, ge=1)

    #: API requests of one subject in one process within the seconds; see web/limits.py.
    rate_limit_requests: int = Field(default=6000, ge=1)
    #: the span that RATE_LIMIT_REQUESTS counts over
    rate_limit_seconds: int = Field(default=60, ge=1)
    #: Failed sign-ins that one process bears within SIGN_IN_SECONDS for one user name
    sign_in_name_attempts: int = Field(default=10, ge=1)
    #: Failed sign-ins that it bears within SIGN_IN_SECONDS from one address.
    sign_in_address_attempts: int = Field(default=100, ge=1)
    #: The span that both count over.
    sign_in_seconds: int = Field(default=300, ge=1)
    #: Proxies in front of the web process whose X-Forwarded-For is believed; 0 believes nobody.
    trusted_proxies: int = Field(default=0, ge=0, le=10)
    #: Requests that may wait in one process for `Prefer: wait`; fewer than its threads.
    max_waiters: int = Field(default=8, ge=1)

    #: The time zone in which pages show times.
    display_timezone: str = "Asia/Tokyo"

    #: Shown on the sign-in page of the embedded default only.
    local_login_hint: str = ""

    #: The pool's own sign-in page (https://….amazoncognito.com); without it the form here asks.
    cognito_domain: str = ""
    #: Only for an app client that has one; it must be set there for the code flow.
    cognito_client_secret: SecretStr = SecretStr("")
    #: Where browsers reach this installation (https://…); COGNITO_DOMAIN needs it.
    public_url: str = ""

    @model_validator(mode="after")
    def _hosted_page_comes_back(self) -> Self:
        for url in filter(None, (self.cognito_domain, self.public_url)):
            if not url.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
                raise ValueError("COGNITO_DOMAIN and PUBLIC_URL are https addresses")
        if self.cognito_domain and not self.public_url:
            raise ValueError("COGNITO_DOMAIN needs PUBLIC_URL, where its page sends people back")
        return self

    #: Seals the passwords of files for the workers; without it no password is taken.
    sealing_public_key: str = ""

    @field_validator("sealing_public_key")
    @classmethod
    def _public_key_decodes(cls, value: str) -> str:
        if value:
            decode_sealing_key(value)
        return value

    def public_key(self) -> bytes | None:
        """Return the key that seals passwords, if there is one."""
        return decode_sealing_key(self.sealing_public_key) if self.sealing_public_key else None

    @field_validator("session_secret")
    @classmethod
    def _secret_is_long(cls, value: SecretStr) -> SecretStr:
        if len(value.get_secret_value().encode()) < MIN_SESSION_SECRET_BYTES:
            raise ValueError(f"SESSION_SECRET needs at least {MIN_SESSION_SECRET_BYTES} bytes")
        return value

    @field_validator("cognito_endpoint_url", mode="before")
    @classmethod
    def _empty_endpoint_is_unset(cls, value: object) -> object:
        return value or None

"""The embedded services behind the product: PostgreSQL and the emulator, as far as not given."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import psycopg2
from botocore.exceptions import BotoCoreError, ClientError

from local.claim import clear_orphans, remember, write_run
from local.emulator import ACCESS_KEY_ID, Emulator
from local.errors import LocalError
from local.files import write_private
from local.keys import USERNAME, Keys, load_keys
from local.plan import DEFAULT_REGION, Plan
from local.postgres import PostgresServer
from local.processes import Child, Identity
from local.provision import Account, Provisioned, provision_store, provision_user

DATABASE = "torikomi"
# PostgreSQL clears its own left-overs by its pid file.
_ORDER = ("worker", "scheduler", "web", "aws")
_RETRY_SECONDS = 2.0
# Tests only: a killed process loses nothing without these, a power cut would.
_NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class Services:
    """Starts, watches and stops the embedded services. Owned by one thread."""

    def __init__(self, plan: Plan, *, durable: bool = True) -> None:
        self._plan = plan
        self._data_dir: Path = plan.data_dir
        self._keys: Keys | None = None
        self._provisioned: Provisioned | None = None
        self._next_try = 0.0
        self._started = False
        self.was_killed = False
        self.on_change: Callable[[], None] = lambda: None
        self.postgres = PostgresServer(self._data_dir, settings={} if durable else _NOT_DURABLE)
        self.emulator = Emulator(self._data_dir, region=DEFAULT_REGION)

    @property
    def keys(self) -> Keys:
        """The secrets; made on the first use."""
        if self._keys is None:
            self._keys = load_keys(self._data_dir)
        return self._keys

    @property
    def database_url(self) -> str:
        """The DSN of the product's database."""
        given = self._plan.given.get("DATABASE_URL")
        return given or self.postgres.url(DATABASE)

    @property
    def account(self) -> Account:
        """The account S3 and SQS are in."""
        ours, given = self.people, self._plan.given
        if self._plan.embedded_store:
            return replace(ours, namespace=given.get("QUEUE_NAMESPACE", ours.namespace))
        return Account(
            endpoint_url=given.get("AWS_ENDPOINT_URL", ""),
            region=self._plan.region,
            access_key_id=given.get("AWS_ACCESS_KEY_ID", ""),
            secret_access_key=given.get("AWS_SECRET_ACCESS_KEY", ""),
            bucket=given.get("S3_BUCKET", ours.bucket),
            namespace=given.get("QUEUE_NAMESPACE", ours.namespace),
        )

    @property
    def people(self) -> Account:
        """The account the embedded user pool is in: always the emulator."""
        return Account(
            endpoint_url=self.emulator.endpoint_url,
            region=DEFAULT_REGION,
            access_key_id=ACCESS_KEY_ID,
            secret_access_key=self.keys.aws_secret,
        )

    @property
    def provisioned(self) -> Provisioned:
        """The embedded user pool. Raises LocalError when Cognito is somebody else's."""
        if self._provisioned is None:
            raise LocalError("Users are not embedded here: sign in at the COGNITO_ISSUER given.")
        return self._provisioned

    def start(self) -> None:
        """Clear what a killed run left, start what is embedded, provision it."""
        marker = self._data_dir / "running"
        self.was_killed = marker.exists()
        clear_orphans(self._data_dir, _ORDER)
        write_private(marker, "")
        self.emulator.secret_access_key = self.keys.aws_secret
        if self._plan.embedded_postgres:
            self.postgres.start()
            self.on_change()
            self.postgres.create_database(DATABASE)
        if self._uses_emulator():
            self.emulator.start()
            self.on_change()
        self._provision()
        self._started = True

    def variables(self) -> dict[str, str]:
        """Return our values of the product's settings."""
        ours = {
            "DATABASE_URL": self.database_url,
            "S3_BUCKET": self.account.bucket,
            "QUEUE_NAMESPACE": self.account.namespace,
            "WEBHOOK_SECRETS": self.keys.webhook_secret,
            "SESSION_SECRET": self.keys.session_secret,
            "SEALING_PUBLIC_KEY": self.keys.sealing_public_key,
            "SEALING_PRIVATE_KEYS": self.keys.sealing_private_key,
        }
        if self._plan.embedded_store:
            ours["AWS_ENDPOINT_URL"] = self.account.endpoint_url
            ours["AWS_ACCESS_KEY_ID"] = self.account.access_key_id
            ours["AWS_SECRET_ACCESS_KEY"] = self.account.secret_access_key
        if self._provisioned is not None:
            ours |= _cognito(self.people, self._provisioned)
        return ours

    def watch(self) -> bool:
        """Start again what has died; say whether the emulator had to be. Never raises for it."""
        if not self._started or time.monotonic() < self._next_try:
            return False
        try:
            return self._revive()
        except (LocalError, BotoCoreError, ClientError, psycopg2.Error):
            # Its own log says why; tried again while the rest waits as in any outage.
            self._next_try = time.monotonic() + _RETRY_SECONDS
            return False

    def _revive(self) -> bool:
        if self._plan.embedded_postgres and not _lives(self.postgres.child):
            self.postgres.start()
            self.on_change()
        if not self._uses_emulator() or _lives(self.emulator.child):
            return False
        self.emulator.start()
        self.on_change()
        self._provision()
        return True

    def stop(self, *, until: float, clean: bool) -> None:
        """Stop the emulator, then PostgreSQL, before a moment of the monotonic clock.

        Notes a clean stop when nothing, here or before, had to be killed.
        """
        self._started = False
        clean &= self.emulator.stop(grace_seconds=max(1.5, until - 1.0 - time.monotonic()))
        clean &= self.postgres.stop(grace_seconds=max(1.0, until - time.monotonic()))
        (self._data_dir / "processes.json").unlink(missing_ok=True)
        if clean:
            (self._data_dir / "running").unlink(missing_ok=True)

    def destroy(self) -> None:
        """Delete the files that are outside the data directory."""
        if self._plan.embedded_postgres:
            self.postgres.destroy()

    def identities(self) -> dict[str, Identity]:
        """Return which of ours run now."""
        children = {"postgres": self.postgres.child, "aws": self.emulator.child}
        return {name: child.identity for name, child in children.items() if child is not None}

    def remember(self, identities: Mapping[str, Identity]) -> None:
        """Write down who runs and where."""
        remember(self._data_dir, identities)

    def _uses_emulator(self) -> bool:
        return self._plan.embedded_store or self._plan.embedded_cognito

    def _provision(self) -> None:
        if self._plan.embedded_store or "AWS_ENDPOINT_URL" in self._plan.given:
            provision_store(self.account)
        if self._plan.embedded_cognito:
            self._provisioned = provision_user(self.people, USERNAME, self.keys.password)
        done = self._data_dir / "provisioned"
        if self._uses_emulator() and not done.exists():
            # A killed emulator goes back to its last clean stop: let that be now.
            self.emulator.restart()
            self.on_change()
            write_private(done, "")
        self._write_run()

    def _write_run(self) -> None:
        facts = {"web_url": self._plan.web_url, "region": DEFAULT_REGION}
        if self._provisioned is not None:
            facts["cognito_url"] = self.people.endpoint_url
            facts["client_id"] = self._provisioned.client_id
            facts["username"] = self._provisioned.username
        write_run(self._data_dir, facts)


def _lives(child: Child | None) -> bool:
    return child is not None and child.alive()


def _cognito(people: Account, who: Provisioned) -> dict[str, str]:
    return {
        # The production string: tokens name it, whoever signed them.
        "COGNITO_ISSUER": f"https://cognito-idp.{people.region}.amazonaws.com/{who.pool_id}",
        "COGNITO_JWKS_URL": f"{people.endpoint_url}/{who.pool_id}/.well-known/jwks.json",
        "COGNITO_CLIENT_ID": who.client_id,
        "COGNITO_USER_POOL_ID": who.pool_id,
        "COGNITO_ENDPOINT_URL": people.endpoint_url,
        "LOCAL_LOGIN_HINT": f"{who.username} / {who.password}",
    }

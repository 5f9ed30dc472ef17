"""Real servers for the tests: PostgreSQL, the S3/SQS/Cognito emulator, the whole product.

Each is started on the first use and once a session. A server that cannot start fails the tests
that want it; nothing is skipped.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import psycopg2
import pytest
from pydantic import SecretStr

from local.emulator import Emulator
from local.postgres import PostgresServer
from local.provision import Account, Provisioned, access_token, provision
from local.stack import Stack
from models import database as models_database
from models.settings import DatabaseSettings

REGION = "ap-northeast-1"
# Fast, not durable: the product asks for synchronous commits itself, only a power cut would lose.
_FAST = MappingProxyType({"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"})


@dataclass(frozen=True, kw_only=True)
class Aws:
    """The provisioned emulator of this session."""

    emulator: Emulator
    account: Account
    provisioned: Provisioned

    @property
    def endpoint_url(self) -> str:
        """The address for AWS_ENDPOINT_URL."""
        return self.emulator.endpoint_url


@pytest.fixture(scope="session")
def server_dir() -> Iterator[Path]:
    """A directory other users may walk through, so that root's PostgreSQL can live in it."""
    path = Path(tempfile.mkdtemp(prefix="torikomi-tests-"))
    path.chmod(0o711)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def postgres(server_dir: Path) -> Iterator[PostgresServer]:
    """One PostgreSQL server for the session."""
    server = PostgresServer(server_dir / "pg", settings=_FAST)
    server.start()
    yield server
    server.destroy()


@pytest.fixture(scope="session")
def template(postgres: PostgresServer) -> str:
    """The name of a migrated, empty template database: made by the product's own migrations."""
    postgres.create_database("template_torikomi")
    _configure(postgres.url("template_torikomi"))
    models_database.migrate()
    return "template_torikomi"


@pytest.fixture(scope="session")
def database_url(postgres: PostgresServer, template: str) -> str:
    """The DSN of this session's clone of the template; use `database` for clean rows."""
    name = f"tests_{os.getpid()}"
    postgres.create_database(name, template=template)
    url = postgres.url(name)
    _configure(url)
    return url


def _configure(url: str) -> None:
    models_database.configure(DatabaseSettings(database_url=SecretStr(url)))


@pytest.fixture
def database(database_url: str) -> Iterator[str]:
    """Configure models.database on a migrated database; yield its DSN; delete all rows after."""
    yield database_url
    empty_database(database_url)


def empty_database(url: str) -> None:
    """Delete every row except the migration history, without minding foreign keys."""
    connection = psycopg2.connect(url)
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute("set session_replication_role = replica")
            cursor.execute(
                "select tablename from pg_tables where schemaname = 'public'"
                " and tablename not like '%%migrat%%'"
            )
            for (table,) in cursor.fetchall():
                cursor.execute(f'delete from "{table}"')
    finally:
        connection.close()


@pytest.fixture(scope="session")
def aws(server_dir: Path) -> Iterator[Aws]:
    """S3, SQS and Cognito of the emulator, provisioned, and this process's boto3 pointed at it."""
    emulator = Emulator(server_dir / "aws", region=REGION)
    emulator.secret_access_key = "torikomi-tests"
    emulator.start()
    account = Account(
        endpoint_url=emulator.endpoint_url,
        region=REGION,
        access_key_id="torikomi",
        secret_access_key=emulator.secret_access_key,
    )
    provisioned = provision(account, username="demo", password="Test-password-1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", emulator.endpoint_url)
        patch.setenv("AWS_REGION", REGION)
        patch.setenv("AWS_DEFAULT_REGION", REGION)
        patch.setenv("AWS_ACCESS_KEY_ID", account.access_key_id)
        patch.setenv("AWS_SECRET_ACCESS_KEY", account.secret_access_key)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield Aws(emulator=emulator, account=account, provisioned=provisioned)
    emulator.stop()


#: The product's own settings, so that what a killed worker held comes back while a test waits.
IMPATIENT = MappingProxyType(
    {"VISIBILITY_SECONDS": "20", "HEARTBEAT_SECONDS": "5", "PROBE_SECONDS": "1"}
)


@pytest.fixture(scope="session")
def stack(server_dir: Path) -> Iterator[Stack]:
    """The whole product, running: web, scheduler and worker on the embedded default."""
    running = Stack(server_dir / "stack", durable=False, given=IMPATIENT)
    running.start()
    yield running
    running.destroy()


@pytest.fixture
def token(stack: Stack) -> str:
    """A fresh access token of the stack's default user."""
    return access_token(stack.account, stack.provisioned)

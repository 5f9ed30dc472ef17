"""Which parts are embedded, which are given, and the environment each process gets.

DATABASE_URL replaces the embedded PostgreSQL. AWS_ENDPOINT_URL, or S3_BUCKET for a real account,
replaces the embedded S3 and SQS; COGNITO_ISSUER replaces the embedded Cognito. Any other
variable of .env.example that is given goes to the processes as it is.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from local.errors import LocalError
from local.processes import free_port

DEFAULT_PORT = 8000
DEFAULT_REGION = "ap-northeast-1"
#: Where an installation on the default port tells its metrics, when these are free.
METRICS_PORTS = {
    "WEB_METRICS_PORT": 9464,
    "SCHEDULER_METRICS_PORT": 9465,
    "WORKER_METRICS_PORT": 9466,
}
#: What a process of this type has no use for and therefore never sees.
_KEPT_FROM = {
    "web": ("SEALING_PRIVATE_KEYS",),
    "worker": ("DATABASE_URL", "SESSION_SECRET", "LOCAL_LOGIN_HINT", "SEALING_PUBLIC_KEY"),
    "scheduler": (
        "SESSION_SECRET",
        "LOCAL_LOGIN_HINT",
        "SEALING_PUBLIC_KEY",
        "SEALING_PRIVATE_KEYS",
    ),
}


class Plan:
    """The decisions of one installation; reads the environment it is given and nothing else."""

    def __init__(self, data_dir: Path, port: int | None, given: Mapping[str, str]) -> None:
        self.data_dir = data_dir
        self.port = port if port is not None else free_port()
        self.given = {n: value for n, value in given.items() if value and not _is_foreign(n)}
        usual = port == DEFAULT_PORT
        self.metrics_ports = {
            name: self.given.get(name) or str(free_port(number if usual else None))
            for name, number in METRICS_PORTS.items()
        }

    @property
    def embedded_postgres(self) -> bool:
        """Whether PostgreSQL is ours."""
        return "DATABASE_URL" not in self.given

    @property
    def embedded_store(self) -> bool:
        """Whether S3 and SQS are ours."""
        return not {"AWS_ENDPOINT_URL", "S3_BUCKET"} & self.given.keys()

    @property
    def embedded_cognito(self) -> bool:
        """Whether the user pool is ours."""
        return "COGNITO_ISSUER" not in self.given

    @property
    def region(self) -> str:
        """The region of S3 and SQS; ours never moves, or its queues would be left behind."""
        if self.embedded_store:
            return DEFAULT_REGION
        given = self.given.get("AWS_REGION") or self.given.get("AWS_DEFAULT_REGION")
        return given or DEFAULT_REGION

    @property
    def web_url(self) -> str:
        """Where people and the worker reach the web process."""
        return f"http://127.0.0.1:{self.port}"

    def env(self, process: str, ours: Mapping[str, str]) -> dict[str, str]:
        """Put together the system's environment, our values and, strongest, the given ones."""
        programs = str(Path(sys.executable).parent)
        env = {
            **{name: value for name, value in os.environ.items() if self._may_pass(name)},
            "PYTHONUNBUFFERED": "1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "SECURE_COOKIES": "0",
            "ENDPOINT_ALLOW_LOCAL": "1",
            # A worker ends after its poll; the emulator counts no requests.
            "LONG_POLL_SECONDS": "2",
            **self.metrics_ports,
            **ours,
            **{name: value for name, value in self.given.items() if self._may_pass(name)},
            "PATH": os.pathsep.join([programs, os.environ.get("PATH", os.defpath)]),
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "BIND_HOST": "127.0.0.1",
            "PORT": str(self.port),
            "WEB_URL": self.web_url,
        }
        for name in _KEPT_FROM.get(process, ()):
            env.pop(name, None)
        return env

    def _may_pass(self, name: str) -> bool:
        """A person's own AWS profile or token has no place in the embedded account."""
        if name == "DATABASE_URL":
            return not self.embedded_postgres
        return not (_is_foreign(name) or (self.embedded_store and name.startswith("AWS_")))


def _is_foreign(name: str) -> bool:
    """Settings of the person's own Python, PostgreSQL or gunicorn must not reach our processes."""
    own = ("VIRTUAL_ENV", "HEARTBEAT_FILE", "NOTIFY_SOCKET")  # one process's, not all of ours
    return name.startswith(("PYTHON", "PG", "GUNICORN_", "PROMETHEUS_")) or name in own


def read_port(text: str | None) -> int:
    """Return the port number of PORT; the default when it is not set."""
    if not text:
        return DEFAULT_PORT
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) < 65536:
        raise LocalError(f"PORT={text} is not a port number: give one from 1 to 65535.")
    return int(text)

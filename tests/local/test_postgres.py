"""The embedded PostgreSQL through crashes, strangers and restarts."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest

from local.binaries import server_home
from local.postgres import PostgresServer
from local.processes import identify, is_same, wait_until


@pytest.fixture
def server(server_dir: Path, tmp_path: Path) -> Iterator[PostgresServer]:
    made = PostgresServer(server_dir / f"pg {tmp_path.name} 取込")
    made.start()
    yield made
    made.destroy()


def ask(server: PostgresServer, sql: str) -> list[tuple[object, ...]]:
    connection = psycopg2.connect(server.url("postgres"))
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall()) if cursor.description else []
    finally:
        connection.close()


def test_what_was_committed_is_there_after_the_server_was_killed(server: PostgresServer) -> None:
    ask(server, "create table kept (n int)")
    ask(server, "insert into kept values (7)")
    assert server.child is not None
    os.kill(server.child.pid, signal.SIGKILL)

    server.start()

    assert ask(server, "select n from kept") == [(7,)]


def test_a_stale_pid_file_with_the_number_of_a_stranger_leaves_the_stranger_alive(
    server: PostgresServer,
) -> None:
    server.stop()
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    pid_file = server_home(server.data_dir) / "cluster" / "postmaster.pid"
    pid_file.write_text(f"{stranger.pid}\n{pid_file.parent}\n")
    try:
        server.start()

        assert ask(server, "select 1") == [(1,)]
        server.stop()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_server_that_outlived_its_launcher_is_stopped_and_replaced(
    server: PostgresServer,
) -> None:
    assert server.child is not None
    old = server.child.identity
    second = PostgresServer(server.data_dir)

    second.start()

    assert wait_until(lambda: not server.child.alive(), 5)
    assert not is_same(old)
    assert ask(second, "select 1") == [(1,)]
    second.stop()


def test_a_session_in_a_transaction_does_not_keep_it_from_stopping(server: PostgresServer) -> None:
    connection = psycopg2.connect(server.url("postgres"))
    connection.cursor().execute("select 1")
    assert server.child is not None
    pid = server.child.pid

    assert server.stop() is True
    assert identify(pid) is None
    connection.close()


def test_nobody_gets_in_without_the_password(server: PostgresServer) -> None:
    with pytest.raises(psycopg2.OperationalError):
        psycopg2.connect(
            host="127.0.0.1", port=server.port, user="torikomi", password="guess", dbname="postgres"
        )


def test_it_listens_on_loopback_only_and_keeps_its_files_to_itself(server: PostgresServer) -> None:
    addresses = ask(server, "show listen_addresses") + ask(server, "show unix_socket_directories")

    assert addresses == [("127.0.0.1",), ("",)]
    home = server_home(server.data_dir)
    assert home.stat().st_mode & 0o777 == 0o700
    password = server.data_dir / "secrets" / "postgres_password"
    assert password.stat().st_mode & 0o777 == 0o600

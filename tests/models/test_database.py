"""The pool: what it hands out works, also after the server ended every session."""

import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import psycopg2
from pydantic import SecretStr

from models import database as models_database
from models.database import Listener, connection, fetch
from models.settings import DatabaseSettings


def backends(url: str) -> list[int]:
    """The sessions of the pool, as the server counts them."""
    with closing(psycopg2.connect(url)) as look, look.cursor() as cursor:
        cursor.execute(
            """SELECT pid FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()"""
        )
        return [pid for (pid,) in cursor.fetchall()]


def test_a_pooled_connection_is_taken_out_without_asking_the_server(database: str) -> None:
    with connection():
        (own,) = fetch("SELECT pg_backend_pid() AS pid")
    sql = "SELECT query, state_change FROM pg_stat_activity WHERE pid = %s"
    with closing(psycopg2.connect(database)) as look, look.cursor() as cursor:
        look.autocommit = True
        cursor.execute(sql, (own["pid"],))
        before = cursor.fetchone()
        with connection():
            cursor.execute(sql, (own["pid"],))
            taken_out = cursor.fetchone()

    assert taken_out == before


def test_every_connection_works_after_the_server_ended_all_sessions(database: str) -> None:
    together = Barrier(4)

    def use() -> int:
        with connection():
            together.wait(30)
            return int(fetch("SELECT pg_backend_pid() AS pid")[0]["pid"])

    with ThreadPoolExecutor(4) as pool:
        old = set(pool.map(lambda _: use(), range(4)))
        with closing(psycopg2.connect(database)) as look, look.cursor() as cursor:
            for pid in old:
                cursor.execute("SELECT pg_terminate_backend(%s)", (pid,))
        end = time.monotonic() + 30
        while old & set(backends(database)) and time.monotonic() < end:
            time.sleep(0.02)
        new = set(pool.map(lambda _: use(), range(4)))

    assert len(new) == 4
    assert not new & old


def test_a_server_that_is_gone_without_a_word_is_noticed_in_20_seconds(database: str) -> None:
    with (
        connection(),
        closing(Listener(DatabaseSettings(database_url=SecretStr(database)), "work")) as listener,
    ):
        listener.wait(0)
        for each in (models_database.database.connection(), listener._connection):
            with socket.socket(fileno=os.dup(each.fileno())) as kept:
                assert kept.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 20_000
                assert kept.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
                assert kept.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 15

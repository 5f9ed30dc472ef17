"""The whole product on one machine: found again, started again, stopped without a trace."""

import contextlib
import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest

from local.claim import read_run
from local.errors import LocalError
from local.processes import Identity, identify, is_same, wait_until
from local.provision import access_token
from local.sample import import_sample
from local.stack import Stack

LISTENING = "0A"


@pytest.fixture
def own(server_dir: Path, tmp_path: Path) -> Iterator[Path]:
    """A data directory for a stack of this test alone, with an awkward name."""
    path = server_dir / f"own {tmp_path.name} 取込"
    yield path
    if path.exists():
        Stack(path).destroy()


def everything(stack: Stack) -> list[Identity]:
    """Return every process of the stack, children of children included."""
    found = [identity.pid for identity in stack.identities().values()]
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (identity := identify(int(entry.name))):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # ended since
                stat = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
                parents.setdefault(int(stat[1]), []).append(identity.pid)
    for pid in found:
        found.extend(parents.get(pid, []))
    return [identity for pid in found if (identity := identify(pid))]


def listening_addresses(pids: list[int]) -> set[str]:
    """Return the local addresses these processes listen on, as the kernel writes them."""
    links = []
    for pid in pids:
        # The parsers' sandbox is closed even to its own user; it may open no socket at all.
        with contextlib.suppress(PermissionError, FileNotFoundError):
            for link in list(Path(f"/proc/{pid}/fd").iterdir()):
                with contextlib.suppress(FileNotFoundError):  # closed since it was listed
                    links.append(str(link.readlink()))
    sockets = {link for link in links if link.startswith("socket:")}
    assert len(sockets) > 10, "the look saw too little"  # helpers of the parsers have none
    addresses = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and f"socket:[{fields[9]}]" in sockets:
                addresses.add(fields[1].partition(":")[0])
    return addresses


def batches(stack: Stack) -> list[dict[str, object]]:
    request = urllib.request.Request(
        f"{stack.url}/api/v1/batches",
        headers={"Authorization": f"Bearer {access_token(stack.account, stack.provisioned)}"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return list(json.load(answer)["batches"])


def answers(stack: Stack) -> bool:
    """Whether the web process answers; it needs a moment after its start."""
    try:
        batches(stack)
    except urllib.error.URLError:
        return False
    return True


def test_everything_listens_on_loopback_only(stack: Stack) -> None:
    loopback = "0100007F"

    assert listening_addresses([one.pid for one in everything(stack)]) == {loopback}


def test_secrets_are_readable_by_the_owner_only(stack: Stack) -> None:
    folder = stack.data_dir / "secrets"

    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        "aws_secret": 0o600,
        "environment": 0o600,
        "password": 0o600,
        "postgres_password": 0o600,
        "sealing_pair": 0o600,
        "session_secret": 0o600,
        "webhook_secret": 0o600,
    }


def test_the_worker_is_told_nothing_of_the_database(stack: Stack) -> None:
    environment = Path(f"/proc/{stack.pid('worker')}/environ").read_bytes()

    assert b"WEBHOOK_SECRETS=" in environment
    assert b"DATABASE_URL=" not in environment
    assert b"SESSION_SECRET=" not in environment
    assert b"SEALING_PRIVATE_KEYS=" in environment


def test_only_the_worker_is_told_the_key_that_opens_passwords(stack: Stack) -> None:
    for process in ("web", "scheduler"):
        environment = Path(f"/proc/{stack.pid(process)}/environ").read_bytes()
        assert b"SEALING_PRIVATE_KEYS" not in environment


@pytest.mark.parametrize("process", ["web", "scheduler", "worker"])
def test_a_killed_process_is_started_again(stack: Stack, process: str) -> None:
    old = stack.kill(process)

    assert wait_until(lambda: stack.pid(process) not in (None, old), 15)
    assert wait_until(lambda: answers(stack), 15)


def test_postgres_and_the_emulator_are_started_again_too(own: Path) -> None:
    stack = Stack(own, processes=())
    stack.start()
    for name in ("postgres", "aws"):
        before = stack.identities()[name]
        os.kill(before.pid, signal.SIGKILL)

        def came_back(name: str = name, before: Identity = before) -> bool:
            return stack.identities().get(name) not in (None, before)

        assert wait_until(came_back, 20)
    with psycopg2.connect(stack.database_url) as connection:
        assert connection.status
    connection.close()
    stack.stop()


def test_a_second_start_finds_the_earlier_data_and_user(own: Path) -> None:
    first = Stack(own, processes=("web",))
    first.start()
    assert import_sample(first) is True
    assert import_sample(first) is False
    processes = everything(first)
    first.stop()

    assert not any(is_same(process) for process in processes)
    second = Stack(own, processes=("web",))
    second.start()
    assert second.provisioned == first.provisioned
    assert len(batches(second)) == 1
    assert not second.services.was_killed
    second.stop()


def test_a_start_after_the_death_of_everything_finishes_what_was_unfinished(own: Path) -> None:
    first = Stack(own, processes=("web", "scheduler"))
    first.start()
    import_sample(first)
    # Nobody takes the message: it is in flight when all of this dies.
    assert wait_until(lambda: '"message_sent"' in (own / "logs" / "scheduler.log").read_text(), 15)
    first.supervisor.watch = lambda: None  # type: ignore[method-assign]
    first.services.watch = lambda: False  # type: ignore[method-assign]
    for process in everything(first):
        os.kill(process.pid, signal.SIGKILL)
    first._claim.release()

    second = Stack(own)
    second.start()

    assert second.services.was_killed
    assert second.provisioned == first.provisioned
    assert wait_until(lambda: [batch["status"] for batch in batches(second)] == ["1"], 30)
    second.stop()
    first.stop()


def test_a_second_stack_on_the_same_directory_is_refused_in_a_sentence(stack: Stack) -> None:
    with pytest.raises(LocalError) as refusal:
        Stack(stack.data_dir).start()

    assert str(refusal.value).startswith(f"Torikomi already runs at {stack.url} on")
    assert read_run(stack.data_dir)["web_url"] == stack.url


def test_a_taken_port_is_refused_in_a_sentence(stack: Stack, own: Path) -> None:
    with pytest.raises(LocalError) as refusal:
        Stack(own, stack.port).start()

    assert str(refusal.value) == (
        f"Port {stack.port} is taken by another program: stop that one, "
        "or choose another port with PORT=8001."
    )

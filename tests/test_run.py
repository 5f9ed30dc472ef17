"""run.py and its commands, as a person meets them."""

import ast
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import run
from local.claim import is_running, read_run
from local.processes import Identity, free_port, is_same, wait_until

ROOT = Path(run.__file__).parent
STOP_SECONDS = 20


def surroundings(data: Path, **variables: str) -> dict[str, str]:
    """Return the environment without what other tests have set for their own servers."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {**ours, "TORIKOMI_DATA": str(data), **variables}


def local(command: str, data: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run one command of the product, given as one line, to its end."""
    return subprocess.run(
        [sys.executable, "-m", "local", *command.split()],
        cwd=ROOT,
        env=surroundings(data, **variables),
        capture_output=True,
        text=True,
        timeout=60,
    )


def is_one_sentence(done: subprocess.CompletedProcess[str]) -> bool:
    """Say whether a command failed as it should: status 1 and a single line that ends well."""
    lines = done.stderr.splitlines()
    return done.returncode == 1 and len(lines) == 1 and lines[0].endswith((".", "!"))


class Running:
    """`run` in its own process group, like one started from a terminal."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = free_port()
        self.output = data.with_suffix(".out")
        with self.output.open("wb") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "local", "run"],
                cwd=ROOT,
                env=surroundings(data, PORT=str(self.port)),
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        assert wait_until(lambda: "準備ができました" in self.said() or self.ended(), 150)
        assert not self.ended(), self.said()

    def said(self) -> str:
        return self.output.read_text(encoding="utf-8")

    def ended(self) -> bool:
        return self.process.poll() is not None

    def children(self) -> list[Identity]:
        rows = json.loads((self.data / "processes.json").read_text(encoding="utf-8"))
        return [Identity(**row) for row in rows.values()]


@pytest.fixture(scope="module")
def shared(server_dir: Path) -> Iterator[Running]:
    """One for the tests that leave it as it is."""
    started = Running(server_dir / "run shared 取込")
    yield started
    started.process.send_signal(signal.SIGTERM)
    assert started.process.wait(STOP_SECONDS) == 0


@pytest.fixture
def running(server_dir: Path, tmp_path: Path) -> Iterator[Running]:
    """One for a test that ends it."""
    started = Running(server_dir / f"run {tmp_path.name} 取込")
    yield started
    started.process.send_signal(signal.SIGTERM)
    started.process.wait(STOP_SECONDS)


def test_it_says_where_it_is_and_how_to_sign_in_and_hands_out_a_token(shared: Running) -> None:
    address = f"http://127.0.0.1:{shared.port}"
    lines = shared.said().splitlines()
    assert 3 <= len(lines) <= 4
    assert re.search(rf"{address} — sign in as demo with \S+", lines[1])
    assert address in lines[2]
    assert "/metrics" in lines[-1]

    token = local("token", shared.data)

    assert (token.returncode, token.stderr) == (0, "")
    assert re.fullmatch(r"[\w-]+\.[\w-]+\.[\w-]+\n", token.stdout)
    request = urllib.request.Request(
        f"{address}/api/v1/batches", headers={"Authorization": f"Bearer {token.stdout.strip()}"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert len(json.load(answer)["batches"]) == 1


def test_the_operators_commands_work_on_the_running_stack(shared: Running) -> None:
    done = local("operate imports list --state completed --json", shared.data)

    assert (done.returncode, done.stderr) == (0, "")
    assert [each["file_name"] for each in json.loads(done.stdout)["imports"]] == ["welcome.md"]
    kept = shared.data / "secrets" / "environment"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert local("operate imports explain nobody", shared.data).returncode == 1


def test_without_a_running_stack_there_is_nothing_to_operate(tmp_path: Path) -> None:
    done = local("operate doctor", tmp_path)

    assert is_one_sentence(done)
    assert "start it with `python3 run.py`" in done.stderr


def test_a_second_start_is_refused_in_a_sentence_and_harms_nothing(shared: Running) -> None:
    second = local("run", shared.data, PORT=str(shared.port))

    assert is_one_sentence(second), second.stderr
    assert f"already runs at http://127.0.0.1:{shared.port}" in second.stderr
    assert all(is_same(child) for child in shared.children())


def test_impatient_ctrl_c_from_a_terminal_stops_everything_in_order(running: Running) -> None:
    children = running.children()
    assert len(children) == 5

    # A terminal sends it to the whole process group, and people press it more than once.
    for _ in range(3):
        os.killpg(running.process.pid, signal.SIGINT)

    assert running.process.wait(STOP_SECONDS) == 0
    assert not any(is_same(child) for child in children)
    assert "Traceback" not in running.said()
    assert not is_running(running.data)
    assert not (running.data / "running").exists(), "the stop was not clean"


def test_a_killed_starter_leaves_no_orphans_and_the_next_start_goes_on(running: Running) -> None:
    children = running.children()
    running.process.kill()
    running.process.wait()

    assert wait_until(lambda: not any(is_same(child) for child in children), STOP_SECONDS)
    again = Running(running.data)
    again.process.send_signal(signal.SIGTERM)
    assert again.process.wait(STOP_SECONDS) == 0
    assert (running.data / "logs" / "resume.log").exists()


def test_a_token_without_a_running_stack_is_refused_in_a_sentence(tmp_path: Path) -> None:
    done = local("token", tmp_path)

    assert is_one_sentence(done)
    assert "start it with `python3 run.py`" in done.stderr
    assert done.stdout == ""
    assert read_run(tmp_path) == {}


def test_a_data_directory_that_cannot_be_written_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    done = local("run", tmp_path / "file" / "data")

    assert is_one_sentence(done), done.stderr
    assert "TORIKOMI_DATA" in done.stderr


def test_a_taken_port_is_refused_in_a_sentence(server_dir: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        done = local("run", server_dir / "taken", PORT=str(port))

    assert is_one_sentence(done), done.stderr
    assert f"Port {port} is taken" in done.stderr


def test_a_port_that_is_no_port_is_refused_in_a_sentence(tmp_path: Path) -> None:
    done = local("run", tmp_path, PORT="http")

    assert is_one_sentence(done), done.stderr
    assert "PORT=http" in done.stderr


def bootstrap(prepare: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Call run.main() in a fresh interpreter after changing what it finds there."""
    code = f"import sys, pathlib, run\n{prepare}\nsys.exit(run.main({list(arguments)!r}))"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )


def test_an_old_python_is_told_so_in_a_sentence() -> None:
    done = bootstrap("run.NEEDED = (99, 0)")

    assert is_one_sentence(done), done.stderr
    assert "needs Python 3.11 or newer and this is 3." in done.stderr


def test_run_py_parses_on_python_3_8() -> None:
    source = Path(run.__file__).read_text(encoding="utf-8")

    assert ast.parse(source, feature_version=(3, 8)).body


def test_a_python_without_venv_is_told_which_package_brings_it(tmp_path: Path) -> None:
    done = bootstrap(
        f"sys.modules['ensurepip'] = None; run.VENV = pathlib.Path({str(tmp_path / 'v')!r})"
    )

    assert is_one_sentence(done), done.stderr
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"apt install python{version}-venv" in done.stderr


def test_a_directory_of_somebody_else_in_the_place_of_the_venv_is_left_alone(
    tmp_path: Path,
) -> None:
    (tmp_path / "kept").touch()

    done = bootstrap(f"run.VENV = pathlib.Path({str(tmp_path)!r})")

    assert is_one_sentence(done), done.stderr
    assert (tmp_path / "kept").exists()


def test_an_index_that_does_not_answer_is_told_in_a_sentence(tmp_path: Path) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}/simple"
    lock = tmp_path / "lock.txt"
    lock.write_text(f"torikomi-nothing==1 --hash=sha256:{'0' * 64}\n")
    done = bootstrap(
        "import os\n"
        "for name in [n for n in os.environ if n.startswith(('PIP_', 'UV_'))]:\n"
        "    del os.environ[name]\n"
        f"os.environ.update(PIP_CONFIG_FILE=os.devnull, PIP_INDEX_URL={nowhere!r}, PIP_RETRIES='0',"
        " PIP_NO_CACHE_DIR='1')\n"
        "run.VENV = pathlib.Path(sys.prefix); run.check_place = run.make_venv = lambda: None\n"
        f"run.set_up = lambda kind: run.install(pathlib.Path({str(lock)!r}))"
    )

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("The dependencies could not be installed")


def test_uv_is_told_what_pip_is_told() -> None:
    options = run.uv_options(
        {
            "index-url": "https://a/simple",
            "extra-index-url": "https://b\nfile:///c",
            "no-index": "0",
        }
    )

    assert options[2:] == [
        "--index-url",
        "https://a/simple",
        "--extra-index-url",
        "https://b",
        "--extra-index-url",
        "file:///c",
    ]


def test_an_unknown_command_is_answered_with_the_usage() -> None:
    done = bootstrap("", "start")

    assert done.returncode == 2
    assert done.stderr.startswith("usage: python3 run.py")


def test_the_locks_name_no_registry_and_hash_everything() -> None:
    for lock in (ROOT / "local" / "locks").glob("*.txt"):
        text = lock.read_text(encoding="utf-8")
        assert "://" not in text
        assert not re.findall(r"^[\w.\[\]-]+==\S+(?!.*\\$).*$", text, flags=re.M)


def test_a_missing_browser_fails_the_tests_in_a_sentence(tmp_path: Path) -> None:
    done = local("test", tmp_path, PATH=str(Path(sys.executable).parent))

    assert is_one_sentence(done), done.stderr
    assert "The tests need chromium" in done.stderr

"""The house rules that a machine can hold; who imports whom is import-linter's to check."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.messages import ACTORS
from jobs.settings import WorkerSettings
from models.states import ARROWS, ChildStatus, ImportType

ROOT = Path(__file__).parents[1]
ROOMS = ("web", "jobs", "models", "scheduler", "local")
TRACKED = subprocess.run(
    ["git", "ls-files", "-z", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.split("\0")
SOURCES = [ROOT / name for name in TRACKED if name and (ROOT / name).exists()]
PRODUCT = [path for path in SOURCES if path.relative_to(ROOT).parts[0] in (*ROOMS, "app.py")]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_a_worker_loads_no_database_driver_and_no_web_framework():
    probe = (
        "import sys, jobs.worker.boot, jobs.worker.actors, jobs.parsing;"
        "print(sorted({'peewee', 'playhouse', 'psycopg2', 'flask', 'apscheduler', 'models', 'web'}"
        " & {name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_scheduler_loads_no_web_framework():
    probe = (
        "import sys, scheduler.__main__;"
        "print(sorted({'flask', 'werkzeug', 'jobs.worker'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_worker_settings_know_no_database():
    assert not [name for name in WorkerSettings.model_fields if "database" in name or "dsn" in name]


def test_the_worker_of_the_procfile_runs_without_the_dsn():
    lines = dict(
        line.split(": ", 1) for line in (ROOT / "Procfile").read_text("utf-8").splitlines() if line
    )
    assert set(lines) == {"release", "web", "scheduler", "worker"}
    assert "env -u DATABASE_URL" in lines["worker"]
    assert all("exec " in command for name, command in lines.items() if name != "release")


def test_queues_types_and_child_tables_carry_the_same_names_everywhere():
    types = {str(each) for each in ImportType}
    default_queues = WorkerSettings.model_fields["worker_queues"].default.split(",")
    assert set(ACTORS) == types == set(default_queues)


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_files_stay_readable_in_one_sitting(path):
    limit = 500 if relative(path).startswith(("tests/", "benchmarks/")) else 300
    assert len(path.read_text("utf-8").splitlines()) <= limit


def test_no_file_has_a_name_that_says_nothing():
    names = {path.name for path in SOURCES}
    assert not names & {"utils.py", "helpers.py", "common.py", "misc.py"}


@pytest.mark.parametrize("path", PRODUCT, ids=relative)
def test_the_environment_is_read_by_settings_only(path):
    text = path.read_text("utf-8")
    reads = "os.environ" in text or "os.getenv" in text
    assert not reads or relative(path).startswith("local/"), "local/ writes it for the others"


def test_only_transitions_write_a_childs_status():
    writers = [
        relative(path)
        for path in PRODUCT
        if re.search(r"SET\s+status\s*=|UPDATE \{[\w.]+\} SET status", path.read_text("utf-8"))
    ]
    assert writers == ["models/transitions.py"]


def test_no_counter_and_no_derived_status_is_stored():
    schema = (ROOT / "migrations" / "schema.sql").read_text("utf-8")
    batch = schema.split("CREATE TABLE public.batch (")[1].split(");")[0]
    assert "status" not in batch
    assert "count" not in batch


def test_every_arrow_leaves_and_enters_a_stored_status():
    assert all(start in set(ChildStatus) and end in set(ChildStatus) for start, end, _ in ARROWS)
    left = {start for start, _, _ in ARROWS}
    assert ChildStatus.COMPLETED not in left, "completed is final"


@pytest.mark.parametrize("path", PRODUCT, ids=relative)
def test_no_import_hides_in_a_function_and_no_error_is_swallowed(path):
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"bare except at line {node.lineno}"
            broad = isinstance(node.type, ast.Name) and node.type.id == "Exception"
            silent = all(isinstance(child, ast.Pass) for child in node.body)
            assert not (broad and silent), f"swallowed exception at line {node.lineno}"


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_nothing_is_mocked_skipped_or_expected_to_fail(path):
    if path == Path(__file__):
        return
    text = path.read_text("utf-8")
    banned = ("unittest.mock", "pytest_mock", "MagicMock", "pytest.skip", "mark.skip", "xfail")
    assert not [word for word in banned if word in text]


def test_the_project_speaks_of_itself_alone():
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    machine = re.compile(r"/work/|/root/|/tmp/v/|\.library|pypi\.org/simple|files\.pythonhosted")
    found = []
    for name in filter(None, tracked):
        path = ROOT / name
        if path == Path(__file__) or not path.exists():
            continue
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        if machine.search(text):
            found.append(name)
    assert found == []

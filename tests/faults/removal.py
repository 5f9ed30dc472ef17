"""A pytest plugin that runs tests with one guard removed after the other, all in one process.

A mutated module is compiled anew and its code put into the functions that everybody holds already;
a unique key is dropped from the session's database and put back.
"""

import ast
import inspect
import signal
import sys
import threading
import types
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from models import database
from tests.faults.guards import ROOT, Guard, Mutant, UniqueKey

_TEST_SECONDS = 60
_QUIET_TRIES = 5
_MODELS = str(ROOT / "models")


class Removal:
    """Runs each guard's own test, and all that could tell when that one does not (any more)."""

    def __init__(
        self,
        guards: Mapping[str, Guard],
        own: Mapping[str, str],
        tell: Callable[[str, str | None], None],
    ) -> None:
        self._guards, self._own, self._tell = guards, own, tell
        self._callers: dict[tuple[str, int], set[str]] = {}
        #: name of a guard → the test that turns red without it, or None
        self.killers: dict[str, str | None] = {}
        self.broken: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        order = list(session.items)
        after = dict(zip(items, [*order[1:], order[0]], strict=True))

        def red(nodeid: str) -> bool:
            return _is_red(items[nodeid], after[nodeid])

        honest = next(i.nodeid for i in order if "database" in getattr(i, "fixturenames", ()))
        for name, guard in self._guards.items():
            # Makes the database, and outlives what a red test has left behind.
            if all(red(honest) for _ in range(_QUIET_TRIES)):
                self.broken.append(honest)
                return True
            own = self._own.get(name)
            with removed(guard):
                killer = own if own in items and red(own) else None
            if killer is None:
                candidates = self._candidates(guard, list(items), red)
                if self.broken:
                    return True
                with removed(guard):
                    killer = next(filter(red, candidates), None)
            self.killers[name] = killer
            self._tell(name, killer)
        return True

    def _candidates(
        self, guard: Guard, nodeids: list[str], red: Callable[[str], bool]
    ) -> list[str]:
        """Return the tests that come by the guard; the honest product is tried out before."""
        if not self._callers:
            self._callers = defaultdict(set)
            for nodeid in nodeids:
                with _calls() as called:
                    if red(nodeid):
                        self.broken.append(nodeid)
                for place in called:
                    self._callers[place].add(nodeid)
        if isinstance(guard, UniqueKey):  # the golden schema tells of those without an own test
            return sorted(nodeids, key=lambda nodeid: "test_schema" not in nodeid)
        if (begin := _function_at(guard)) is None:
            return nodeids
        callers = self._callers.get((str(guard.path), begin), set())
        return [nodeid for nodeid in nodeids if nodeid in callers]


def _is_red(item: pytest.Item, following: pytest.Item) -> bool:
    def give_up(*_: object) -> None:
        raise TimeoutError(f"more than {_TEST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, _TEST_SECONDS)
    try:
        # What the last item left of its module goes; another one follows, so that this one goes.
        item.session._setupstate.teardown_exact(item)
        return any(r.failed for r in runtestprotocol(item, log=False, nextitem=following))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _calls() -> Iterator[set[tuple[str, int]]]:
    """Note which functions of `models` are called, in every thread."""
    called: set[tuple[str, int]] = set()

    def note(frame: types.FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_MODELS):
            called.add((code.co_filename, code.co_firstlineno))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _function_at(mutant: Mutant) -> int | None:
    """Return the first line of the outermost function around the guard, decorators included."""
    tree = ast.parse(mutant.path.read_bytes())
    outer = [*tree.body, *(n for c in tree.body if isinstance(c, ast.ClassDef) for n in c.body)]
    for node in outer:
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first <= mutant.line <= (node.end_lineno or 0):
                return first
    return None


@contextmanager
def removed(guard: Guard) -> Iterator[None]:
    """Do without the guard for a while."""
    with _without_key(guard) if isinstance(guard, UniqueKey) else _without_code(guard):
        yield


@contextmanager
def _without_code(mutant: Mutant) -> Iterator[None]:
    module = sys.modules[mutant.module]
    fresh = types.ModuleType(module.__name__)
    exec(compile(mutant.mutated(), str(mutant.path), "exec"), fresh.__dict__)  # noqa: S102
    undo: list[Callable[[], None]] = []
    for name, new in list(vars(fresh).items()):
        _replace(vars(module).get(name), new, module.__name__, undo)
    try:
        yield
    finally:
        for each in undo:
            each()


def _replace(old: Any, new: Any, module: str, undo: list[Callable[[], None]]) -> None:
    if isinstance(old, str) and old != new and not isinstance(new, type):
        for holder in [m for m in sys.modules.values() if isinstance(m, types.ModuleType)]:
            for name in [n for n, value in vars(holder).items() if value is old]:
                if name.isidentifier() and not name.startswith("__"):
                    setattr(holder, name, new)
                    undo.append(lambda h=holder, n=name: setattr(h, n, old))
    elif isinstance(old, type) and getattr(old, "__module__", "") == module:
        for name, method in vars(new).items():
            _replace(vars(old).get(name), method, module, undo)
    elif isinstance(old, property):
        _replace(old.fget, new.fget, module, undo)
    elif callable(old) and getattr(old, "__module__", "") == module:
        honest, mutated = inspect.unwrap(old), inspect.unwrap(new)
        if isinstance(honest, types.FunctionType):
            code = honest.__code__
            honest.__code__ = mutated.__code__
            undo.append(lambda: setattr(honest, "__code__", code))


#: A key of a table, and then the foreign keys that stand on its index.
_KEYS = """SELECT k.conrelid::regclass::text AS holder, k.conname,
                  pg_get_constraintdef(k.oid) AS text
           FROM pg_constraint own JOIN pg_constraint k ON k.conindid = own.conindid
           WHERE own.conrelid = %s::regclass AND own.contype IN ('p', 'u')
             AND pg_get_constraintdef(own.oid) LIKE %s
           ORDER BY k.contype = 'f'"""


@contextmanager
def _without_key(key: UniqueKey) -> Iterator[None]:
    """Drop a unique key, and the foreign keys on it; each test leaves the tables empty."""
    with database.connection():
        keys = database.fetch(_KEYS, (key.table, f"%({key.columns})"))
        database.execute(f"ALTER TABLE {key.table} DROP CONSTRAINT {keys[0]['conname']} CASCADE")
    try:
        yield
    finally:
        with database.connection():
            for each in keys:
                text = f"ADD CONSTRAINT {each['conname']} {each['text']}"
                database.execute(f"ALTER TABLE {each['holder']} {text}")

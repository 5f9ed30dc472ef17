"""A seeded campaign: files come in all the time while everything is killed, stopped and cut.

    python -m tests.faults.campaign [--seconds 300] [--seed N]

Then all faults end, everything is drained, and the twelve invariants are checked by SQL. Prints the
seed and what it did; the exit code is 1 when something was lost, doubled or failed for no reason.
"""

import argparse
import json
import os
import random
import secrets
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg2

from tests.faults.product import PROCESSES, Product
from tests.faults.proxy import SLOW_DOWN, Rule

#: What a broken file may fail with.
FILE_CODES = frozenset({"file_corrupt", "type_mismatch", "file_encrypted"})
#: What a good file may fail with, when several faults meet: three claims or three runs were lost.
RULED_CODES = frozenset({"exhausted", "dead_lettered", "stalled"})
UPLOADERS = 2
DRAIN_SECONDS = 120
_SOON = (0.3, 2.5)


@dataclass
class Uploaded:
    """One file that somebody wants taken in, and what became of the wish."""

    name: str
    kind: str
    key: str
    content: bytes
    broken: bool
    import_id: str = ""
    cancelled: bool = False
    answers: Counter[str] = field(default_factory=Counter)


class Campaign:
    """Files and faults from one seed. Thread timing is not part of the seed."""

    def __init__(
        self,
        product: Product,
        seed: int,
        say: Callable[[str], None] = print,
        uploaders: int = UPLOADERS,
        drain_seconds: float = DRAIN_SECONDS,
    ) -> None:
        self.product, self.seed, self._say = product, seed, say
        self._uploaders, self._drain_seconds = uploaders, drain_seconds
        self.dice = random.Random(seed)
        self.uploads: list[Uploaded] = []
        self.problems: list[str] = []
        self.faults: Counter[str] = Counter()
        self._stop, self._given_up = threading.Event(), threading.Event()
        self._due: list[tuple[float, Callable[[], None]]] = []
        self._begun = time.monotonic()

    def run(self, seconds: float) -> list[str]:
        """Do it, and return what is wrong afterwards."""
        self._tell(f"seed {self.seed}, {seconds:.0f} s")
        self.product.renew()
        uploading = [
            threading.Thread(target=self._keep_uploading, args=(number,))
            for number in range(self._uploaders)
        ]
        for thread in uploading:
            thread.start()
        try:
            self._keep_breaking(time.monotonic() + seconds)
        finally:
            self._be_honest()
            self._stop.set()
            self._wait_for(uploading)
        self.product.drain(self._drain_seconds)
        return self._judge()

    def _wait_for(self, uploading: Sequence[threading.Thread]) -> None:
        """Let the uploaders finish their last file, which has no reason to fail any more."""
        deadline = time.monotonic() + DRAIN_SECONDS
        while any(thread.is_alive() for thread in uploading):
            if time.monotonic() > deadline:
                unanswered = [u for u in self.uploads if not u.import_id]
                self.problems.append(f"never answered: {unanswered}")
                self._given_up.set()
            self.product.age()
            time.sleep(0.2)

    # Files

    def _keep_uploading(self, number: int) -> None:
        dice = random.Random(f"{self.seed}-{number}")
        try:
            while not self._stop.is_set():
                upload = self._next(dice, number)
                self.uploads.append(upload)
                self._take_in(upload)
                self._afterwards(dice, upload)
        except Exception as error:  # the edge of a thread: told with the other problems
            self.problems.append(f"uploader {number}: {error!r}")
            raise

    def _next(self, dice: random.Random, number: int) -> Uploaded:
        count = sum(1 for upload in self.uploads)
        line = f"取込 {self.seed} {number} {count}\n"
        size = dice.choice([1, 20, 200, 2000, 20_000])
        suffix, content, kind = dice.choice(
            [
                ("txt", line * size, "imports"),
                ("md", f"# {line}\n- {line}" * min(size, 200), "imports"),
                ("csv", "名前,数\n" + f"{line.strip()},1\n" * min(size, 2000), "imports"),
                ("html", f"<h1>{line}</h1>" + f"<p>{line}</p>" * min(size, 200), "imports"),
                ("py", f'"""{line}"""\n\n\ndef f(a: int) -> int:\n    return a\n', "code2des"),
                ("pdf", f"%PDF-1.7\n{line}", "imports"),
            ]
        )
        name = f"{self.seed}-{number}-{count}.{suffix}"
        key = f'"{self.seed}-{number}-{count}-{secrets.token_hex(4)}"'
        return Uploaded(name, kind, key, content.encode(), broken=suffix == "pdf")

    def _take_in(self, upload: Uploaded) -> None:
        """Send the file, with its key, until it is answered 202."""
        while not self._given_up.is_set():
            try:
                answer = self._post(upload)
            except httpx.TransportError as error:
                upload.answers[type(error).__name__] += 1
                time.sleep(0.2)
                continue
            upload.answers[str(answer.status_code)] += 1
            if answer.status_code == 202:
                named = "import_id" if upload.kind == "imports" else "code2des_id"
                upload.import_id = answer.json()[named]
                return
            if answer.status_code not in (409, 503):
                self.problems.append(f"{upload.name}: answered {answer.status_code} {answer.text}")
            time.sleep(0.2)

    def _post(self, upload: Uploaded) -> httpx.Response:
        return self.product.api.post(
            f"/api/v1/{upload.kind}",
            files={"file": (upload.name, upload.content)},
            headers={"Idempotency-Key": upload.key},
        )

    def _afterwards(self, dice: random.Random, upload: Uploaded) -> None:
        """Sometimes ask for the same again, sometimes cancel."""
        what = dice.random()
        with suppress(httpx.TransportError):
            if what < 0.1:
                again = self._post(upload)
                if again.status_code == 202 and upload.import_id not in again.text:
                    self.problems.append(f"{upload.name}: its replay made another import")
            elif what < 0.2:
                path = f"/api/v1/{upload.kind}/{upload.import_id}/cancel"
                upload.cancelled = True
                self.product.api.post(path)
        time.sleep(dice.uniform(0, 0.2))

    # Faults

    def _keep_breaking(self, until: float) -> None:
        kinds: Sequence[tuple[int, Callable[[], str]]] = (
            (5, self._kill),
            (2, self._deploy),
            (3, self._stand_still),
            (3, self._cut),
            (2, self._end_sessions),
            (1, self._restart_postgres),
            (9, self._spoil_traffic),
            (1, self._second_scheduler),
        )
        weights, deeds = [weight for weight, _ in kinds], [deed for _, deed in kinds]
        while time.monotonic() < until:
            deed = self.dice.choices(deeds, weights)[0]
            told = deed()
            self.faults[deed.__name__.strip("_")] += 1
            self._tell(told)
            self._wait(self.dice.uniform(*_SOON))

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            for entry in [entry for entry in self._due if entry[0] <= now]:
                self._due.remove(entry)
                entry[1]()
            with suppress(psycopg2.Error):
                self.product.age()
            time.sleep(0.1)

    def _later(self, seconds: float, deed: Callable[[], None]) -> None:
        self._due.append((time.monotonic() + seconds, deed))

    def _start(self, name: str) -> None:
        if not self.product.alive(name):
            self.product.start(name, wait=False)

    def _kill(self) -> str:
        name = self.dice.choice(PROCESSES)
        if self.product.alive(name):
            self.product.kill(name)
        self._later(self.dice.uniform(0, 2), lambda: self._start(name))
        return f"killed {name}"

    def _deploy(self) -> str:
        name = self.dice.choice(PROCESSES)
        self.product.signal(name, signal.SIGTERM)
        self._later(3, lambda: self._replace(name))
        return f"asked {name} to stop"

    def _replace(self, name: str) -> None:
        if self.product.alive(name):
            self.product.kill(name)
        self._start(name)

    def _stand_still(self) -> str:
        name, seconds = self.dice.choice(PROCESSES), self.dice.uniform(0.5, 6)
        self.product.signal(name, signal.SIGSTOP)
        self._later(seconds, lambda: self.product.signal(name, signal.SIGCONT))
        return f"stopped {name} for {seconds:.1f} s"

    def _cut(self) -> str:
        number = self.dice.randrange(len(self.product.proxies))
        self.product.proxies[number].cut()
        return f"cut every connection of way {number}"

    def _end_sessions(self) -> str:
        with suppress(psycopg2.Error):
            self.product.sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = 'torikomi' AND pid <> pg_backend_pid()"
            )
        return "ended all sessions of PostgreSQL"

    def _restart_postgres(self) -> str:
        number = self.dice.choice([signal.SIGINT, signal.SIGKILL])
        pid = self.product.stack.pid("postgres")
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        return f"sent PostgreSQL {number.name}"

    def _second_scheduler(self) -> str:
        name = "scheduler:2"
        if self.product.alive(name):
            self.product.kill(name)
            return "killed the second scheduler"
        self.product.start(name, wait=False)
        return "started a second scheduler"

    def _spoil_traffic(self) -> str:
        proxies = {
            "web": (self.product.aws["web"], "^s3 "),
            "worker's S3": (self.product.aws["worker"], "^s3 "),
            "worker's SQS": (self.product.aws["worker"], "^sqs "),
            "scheduler's SQS": (self.product.aws["scheduler"], "^sqs SendMessageBatch"),
            "reports": (self.product.reports, "^web POST"),
            "clients": (self.product.door, "^web POST"),
            "web's COMMIT": (self.product.postgres["web"], "^sql COMMIT"),
            "scheduler's SQL": (self.product.postgres["scheduler"], "^sql (COMMIT|UPDATE)"),
        }
        where = self.dice.choice(list(proxies))
        proxy, match = proxies[where]
        faults = {
            "refused": {"refuse": True},
            "unanswered": {"drop_reply": True},
            "slow": {"delay_seconds": self.dice.uniform(0.5, 4)},
            "cut": {"cut_after": self.dice.randrange(1, 2000)},
        }
        if not match.startswith("^sql"):
            faults["answered 503"] = {"status": 503, "content": SLOW_DOWN}
        if where == "scheduler's SQS":
            faults["half denied"] = {"rewrite": _deny_half}
        what, times = self.dice.choice(list(faults)), self.dice.randrange(1, 5)
        rule: Rule = proxy.add(match, times=times, **faults[what])
        self._later(10, lambda: proxy.remove(rule))
        return f"{where} {what} {times} times"

    # The end

    def _be_honest(self) -> None:
        for proxy in self.product.proxies:
            proxy.clear()
        for name in (*PROCESSES, "scheduler:2"):
            if self.product.alive(name):
                self.product.kill(name)
        self.product.start(*PROCESSES)

    def _judge(self) -> list[str]:
        accepted = [upload.import_id for upload in self.uploads]
        found = [*self.problems]
        found += self.product.violations(accepted=accepted, only_accepted=True)
        rows = self.product.sql(
            """SELECT c.id, c.file_name, c.status, c.error_code, c.run, i.cancelled_at,
                      i.dispatch_attempts
               FROM (SELECT id, file_name, status, error_code, run FROM page_import UNION ALL
                     SELECT id, file_name, status, error_code, run FROM code2des) c
               JOIN batch_item i ON i.job_id = c.id"""
        )
        by_name = {upload.name: upload for upload in self.uploads}
        for row in rows:
            upload = by_name[row["file_name"]]
            if row["id"] != upload.import_id:
                found.append(f"I4 {row['id']}: {upload.name} was answered {upload.import_id}")
            if row["cancelled_at"] and not upload.cancelled:
                found.append(f"I1 {row['id']}: cancelled by nobody")
            if row["status"] == "failed" and not _is_ruled(upload, row):
                found.append(f"I1 {row['id']}: {upload.name} failed: {row['error_code']}")
        self._sum_up(rows)
        return found

    def _sum_up(self, rows: Sequence[dict[str, object]]) -> None:
        answers = sum((upload.answers for upload in self.uploads), Counter())
        ends = Counter(str("cancelled" if r["cancelled_at"] else r["status"]) for r in rows)
        runs = Counter(int(str(row["run"])) for row in rows)
        sends = sum(len(bodies) for bodies in self.product.sent.values())
        self._tell(f"faults {sum(self.faults.values())}: {dict(self.faults)}")
        self._tell(f"files {len(self.uploads)}, answers {dict(answers)}")
        reasons = self.product.sql(
            """SELECT detail, count(*) AS n FROM job_event
               WHERE event IN ('new_run', 'failed') GROUP BY detail"""
        )
        self._tell(f"new runs and failures { ({row['detail']: row['n'] for row in reasons}) }")
        self._tell(f"ends {dict(ends)}, runs {dict(runs)}, sends {sends}")

    def _tell(self, text: str) -> None:
        self._say(f"{time.monotonic() - self._begun:7.1f} {text}")


def _is_ruled(upload: Uploaded, row: dict[str, Any]) -> bool:
    """Say whether the rules of the specification, and nothing else, let this import fail."""
    if upload.broken and row["error_code"] in FILE_CODES:
        return True
    spent = row["dispatch_attempts"] if row["error_code"] == "exhausted" else row["run"]
    return row["error_code"] in RULED_CODES and spent >= 3


def _deny_half(reply: bytes) -> bytes:
    """Rewrite the answer of SendMessageBatch: some entries failed, some are not named at all."""
    taken = json.loads(reply).get("Successful", [])
    failed = [
        {"Id": entry["Id"], "Code": "InternalError", "SenderFault": False} for entry in taken[::3]
    ]
    return json.dumps({"Successful": taken[2::3], "Failed": failed}).encode()


def main() -> int:
    """Run one campaign on an installation of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--uploaders", type=int, default=UPLOADERS)
    parser.add_argument("--drain", type=float, default=DRAIN_SECONDS, help="seconds at the end")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="torikomi-campaign-"))
    directory.chmod(0o711)
    with Product(directory / "product") as product:
        campaign = Campaign(
            product,
            options.seed,
            uploaders=options.uploaders,
            drain_seconds=options.drain,
        )
        found = campaign.run(options.seconds)
    directory.rmdir()
    print(f"seed {options.seed}: {len(found)} violations", *found, sep="\n")  # noqa: T201
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""The twelve invariants of the product, checked by SQL and a listing of the bucket.

`violations` returns one sentence for each thing that is wrong, so an empty list is the proof. It
looks at tables as an outsider does; the product's own code is asked only where the question is
whether its answer fits the rows (I9).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from jobs.messages import JobMessage, encode_message
from models.ids import is_id, uuid7_time
from models.states import batch_summary, item_state

Look = Callable[[str], list[dict[str, Any]]]

TERMINAL = frozenset({"completed", "failed", "cancelled"})
#: What machines sign their writes with; everybody else is a subject.
COMPONENTS = frozenset({"web", "scheduler", "worker", "operator"})
MACHINES = frozenset({"scheduler", "worker"})
#: The ways out of a terminal state, each a person's: back to work, or out of sight.
BY_A_PERSON = frozenset({"redriven", "retried", "deleted"})
ORPHAN_AGE = timedelta(hours=24)
MAX_CLAIMS = 3
#: The installation's own witness of claims: one row for each, with the run it was made in.
CLAIM_WITNESS = """
    CREATE TABLE IF NOT EXISTS seen_claim (child_id text NOT NULL, run integer);
    CREATE OR REPLACE FUNCTION see_claim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO seen_claim
        SELECT id, run FROM (SELECT id, run FROM page_import UNION ALL
                             SELECT id, run FROM code2des) c WHERE id = NEW.job_id;
        RETURN NULL;
    END $$;
    CREATE OR REPLACE TRIGGER see_claim AFTER UPDATE OF dispatch_attempts ON batch_item
        FOR EACH ROW WHEN (NEW.dispatch_attempts > OLD.dispatch_attempts)
        EXECUTE FUNCTION see_claim();"""
CLAIMS_SEEN = "SELECT child_id, run, count(*) AS claims FROM seen_claim GROUP BY child_id, run"
#: Events that begin a run.
BEGINS = frozenset({"accepted", "new_run", "resumed", "redriven", "retried"})

_RESULTS = {
    "page_import": ("page", "page_import_id"),
    "code2des": ("code2des_design", "code2des_id"),
}


@dataclass
class Witness:
    """What the world outside saw: answered uploads, messages taken by SQS, objects in S3."""

    accepted: Collection[str] = ()
    #: no row but those of `accepted` may exist
    only_accepted: bool = False
    #: child → every body that SQS took for it
    sent: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: child → how many sends there were; a request that the client repeats is one
    sends: Mapping[str, int] = field(default_factory=dict)
    #: rows of CLAIMS_SEEN, or None where nobody counted: then three a run is what sends may be
    claims: Sequence[Mapping[str, Any]] | None = None
    #: children that had no committed row when their message went out
    sent_too_early: Collection[str] = ()
    #: keys of the bucket, or None when nobody looked
    objects: Iterable[str] | None = None
    secrets: Collection[str] = ()


@dataclass(frozen=True)
class Row:
    """One import as its tables tell it."""

    item: dict[str, Any]
    child: dict[str, Any]
    batch: dict[str, Any]
    state: str
    results: list[dict[str, Any]]
    events: list[dict[str, Any]]

    @property
    def id(self) -> str:
        return str(self.item["job_id"])


def violations(
    look: Look,
    witness: Witness | None = None,
    *,
    drained: bool,
    rows: Mapping[str, Row] | None = None,
) -> list[str]:
    """Check everything; `drained` says that nothing may be unfinished any more.

    `rows` are those of `read_rows` when somebody has read them already.
    """
    witness = witness or Witness()
    rows = read_rows(look) if rows is None else rows
    found = list(_whole(look, rows, witness, drained))
    for row in rows.values():
        for check in (_i1, _i2, _i3, _i7, _i8, _i10, _i12):
            found += [f"{check.__name__[1:].upper()} {row.id}: {text}" for text in check(row)]
        if drained and row.state not in TERMINAL:
            found.append(f"I1 {row.id}: is {row.state} after everything was drained: {row.child}")
        if any(secret in str(row.child.get("error_message")) for secret in witness.secrets):
            found.append(f"I8 {row.id}: its message shows a secret")
    return found


def read_rows(look: Look) -> dict[str, Row]:
    """Read every import with its results and its history, by child ID."""
    children, results = {}, defaultdict(list)
    for table, (result_table, column) in _RESULTS.items():
        children.update({c["id"]: {**c, "type": table} for c in look(f"SELECT * FROM {table}")})
        for result in look(f"SELECT * FROM {result_table} ORDER BY 1, 2"):
            results[result[column]].append(result)
    events = defaultdict(list)
    for event in look("SELECT * FROM job_event ORDER BY created_at, id"):
        events[event["child_id"]].append(event)
    batches = {batch["id"]: batch for batch in look("SELECT * FROM batch")}
    rows = {}
    for item in look("SELECT * FROM batch_item"):
        child = children.get(item["job_id"], {})
        child_id = str(item["job_id"])
        rows[child_id] = Row(
            item=item,
            child=child,
            batch=batches[item["batch_id"]],
            state=_state(item, child),
            results=results[child_id],
            events=events[child_id],
        )
    return rows


def _state(item: Mapping[str, Any], child: Mapping[str, Any]) -> str:
    """Derive an item's state once more, by hand: the specification's three lines."""
    if item["cancelled_at"] is not None:
        return "cancelled"
    if item["error_message"] is not None or child.get("status") == "failed":
        return "failed"
    return str(child.get("status"))


def _whole(look: Look, rows: Mapping[str, Row], witness: Witness, drained: bool) -> Iterator[str]:
    """Check what concerns more than one row."""
    for child_id in witness.accepted:
        if child_id not in rows:
            yield f"I1 {child_id}: was answered 202 and has no row"
    if witness.only_accepted:
        for child_id in rows.keys() - set(witness.accepted):
            yield f"I4 {child_id}: has a row, but no upload was answered with it"
    for table in _RESULTS:
        for child in look(f"SELECT id FROM {table}"):
            if child["id"] not in rows:
                yield f"I1 {child['id']}: a child without an outbox row"
    yield from _i5_i6(rows, witness)
    yield from _i7_sends(rows, witness)
    yield from _i9(look, rows)
    if witness.objects is not None:
        yield from _i11(rows, list(witness.objects), drained)


def _i1(row: Row) -> Iterator[str]:
    if not row.child:
        yield "an outbox row without a child"
    ended = row.child.get("completed_at") is not None
    if ended != (row.child.get("status") in {"completed", "failed"}):
        yield f"completed_at does not fit status {row.child.get('status')}"


def _i2(row: Row) -> Iterator[str]:
    completed = row.child.get("status") == "completed"
    if (row.child.get("result_sha256") is not None) != completed:
        yield "a result digest without completion, or the other way round"
    if not completed:
        if row.results:
            yield f"{len(row.results)} result rows of an import that is {row.state}"
    elif row.child.get("result_expired_at") is not None:
        if row.results:
            yield "an expired result that is still there"
    elif row.child["type"] == "code2des":
        if len(row.results) != 1:
            yield f"completed with {len(row.results)} designs"
    elif [page["number"] for page in row.results] != list(range(1, row.child["page_count"] + 1)):
        numbers = [page["number"] for page in row.results]
        yield f"completed with pages {numbers} of {row.child['page_count']}"


def _i3(row: Row) -> Iterator[str]:
    """A terminal state is entered once, and left by a person alone."""
    ends = [e for e in row.events if e["to_status"] in TERMINAL]
    left = [e for e in row.events if e["from_status"] in TERMINAL and e["event"] != "deleted"]
    if any(e["event"] not in BY_A_PERSON or e["component"] in MACHINES for e in left):
        yield f"a terminal state was left by a machine: {_told(row.events)}"
    if len(ends) - len(left) != (row.state in TERMINAL):
        yield f"{len(ends)} ends and {len(left)} redrives: {_told(row.events)}"


def _i7(row: Row) -> Iterator[str]:
    if not 0 <= row.item["dispatch_attempts"] <= MAX_CLAIMS:
        yield f"claimed {row.item['dispatch_attempts']} times in one run"
    begun = sum(1 for e in row.events if e["event"] in BEGINS)
    if row.child and row.child["run"] != begun:
        yield f"run {row.child['run']}, but the history began {begun}"


def _i8(row: Row) -> Iterator[str]:
    if row.state == "failed" and not (row.child["error_message"] and row.child["error_code"]):
        yield "failed without saying why"
    if row.state == "completed" and (row.child["error_message"] or row.child["error_code"]):
        yield f"completed with error {row.child['error_code']}"


def _i10(row: Row) -> Iterator[str]:
    owner = row.batch["created_by"]
    owners = {each["created_by"] for each in (row.item, row.child, *row.results, *row.events)}
    if owners != {owner}:
        yield f"rows of one import belong to {owners}"
    if row.child and row.child["batch_id"] != row.item["batch_id"]:
        yield "child and item are of two batches"
    if row.child and row.child["type"] != row.batch["type"]:
        yield "child and batch are of two types"


def _i12(row: Row) -> Iterator[str]:
    """Every transition has its event: in time order they lead from nothing to the state of now."""
    at: str | None = None
    for event in row.events:
        if event["event"] == "deleted":
            continue  # out of sight, which is no state
        if event["from_status"] != at:
            yield f"the history does not hang together: {_told(row.events)}"
            return
        at = event["to_status"]
        if event["component"] not in COMPONENTS:
            yield f"{event['event']} by unknown component {event['component']}"
        if not event["updated_by"]:
            yield f"{event['event']} has no actor"
    if at != row.state:
        yield f"the history ends in {at}, the import is {row.state}: {_told(row.events)}"


def _told(events: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(
        f"{e['event']} {e['from_status']}→{e['to_status']} (run {e['run']}, {e['updated_by']},"
        f" {e['created_at']:%H:%M:%S.%f}, {e['detail']})"
        for e in events
    )


def _i5_i6(rows: Mapping[str, Row], witness: Witness) -> Iterator[str]:
    for child_id in witness.sent_too_early:
        yield f"I5 {child_id}: its message was sent before its row was committed"
    for child_id, bodies in witness.sent.items():
        if child_id not in rows:
            yield f"I5 {child_id}: a message was sent and there is no row"
            continue
        if len(set(bodies)) != 1:
            yield f"I6 {child_id}: sent with {len(set(bodies))} different bodies"
        message = JobMessage.from_json(rows[child_id].item["message"])
        if encode_message(message) != bodies[0] or message.import_id != child_id:
            yield f"I6 {child_id}: what was sent is not its message"


def _i7_sends(rows: Mapping[str, Row], witness: Witness) -> Iterator[str]:
    """At most three claims in each run, and no send without a claim of its own."""
    claims: Counter[str] = Counter()
    for seen in witness.claims or ():
        claims[seen["child_id"]] += seen["claims"]
        if seen["claims"] > MAX_CLAIMS:
            yield f"I7 {seen['child_id']}: claimed {seen['claims']} times in run {seen['run']}"
    for child_id, sends in witness.sends.items():
        counted = witness.claims is not None
        allowed = claims[child_id] if counted else MAX_CLAIMS * rows[child_id].child["run"]
        if sends > allowed:
            yield f"I7 {child_id}: sent {sends} times under {allowed} claims"


def _i9(look: Look, rows: Mapping[str, Row]) -> Iterator[str]:
    """The batch's derived status is what its items make of it."""
    items = " UNION ALL ".join(
        f"""SELECT i.batch_id, {item_state()} AS state
            FROM batch_item i JOIN {table} c ON c.id = i.job_id"""
        for table in _RESULTS
    )
    derived = {row["batch_id"]: row for row in look(batch_summary(items))}
    by_batch: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows.values():
        by_batch[row.item["batch_id"]][row.state] += 1
    for batch_id, states in by_batch.items():
        status = next(
            (
                code
                for code, words in (("0", ("queued", "processing")), ("2", ("failed",)))
                if any(states[word] for word in words)
            ),
            "3" if states["cancelled"] else "1",
        )
        answer = derived[batch_id]
        if (answer["status"], answer["total"]) != (status, sum(states.values())):
            yield f"I9 {batch_id}: {dict(states)} is told as {answer}"


def _i11(rows: Mapping[str, Row], keys: list[str], drained: bool) -> Iterator[str]:
    now = datetime.now(UTC)
    for key in keys:
        child_id = key.split("/")[1]
        if not is_id(child_id):
            yield f"I11 {key}: nobody can tell whose it is"
        elif child_id not in rows and now - uuid7_time(child_id) > ORPHAN_AGE:
            yield f"I11 {key}: an orphan older than a day"
    stored = set(keys)
    for row in rows.values():
        fresh = row.item["created_at"] > now - ORPHAN_AGE
        fresh = fresh and row.child.get("source_expired_at") is None
        if drained and fresh and row.child["object_key"] not in stored:
            yield f"I11 {row.id}: its source object is gone"
        if row.child["status"] == "completed" and not row.child["result_expired_at"]:
            prefix, digest = f"imports/{row.id}/results/", row.child["result_sha256"]
            if not any(k.startswith(prefix) and k.endswith(str(digest)) for k in stored):
                yield f"I11 {row.id}: its result object is gone"

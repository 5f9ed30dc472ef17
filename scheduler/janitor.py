"""The janitor: sources and results past their keep, objects that no row wants.

Orphans are looked for in key order, which is creation order: only keys whose UUIDv7 is older than
a day, a bounded stretch a pass, going on where the last pass ended. A pass that cannot read the
database deletes nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import groupby, islice

import structlog

from jobs.errors import StorageUnavailable
from jobs.storage import Storage
from models import delivery_log, idempotency, retention, sessions, status, uploads
from models.ids import is_id, uuid7_time
from models.states import ImportType
from scheduler.metrics import COLLECTED
from scheduler.settings import SchedulerSettings

ORPHAN_AGE = timedelta(hours=24)
PREFIX = "imports/"
CURSOR = "orphan_cursor"

log = structlog.get_logger(__name__)


class Janitor:
    """Every step is repeatable; two janitors at once delete nothing that one would keep."""

    def __init__(self, storage: Storage, settings: SchedulerSettings) -> None:
        self._storage = storage
        self._settings = settings

    def clean(self) -> None:
        """Do one bounded pass of everything. An S3 outage ends it; the next one goes on."""
        keys, ended = idempotency.forget_expired(), sessions.forget_expired()
        log.info("housekeeping_done", idempotency_keys=keys, sessions=ended)
        self.forget_deliveries()
        try:
            self.drop_unused_uploads()
            self.retire()
            self.collect_orphans()
        except StorageUnavailable as error:
            log.warning("janitor_interrupted", reason=str(error))

    def forget_deliveries(self) -> int:
        """Delete outgoing events past their keep; fail what waits for a disabled endpoint."""
        settings = self._settings
        events = delivery_log.forget_events(
            keep_days=settings.keep_delivery_days, limit=settings.sweep_limit * 10
        )
        log.info("deliveries_forgotten", events=events, stranded=delivery_log.fail_stranded())
        return events

    def drop_unused_uploads(self) -> int:
        """Delete uploads that no batch used in time; returns how many."""
        dropped = uploads.forget_expired(self._settings.sweep_limit)
        for upload_id in dropped:
            self._storage.delete(f"{PREFIX}{upload_id}/source")
            COLLECTED.labels("upload_unused").inc()
        log.info("uploads_dropped", uploads=len(dropped))
        return len(dropped)

    def retire(self) -> int:
        """Delete the objects of sources and results past their keep; returns how many imports."""
        settings, limit = self._settings, self._settings.sweep_limit
        retired = 0
        for import_type in ImportType:
            for child_id in retention.expire_sources(
                import_type, keep_days=settings.keep_source_days, limit=limit
            ):
                self._storage.delete(f"{PREFIX}{child_id}/source")
                COLLECTED.labels("source_expired").inc()
                log.info("source_expired", import_id=child_id)
                retired += 1
            for child_id in retention.expire_results(
                import_type, keep_days=settings.keep_result_days, limit=limit
            ):
                self._delete_results(child_id)
                COLLECTED.labels("result_expired").inc()
                log.info("result_expired", import_id=child_id)
                retired += 1
        return retired

    def _delete_results(self, child_id: str) -> None:
        for kind in ("results", "pages"):
            self._storage.delete_tree(f"{PREFIX}{child_id}/{kind}/")

    def collect_orphans(self, *, dry_run: bool = False) -> list[str]:
        """Delete objects older than a day that no row wants; returns their keys."""
        row = status.get(CURSOR)
        orphans, following = self.find_orphans(str(row.data["after"]) if row else "")
        if not dry_run:
            self.delete_orphans(orphans)
            status.put(CURSOR, "cursor", {"after": following or ""})
        return orphans

    def find_orphans(self, after: str) -> tuple[list[str], str | None]:
        """Look at one bounded stretch of keys; return its orphans and where the next one begins.

        None when this was the last one. Deletes nothing.
        """
        cutoff = datetime.now(UTC) - ORPHAN_AGE
        listed = self._storage.list_older_than(cutoff, after=after)
        keys = [entry.key for entry in islice(listed, self._settings.orphan_limit)]
        orphans: list[str] = []
        for chunk in _chunks([key for key in keys if _is_older(key, cutoff)], 500):
            orphans += self._unwanted(chunk)
        return orphans, keys[-1] if len(keys) == self._settings.orphan_limit else None

    def delete_orphans(self, keys: list[str]) -> None:
        """Delete every version of these objects for good."""
        for key in keys:
            self._storage.delete(key)
            COLLECTED.labels("orphan").inc()
            log.warning("orphan_deleted", import_id=_child_of(key), object_key=key)

    def _unwanted(self, keys: list[str]) -> list[str]:
        by_child = {child: list(group) for child, group in groupby(keys, key=_child_of)}
        kept = retention.kept_objects(list(by_child))
        unwanted = []
        for child_id, its_keys in by_child.items():
            source, result = kept.get(child_id, (False, False))
            unwanted += [key for key in its_keys if not (source if _is_source(key) else result)]
        return unwanted


def _child_of(key: str) -> str:
    return key.removeprefix(PREFIX).partition("/")[0]


def _is_source(key: str) -> bool:
    return key.endswith("/source")


def _is_older(key: str, cutoff: datetime) -> bool:
    """Tell whether a key is ours and its UUIDv7 was made before the cutoff."""
    child_id = _child_of(key)
    return is_id(child_id) and uuid7_time(child_id) < cutoff


def _chunks(keys: list[str], size: int) -> list[list[str]]:
    return [keys[start : start + size] for start in range(0, len(keys), size)]

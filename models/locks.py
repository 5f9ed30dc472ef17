"""The one way to lock an import: the item first, then the child, then look again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from models.database import fetch
from models.errors import NotFound
from models.states import TERMINAL, ChildStatus, ImportType, ItemState, item_state


@dataclass(frozen=True, kw_only=True)
class Locked:
    """One item with its child, both locked for update; `state` is the derived one."""

    item_id: str
    batch_id: str
    child_id: str
    type: ImportType
    status: ChildStatus
    state: ItemState
    run: int
    result_sha256: str | None
    owner: str
    dispatched: bool
    deleted: bool
    updated_at: datetime

    @property
    def live(self) -> bool:
        """Whether a report or a machine's verdict may still move it."""
        return self.state not in TERMINAL and not self.deleted


def lock(import_type: ImportType, child_id: str) -> Locked:
    """Lock the item, then the child. Needs an open transaction. Raises NotFound."""
    items = fetch(
        """SELECT id, batch_id, dispatched_at IS NOT NULL AS dispatched,
                  deleted_at IS NOT NULL AS deleted
           FROM batch_item WHERE job_id = %s FOR UPDATE""",
        (child_id,),
    )
    if not items:
        raise NotFound(child_id)
    children = fetch(
        f"""SELECT c.status, c.run, c.result_sha256, c.created_by AS owner, c.updated_at,
                   ({item_state()}) AS state
            FROM {import_type} c JOIN batch_item i ON i.job_id = c.id
            WHERE c.id = %s FOR UPDATE OF c""",
        (child_id,),
    )
    if not children:
        raise NotFound(child_id)
    item, child = items[0], children[0]
    return Locked(
        item_id=item["id"],
        batch_id=item["batch_id"],
        child_id=child_id,
        type=import_type,
        status=ChildStatus(child["status"]),
        state=ItemState(child["state"]),
        run=child["run"],
        result_sha256=child["result_sha256"],
        owner=child["owner"],
        dispatched=item["dispatched"],
        deleted=item["deleted"],
        updated_at=child["updated_at"],
    )

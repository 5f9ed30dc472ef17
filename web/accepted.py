"""The body of a 202: what was taken in, and what of it the caller has imported before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from models.duplicates import Earlier
from models.intake import NewImport
from models.states import BatchStatus, ImportType, ItemState
from web.payloads import NAMES, batch_links, child_links

#: Children in the 202 of a batch; the rest are behind its link `items`.
MAX_SHOWN = 500


def accepted(
    type: ImportType,
    batch_id: str,
    imports: Sequence[NewImport],
    *,
    many: bool,
    earlier: Mapping[str, Earlier],
) -> dict[str, Any]:
    """Return one child, or a batch with its first children. `earlier` is by SHA-256."""
    children = [_child(type, batch_id, new, earlier.get(new.sha256)) for new in imports[:MAX_SHOWN]]
    if not many:
        return children[0]
    return {
        "batch_id": batch_id,
        "type": str(type),
        "status": str(BatchStatus.PROCESSING),
        "total": len(imports),
        "items": children,
        "links": batch_links(batch_id),
    }


def _child(
    type: ImportType, batch_id: str, new: NewImport, earlier: Earlier | None
) -> dict[str, Any]:
    return {
        NAMES[type][0]: new.child_id,
        "batch_id": batch_id,
        "type": str(type),
        "status": str(ItemState.QUEUED),
        "file_name": new.file_name,
        "custom_id": new.request.get("custom_id"),
        "size_bytes": new.size_bytes,
        "sha256": new.sha256,
        "already_imported": _earlier(type, earlier) if earlier else None,
        "links": child_links(type, new.child_id, batch_id),
    }


def _earlier(type: ImportType, earlier: Earlier) -> dict[str, Any]:
    id_name, collection = NAMES[type]
    return {
        id_name: earlier.id,
        "status": earlier.status,
        "created_at": earlier.created_at.isoformat(),
        "link": f"/api/v1/{collection}/{earlier.id}",
    }

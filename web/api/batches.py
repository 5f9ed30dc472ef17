"""/api/v1/batches: many files in one request, their common status, their items."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, request
from werkzeug.wrappers import Response

from models import batches, cancellations, redrives
from models.states import BatchStatus, ImportType, ItemState
from web import payloads, shapes
from web.answers import accepted_answer, checked_id, json_answer, paging
from web.api.describing import (
    BYTES,
    FORM,
    IF_NONE_MATCH,
    JSON,
    JSON_CODES,
    KEY,
    PAGING,
    UPLOAD_CODES,
    WAIT,
    WISH_FIELDS,
    ZIP,
    Answer,
    Parameter,
    cached,
    described,
    ok,
)
from web.archive import archive_download
from web.auth import bearer, current_subject
from web.direct import accept_uploads
from web.errors import WebError
from web.intake import accept
from web.languages import language
from web.metrics import note_cancelled
from web.multipart_form import ITEMS_FIELD
from web.requests import BatchRequest
from web.services import services
from web.uploads import batch_upload, json_batch
from web.waiting import status_answer

blueprint = Blueprint("api_batches", __name__, url_prefix="/api/v1/batches")

_FILES_FORM = {
    "type": "object",
    "properties": {
        "type": {"enum": [str(type) for type in ImportType]},
        "name": {"type": "string", "maxLength": 60},
        **{name: schema for name, schema in WISH_FIELDS.items() if name != "custom_id"},
        ITEMS_FIELD: {
            "type": "string",
            "contentMediaType": JSON,
            "description": "a JSON array: custom_id and options of each file, in their order",
        },
        "files": {"type": "array", "items": BYTES, "minItems": 1},
    },
    "required": ["type", "files"],
    "additionalProperties": False,
}
_STATE = Parameter(
    name="state",
    where="query",
    schema={"enum": [str(state) for state in ItemState]},
    ja="この状態の明細だけを ID 順に返す。next_cursor があるうちは limit より短いこともある",
    en="only items in this state, in the order of their ids; while next_cursor is there a page "
    "may be shorter than limit",
)


@blueprint.post("")
@bearer
@described(
    ja="ファイルをまとめて取り込む",
    parameters=(KEY,),
    body={FORM: _FILES_FORM, JSON: BatchRequest},
    answers={
        202: Answer(content={JSON: shapes.AcceptedBatch}, headers=("Location", "Retry-After"))
    },
    codes=(
        *UPLOAD_CODES,
        *JSON_CODES,
        "items_invalid",
        "type_unsupported",
        "upload_used",
        "uploads_unverified",
    ),
)
def create() -> Response:
    """Take many files in, sent here or uploaded before: all or none; 202 with the batch."""
    if request.mimetype == JSON:
        order, wanted = json_batch()
        return accepted_answer(accept_uploads(order, wanted, services().storage))
    limit_bytes = services().settings.max_upload_bytes
    with batch_upload() as upload:
        return accepted_answer(accept(upload, services().storage, max_file_bytes=limit_bytes))


@blueprint.get("")
@bearer
@described(
    ja="自分のバッチを新しい順に返す",
    parameters=(*PAGING, IF_NONE_MATCH),
    answers=cached(shapes.BatchList),
    codes=("cursor_invalid",),
)
def index() -> Response:
    """List the caller's batches, newest first."""
    cursor, limit = paging()
    found, following = batches.list_batches(current_subject().id, cursor=cursor, limit=limit)
    return json_answer({"batches": [payloads.batch(b) for b in found], "next_cursor": following})


@blueprint.get("/<batch_id>")
@bearer
@described(
    ja="バッチの状態と件数を返す",
    parameters=(WAIT, IF_NONE_MATCH),
    answers=cached(payloads.Batch),
)
def show(batch_id: str) -> Response:
    """Tell a batch's status and counts; `Prefer: wait=N` waits for its end."""
    subject = current_subject().id

    def look() -> dict[str, Any]:
        return payloads.batch(batches.get_batch(subject, checked_id(batch_id)))

    return status_answer(look, ended=lambda body: body["status"] != BatchStatus.PROCESSING)


@blueprint.get("/<batch_id>/items")
@bearer
@described(
    ja="バッチの明細を入力順に返す",
    parameters=(_STATE, *PAGING, IF_NONE_MATCH),
    answers=cached(shapes.ItemList),
    codes=("cursor_invalid", "field_invalid"),
)
def items(batch_id: str) -> Response:
    """List a batch's children in input order, `state` filters."""
    cursor, limit = paging()
    state = request.args.get("state")
    if state is not None and state not in set(ItemState):
        raise WebError("field_invalid", errors=[{"pointer": "/state"}])
    found, following = batches.list_items(
        current_subject().id, checked_id(batch_id), state=state, cursor=cursor, limit=limit
    )
    children = [payloads.child(c, language()) for c in found]
    return json_answer({"items": children, "next_cursor": following})


@blueprint.get("/<batch_id>/export")
@bearer
@described(
    ja="結果と目録を zip で返す",
    answers={200: Answer(content={ZIP: BYTES}, headers=("Content-Disposition",))},
)
def export(batch_id: str) -> Response:
    """Return all results of a batch as a zip with a manifest, streamed."""
    return archive_download(current_subject().id, checked_id(batch_id), language())


@blueprint.post("/<batch_id>/cancel")
@bearer
@described(
    ja="バッチの残りを取り消す",
    answers=ok(payloads.Batch),
    codes=("already_terminal",),
)
def cancel(batch_id: str) -> Response:
    """Cancel what still runs of a batch; 409 when nothing does."""
    subject = current_subject().id
    note_cancelled(cancellations.cancel_batch(subject, checked_id(batch_id)))
    return json_answer(payloads.batch(batches.get_batch(subject, batch_id)))


@blueprint.post("/<batch_id>/retry")
@bearer
@described(
    ja="バッチの失敗した明細だけをやり直す",
    answers=ok(payloads.Batch),
    codes=("not_failed", "source_expired"),
)
def retry(batch_id: str) -> Response:
    """Start a batch's failed items anew, and only those; 409 when none has failed."""
    subject = current_subject().id
    redrives.retry_batch(subject, checked_id(batch_id))
    return json_answer(payloads.batch(batches.get_batch(subject, batch_id)))


@blueprint.delete("/<batch_id>")
@bearer
@described(ja="バッチを削除する", answers={204: Answer()})
def delete(batch_id: str) -> Response:
    """Delete a batch for good and cancel what still runs of it; then it is 404."""
    note_cancelled(cancellations.delete_batch(current_subject().id, checked_id(batch_id)))
    return Response(status=204)

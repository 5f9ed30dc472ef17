"""/api/v1/batches: many files in one request, their common status, their items."""

from __future__ import annotations

from flask import Blueprint, request
from werkzeug.wrappers import Response

from models import batches, cancellations, redrives
from models.states import ItemState
from web import payloads
from web.answers import accepted_answer, checked_id, json_answer, paging
from web.auth import bearer, current_subject
from web.errors import WebError
from web.intake import accept
from web.languages import language
from web.services import services
from web.uploads import batch_upload

blueprint = Blueprint("api_batches", __name__, url_prefix="/api/v1/batches")


@blueprint.post("")
@bearer
def create() -> Response:
    """Take many files in: all or none; 202 with the batch and its children."""
    limit_bytes = services().settings.max_upload_bytes
    with batch_upload() as upload:
        return accepted_answer(accept(upload, services().storage, max_file_bytes=limit_bytes))


@blueprint.get("")
@bearer
def index() -> Response:
    """List the caller's batches, newest first."""
    cursor, limit = paging()
    found, following = batches.list_batches(current_subject().id, cursor=cursor, limit=limit)
    return json_answer({"batches": [payloads.batch(b) for b in found], "next_cursor": following})


@blueprint.get("/<batch_id>")
@bearer
def show(batch_id: str) -> Response:
    """Tell a batch's status and counts."""
    view = batches.get_batch(current_subject().id, checked_id(batch_id))
    return json_answer(payloads.batch(view))


@blueprint.get("/<batch_id>/items")
@bearer
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


@blueprint.post("/<batch_id>/cancel")
@bearer
def cancel(batch_id: str) -> Response:
    """Cancel what still runs of a batch; 409 when nothing does."""
    subject = current_subject().id
    cancellations.cancel_batch(subject, checked_id(batch_id))
    return json_answer(payloads.batch(batches.get_batch(subject, batch_id)))


@blueprint.post("/<batch_id>/retry")
@bearer
def retry(batch_id: str) -> Response:
    """Start a batch's failed items anew, and only those; 409 when none has failed."""
    subject = current_subject().id
    redrives.retry_batch(subject, checked_id(batch_id))
    return json_answer(payloads.batch(batches.get_batch(subject, batch_id)))


@blueprint.delete("/<batch_id>")
@bearer
def delete(batch_id: str) -> Response:
    """Delete a batch for good and cancel what still runs of it; then it is 404."""
    cancellations.delete_batch(current_subject().id, checked_id(batch_id))
    return Response(status=204)

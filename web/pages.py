"""The HTML pages of uploads and batches. They work without JavaScript: forms answer 303, waiting
pages refresh. With it, `?part=live` gives the changing part of the same page, with an ETag."""

from __future__ import annotations

import secrets
import unicodedata

from flask import Blueprint, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from models import batches, cancellations, redrives, searches
from models.database import connection
from models.errors import Conflict
from models.states import BatchStatus, ItemState
from web import csrf
from web.answers import accepted_answer, checked_id, json_answer
from web.archive import archive_download
from web.auth import current_subject, session
from web.errors import wants_problem
from web.formats import EXTENSIONS
from web.intake import accept
from web.languages import language
from web.metrics import note_cancelled
from web.parts import live_page
from web.services import services
from web.uploads import form_upload

blueprint = Blueprint("pages", __name__)

_BATCHES_A_PAGE = 25
_ITEMS_A_PAGE = 100
_MAX_SEARCH_CHARS = 200
_RECENT = 20
_MAX_RECENT = 500

_FILTERS = {
    "running": BatchStatus.PROCESSING,
    "completed": BatchStatus.COMPLETED,
    "failed": BatchStatus.FAILED,
    "cancelled": BatchStatus.CANCELLED,
}


@blueprint.get("/")
@session
def upload_form() -> Response:
    """Show the form that takes files in, above the newest files."""
    settings = services().settings
    page = render_template(
        "upload.html",
        extensions=EXTENSIONS,
        idempotency_token=secrets.token_urlsafe(24),
        recent=searches.recent_children(current_subject().id, limit=_rows_wanted()),
        max_bytes=settings.max_upload_bytes,
        max_files=settings.max_batch_files,
    )
    return live_page(page)


def _rows_wanted() -> int:
    """Return how many rows the browser shows by now, within reason."""
    text = request.args.get("rows", "")
    plain = text.isascii() and text.isdigit() and len(text) <= 4
    return min(max(int(text), _RECENT), _MAX_RECENT) if plain else _RECENT


@blueprint.get("/session")
@session
def show_session() -> Response:
    """Tell a page that stood open whether its session lives, and the current form token."""
    return make_response(json_answer({"csrf_token": csrf.token(), "subject": current_subject().id}))


@blueprint.post("/")
@session
def submit() -> Response:
    """Take the form's files in and go to their batch; a program gets the 202 of the API."""
    limit_bytes = services().settings.max_upload_bytes
    with form_upload() as upload:
        body = accept(upload, services().storage, max_file_bytes=limit_bytes)
    if wants_problem():
        return accepted_answer(body)
    return redirect(url_for(".batch", batch_id=body["batch_id"]), code=303)


@blueprint.get("/batches")
@session
def batch_list() -> Response:
    """List the person's batches, by state and file name."""
    text = asked_text()
    state = request.args.get("state", "")
    with connection():
        found, following = searches.search_batches(
            current_subject().id,
            text=text,
            status=_FILTERS.get(state),
            cursor=request.args.get("cursor"),
            limit=_BATCHES_A_PAGE,
        )
        names = searches.first_names([view.id for view in found])
    page = render_template(
        "batches.html",
        batches=found,
        names=names,
        next_cursor=following,
        text=text,
        state=state if state in _FILTERS else "",
        states=list(_FILTERS),
    )
    return live_page(page)


def asked_text() -> str:
    """Return the text to look for, in NFC as names are stored; Macs type and send NFD."""
    text = unicodedata.normalize("NFC", request.args.get("q", ""))
    return text.strip()[:_MAX_SEARCH_CHARS]


@blueprint.get("/batches/<batch_id>")
@session
def batch(batch_id: str) -> Response:
    """Show one batch with its rows; refreshes itself until it has ended."""
    subject = current_subject().id
    state = request.args.get("state", "")
    state = state if state in set(ItemState) else ""
    with connection():
        view = batches.get_batch(subject, checked_id(batch_id))
        items, following = batches.list_items(
            subject,
            batch_id,
            state=state or None,
            cursor=request.args.get("cursor"),
            limit=_ITEMS_A_PAGE,
        )
        names = searches.first_names([batch_id])
    page = render_template(
        "batch.html",
        batch=view,
        items=items,
        next_cursor=following,
        state=state,
        first_name=names.get(batch_id),
    )
    return live_page(page)


@blueprint.get("/batches/<batch_id>/export")
@session
def export_batch(batch_id: str) -> Response:
    """Return all results of a batch as a zip with a manifest, streamed."""
    return archive_download(current_subject().id, checked_id(batch_id), language())


@blueprint.post("/batches/<batch_id>/cancel")
@session
def cancel_batch(batch_id: str) -> Response:
    """Cancel what still runs of a batch."""
    csrf.small_form()
    try:
        note_cancelled(cancellations.cancel_batch(current_subject().id, checked_id(batch_id)))
    except Conflict as error:
        ignore_ended(error)
    return redirect(url_for(".batch", batch_id=batch_id), code=303)


@blueprint.post("/batches/<batch_id>/retry")
@session
def retry_batch(batch_id: str) -> Response:
    """Start a batch's failed items anew."""
    csrf.small_form()
    try:
        redrives.retry_batch(current_subject().id, checked_id(batch_id))
    except Conflict as error:
        ignore_ended(error)
    return redirect(url_for(".batch", batch_id=batch_id), code=303)


def ignore_ended(error: Conflict) -> None:
    """Let a press that came too late, or twice, end on the page that shows how things are."""
    if error.code not in ("already_terminal", "not_failed"):
        raise error

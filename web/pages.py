"""The HTML pages. They work without JavaScript: forms answer 303, waiting pages refresh."""

from __future__ import annotations

import secrets

from flask import Blueprint, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from models import batches, cancellations, children, events, redrives, results
from models.children import ChildView
from models.database import connection
from models.errors import Conflict, NotFound
from models.states import ImportType
from web import csrf
from web.answers import checked_id
from web.auth import current_subject, session
from web.downloads import source_download
from web.formats import EXTENSIONS
from web.intake import accept
from web.services import services
from web.uploads import form_upload

blueprint = Blueprint("pages", __name__)

_BATCHES_A_PAGE = 25
_ITEMS_A_PAGE = 100
_PAGES_A_PAGE = 10


@blueprint.get("/")
@session
def upload_form() -> Response:
    """Show the form that takes files in, above the newest batches."""
    recent, _ = batches.list_batches(current_subject().id, limit=5)
    settings = services().settings
    page = render_template(
        "upload.html",
        extensions=EXTENSIONS,
        idempotency_token=secrets.token_urlsafe(24),
        recent=recent,
        max_bytes=settings.max_upload_bytes,
        max_files=settings.max_batch_files,
    )
    return make_response(page)


@blueprint.post("/")
@session
def submit() -> Response:
    """Take the form's files in and go to their batch."""
    limit_bytes = services().settings.max_upload_bytes
    with form_upload() as upload:
        body = accept(upload, services().storage, max_file_bytes=limit_bytes)
    return redirect(url_for(".batch", batch_id=body["batch_id"]), code=303)


@blueprint.get("/batches")
@session
def batch_list() -> Response:
    """List the person's batches."""
    found, following = batches.list_batches(
        current_subject().id, cursor=request.args.get("cursor"), limit=_BATCHES_A_PAGE
    )
    page = render_template("batches.html", batches=found, next_cursor=following)
    return make_response(page)


@blueprint.get("/batches/<batch_id>")
@session
def batch(batch_id: str) -> Response:
    """Show one batch with its rows; refreshes itself until it has ended."""
    subject = current_subject().id
    with connection():
        view = batches.get_batch(subject, checked_id(batch_id))
        items, following = batches.list_items(
            subject, batch_id, cursor=request.args.get("cursor"), limit=_ITEMS_A_PAGE
        )
    page = render_template("batch.html", batch=view, items=items, next_cursor=following)
    return make_response(page)


@blueprint.post("/batches/<batch_id>/cancel")
@session
def cancel_batch(batch_id: str) -> Response:
    """Cancel what still runs of a batch."""
    csrf.small_form()
    try:
        cancellations.cancel_batch(current_subject().id, checked_id(batch_id))
    except Conflict as error:
        _ignore_ended(error)
    return redirect(url_for(".batch", batch_id=batch_id), code=303)


@blueprint.post("/batches/<batch_id>/retry")
@session
def retry_batch(batch_id: str) -> Response:
    """Start a batch's failed items anew."""
    csrf.small_form()
    try:
        redrives.retry_batch(current_subject().id, checked_id(batch_id))
    except Conflict as error:
        _ignore_ended(error)
    return redirect(url_for(".batch", batch_id=batch_id), code=303)


@blueprint.get("/imports/<child_id>", defaults={"type": ImportType.PAGE_IMPORT})
@session
def page_import(type: ImportType, child_id: str) -> Response:
    """Show one Page Import: its state, its pages, its history."""
    subject = current_subject().id
    with connection():
        view = children.get_child(subject, type, checked_id(child_id))
        found, following = results.list_pages(
            subject, child_id, cursor=request.args.get("cursor"), limit=_PAGES_A_PAGE
        )
        history = events.list_events(subject, child_id)
    page = render_template(
        "page_import.html", child=view, pages=found, next_cursor=following, events=history
    )
    return make_response(page)


@blueprint.get("/code2des/<child_id>", defaults={"type": ImportType.CODE2DES})
@session
def code2des(type: ImportType, child_id: str) -> Response:
    """Show one Code2Des: its state, its design document, its history."""
    subject = current_subject().id
    with connection():
        view = children.get_child(subject, type, checked_id(child_id))
        design = _design(subject, view)
        history = events.list_events(subject, child_id)
    page = render_template("code2des.html", child=view, design=design, events=history)
    return make_response(page)


@blueprint.get("/imports/<child_id>/source", defaults={"type": ImportType.PAGE_IMPORT})
@blueprint.get("/code2des/<child_id>/source", defaults={"type": ImportType.CODE2DES})
@session
def source(type: ImportType, child_id: str) -> Response:
    """Return the original file as a download."""
    return source_download(children.get_child(current_subject().id, type, checked_id(child_id)))


@blueprint.post("/imports/<child_id>/cancel", defaults={"type": ImportType.PAGE_IMPORT})
@blueprint.post("/code2des/<child_id>/cancel", defaults={"type": ImportType.CODE2DES})
@session
def cancel_import(type: ImportType, child_id: str) -> Response:
    """Cancel one import."""
    csrf.small_form()
    try:
        cancellations.cancel_import(current_subject().id, type, checked_id(child_id))
    except Conflict as error:
        _ignore_ended(error)
    return _to_child(type, child_id)


@blueprint.post("/imports/<child_id>/retry", defaults={"type": ImportType.PAGE_IMPORT})
@blueprint.post("/code2des/<child_id>/retry", defaults={"type": ImportType.CODE2DES})
@session
def retry_import(type: ImportType, child_id: str) -> Response:
    """Start a failed import anew."""
    csrf.small_form()
    try:
        redrives.retry_import(current_subject().id, type, checked_id(child_id))
    except Conflict as error:
        _ignore_ended(error)
    return _to_child(type, child_id)


def _to_child(type: ImportType, child_id: str) -> Response:
    endpoint = ".page_import" if type == ImportType.PAGE_IMPORT else ".code2des"
    return redirect(url_for(endpoint, child_id=child_id), code=303)


def _design(subject: str, view: ChildView) -> results.DesignView | None:
    try:
        return results.get_design(subject, view.id)
    except NotFound:
        return None


def _ignore_ended(error: Conflict) -> None:
    """Let a press that came too late, or twice, end on the page that shows how things are."""
    if error.code not in ("already_terminal", "not_failed"):
        raise error

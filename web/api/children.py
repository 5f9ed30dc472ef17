"""/api/v1/imports and /api/v1/code2des: one file in, its status, its result, its history."""

from __future__ import annotations

from flask import Blueprint, request
from werkzeug.wrappers import Response

from models import cancellations, children, events, redrives, results
from models.children import ChildView
from models.database import connection
from models.states import ImportType
from web import payloads
from web.answers import accepted_answer, checked_id, json_answer, paging
from web.auth import bearer, current_subject
from web.downloads import source_download
from web.errors import WebError
from web.intake import accept
from web.languages import language
from web.services import services
from web.uploads import single_upload

blueprint = Blueprint("api_children", __name__, url_prefix="/api/v1")

_IMPORTS = {"type": ImportType.PAGE_IMPORT}
_CODE2DES = {"type": ImportType.CODE2DES}


@blueprint.post("/imports", defaults=_IMPORTS)
@blueprint.post("/code2des", defaults=_CODE2DES)
@bearer
def create(type: ImportType) -> Response:
    """Take one file in: 202 with its id, before any parsing."""
    limit_bytes = services().settings.max_upload_bytes
    with single_upload(type) as upload:
        return accepted_answer(accept(upload, services().storage, max_file_bytes=limit_bytes))


@blueprint.get("/imports/<child_id>", defaults=_IMPORTS)
@blueprint.get("/code2des/<child_id>", defaults=_CODE2DES)
@bearer
def show(type: ImportType, child_id: str) -> Response:
    """Tell where one import is."""
    view = children.get_child(current_subject().id, type, checked_id(child_id))
    return json_answer(payloads.child(view, language()))


@blueprint.get("/imports/<child_id>/pages")
@bearer
def pages(child_id: str) -> Response:
    """List the pages of a result, in order."""
    cursor, limit = paging()
    subject = current_subject().id
    with connection():
        _require_result(children.get_child(subject, ImportType.PAGE_IMPORT, checked_id(child_id)))
        found, following = results.list_pages(subject, child_id, cursor=cursor, limit=limit)
    return json_answer({"pages": [payloads.page(p) for p in found], "next_cursor": following})


@blueprint.get("/code2des/<child_id>/design")
@bearer
def design(child_id: str) -> Response:
    """Return the design document: JSON, or Markdown in the caller's language by Accept."""
    subject = current_subject().id
    with connection():
        _require_result(children.get_child(subject, ImportType.CODE2DES, checked_id(child_id)))
        view = results.get_design(subject, child_id)
    best = request.accept_mimetypes.best_match(["application/json", "text/markdown"])
    if best == "text/markdown":
        text = view.markdown_ja if language() == "ja" else view.markdown_en
        response = Response(text, content_type="text/markdown; charset=utf-8")
        response.headers["Content-Language"] = language()
        response.vary.update(("Accept", "Accept-Language"))
        return response
    markdown = {"ja": view.markdown_ja, "en": view.markdown_en}
    return json_answer({"design": view.design, "markdown": markdown})


@blueprint.get("/imports/<child_id>/source", defaults=_IMPORTS)
@blueprint.get("/code2des/<child_id>/source", defaults=_CODE2DES)
@bearer
def source(type: ImportType, child_id: str) -> Response:
    """Return the original file as a download."""
    return source_download(children.get_child(current_subject().id, type, checked_id(child_id)))


@blueprint.get("/imports/<child_id>/events", defaults=_IMPORTS)
@blueprint.get("/code2des/<child_id>/events", defaults=_CODE2DES)
@bearer
def history(type: ImportType, child_id: str) -> Response:
    """Tell what happened to one import, oldest first."""
    with connection():
        children.get_child(current_subject().id, type, checked_id(child_id))
        found = events.list_events(current_subject().id, child_id)
    return json_answer({"events": [payloads.event(e) for e in found]})


@blueprint.post("/imports/<child_id>/cancel", defaults=_IMPORTS)
@blueprint.post("/code2des/<child_id>/cancel", defaults=_CODE2DES)
@bearer
def cancel(type: ImportType, child_id: str) -> Response:
    """Cancel one import for good, wherever it is; 409 when it has ended."""
    subject = current_subject().id
    cancellations.cancel_import(subject, type, checked_id(child_id))
    return json_answer(payloads.child(children.get_child(subject, type, child_id), language()))


@blueprint.post("/imports/<child_id>/retry", defaults=_IMPORTS)
@blueprint.post("/code2des/<child_id>/retry", defaults=_CODE2DES)
@bearer
def retry(type: ImportType, child_id: str) -> Response:
    """Start a failed import anew under the same id; 409 when it has not failed."""
    subject = current_subject().id
    redrives.retry_import(subject, type, checked_id(child_id))
    return json_answer(payloads.child(children.get_child(subject, type, child_id), language()))


def _require_result(view: ChildView) -> None:
    """Tell a result that is past its time from one that never was."""
    if view.result_expired_at is not None:
        raise WebError("result_expired")

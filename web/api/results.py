"""What an import became: …/pages, …/design, …/result, and the original file."""

from __future__ import annotations

from collections.abc import Iterator

from flask import Blueprint, request
from werkzeug.wrappers import Response

from models import children, results
from models.children import ChildView
from models.database import connection, ping
from models.states import TERMINAL, ImportType, ItemState
from web import payloads, shapes
from web import results as streams
from web.answers import checked_id, json_answer, negotiated, paging
from web.api.describing import (
    ANY_BYTES,
    BYTES,
    IF_NONE_MATCH,
    JSON,
    MARKDOWN,
    PAGING,
    PLAIN,
    TEXT,
    WEBP,
    Answer,
    PerType,
    cached,
    described,
)
from web.auth import bearer, current_subject
from web.downloads import source_download
from web.errors import WebError
from web.languages import language
from web.page_images import image_answer

blueprint = Blueprint("api_results", __name__, url_prefix="/api/v1")

_IMPORTS = {"type": ImportType.PAGE_IMPORT}
_CODE2DES = {"type": ImportType.CODE2DES}
_RESULTS: PerType = {
    ImportType.PAGE_IMPORT: shapes.PageImportResult,
    ImportType.CODE2DES: shapes.Code2DesResult,
}
_NO_CHANGE = {304: Answer(headers=("ETag",))}


@blueprint.get("/imports/<child_id>/pages")
@bearer
@described(
    ja="結果のページを順に返す",
    parameters=(*PAGING, IF_NONE_MATCH),
    answers=cached(shapes.PageList),
    codes=("cursor_invalid", "result_expired"),
)
def pages(child_id: str) -> Response:
    """List the pages of a result, in order."""
    cursor, limit = paging()
    subject = current_subject().id
    with connection():
        _check_kept(children.get_child(subject, ImportType.PAGE_IMPORT, checked_id(child_id)))
        found, following = results.list_pages(subject, child_id, cursor=cursor, limit=limit)
    return json_answer({"pages": [payloads.page(p) for p in found], "next_cursor": following})


@blueprint.get("/imports/<child_id>/pages/<number>/image")
@bearer
@described(
    ja="ページの画像を返す",
    parameters=(IF_NONE_MATCH,),
    answers={200: Answer(content={WEBP: BYTES}, headers=("ETag",)), **_NO_CHANGE},
    codes=("result_expired", "storage_unavailable"),
)
def page_image(child_id: str, number: str) -> Response:
    """Return the picture of one page; it never changes."""
    return image_answer(current_subject().id, child_id, number)


@blueprint.get("/code2des/<child_id>/design")
@bearer
@described(
    ja="設計書を JSON または Markdown で返す",
    parameters=(IF_NONE_MATCH,),
    answers={200: Answer(content={JSON: shapes.Design, MARKDOWN: TEXT}), **_NO_CHANGE},
    codes=("not_acceptable", "result_expired"),
)
def design(child_id: str) -> Response:
    """Return the design document: JSON, or Markdown in the caller's language by Accept."""
    subject = current_subject().id
    with connection():
        _check_kept(children.get_child(subject, ImportType.CODE2DES, checked_id(child_id)))
        view = results.get_design(subject, child_id)
    if negotiated(JSON, MARKDOWN) == MARKDOWN:
        text = view.markdown_ja if language() == "ja" else view.markdown_en
        response = Response(text, content_type="text/markdown; charset=utf-8")
        response.headers["Content-Language"] = language()
    else:
        markdown = {"ja": view.markdown_ja, "en": view.markdown_en}
        response = json_answer({"design": view.design, "markdown": markdown})
    response.vary.update(("Accept", "Accept-Language"))
    return response


@blueprint.get("/imports/<child_id>/result", defaults=_IMPORTS)
@blueprint.get("/code2des/<child_id>/result", defaults=_CODE2DES)
@bearer
@described(
    ja="結果全体を JSON、Markdown、テキストのいずれかで返す",
    parameters=(IF_NONE_MATCH,),
    answers={
        200: Answer(content={JSON: _RESULTS, MARKDOWN: TEXT, PLAIN: TEXT}, headers=("ETag",)),
        **_NO_CHANGE,
    },
    codes=("no_result", "not_acceptable", "result_expired", "result_not_ready"),
)
def result(type: ImportType, child_id: str) -> Response:
    """Return the whole result as JSON, Markdown or text by Accept, streamed."""
    kind = negotiated(JSON, MARKDOWN, PLAIN)
    subject = current_subject().id
    view = children.get_child(subject, type, checked_id(child_id))
    _check_kept(view)
    if view.status != ItemState.COMPLETED:
        raise WebError("no_result" if view.status in TERMINAL else "result_not_ready")
    ping()
    suffix = "" if kind == JSON else "; charset=utf-8"
    response = Response(_stream(subject, type, view, kind), content_type=f"{kind}{suffix}")
    response.set_etag(f"{view.result_sha256}.{kind.partition('/')[2]}.{language()}")
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response.vary.update(("Accept", "Accept-Language"))
    return response.make_conditional(request)


def _stream(subject: str, type: ImportType, view: ChildView, kind: str) -> Iterator[bytes]:
    if type == ImportType.CODE2DES:
        if kind == JSON:
            return streams.design_as_json(subject, view)
        return streams.design_as_markdown(subject, view, language())
    render = {
        JSON: streams.pages_as_json,
        MARKDOWN: streams.pages_as_markdown,
        PLAIN: streams.pages_as_text,
    }
    return render[kind](subject, view)


@blueprint.get("/imports/<child_id>/source", defaults=_IMPORTS)
@blueprint.get("/code2des/<child_id>/source", defaults=_CODE2DES)
@bearer
@described(
    ja="元のファイルを返す",
    answers={200: Answer(content={ANY_BYTES: BYTES}, headers=("Content-Disposition",))},
    codes=("source_expired", "storage_unavailable"),
)
def source(type: ImportType, child_id: str) -> Response:
    """Return the original file as a download."""
    return source_download(children.get_child(current_subject().id, type, checked_id(child_id)))


def _check_kept(view: ChildView) -> None:
    """Tell a result that is past its time from one that never was."""
    if view.result_expired_at is not None:
        raise WebError("result_expired")

"""The HTML pages of results: pages of a document, a design document, and their downloads."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from dataclasses import dataclass

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from models import cancellations, children, events, redrives, results, searches
from models.children import ChildView
from models.cursors import encode_cursor
from models.database import connection
from models.errors import Conflict, NotFound
from models.results import PageView
from models.states import ImportType
from web import csrf
from web.answers import checked_id
from web.auth import current_subject, session
from web.downloads import source_download
from web.errors import WebError
from web.exports import design_export, page_export
from web.languages import LANGUAGES, language
from web.metrics import note_cancelled
from web.page_images import image_answer
from web.pages import asked_text, ignore_ended
from web.parts import live_page
from web.sources import locator

blueprint = Blueprint("results", __name__)

PAGES_AT_ONCE = 10
VIEWS = ("rendered", "text", "tables")


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Which pages of a document are shown, and how."""

    view: str
    text: str
    pages: list[PageView]
    hits: list[searches.Hit]
    #: numbers of the pages in front of and behind those that are shown
    before: list[int]
    after: list[int]


@blueprint.get("/imports/<child_id>", defaults={"type": ImportType.PAGE_IMPORT})
@session
def page_import(type: ImportType, child_id: str) -> Response:
    """Show one Page Import: its state, its pages, its history."""
    subject = current_subject().id
    with connection():
        view = children.get_child(subject, type, checked_id(child_id))
        shown = _shown(subject, view)
        history = events.list_events(subject, child_id)
    page = render_template(
        "page_import.html", child=view, shown=shown, events=history, views=VIEWS, at=PAGES_AT_ONCE
    )
    return live_page(page)


def _shown(subject: str, view: ChildView) -> Shown:
    """Read the asked-for pages; the number of a page that is not there shows the nearest block."""
    number = request.args.get("page", "1")
    plain = number.isascii() and number.isdigit() and len(number) <= 6
    numbers = results.page_numbers(subject, view.id)
    place = min(bisect_left(numbers, int(number) if plain else 1), max(len(numbers) - 1, 0))
    first = place - place % PAGES_AT_ONCE
    text = asked_text()
    how = request.args.get("view", VIEWS[0])
    cursor = encode_cursor(numbers[first] - 1) if numbers else None
    found, _ = results.list_pages(subject, view.id, cursor=cursor, limit=PAGES_AT_ONCE)
    behind = first + PAGES_AT_ONCE
    return Shown(
        view=how if how in VIEWS else VIEWS[0],
        text=text,
        pages=found,
        hits=_hits(subject, view.id, text) if text else [],
        before=numbers[max(first - PAGES_AT_ONCE, 0) : first],
        after=numbers[behind : behind + PAGES_AT_ONCE],
    )


def _hits(subject: str, child_id: str, text: str) -> list[searches.Hit]:
    """Look for the text in NFC, then in NFD, as the pages keep what stands in the file."""
    for form in dict.fromkeys((text, unicodedata.normalize("NFD", text))):
        if found := searches.find_pages(subject, child_id, form):
            return found
    return []


@blueprint.get("/code2des/<child_id>", defaults={"type": ImportType.CODE2DES})
@session
def code2des(type: ImportType, child_id: str) -> Response:
    """Show one Code2Des: its state, its design document, its history."""
    subject = current_subject().id
    with connection():
        view = children.get_child(subject, type, checked_id(child_id))
        design = _design(subject, view)
        locate = locator(subject, child_id)
        history = events.list_events(subject, child_id)
    page = render_template(
        "code2des.html",
        child=view,
        design=design,
        locate=locate,
        events=history,
        written=_written(),
    )
    return live_page(page)


def _written() -> str:
    """Return the language of the design document: its own switch, else the page's."""
    choice = request.args.get("doc", "")
    return choice if choice in LANGUAGES else language()


@blueprint.get("/imports/<child_id>/pages/<number>/image")
@session
def page_image(child_id: str, number: str) -> Response:
    """Return the picture of one page."""
    return image_answer(current_subject().id, child_id, number)


@blueprint.get("/imports/<child_id>/source", defaults={"type": ImportType.PAGE_IMPORT})
@blueprint.get("/code2des/<child_id>/source", defaults={"type": ImportType.CODE2DES})
@session
def source(type: ImportType, child_id: str) -> Response:
    """Return the original file as a download."""
    return source_download(children.get_child(current_subject().id, type, checked_id(child_id)))


@blueprint.get("/imports/<child_id>/result", defaults={"type": ImportType.PAGE_IMPORT})
@blueprint.get("/code2des/<child_id>/result", defaults={"type": ImportType.CODE2DES})
@session
def result(type: ImportType, child_id: str) -> Response:
    """Return the result as one file: Markdown, text or JSON, by `?as=`."""
    subject = current_subject().id
    view = children.get_child(subject, type, checked_id(child_id))
    if view.result_expired_at is not None:
        raise WebError("result_expired")
    if view.result_sha256 is None:
        raise WebError("not_found")
    kind = request.args.get("as", "markdown")
    if type == ImportType.CODE2DES:
        return design_export(
            view,
            results.get_design(subject, child_id),
            kind,
            written=_written(),
            locate=locator(subject, child_id, external=True),
        )
    return page_export(subject, view, kind)


@blueprint.post("/imports/<child_id>/cancel", defaults={"type": ImportType.PAGE_IMPORT})
@blueprint.post("/code2des/<child_id>/cancel", defaults={"type": ImportType.CODE2DES})
@session
def cancel_import(type: ImportType, child_id: str) -> Response:
    """Cancel one import."""
    csrf.small_form()
    try:
        cancellations.cancel_import(current_subject().id, type, checked_id(child_id))
        note_cancelled()
    except Conflict as error:
        ignore_ended(error)
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
        ignore_ended(error)
    return _to_child(type, child_id)


def _to_child(type: ImportType, child_id: str) -> Response:
    endpoint = ".page_import" if type == ImportType.PAGE_IMPORT else ".code2des"
    return redirect(url_for(endpoint, child_id=child_id), code=303)


def _design(subject: str, view: ChildView) -> results.DesignView | None:
    try:
        return results.get_design(subject, view.id)
    except NotFound:
        return None

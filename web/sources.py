"""The source beside its design document: a page of lines, and the links that lead to it."""

from __future__ import annotations

from flask import Blueprint, render_template, request, url_for
from werkzeug.wrappers import Response

from models import children, sources
from models.database import connection
from models.states import ImportType
from web.answers import checked_id
from web.auth import current_subject, session
from web.markdown import Locate
from web.parts import live_page

blueprint = Blueprint("sources", __name__)

LINES_AT_ONCE = 1000


@blueprint.get("/code2des/<child_id>/files")
@session
def file(child_id: str) -> Response:
    """Show the lines of one file around `?line=`; 404 for a file that is not in the design."""
    subject, path = current_subject().id, request.args.get("path", "")
    with connection():
        view = children.get_child(subject, ImportType.CODE2DES, checked_id(child_id))
        text = sources.get_source(subject, child_id, path)
    lines = text.removesuffix("\n").split("\n")
    line = _asked_line(len(lines))
    first = line - (line - 1) % LINES_AT_ONCE if line else 1
    return live_page(
        render_template(
            "source.html",
            child=view,
            path=path,
            lines=lines[first - 1 : first - 1 + LINES_AT_ONCE],
            first=first,
            line=line,
            total=len(lines),
            at=LINES_AT_ONCE,
        )
    )


def _asked_line(total: int) -> int | None:
    """Return the asked-for line inside the file, or None when none is asked for."""
    number = request.args.get("line", "")
    plain = number.isascii() and number.isdigit() and len(number) <= 7
    return min(max(int(number), 1), total) if plain else None


def locator(subject: str, child_id: str, *, external: bool = False) -> Locate:
    """Return what turns a place in the source into the address of its page.

    `external`: whole addresses, for files that are taken away. Raises NotFound.
    """
    known = frozenset(sources.list_paths(subject, child_id))

    def locate(path: str, line: int | None) -> str | None:
        if path not in known:
            return None
        anchor = f"L{line}" if line else None
        return url_for(
            "sources.file",
            child_id=child_id,
            path=path,
            line=line,
            _anchor=anchor,
            _external=external,
        )

    return locate

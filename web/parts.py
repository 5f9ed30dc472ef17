"""Pages and their live parts: the same template within the whole page, or alone with an ETag."""

from __future__ import annotations

import hashlib

from flask import Response, make_response, request


def is_part() -> bool:
    """Tell whether only the changing part of the page is asked for."""
    return request.args.get("part") == "live"


def layout() -> str:
    """Return the template that pages extend."""
    return "part.html" if is_part() else "base.html"


def live_page(html: str) -> Response:
    """Answer with a rendered page; a part becomes 304 when the browser has it already."""
    response = make_response(html)
    if is_part():
        response.set_etag(hashlib.sha256(html.encode()).hexdigest()[:32])
        response.make_conditional(request)
    return response

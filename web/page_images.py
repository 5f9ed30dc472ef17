"""Pictures of pages to the owner of the import: streamed, cached for good, never run as a page."""

from __future__ import annotations

from flask import request
from werkzeug.wrappers import Response

from jobs.errors import ObjectMissing
from models import children, results
from models.database import connection
from models.states import ImportType
from web.answers import checked_id
from web.errors import WebError
from web.services import services

#: What a browser is told to show; anything else that a result may claim is a download.
_SHOWN = frozenset({"image/webp", "image/png"})
_MAX_DIGITS = 6
_KEPT_SECONDS = 365 * 24 * 3600


def image_answer(subject: str, child_id: str, number: str) -> Response:
    """Return the picture of one page, or 304 when the caller has it.

    Raises NotFound, WebError("not_found"), WebError("result_expired"), StorageUnavailable.
    """
    if not (number.isascii() and number.isdigit() and len(number) <= _MAX_DIGITS):
        raise WebError("not_found")
    with connection():
        child = children.get_child(subject, ImportType.PAGE_IMPORT, checked_id(child_id))
        if child.result_expired_at is not None:
            raise WebError("result_expired")
        image = results.get_image(subject, child_id, int(number))
    media_type = image.media_type if image.media_type in _SHOWN else "application/octet-stream"
    response = Response(content_type=media_type)
    response.set_etag(image.sha256)
    response.cache_control.private = True
    response.cache_control.max_age = _KEPT_SECONDS
    response.cache_control.immutable = True
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    if request.if_none_match.contains(image.sha256):
        response.status_code = 304
        return response
    try:
        response.response = services().storage.open_picture(child_id, int(number), image.sha256)
    except ObjectMissing as error:
        raise WebError("not_found") from error
    response.content_length = image.size_bytes
    return response

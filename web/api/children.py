"""/api/v1/imports and /api/v1/code2des: one file in, its status, its history."""

from __future__ import annotations

from typing import Any

from flask import Blueprint
from werkzeug.wrappers import Response

from models import cancellations, children, events, redrives
from models.database import connection
from models.states import TERMINAL, ImportType
from web import payloads, shapes
from web.answers import accepted_answer, checked_id, json_answer
from web.api.describing import (
    ANY_BYTES,
    BYTES,
    FILE_NAME,
    FORM,
    IF_NONE_MATCH,
    JSON,
    KEY,
    PASSWORD_OF_FILE,
    UPLOAD_CODES,
    WAIT,
    WISH_FIELDS,
    WISHES,
    Answer,
    PerType,
    cached,
    described,
    ok,
)
from web.auth import bearer, current_subject
from web.intake import accept
from web.languages import language
from web.metrics import note_cancelled
from web.services import services
from web.uploads import single_upload
from web.waiting import status_answer

blueprint = Blueprint("api_children", __name__, url_prefix="/api/v1")

_IMPORTS = {"type": ImportType.PAGE_IMPORT}
_CODE2DES = {"type": ImportType.CODE2DES}
_ACCEPTED: PerType = {
    ImportType.PAGE_IMPORT: shapes.AcceptedPageImport,
    ImportType.CODE2DES: shapes.AcceptedCode2Des,
}
_FILE_FORM = {
    "type": "object",
    "properties": {**WISH_FIELDS, "file": BYTES},
    "required": ["file"],
    "additionalProperties": False,
}


@blueprint.post("/imports", defaults=_IMPORTS)
@blueprint.post("/code2des", defaults=_CODE2DES)
@bearer
@described(
    ja="ファイルを 1 つ取り込む",
    parameters=(FILE_NAME, *WISHES, PASSWORD_OF_FILE, KEY),
    body={FORM: _FILE_FORM, ANY_BYTES: BYTES},
    answers={202: Answer(content={JSON: _ACCEPTED}, headers=("Location", "Retry-After"))},
    codes=UPLOAD_CODES,
)
def create(type: ImportType) -> Response:
    """Take one file in: 202 with its id, before any parsing."""
    limit_bytes = services().settings.max_upload_bytes
    with single_upload(type) as upload:
        return accepted_answer(accept(upload, services().storage, max_file_bytes=limit_bytes))


@blueprint.get("/imports/<child_id>", defaults=_IMPORTS)
@blueprint.get("/code2des/<child_id>", defaults=_CODE2DES)
@bearer
@described(
    ja="取り込みの状態を返す",
    parameters=(WAIT, IF_NONE_MATCH),
    answers=cached(payloads.CHILDREN),
)
def show(type: ImportType, child_id: str) -> Response:
    """Tell where one import is; `Prefer: wait=N` waits for its end."""
    subject, words = current_subject().id, language()

    def look() -> dict[str, Any]:
        return payloads.child(children.get_child(subject, type, checked_id(child_id)), words)

    return status_answer(look, ended=lambda body: body["status"] in TERMINAL)


@blueprint.get("/imports/<child_id>/events", defaults=_IMPORTS)
@blueprint.get("/code2des/<child_id>/events", defaults=_CODE2DES)
@bearer
@described(
    ja="取り込みの履歴を古い順に返す",
    parameters=(IF_NONE_MATCH,),
    answers=cached(shapes.EventList),
)
def history(type: ImportType, child_id: str) -> Response:
    """Tell what happened to one import, oldest first."""
    with connection():
        children.get_child(current_subject().id, type, checked_id(child_id))
        found = events.list_events(current_subject().id, child_id)
    return json_answer({"events": [payloads.event(e) for e in found]})


@blueprint.post("/imports/<child_id>/cancel", defaults=_IMPORTS)
@blueprint.post("/code2des/<child_id>/cancel", defaults=_CODE2DES)
@bearer
@described(
    ja="取り込みを取り消す",
    answers=ok(payloads.CHILDREN),
    codes=("already_terminal",),
)
def cancel(type: ImportType, child_id: str) -> Response:
    """Cancel one import for good, wherever it is; 409 when it has ended."""
    subject = current_subject().id
    cancellations.cancel_import(subject, type, checked_id(child_id))
    note_cancelled()
    return json_answer(payloads.child(children.get_child(subject, type, child_id), language()))


@blueprint.post("/imports/<child_id>/retry", defaults=_IMPORTS)
@blueprint.post("/code2des/<child_id>/retry", defaults=_CODE2DES)
@bearer
@described(
    ja="失敗した取り込みをやり直す",
    answers=ok(payloads.CHILDREN),
    codes=("not_failed", "source_expired"),
)
def retry(type: ImportType, child_id: str) -> Response:
    """Start a failed import anew under the same id; 409 when it has not failed."""
    subject = current_subject().id
    redrives.retry_import(subject, type, checked_id(child_id))
    return json_answer(payloads.child(children.get_child(subject, type, child_id), language()))

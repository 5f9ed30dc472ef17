"""The current request → an Upload for intake.accept: raw body, API multipart, form multipart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from flask import request

from jobs.tracing import begin
from models.states import ImportType
from web import csrf
from web.auth import current_subject
from web.body import RequestBody, request_body
from web.errors import WebError
from web.formats import import_type
from web.intake import Upload
from web.json_body import json_body
from web.multipart_form import ITEMS_FIELD, IncomingFile, MultipartForm
from web.names import clean_name, extended_name, header_text, plain_name
from web.options import PASSWORD, PASSWORD_HEADER, TEXT_NAMES, Wishes, read_wish, read_wishes
from web.requests import BatchItem, BatchRequest
from web.reservations import parse_key
from web.services import services

#: Boundaries, headers and fields around one file.
MULTIPART_OVERHEAD_BYTES = 64 * 1024
#: How long the form waits for its own twin after a double click.
TWIN_WAIT_SECONDS = 10
IDEMPOTENCY_FIELD = "idempotency_token"
_FORM_OPTIONS = tuple(name for name in TEXT_NAMES if name != "custom_id")


@contextmanager
def single_upload(type: ImportType) -> Iterator[Upload]:
    """Open the request as one file: multipart field `file`, or the raw body with a name."""
    limit_bytes = services().settings.max_upload_bytes
    multipart = request.mimetype == "multipart/form-data"
    if not multipart and request.mimetype.startswith("multipart/"):
        raise WebError("content_type_unsupported")
    if multipart:
        limit_bytes += MULTIPART_OVERHEAD_BYTES
    key = parse_key(request.headers.getlist("Idempotency-Key"))
    with request_body(limit_bytes=limit_bytes, code_too_large="file_too_large") as body:
        if multipart:
            form = MultipartForm(body, request.headers["Content-Type"], max_files=1)
            wish = read_wish(form.fields((*TEXT_NAMES, PASSWORD)), type)
            files: Iterator[IncomingFile] = form.files("file")
        else:
            wish = read_wish(_raw_wish(), type)
            files = iter([_raw_file(body)])
        yield Upload(
            subject=current_subject().id,
            type=type,
            files=files,
            many=False,
            wishes=Wishes(wish),
            key=key,
            traceparent=begin(request.headers.get("traceparent")),
        )


def _raw_wish() -> dict[str, str]:
    """Return the wish that a raw body's query and header hold; a query goes into logs."""
    texts = {name: request.args[name] for name in TEXT_NAMES if name in request.args}
    if PASSWORD in request.args:
        raise WebError("field_unknown", errors=[{"pointer": f"/{PASSWORD}"}])
    if (password := request.headers.get(PASSWORD_HEADER)) is not None:
        try:
            texts[PASSWORD] = unquote(password, errors="strict")
        except UnicodeDecodeError as error:
            raise WebError("field_invalid", errors=[{"pointer": f"/{PASSWORD}"}]) from error
    return texts


def _raw_file(body: RequestBody) -> IncomingFile:
    disposition = header_text(request.headers.get("Content-Disposition", ""))
    name = extended_name(disposition) or plain_name(disposition)
    if name is None:
        # Werkzeug reads a query that is not UTF-8 as U+FFFD, which no honest name carries.
        name = request.args.get("filename")
        if name is not None and "\ufffd" in name:
            raise WebError("file_name_undecodable")
    if name is None:
        raise WebError("file_name_missing")
    content_type = request.headers.get("Content-Type", "application/octet-stream")
    return IncomingFile(clean_name(name), content_type, body)


@contextmanager
def batch_upload() -> Iterator[Upload]:
    """Open the request as multipart with `type`, an optional `name`, and many `files`."""
    if request.mimetype != "multipart/form-data":
        raise WebError("content_type_unsupported")
    key = parse_key(request.headers.getlist("Idempotency-Key"))
    settings = services().settings
    with request_body(limit_bytes=None) as body:
        form = MultipartForm(
            body, request.headers["Content-Type"], max_files=settings.max_batch_files
        )
        fields = form.fields(("type", "name", ITEMS_FIELD, *TEXT_NAMES, PASSWORD))
        type = import_type(fields.get("type"))
        yield Upload(
            subject=current_subject().id,
            type=type,
            files=form.files("files"),
            many=True,
            wishes=read_wishes(fields, type),
            key=key,
            name=_batch_name(fields.get("name")),
            traceparent=begin(request.headers.get("traceparent")),
        )


def json_batch() -> tuple[Upload, list[BatchItem]]:
    """Read the request as a batch made of uploads."""
    key = parse_key(request.headers.getlist("Idempotency-Key"))
    wanted = json_body(BatchRequest, limit_bytes=services().settings.max_batch_json_bytes)
    upload = Upload(
        subject=current_subject().id,
        type=wanted.type,
        files=(),
        many=True,
        key=key,
        name=_batch_name(wanted.name),
        traceparent=begin(request.headers.get("traceparent")),
    )
    return upload, wanted.items


def _batch_name(text: str | None) -> str | None:
    """A batch's name follows the rules of a file's."""
    try:
        return clean_name(text) if text else None
    except WebError as error:
        raise WebError("field_invalid", errors=[{"pointer": "/name"}]) from error


@contextmanager
def form_upload() -> Iterator[Upload]:
    """Open the request as our own form; its token is checked before any file is read."""
    if request.mimetype != "multipart/form-data":
        raise WebError("content_type_unsupported")
    settings = services().settings
    with request_body(limit_bytes=None) as body:
        form = MultipartForm(
            body, request.headers["Content-Type"], max_files=settings.max_batch_files
        )
        fields = form.fields(
            (csrf.FIELD, IDEMPOTENCY_FIELD, "type", *_FORM_OPTIONS, PASSWORD), _check_token
        )
        if csrf.FIELD not in fields:
            raise WebError("csrf_failed")
        type = import_type(fields.get("type"))
        # A field that a person leaves empty wishes nothing.
        filled = {name: text for name, text in fields.items() if text}
        yield Upload(
            subject=current_subject().id,
            type=type,
            files=form.files("files"),
            many=True,
            wishes=read_wishes(filled, type),
            key=parse_key([fields.get(IDEMPOTENCY_FIELD, "")]),
            wait_seconds=TWIN_WAIT_SECONDS,
            traceparent=begin(request.headers.get("traceparent")),
        )


def _check_token(name: str, value: str) -> None:
    if name == csrf.FIELD:
        csrf.check(value)

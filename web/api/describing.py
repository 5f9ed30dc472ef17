"""What each API view says about itself; /openapi.json and /docs are made of nothing else.

The view's first sentence is its English summary. The codes it can answer are named here by code;
their statuses come from the catalogue. What every view shares is added in web.api.document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

from models.states import ImportType
from web.options import PASSWORD, PASSWORD_HEADER, TEXT_NAMES, Options

V = TypeVar("V", bound=Callable[..., Any])

#: One model for each type of import.
PerType = Mapping[ImportType, type[BaseModel]]
#: A model, one model a type, or a plain JSON schema.
Shape = type[BaseModel] | PerType | Mapping[str, Any]

TEXT: Mapping[str, Any] = {"type": "string"}
BYTES: Mapping[str, Any] = {"type": "string", "format": "binary"}
JSON = "application/json"
MARKDOWN = "text/markdown"
PLAIN = "text/plain"
ZIP = "application/zip"
WEBP = "image/webp"
ANY_BYTES = "application/octet-stream"
FORM = "multipart/form-data"

#: Groups of codes that come together.
NAME_CODES = (
    "file_name_bidi",
    "file_name_control",
    "file_name_missing",
    "file_name_path",
    "file_name_too_long",
    "file_name_undecodable",
)
BODY_CODES = ("body_truncated", "content_type_unsupported", "request_timeout")
KEY_CODES = (
    "idempotency_key_in_progress",
    "idempotency_key_invalid",
    "idempotency_key_reused",
    "commit_unknown",
)
JSON_CODES = (*BODY_CODES, "field_invalid", "field_unknown", "json_invalid", "request_too_large")
UPLOAD_CODES = (
    *NAME_CODES,
    *BODY_CODES,
    *KEY_CODES,
    "extension_unsupported",
    "field_invalid",
    "field_order",
    "field_unknown",
    "file_empty",
    "file_missing",
    "file_too_large",
    "multipart_malformed",
    "option_unsupported",
    "password_unsupported",
    "storage_unavailable",
    "too_many_files",
)


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One query value or request header."""

    name: str
    where: str
    schema: Mapping[str, Any]
    ja: str
    en: str
    required: bool = False


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One successful answer: what each media type holds, and its own headers."""

    content: Mapping[str, Shape] = field(default_factory=dict)
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Description:
    """All that a view says about itself beyond its docstring."""

    ja: str
    answers: Mapping[int, Answer]
    codes: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    body: Mapping[str, Shape] = field(default_factory=dict)


def described(
    *,
    ja: str,
    answers: Mapping[int, Answer],
    codes: tuple[str, ...] = (),
    parameters: tuple[Parameter, ...] = (),
    body: Mapping[str, Shape] | None = None,
) -> Callable[[V], V]:
    """Attach its description to a view; `ja` is the summary in Japanese."""
    made = Description(ja=ja, answers=answers, codes=codes, parameters=parameters, body=body or {})

    def mark(view: V) -> V:
        view.description = made  # type: ignore[attr-defined]  # the mark that document.py reads
        return view

    return mark


def ok(shape: Shape, *, headers: tuple[str, ...] = ()) -> dict[int, Answer]:
    """Return the answers of a view that says 200 with one JSON body."""
    return {200: Answer(content={JSON: shape}, headers=headers)}


def cached(shape: Shape) -> dict[int, Answer]:
    """Return the answers of a view with an ETag: 200 or 304."""
    return {**ok(shape, headers=("ETag",)), 304: Answer(headers=("ETag",))}


def _optional(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an option that is left out instead of null."""
    found = next((each for each in schema.get("anyOf", ()) if each["type"] != "null"), schema)
    return {key: value for key, value in found.items() if key not in ("title", "default")}


CURSOR = Parameter(
    name="cursor",
    where="query",
    schema={"type": "string", "minLength": 1, "maxLength": 512},
    ja="前のページの next_cursor",
    en="next_cursor of the page before",
)
LIMIT = Parameter(
    name="limit",
    where="query",
    schema={"type": "integer", "minimum": 1, "maximum": 100, "default": 50},
    ja="1 ページの件数",
    en="how many to return",
)
PAGING = (CURSOR, LIMIT)
IF_NONE_MATCH = Parameter(
    name="If-None-Match",
    where="header",
    schema=TEXT,
    ja="前回の ETag。変わっていなければ 304",
    en="the last ETag; 304 when nothing has changed",
)
KEY = Parameter(
    name="Idempotency-Key",
    where="header",
    schema={"type": "string", "pattern": '^([!#-~][!-~]{0,254}|"[!-~]{2,254})$'},
    ja="同じキーの再送には最初の応答を返す(24 時間)",
    en="the same key again gets the first answer, for 24 hours",
)
FILE_NAME = Parameter(
    name="filename",
    where="query",
    schema={"type": "string", "minLength": 1, "maxLength": 255},
    ja="本文がそのままファイルのときの名前(または Content-Disposition)",
    en="the file's name when the body is the file (or use Content-Disposition)",
)
_OPTION_SCHEMAS = Options.model_json_schema()["properties"]
_WISHES: dict[str, dict[str, Any]] = {
    "custom_id": {"type": "string", "minLength": 1, "maxLength": 255},
    **{name: _OPTION_SCHEMAS[name] for name in TEXT_NAMES if name != "custom_id"},
}
_WISH_WORDS = {
    "custom_id": ("呼び出し側の ID。応答にそのまま返る", "the caller's own name for the file"),
    "pages": (
        "読むページ、スライド、シート(例: 1-3,8,20-)",
        "the pages, slides or sheets to read, as in 1-3,8,20-",
    ),
    "language": ("文字コードと文字認識のための言語の手がかり", "a hint: the language of the text"),
    "images": ("ページの画像も作る", "whether images of the pages are wanted"),
    "encoding": ("テキストファイルの文字コード", "the encoding of a text file"),
}
#: What a raw body tells in its query: custom_id and the options of its type.
WISHES = tuple(
    Parameter(name=name, where="query", schema=_optional(schema), ja=words[0], en=words[1])
    for name, schema in _WISHES.items()
    for words in (_WISH_WORDS[name],)
)
PASSWORD_OF_FILE = Parameter(
    name=PASSWORD_HEADER,
    where="header",
    schema={"type": "string", "minLength": 1, "maxLength": 765},
    ja="ファイルのパスワード(UTF-8 をパーセント符号化)。封じて保存し、終われば消す",
    en="the file's password, percent-encoded UTF-8; kept sealed, erased at the end",
)
#: The same as fields of a form; `items` is JSON with a wish for each of many files.
WISH_FIELDS: dict[str, Any] = {
    **{name: _optional(schema) for name, schema in _WISHES.items()},
    PASSWORD: {"type": "string", "minLength": 1, "maxLength": 255, "format": "password"},
}
WAIT = Parameter(
    name="Prefer",
    where="header",
    schema=TEXT,
    ja="wait=N: 変化または終了を最大 30 秒待つ",
    en="wait=N holds the answer until a change, or the end, for at most 30 seconds",
)

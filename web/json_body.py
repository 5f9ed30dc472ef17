"""JSON request bodies: bounded in size and depth, and read the same way by everybody.

Refused with 400 are: what is not UTF-8 or not JSON, a key twice in one object, NaN and infinite
numbers, the character NUL, lone surrogates, and nesting deeper than 32. A body that is JSON but
not what the route takes is 400 `field_unknown` or 422 `field_invalid`, each place by its pointer.
"""

from __future__ import annotations

import json
import math
from typing import Any, TypeVar, overload

from flask import request
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from web.body import request_body
from web.errors import WebError

MAX_DEPTH = 32
SMALL_BYTES = 1 << 20
#: Faults that are told of one request; the rest of them follow when these are mended.
MAX_FAULTS = 100

M = TypeVar("M", bound="RequestBody")
T = TypeVar("T")


class RequestBody(BaseModel):
    """Base of every JSON body that comes in: nothing is converted, nothing unknown is taken."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def json_body(model: type[M], *, limit_bytes: int = SMALL_BYTES) -> M:
    """Read the body of the current request. Raises WebError."""
    if request.mimetype != "application/json":
        raise WebError("content_type_unsupported")
    with request_body(limit_bytes=limit_bytes) as body:
        raw = body.read_all()
    return validated(model, parse_json(raw))


@overload
def validated(shape: type[M], value: Any, place: str = "") -> M: ...


@overload
def validated(shape: TypeAdapter[T], value: Any, place: str = "") -> T: ...


def validated(shape: Any, value: Any, place: str = "") -> Any:
    """Return `value` as the model or type says; `place` leads to it. Raises WebError."""
    try:
        if isinstance(shape, TypeAdapter):
            return shape.validate_python(value)
        return shape.model_validate(value)
    except ValidationError as error:
        raise _refusal(error, place) from error


def parse_json(raw: bytes) -> Any:
    """Return the value of a JSON text. Raises WebError("json_invalid")."""
    try:
        value = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_refuse_number,
            parse_float=_finite,
        )
        # Only an escape can bring them in: the decoder takes neither as it is.
        _check(value, texts=b"\\u" in raw)
    except (ValueError, RecursionError) as error:
        raise WebError("json_invalid") from error
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _refuse_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _check(value: Any, *, texts: bool) -> None:
    """Walk the value level by level. Raises ValueError."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                below += each.values()
                if texts:
                    below += each
            elif isinstance(each, list):
                below += each
            elif texts and isinstance(each, str) and ("\x00" in each or not _is_unicode(each)):
                raise ValueError("a text has a character that is none")
        level = below
    if level:
        raise ValueError("the nesting is too deep")


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _refusal(error: ValidationError, place: str) -> WebError:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    unknown = [fault for fault in faults if fault["type"] == "extra_forbidden"]
    chosen = unknown or faults
    places = [{"pointer": place + pointer(*fault["loc"])} for fault in chosen[:MAX_FAULTS]]
    return WebError("field_unknown" if unknown else "field_invalid", errors=places)


def pointer(*path: str | int) -> str:
    """Return the JSON pointer (RFC 6901) of a place, each step shortened to 64 characters."""
    steps = (str(step)[:64].replace("~", "~0").replace("/", "~1") for step in path)
    return "".join(f"/{step}" for step in steps)

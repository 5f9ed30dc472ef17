"""JSON bodies about endpoints that come in."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from jobs.addresses import MAX_URL_CHARS
from models.endpoints import EventType
from web.json_body import RequestBody

Url = Annotated[str, StringConstraints(min_length=1, max_length=MAX_URL_CHARS)]
Events = Annotated[
    list[Annotated[EventType, Field(strict=False)]],
    Field(min_length=1, max_length=len(EventType)),
]
Description = Annotated[
    str, StringConstraints(min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f]+$")
]


def _aware(text: str) -> str:
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("a time has a zone")
    return text


#: An RFC 3339 time with its zone.
Instant = Annotated[
    str, AfterValidator(_aware), Field(json_schema_extra={"format": "date-time"}, max_length=40)
]


class EndpointRequest(RequestBody):
    """A new endpoint; without `events` it is told of everything."""

    url: Url
    events: Events = list(EventType)
    description: Description | None = None
    language: Literal["ja", "en"] | None = None
    enabled: bool = True


class EndpointChange(RequestBody):
    """What to change of an endpoint; what is left out stays."""

    url: Url | None = None
    events: Events | None = None
    description: Description | None = None
    language: Literal["ja", "en"] | None = None
    enabled: bool | None = None


class ReplayRequest(RequestBody):
    """Since when what failed is sent again."""

    since: Instant

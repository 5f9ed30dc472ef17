"""Outgoing events and their endpoints as bodies: what the API shows and what endpoints are sent.

The scheduler sends with these functions too, so nothing here knows Flask.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, Literal

from models.batches import BatchView, Counts
from models.children import ChildView
from models.delivery_log import AttemptView, DeliveryState, DeliveryStory, DeliveryView
from models.endpoints import TEST_EVENT, EndpointView, EventType
from web import payloads
from web.payloads import Batch, Body, Code2Des, PageImport

BASE = "/api/v1/endpoints"


class Endpoint(Body):
    """Where a subject's events are sent. `disabled_reason` is owner, gone (410) or failing."""

    endpoint_id: str
    url: str
    events: list[EventType]
    description: str | None
    language: Literal["ja", "en"]
    enabled: bool
    disabled_at: datetime | None
    disabled_reason: Literal["owner", "gone", "failing"] | None
    failing_since: datetime | None
    previous_secret_until: datetime | None
    created_at: datetime
    updated_at: datetime
    links: dict[str, str]


class EndpointWithSecret(Endpoint):
    """An endpoint with its secret: shown when it is made, and never again."""

    secret: str


class EndpointList(Body):
    """Endpoints, oldest first."""

    endpoints: list[Endpoint]
    next_cursor: str | None


class Attempt(Body):
    """One try. `error` says why there was no answer; `answer` is the beginning of one."""

    number: int
    at: datetime
    status: int | None
    error: str | None
    duration_ms: int | None
    answer: str | None


class Delivery(Body):
    """One event for one endpoint. `event_id` is the webhook-id of every attempt."""

    event_id: str
    endpoint_id: str
    type: str
    state: DeliveryState
    attempts: int
    error: str | None
    last_status: int | None
    occurred_at: datetime
    due_at: datetime | None
    ended_at: datetime | None
    links: dict[str, str]


class DeliveryList(Body):
    """Deliveries, newest event first."""

    deliveries: list[Delivery]
    next_cursor: str | None


class ImportEvent(Body):
    """An import has ended; `data` is what its GET answered at that moment."""

    event_id: str
    type: Literal["import.completed", "import.failed", "import.cancelled"]
    timestamp: datetime
    data: PageImport | Code2Des


class BatchEvent(Body):
    """The last item of a batch has ended; `data` is what its GET answered at that moment."""

    event_id: str
    type: Literal["batch.completed"]
    timestamp: datetime
    data: Batch


class EndpointEvent(Body):
    """A test, or an endpoint that was given up; `data` is the endpoint."""

    event_id: str
    type: Literal["endpoint.test", "endpoint.disabled"]
    timestamp: datetime
    data: Endpoint


#: Every event by its name, with the body that it has.
EVENTS: dict[str, type[Body]] = {
    **{name: ImportEvent for name in ("import.completed", "import.failed", "import.cancelled")},
    "batch.completed": BatchEvent,
    "endpoint.disabled": EndpointEvent,
    "endpoint.test": EndpointEvent,
}


class DeliveryDetail(Delivery):
    """A delivery with its attempts and the body that is sent."""

    tries: list[Attempt]
    body: ImportEvent | BatchEvent | EndpointEvent


class Replayed(Body):
    """How many failed deliveries are sent again."""

    replayed: int


def endpoint(view: EndpointView) -> dict[str, Any]:
    """Return the body of one endpoint, without its secret."""
    base = f"{BASE}/{view.id}"
    columns = {name: getattr(view, name) for name in Endpoint.model_fields if hasattr(view, name)}
    body = Endpoint(
        **columns,
        endpoint_id=view.id,
        events=[EventType(each) for each in view.event_types],
        links={
            "self": base,
            "deliveries": f"{base}/deliveries",
            "test": f"{base}/test",
            "replay": f"{base}/replay",
            "rotate": f"{base}/rotate",
        },
    )
    return body.model_dump(mode="json")


def delivery(view: DeliveryView) -> dict[str, Any]:
    """Return the body of one delivery."""
    base = f"{BASE}/{view.endpoint_id}/deliveries/{view.event_id}"
    columns = {name: getattr(view, name) for name in DeliveryView.__dataclass_fields__}
    body = Delivery(**columns, links={"self": base, "replay": f"{base}/replay"})
    return body.model_dump(mode="json")


def attempt(view: AttemptView) -> dict[str, Any]:
    """Return the body of one attempt."""
    return Attempt.model_validate(view).model_dump(mode="json")


def delivery_detail(story: DeliveryStory) -> dict[str, Any]:
    """Return a delivery with its attempts and the body of its event."""
    view = story.delivery
    return {
        **delivery(view),
        "tries": [attempt(each) for each in story.attempts],
        "body": event(view.event_id, view.type, view.occurred_at, story.snapshot, story.language),
    }


def event(
    event_id: str,
    event_type: str,
    occurred_at: datetime,
    snapshot: Mapping[str, Any],
    language: str,
) -> dict[str, Any]:
    """Return the body of one event: `data` as the API's own GET answers it."""
    return {
        "event_id": event_id,
        "type": event_type,
        "timestamp": occurred_at.isoformat().replace("+00:00", "Z"),
        "data": _data(event_type, snapshot, language),
    }


def _data(event_type: str, snapshot: Mapping[str, Any], language: str) -> dict[str, Any]:
    if event_type in (TEST_EVENT, EventType.ENDPOINT_DISABLED):
        return endpoint(_restored(EndpointView, snapshot))
    if event_type == EventType.BATCH_COMPLETED:
        counts = _restored(Counts, snapshot["counts"])
        return payloads.batch(_restored(BatchView, {**snapshot, "counts": counts}))
    return payloads.child(_restored(ChildView, snapshot), language)


def _restored(view: type[Any], snapshot: Mapping[str, Any]) -> Any:
    """Return a view from what an event remembers; a field of a newer version is None."""
    return view(**{field.name: snapshot.get(field.name) for field in fields(view)})

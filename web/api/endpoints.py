"""/api/v1/endpoints: who is told of what happened, how that went, and telling it again."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from flask import Blueprint, request
from werkzeug.wrappers import Response

from jobs.addresses import AddressRefused, check_url
from models import delivery_log, endpoints
from models.delivery_log import DeliveryState
from web import outgoing
from web.answers import checked_id, json_answer, paging
from web.api.describing import (
    IF_NONE_MATCH,
    JSON,
    JSON_CODES,
    PAGING,
    Answer,
    Parameter,
    cached,
    described,
    ok,
)
from web.auth import bearer, current_subject
from web.endpoint_requests import EndpointChange, EndpointRequest, ReplayRequest
from web.errors import WebError
from web.json_body import json_body
from web.languages import language
from web.services import services

blueprint = Blueprint("api_endpoints", __name__, url_prefix="/api/v1/endpoints")

_URL_CODES = ("endpoint_url_refused",)
_STATE = Parameter(
    name="state",
    where="query",
    schema={"enum": [str(state) for state in DeliveryState]},
    ja="この状態の配信だけを返す",
    en="only deliveries in this state",
)


@blueprint.post("")
@bearer
@described(
    ja="通知先を登録する(署名の鍵は一度だけ返す)",
    body={JSON: EndpointRequest},
    answers={201: Answer(content={JSON: outgoing.EndpointWithSecret}, headers=("Location",))},
    codes=(*JSON_CODES, *_URL_CODES, "commit_unknown", "endpoints_exceeded"),
)
def create() -> Response:
    """Register an endpoint; its secret is in this answer and in no other."""
    wanted = json_body(EndpointRequest)
    view, secret = endpoints.create_endpoint(
        current_subject().id,
        url=_checked_url(wanted.url),
        event_types=_types(wanted.events),
        description=wanted.description,
        language=wanted.language or language(),
        enabled=wanted.enabled,
    )
    body = outgoing.endpoint(view)
    response = json_answer({**body, "secret": secret}, 201)
    response.headers["Location"] = body["links"]["self"]
    return response


@blueprint.get("")
@bearer
@described(
    ja="自分の通知先を古い順に返す",
    parameters=(*PAGING, IF_NONE_MATCH),
    answers=cached(outgoing.EndpointList),
    codes=("cursor_invalid",),
)
def index() -> Response:
    """List the caller's endpoints, oldest first."""
    cursor, limit = paging()
    found, following = endpoints.list_endpoints(current_subject().id, cursor=cursor, limit=limit)
    body = [outgoing.endpoint(each) for each in found]
    return json_answer({"endpoints": body, "next_cursor": following})


@blueprint.get("/<endpoint_id>")
@bearer
@described(ja="通知先を返す", parameters=(IF_NONE_MATCH,), answers=cached(outgoing.Endpoint))
def show(endpoint_id: str) -> Response:
    """Tell what an endpoint is told of, and whether it still is."""
    view = endpoints.get_endpoint(current_subject().id, checked_id(endpoint_id))
    return json_answer(outgoing.endpoint(view))


@blueprint.patch("/<endpoint_id>")
@bearer
@described(
    ja="通知先を変更する(再び有効にすると、失敗の記録は消える)",
    body={JSON: EndpointChange},
    answers=ok(outgoing.Endpoint),
    codes=(*JSON_CODES, *_URL_CODES, "commit_unknown"),
)
def change(endpoint_id: str) -> Response:
    """Change an endpoint; what is left out stays, enabling it forgets its failures."""
    subject = current_subject().id
    endpoints.get_endpoint(subject, checked_id(endpoint_id))
    wanted = json_body(EndpointChange)
    changes: dict[str, Any] = wanted.model_dump(exclude_unset=True)
    empty = [name for name, value in changes.items() if value is None and name != "description"]
    if empty:
        raise WebError("field_invalid", errors=[{"pointer": f"/{name}"} for name in empty])
    if wanted.url is not None:
        changes["url"] = _checked_url(wanted.url)
    if wanted.events is not None:
        changes["event_types"] = _types(wanted.events)
    return json_answer(outgoing.endpoint(endpoints.change_endpoint(subject, endpoint_id, changes)))


@blueprint.delete("/<endpoint_id>")
@bearer
@described(ja="通知先を削除する", answers={204: Answer()}, codes=("commit_unknown",))
def delete(endpoint_id: str) -> Response:
    """Delete an endpoint with its log for good; then it is 404."""
    endpoints.delete_endpoint(current_subject().id, checked_id(endpoint_id))
    return Response(status=204)


@blueprint.post("/<endpoint_id>/rotate")
@bearer
@described(
    ja="署名の鍵を替える(古い鍵でも 24 時間は署名する)",
    answers=ok(outgoing.EndpointWithSecret),
    codes=("commit_unknown",),
)
def rotate(endpoint_id: str) -> Response:
    """Give an endpoint a new secret; for 24 hours the old one signs too."""
    view, secret = endpoints.rotate_secret(current_subject().id, checked_id(endpoint_id))
    return json_answer({**outgoing.endpoint(view), "secret": secret})


@blueprint.post("/<endpoint_id>/test")
@bearer
@described(
    ja="試験の通知を送る",
    answers={202: Answer(content={JSON: outgoing.DeliveryDetail}, headers=("Location",))},
    codes=("commit_unknown", "endpoint_disabled"),
)
def test(endpoint_id: str) -> Response:
    """Have a test event sent to an endpoint; its delivery tells how that went."""
    event_id = delivery_log.send_test(current_subject().id, checked_id(endpoint_id))
    return _delivery_on_its_way(endpoint_id, event_id)


@blueprint.get("/<endpoint_id>/deliveries")
@bearer
@described(
    ja="通知先への配信を新しい順に返す",
    parameters=(_STATE, *PAGING, IF_NONE_MATCH),
    answers=cached(outgoing.DeliveryList),
    codes=("cursor_invalid", "field_invalid"),
)
def deliveries(endpoint_id: str) -> Response:
    """List what an endpoint was sent, newest event first, `state` filters."""
    cursor, limit = paging()
    state = request.args.get("state")
    if state is not None and state not in set(DeliveryState):
        raise WebError("field_invalid", errors=[{"pointer": "/state"}])
    found, following = delivery_log.list_deliveries(
        current_subject().id, checked_id(endpoint_id), state=state, cursor=cursor, limit=limit
    )
    body = [outgoing.delivery(each) for each in found]
    return json_answer({"deliveries": body, "next_cursor": following})


@blueprint.get("/<endpoint_id>/deliveries/<event_id>")
@bearer
@described(
    ja="配信とそのすべての試行、送った本文を返す",
    parameters=(IF_NONE_MATCH,),
    answers=cached(outgoing.DeliveryDetail),
)
def delivery(endpoint_id: str, event_id: str) -> Response:
    """Tell one delivery with every attempt and the body that is sent."""
    story = delivery_log.get_delivery(
        current_subject().id, checked_id(endpoint_id), checked_id(event_id)
    )
    return json_answer(outgoing.delivery_detail(story))


@blueprint.post("/<endpoint_id>/deliveries/<event_id>/replay")
@bearer
@described(
    ja="1 件を同じ webhook-id でもう一度送る",
    answers={202: Answer(content={JSON: outgoing.DeliveryDetail}, headers=("Location",))},
    codes=("commit_unknown", "endpoint_disabled"),
)
def replay(endpoint_id: str, event_id: str) -> Response:
    """Send one event again under the same webhook-id, whatever became of it."""
    subject = current_subject().id
    delivery_log.replay(subject, checked_id(endpoint_id), checked_id(event_id))
    return _delivery_on_its_way(endpoint_id, event_id)


@blueprint.post("/<endpoint_id>/replay")
@bearer
@described(
    ja="指定した時刻以降に失敗したものをすべてもう一度送る",
    body={JSON: ReplayRequest},
    answers={202: Answer(content={JSON: outgoing.Replayed})},
    codes=(*JSON_CODES, "commit_unknown", "endpoint_disabled"),
)
def replay_failed(endpoint_id: str) -> Response:
    """Send everything again that failed and happened since a time."""
    subject = current_subject().id
    endpoints.get_endpoint(subject, checked_id(endpoint_id))
    since = datetime.fromisoformat(json_body(ReplayRequest).since)
    count = delivery_log.replay_failed(subject, endpoint_id, since)
    return json_answer({"replayed": count}, 202)


def _delivery_on_its_way(endpoint_id: str, event_id: str) -> Response:
    story = delivery_log.get_delivery(current_subject().id, endpoint_id, event_id)
    body = outgoing.delivery_detail(story)
    response = json_answer(body, 202)
    response.headers["Location"] = body["links"]["self"]
    return response


def _types(events: list[Any]) -> list[str]:
    return list(dict.fromkeys(str(event) for event in events))


def _checked_url(url: str) -> str:
    """Return the URL when events may be sent there. Raises WebError("endpoint_url_refused")."""
    settings = services().settings
    try:
        check_url(url, ports=settings.allowed_ports(), local=settings.endpoint_allow_local)
    except AddressRefused as error:
        fault = {"pointer": "/url", "code": str(error)}
        raise WebError("endpoint_url_refused", errors=[fault]) from error
    return url

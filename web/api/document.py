"""The OpenAPI 3.1 document, made from the route table, the views' descriptions and the models.

https://spec.openapis.org/oas/v3.1.1.html
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Flask
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from werkzeug.routing import Rule

from models.states import ImportType
from web import outgoing
from web.api.describing import Description, Parameter, Shape
from web.catalogue import REQUEST_CODES
from web.shapes import Problem

PREFIX = "/api/v1"
_REFERENCE = "#/components/schemas/{model}"
_ARGUMENT = re.compile(r"<(?:\w+:)?(\w+)>")
_ID_SCHEMA = {"type": "string", "format": "uuid"}
_NUMBER_SCHEMA = {"type": "integer", "minimum": 1}

#: What every view behind a token can answer.
SHARED_CODES = (
    "bad_request",
    "token_expired",
    "token_invalid",
    "token_missing",
    "database_unavailable",
    "identity_unavailable",
    "internal_error",
    "rate_limited",
)
_HEADERS: dict[str, dict[str, Any]] = {
    "X-Request-Id": {"required": True, "schema": {"type": "string"}},
    "ETag": {"required": True, "schema": {"type": "string"}},
    "Location": {"required": True, "schema": {"type": "string", "format": "uri-reference"}},
    "Retry-After": {"required": True, "schema": {"type": "integer", "minimum": 1}},
    "RateLimit": {"required": False, "schema": {"type": "string"}},
    "RateLimit-Policy": {"required": False, "schema": {"type": "string"}},
    "Content-Disposition": {"required": True, "schema": {"type": "string"}},
    "Content-Language": {"required": True, "schema": {"type": "string"}},
    "WWW-Authenticate": {"required": True, "schema": {"type": "string"}},
}


_EVERYWHERE = ("X-Request-Id", "RateLimit", "RateLimit-Policy")


@dataclass(frozen=True)
class Route:
    """One method of one path, with what its view says about itself."""

    method: str
    path: str
    arguments: tuple[str, ...]
    endpoint: str
    type: ImportType | None
    summary: str
    description: Description

    @property
    def name(self) -> str:
        """Return the operationId."""
        view = self.endpoint.removeprefix("api_").replace(".", "_")
        return f"{view}_{self.type}" if self.type else view

    @property
    def codes(self) -> tuple[str, ...]:
        """Return every code that it can answer."""
        ids = ("not_found",) if self.arguments else ()
        return tuple(dict.fromkeys((*self.description.codes, *ids, *SHARED_CODES)))


def routes(app: Flask) -> list[Route]:
    """List the API's routes by path. Raises ValueError for a view that does not describe itself."""
    found = [route for rule in app.url_map.iter_rules() for route in _routes_of(app, rule)]
    return sorted(found, key=lambda route: (route.path, route.method))


def _routes_of(app: Flask, rule: Rule) -> Iterator[Route]:
    if not rule.rule.startswith(PREFIX):
        return
    view = app.view_functions[rule.endpoint]
    description = getattr(view, "description", None)
    if description is None:
        raise ValueError(f"{rule.endpoint} does not describe itself")
    for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
        yield Route(
            method=method.lower(),
            path=_ARGUMENT.sub(r"{\1}", rule.rule),
            arguments=tuple(_ARGUMENT.findall(rule.rule)),
            endpoint=rule.endpoint,
            type=(rule.defaults or {}).get("type"),
            summary=(view.__doc__ or "").split("\n")[0],
            description=description,
        )


def build(app: Flask) -> dict[str, Any]:
    """Return the whole document."""
    found = routes(app)
    schemas = _Schemas(found)
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    for route in found:
        paths[route.path][route.method] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Torikomi",
            "version": "1",
            "description": "Imports files in the background and never loses one.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": dict(paths),
        "webhooks": {name: _webhook(name, shape) for name, shape in outgoing.EVENTS.items()},
        "components": {
            "schemas": schemas.definitions,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
            },
        },
    }


class _Schemas:
    """The models of all routes under `components`, and the way from a shape to its schema."""

    def __init__(self, found: list[Route]) -> None:
        answers: set[type[BaseModel]] = {Problem}
        requests: set[type[BaseModel]] = set()
        for route in found:
            for answer in route.description.answers.values():
                for shape in answer.content.values():
                    answers |= _models(shape)
            for shape in route.description.body.values():
                requests |= _models(shape)
        keyed = [(model, "serialization") for model in answers]
        keyed += [(model, "validation") for model in requests]
        ordered = sorted(keyed, key=lambda pair: (pair[0].__name__, pair[1]))
        _, definitions = models_json_schema(ordered, ref_template=_REFERENCE)  # type: ignore[arg-type]  # the modes are literals
        self.definitions: dict[str, Any] = definitions["$defs"]

    def of(self, shape: Shape, type: ImportType | None) -> dict[str, Any]:
        """Return the schema of a shape for one type of import."""
        if not isinstance(shape, Mapping):
            return {"$ref": _REFERENCE.format(model=shape.__name__)}
        by_type: dict[Any, Any] = dict(shape)
        return self.of(by_type[type], type) if type in by_type else by_type


def _models(shape: Shape) -> set[type[BaseModel]]:
    if isinstance(shape, Mapping):
        return {model for model in shape.values() if isinstance(model, type)}
    return {shape}


def _operation(route: Route, schemas: _Schemas) -> dict[str, Any]:
    about = route.description
    operation: dict[str, Any] = {
        "operationId": route.name,
        "tags": [route.path.removeprefix(f"{PREFIX}/").partition("/")[0]],
        "summary": route.summary,
        "x-summary-ja": about.ja,
        "parameters": [
            *(
                {
                    "name": name,
                    "in": "path",
                    "required": True,
                    "schema": _NUMBER_SCHEMA if name == "number" else _ID_SCHEMA,
                }
                for name in route.arguments
            ),
            *(_parameter(parameter) for parameter in about.parameters),
        ],
        "responses": _responses(route, schemas),
    }
    if about.body:
        content = {kind: {"schema": schemas.of(s, route.type)} for kind, s in about.body.items()}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _webhook(name: str, shape: type[BaseModel]) -> dict[str, Any]:
    """Describe one outgoing event as the request that its endpoint gets."""
    headers = ("webhook-id", "webhook-timestamp", "webhook-signature")
    schema = {"$ref": _REFERENCE.format(model=shape.__name__)}
    about = {
        "operationId": f"on_{name.replace('.', '_')}",
        "summary": (shape.__doc__ or "").split("\n")[0],
        "security": [],
        "parameters": [
            {"name": each, "in": "header", "required": True, "schema": {"type": "string"}}
            for each in headers
        ],
        **_body({"application/json": schema}),
        "responses": {
            "2XX": {"description": "taken"},
            "410": {"description": "nothing more, ever: the endpoint is disabled"},
            "default": {"description": "sent again later under the same webhook-id"},
        },
    }
    return {"post": about}


def _body(schemas: Mapping[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, **_content(schemas)}}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.where,
        "required": parameter.required,
        "description": parameter.en,
        "x-description-ja": parameter.ja,
        "schema": dict(parameter.schema),
    }


def _responses(route: Route, schemas: _Schemas) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status, answer in sorted(route.description.answers.items()):
        found[str(status)] = {
            "description": f"HTTP {status}",
            "headers": {name: _HEADERS[name] for name in (*_EVERYWHERE, *answer.headers)},
            **_content({k: schemas.of(s, route.type) for k, s in answer.content.items()}),
        }
    for status, codes in sorted(_by_status(route.codes).items()):
        found[str(status)] = _problem(status, codes)
    return found


def _content(schemas: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": {k: {"schema": v} for k, v in schemas.items()}} if schemas else {}


def _by_status(codes: tuple[str, ...]) -> dict[int, list[str]]:
    by_status: dict[int, list[str]] = defaultdict(list)
    for code in codes:
        by_status[REQUEST_CODES[code].status or 500].append(code)
    return by_status


def _problem(status: int, codes: list[str]) -> dict[str, Any]:
    """Describe one status by the codes that it can carry."""
    names = [*_EVERYWHERE, "Content-Language"]
    if any(code.startswith("token_") for code in codes):
        names.append("WWW-Authenticate")
    if all(REQUEST_CODES[code].retryable for code in codes):
        names.append("Retry-After")
    schema = {
        "allOf": [{"$ref": _REFERENCE.format(model=Problem.__name__)}],
        "properties": {"status": {"const": status}, "code": {"enum": sorted(codes)}},
    }
    words = "; ".join(f"{code}: {REQUEST_CODES[code].en.title}" for code in sorted(codes))
    return {
        "description": words,
        "headers": {name: _HEADERS[name] for name in names},
        **_content({"application/problem+json": schema}),
    }

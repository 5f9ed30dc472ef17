"""The OpenAPI document as rows for the reference page, and that page's words in both languages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Row:
    """One name with what it is: a parameter, a field, or an answer."""

    name: str
    kind: str
    about: str = ""
    link: str = ""
    required: bool = False


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One call of the API. `codes` are the problems that it can answer."""

    id: str
    method: str
    path: str
    summary: str
    parameters: list[Row]
    body: list[Row]
    answers: list[Row]
    codes: list[str] = field(default_factory=list)


def operations(document: dict[str, Any], language: str) -> list[Operation]:
    """List every call of the document in one language."""
    return [
        _operation(path, method, about, language)
        for path, methods in document["paths"].items()
        for method, about in methods.items()
    ]


def _operation(path: str, method: str, about: dict[str, Any], language: str) -> Operation:
    japanese = language == "ja"
    parameters = [
        Row(
            name=each["name"],
            kind=f"{each['in']} · {_kind(each['schema'])}",
            about=each.get("x-description-ja" if japanese else "description", ""),
            required=each["required"],
        )
        for each in about["parameters"]
    ]
    answers, codes = [], []
    for status, answer in about["responses"].items():
        for kind, content in answer.get("content", {"": {"schema": {}}}).items():
            if kind == "application/problem+json":
                codes += content["schema"]["properties"]["code"]["enum"]
            else:
                answers.append(_described(status, kind, content["schema"]))
    body = [
        _described(kind, "", content["schema"])
        for kind, content in about.get("requestBody", {"content": {}})["content"].items()
    ]
    return Operation(
        id=about["operationId"],
        method=method.upper(),
        path=path,
        summary=about["x-summary-ja"] if japanese else about["summary"],
        parameters=parameters,
        body=body,
        answers=answers,
        codes=sorted(codes),
    )


def _described(name: str, kind: str, schema: dict[str, Any]) -> Row:
    link = schema.get("$ref", "").rpartition("/")[2]
    fields = "" if link else ", ".join(_fields(schema))
    return Row(name=name, kind=kind, about=fields, link=link)


def schemas(document: dict[str, Any]) -> list[tuple[str, list[Row]]]:
    """List every body of the document with its fields."""
    return [
        (name, [_field(field_name, schema, about) for field_name, about in _properties(schema)])
        for name, schema in document["components"]["schemas"].items()
    ]


def _properties(schema: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return list(schema.get("properties", {}).items()) or [("", schema)]


def _field(name: str, schema: dict[str, Any], about: dict[str, Any]) -> Row:
    return Row(name=name, kind=_kind(about), required=name in schema.get("required", []))


def _fields(schema: dict[str, Any]) -> list[str]:
    return [f"{name}: {_kind(about)}" for name, about in schema.get("properties", {}).items()]


def _kind(schema: dict[str, Any]) -> str:
    """Return a schema's type in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " | ".join(_kind(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return f"[{_kind(schema.get('items', {}))}]"
    form = schema.get("format")
    return f"{schema.get('type', 'any')}{f' ({form})' if form else ''}"


WORDS: dict[str, dict[str, Any]] = {
    "ja": {
        "title": "API リファレンス",
        "document": "OpenAPI 3.1 文書",
        "errors": "エラーコード一覧",
        "calls": "呼び出し",
        "bodies": "データの形",
        "parameters": "パラメーター",
        "body": "本文",
        "answers": "応答",
        "codes": "エラーコード",
        "required": "必須",
        "rules_title": "共通のきまり",
        "rules": (
            "Authorization: Bearer に Cognito のアクセストークンを付けます。",
            "ファイルは解析の前に 202 で受け付けられ、Location が状態の URL を示します。",
            "Idempotency-Key を付けた送信は、同じキーで安全に再送できます(24 時間)。",
            "エラーは application/problem+json です。code は変わりません。"
            "retryable が true なら Retry-After の後に再試行できます。",
            "一覧は next_cursor を cursor に渡して続きを読みます。",
            "ETag を If-None-Match に渡すと、変化がないとき 304 を返します。",
            "Prefer: wait=N は、変化または終了まで最大 30 秒待ってから応答します。",
            "RateLimit と RateLimit-Policy は、残りのリクエスト数と上限を示します。"
            "超えると 429 と Retry-After を返します。",
        ),
    },
    "en": {
        "title": "API reference",
        "document": "OpenAPI 3.1 document",
        "errors": "Error codes",
        "calls": "Calls",
        "bodies": "Bodies",
        "parameters": "Parameters",
        "body": "Body",
        "answers": "Answers",
        "codes": "Error codes",
        "required": "required",
        "rules_title": "What holds for every call",
        "rules": (
            "Send a Cognito access token as Authorization: Bearer.",
            "A file is answered 202 before it is parsed; Location says where its status is.",
            "A request with an Idempotency-Key can safely be sent again for 24 hours.",
            "Errors are application/problem+json with a code that never changes; "
            "when retryable is true, try again after Retry-After.",
            "Lists go on with next_cursor as cursor.",
            "An ETag sent as If-None-Match is answered 304 when nothing has changed.",
            "Prefer: wait=N holds the answer until a change or the end, for at most 30 seconds.",
            "RateLimit and RateLimit-Policy tell how many requests are left; beyond that comes "
            "429 with Retry-After.",
        ),
    },
}

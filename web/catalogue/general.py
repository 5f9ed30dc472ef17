"""What HTTP itself can answer: code → (status, retryable, Japanese, English)."""

from __future__ import annotations

from web.catalogue.text import Text

GENERAL_TEXTS: dict[str, tuple[int, bool, Text, Text]] = {
    "bad_request": (
        400,
        False,
        Text(
            "リクエストの形式が正しくありません",
            "送られた内容を解釈できませんでした。",
            "送信内容を確かめて、もう一度お試しください。",
        ),
        Text(
            "The request is malformed",
            "What was sent could not be understood.",
            "Check what is sent and try again.",
        ),
    ),
    "length_required": (
        411,
        False,
        Text(
            "本文の長さが分かりません",
            "Content-Length がありません。",
            "Content-Length を付けて送信してください。",
        ),
        Text(
            "The length of the body is unknown",
            "There is no Content-Length.",
            "Send the request with a Content-Length.",
        ),
    ),
    "request_too_large": (
        413,
        False,
        Text(
            "リクエストが大きすぎます",
            "この宛先で受け取れる大きさを超えています。",
            "小さくして送信してください。",
        ),
        Text(
            "The request is too large",
            "It is larger than this resource takes.",
            "Send a smaller request.",
        ),
    ),
    "uri_too_long": (
        414,
        False,
        Text(
            "URL が長すぎます",
            "受け取れる長さを超えています。",
            "短くして送信してください。",
        ),
        Text(
            "The URL is too long",
            "It is longer than the server takes.",
            "Shorten it and try again.",
        ),
    ),
    "media_type_unsupported": (
        415,
        False,
        Text(
            "この形式には対応していません",
            "受け取れない Content-Type です。",
            "API の説明にある形式で送信してください。",
        ),
        Text(
            "The media type is not supported",
            "The request has a Content-Type that it may not have.",
            "Send it in a format that the API description names.",
        ),
    ),
    "range_not_satisfiable": (
        416,
        False,
        Text(
            "指定された範囲を返せません",
            "Range ヘッダーの範囲が正しくありません。",
            "範囲を直してください。",
        ),
        Text(
            "The range cannot be served",
            "The Range header names bytes that do not exist.",
            "Correct the range.",
        ),
    ),
    "headers_too_large": (
        431,
        False,
        Text(
            "ヘッダーが大きすぎます",
            "受け取れる大きさを超えています。",
            "ヘッダーや Cookie を減らしてください。",
        ),
        Text(
            "The headers are too large",
            "They are larger than the server takes.",
            "Send fewer or smaller headers and cookies.",
        ),
    ),
    "not_found": (
        404,
        False,
        Text(
            "見つかりません",
            "存在しないか、表示する権限がありません。",
            "URL を確かめてください。",
        ),
        Text(
            "Not found",
            "There is no such thing, or it is not yours to see.",
            "Check the address.",
        ),
    ),
    "method_not_allowed": (
        405,
        False,
        Text(
            "この操作はできません",
            "この URL では使えない HTTP メソッドです。",
            "Allow ヘッダーにあるメソッドを使ってください。",
        ),
        Text(
            "The method is not allowed",
            "This address does not take this HTTP method.",
            "Use one of the methods in the Allow header.",
        ),
    ),
    "not_acceptable": (
        406,
        False,
        Text(
            "求められた形式では返せません",
            "Accept ヘッダーに合う形式がありません。",
            "Accept ヘッダーを直してください。",
        ),
        Text(
            "No acceptable format",
            "Nothing here fits the Accept header.",
            "Change the Accept header.",
        ),
    ),
    "cursor_invalid": (
        400,
        False,
        Text(
            "ページの位置を示す値が正しくありません",
            "cursor または limit が正しくありません。",
            "next_cursor の値をそのまま使い、limit は 1 から 100 にしてください。",
        ),
        Text(
            "The paging values are wrong",
            "cursor or limit is not valid.",
            "Use next_cursor as it was given, and a limit from 1 to 100.",
        ),
    ),
    "precondition_failed": (
        412,
        False,
        Text(
            "前提条件に合いません",
            "条件付きリクエストの条件が満たされませんでした。",
            "最新の状態を取得してください。",
        ),
        Text(
            "A precondition failed",
            "The condition of the request does not hold.",
            "Get the current state first.",
        ),
    ),
}

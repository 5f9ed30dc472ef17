"""Endpoints of outgoing events: code → (status, retryable, Japanese, English)."""

from __future__ import annotations

from web.catalogue.text import Text

ENDPOINT_TEXTS: dict[str, tuple[int, bool, Text, Text]] = {
    "endpoint_url_refused": (
        422,
        False,
        Text(
            "この URL には通知を送れません",
            "https ではないか、公開されていないアドレス、許可されていないポート、"
            "または URL に含められない情報(ユーザー名など)が指定されています。",
            "インターネットから届く https の URL を指定してください。"
            "理由は errors の code にあります。",
        ),
        Text(
            "Events cannot be sent to this URL",
            "It is not https, or names an address that is not public, a port that is not allowed, "
            "or carries what a URL may not, such as a user name.",
            "Give an https URL that the internet can reach; the code in errors says why.",
        ),
    ),
    "endpoints_exceeded": (
        409,
        False,
        Text(
            "通知先が多すぎます",
            "登録できる通知先は 20 件までです。",
            "使っていない通知先を削除してから登録してください。",
        ),
        Text(
            "There are too many endpoints",
            "A subject may have 20 of them.",
            "Delete one that is no longer used, then register this one.",
        ),
    ),
    "endpoint_disabled": (
        409,
        False,
        Text(
            "この通知先は無効です",
            "所有者が無効にしたか、410 が返ったか、失敗が何日も続いたため、送信を止めています。",
            "通知先を有効にしてから、もう一度お試しください。",
        ),
        Text(
            "The endpoint is disabled",
            "Its owner disabled it, it answered 410, or it has failed for days.",
            "Enable the endpoint, then try again.",
        ),
    ),
}

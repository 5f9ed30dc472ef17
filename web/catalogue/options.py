"""Options of a file: why a request is refused, and why an import failed. See web.catalogue."""

from __future__ import annotations

from web.catalogue.text import Text

OPTIONS_TEXTS: dict[str, tuple[int, bool, Text, Text]] = {
    "option_unsupported": (
        422,
        False,
        Text(
            "この種類の取り込みでは使えない指定です",
            "ソースコードの取り込みで指定できるのは、文字コード(encoding)だけです。",
            "errors が示す指定を取り除いて送信してください。",
        ),
        Text(
            "This option does not fit the type of import",
            "Of source code only the encoding can be told.",
            "Leave out the option that errors names and send it again.",
        ),
    ),
    "password_unsupported": (
        422,
        False,
        Text(
            "パスワードを受け付けられません",
            "パスワードを封じる鍵(SEALING_PUBLIC_KEY)が設定されていません。",
            "パスワードを解除したファイルを送るか、運用担当者に連絡してください。",
        ),
        Text(
            "No password can be taken here",
            "This installation has no key (SEALING_PUBLIC_KEY) to seal it with.",
            "Send the file without its password, or tell the operator.",
        ),
    ),
}

OPTIONS_ITEM_TEXTS: dict[str, tuple[bool, Text, Text]] = {
    "password_wrong": (
        False,
        Text(
            "パスワードが違います",
            "添えられたパスワードではファイルを開けませんでした。",
            "正しいパスワードを添えて、もう一度取り込んでください。",
        ),
        Text(
            "The password is wrong",
            "The file does not open with the password that came with it.",
            "Import the file again with its right password.",
        ),
    ),
    "password_unreadable": (
        True,
        Text(
            "添えられたパスワードを復号できません",
            "ワーカーの鍵(SEALING_PRIVATE_KEYS)が Web の鍵と対になっていません。",
            "運用担当者に連絡し、鍵が直ってから、もう一度取り込んでください。",
        ),
        Text(
            "The password that came with the file cannot be opened",
            "The worker's SEALING_PRIVATE_KEYS do not belong to the web's SEALING_PUBLIC_KEY.",
            "Tell the operator, and import the file again when the keys are right.",
        ),
    ),
    "page_range_empty": (
        False,
        Text(
            "指定されたページがありません",
            "文書のページ数が、指定された範囲より少なくなっています。",
            "ページの範囲を直して、もう一度取り込んでください。",
        ),
        Text(
            "None of the pages asked for exists",
            "The document ends before the range of pages begins.",
            "Import the file again with another range.",
        ),
    ),
}

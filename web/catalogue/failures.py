"""Conflicts, what is gone, what is down: code → (status, retryable, Japanese, English)."""

from __future__ import annotations

from web.catalogue.text import Text

FAILURES_TEXTS: dict[str, tuple[int, bool, Text, Text]] = {
    "already_terminal": (
        409,
        False,
        Text(
            "すでに終わっています",
            "完了、失敗、または取り消し済みのため、変更できません。",
            "現在の状態を確かめてください。",
        ),
        Text(
            "It is already finished",
            "What is completed, failed or cancelled cannot be changed.",
            "Look at its current state.",
        ),
    ),
    "not_failed": (
        409,
        False,
        Text(
            "失敗した取込がありません",
            "やり直せるのは、失敗した取込だけです。",
            "現在の状態を確かめてください。",
        ),
        Text(
            "Nothing here has failed",
            "Only what has failed can be tried again.",
            "Look at its current state.",
        ),
    ),
    "conflict": (
        409,
        False,
        Text(
            "現在の状態ではできません",
            "状態が変わったため、この操作はできません。",
            "現在の状態を確かめてください。",
        ),
        Text(
            "The current state does not allow this",
            "The state has changed since.",
            "Look at the current state.",
        ),
    ),
    "result_not_ready": (
        409,
        True,
        Text(
            "結果はまだありません",
            "取り込みが終わっていません。",
            "完了してから、もう一度お試しください。",
        ),
        Text(
            "There is no result yet",
            "The import is not completed.",
            "Try again when it is.",
        ),
    ),
    "no_result": (
        409,
        False,
        Text(
            "結果はありません",
            "失敗したか、取り消されたため、結果が作られませんでした。",
            "error を確かめ、必要ならやり直してください。",
        ),
        Text(
            "There will be no result",
            "The import has failed or was cancelled.",
            "Look at its error, and retry it if that can help.",
        ),
    ),
    "source_expired": (
        410,
        False,
        Text(
            "元のファイルは保存期間を過ぎました",
            "保存期間が終わったため、削除されました。",
            "必要な場合は、もう一度取り込んでください。",
        ),
        Text(
            "The original file has expired",
            "It was deleted at the end of its time.",
            "Import it again if you need it.",
        ),
    ),
    "result_expired": (
        410,
        False,
        Text(
            "結果は保存期間を過ぎました",
            "保存期間が終わったため、削除されました。",
            "必要な場合は、もう一度取り込んでください。",
        ),
        Text(
            "The result has expired",
            "It was deleted at the end of its time.",
            "Import the file again if you need it.",
        ),
    ),
    "gone": (
        410,
        False,
        Text(
            "すでにありません",
            "削除されました。",
            "URL を確かめてください。",
        ),
        Text(
            "It is gone",
            "It has been deleted.",
            "Check the address.",
        ),
    ),
    "report_invalid": (
        400,
        False,
        Text(
            "レポートの形式が正しくありません",
            "本文がスキーマに合っていません。",
            "ワーカーと Web のバージョンを確かめてください。",
        ),
        Text(
            "The report is malformed",
            "Its body does not fit the schema.",
            "Check that worker and web are of matching versions.",
        ),
    ),
    "report_mismatch": (
        422,
        False,
        Text(
            "レポートの宛先または結果が一致しません",
            "種類が URL と違うか、結果が記録と一致しません。",
            "ワーカーと Web のバージョンを確かめてください。",
        ),
        Text(
            "The report does not fit",
            "Its type is not that of the URL, or its result is not what it says.",
            "Check that worker and web are of matching versions.",
        ),
    ),
    "internal_error": (
        500,
        True,
        Text(
            "問題が起きました",
            "サーバー側で予期しない問題が起きました。",
            "もう一度お試しください。続く場合はリクエストIDを添えてお知らせください。",
        ),
        Text(
            "Something went wrong",
            "There was an unexpected problem on our side.",
            "Try again. If it persists, report the request ID.",
        ),
    ),
    "storage_unavailable": (
        503,
        True,
        Text(
            "ファイルの保存先につながりません",
            "一時的に保存できない状態です。何も受け付けていません。",
            "しばらくしてから、もう一度送信してください。",
        ),
        Text(
            "The file store is not available",
            "Files cannot be stored at the moment. Nothing was accepted.",
            "Send the request again after a while.",
        ),
    ),
    "database_unavailable": (
        503,
        True,
        Text(
            "データベースにつながりません",
            "一時的に利用できない状態です。",
            "しばらくしてから、同じ内容でもう一度お試しください。",
        ),
        Text(
            "The database is not available",
            "It cannot be reached at the moment.",
            "Send the same request again after a while.",
        ),
    ),
    "commit_unknown": (
        503,
        True,
        Text(
            "受け付けたかどうかを確認できません",
            "登録の途中でデータベースとの接続が切れました。",
            "同じ Idempotency-Key で送信すると、結果が分かります。",
        ),
        Text(
            "It is not known whether the request was accepted",
            "The connection to the database broke while it was being registered.",
            "Send it again with the same Idempotency-Key to find out.",
        ),
    ),
    "schema_outdated": (
        503,
        True,
        Text(
            "準備ができていません",
            "データベースの更新が終わっていません。",
            "しばらくしてから、もう一度お試しください。",
        ),
        Text(
            "The service is not ready",
            "The database has not been brought up to date.",
            "Try again after a while.",
        ),
    ),
    "unavailable": (
        503,
        True,
        Text(
            "一時的に利用できません",
            "サーバーが混み合っているか、停止しています。",
            "しばらくしてから、もう一度お試しください。",
        ),
        Text(
            "The service is not available",
            "The server is busy or stopping.",
            "Try again after a while.",
        ),
    ),
}

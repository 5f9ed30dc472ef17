"""Why a whole upload can be refused: code → (status, retryable, Japanese, English)."""

from __future__ import annotations

from web.catalogue.text import Text

INTAKE_TEXTS: dict[str, tuple[int, bool, Text, Text]] = {
    "body_truncated": (
        400,
        False,
        Text(
            "送信が途中で切れました",
            "最後まで届く前に接続が切れたか、本文が宣言より短くなっています。",
            "通信状態を確かめて、もう一度送信してください。",
        ),
        Text(
            "The body ended too early",
            "The connection broke, or the body is shorter than it was declared to be.",
            "Check the connection and send the request again.",
        ),
    ),
    "multipart_malformed": (
        400,
        False,
        Text(
            "multipart の形式が正しくありません",
            "区切りやヘッダーが multipart/form-data の規則に合っていません。",
            "送信に使うプログラムを確かめてください。",
        ),
        Text(
            "The multipart body is malformed",
            "Its boundaries or headers break the rules of multipart/form-data.",
            "Check the program that builds the request.",
        ),
    ),
    "field_unknown": (
        400,
        False,
        Text(
            "知らない項目が含まれています",
            "このリクエストで使えない名前の項目がありました。",
            "項目名を API の説明と見比べてください。",
        ),
        Text(
            "The request has an unknown field",
            "A field has a name that this request does not take.",
            "Compare the field names with the API description.",
        ),
    ),
    "field_order": (
        400,
        False,
        Text(
            "項目の順序が正しくありません",
            "ファイルの後ろに、ほかの項目が置かれています。",
            "type などの項目を、ファイルより前に置いてください。",
        ),
        Text(
            "The fields are in the wrong order",
            "A field stands behind a file.",
            "Put type and all other fields before the files.",
        ),
    ),
    "field_invalid": (
        422,
        False,
        Text(
            "項目の値が正しくありません",
            "長すぎる、重複している、または使えない値の項目があります。",
            "値を直して、もう一度送信してください。",
        ),
        Text(
            "A field has a wrong value",
            "It is too long, repeated, or not one of the values allowed.",
            "Correct the value and send the request again.",
        ),
    ),
    "too_many_files": (
        413,
        False,
        Text(
            "ファイルの数が多すぎます",
            "1 回に送れる件数を超えています。",
            "何回かに分けて送信してください。",
        ),
        Text(
            "There are too many files",
            "The request has more files than it may have.",
            "Send them in several requests.",
        ),
    ),
    "type_unsupported": (
        422,
        False,
        Text(
            "取り込みの種類が正しくありません",
            "type は page_import または code2des のどちらかです。",
            "type を指定して、もう一度送信してください。",
        ),
        Text(
            "The import type is missing or unknown",
            "type is page_import or code2des.",
            "Set the type and send the request again.",
        ),
    ),
    "extension_unsupported": (
        415,
        False,
        Text(
            "この拡張子のファイルには対応していません",
            "選んだ種類では取り込めない拡張子です。",
            "対応している形式に変換するか、種類を変えて送信してください。",
        ),
        Text(
            "Files with this extension are not supported",
            "The chosen type of import does not take them.",
            "Convert the file, or choose the other type.",
        ),
    ),
    "content_type_unsupported": (
        415,
        False,
        Text(
            "本文の形式に対応していません",
            "このリクエストでは受け取れない Content-Type または Content-Encoding です。",
            "API の説明にある形式で送信してください。",
        ),
        Text(
            "The body's format is not supported",
            "The request has a Content-Type or Content-Encoding that it may not have.",
            "Send it in a format that the API description names.",
        ),
    ),
    "request_timeout": (
        408,
        True,
        Text(
            "送信に時間がかかりすぎました",
            "30 秒間データが届かないか、通信が遅すぎました。",
            "通信状態を確かめて、もう一度送信してください。",
        ),
        Text(
            "The request was too slow",
            "No byte came for 30 seconds, or they came too slowly.",
            "Check the connection and send the request again.",
        ),
    ),
    "idempotency_key_invalid": (
        400,
        False,
        Text(
            "Idempotency-Key が正しくありません",
            "1 から 255 文字の ASCII 文字列ではありません。",
            "新しい値を作って送信してください。",
        ),
        Text(
            "The Idempotency-Key is not valid",
            "It is not a string of 1 to 255 printable ASCII characters.",
            "Make a new key and send the request again.",
        ),
    ),
    "idempotency_key_reused": (
        422,
        False,
        Text(
            "同じ Idempotency-Key で別の内容が送られました",
            "このキーは、違う内容のリクエストですでに使われています。",
            "新しいキーを作って送信してください。",
        ),
        Text(
            "The Idempotency-Key was used for something else",
            "A request with other content has used this key before.",
            "Make a new key for this request.",
        ),
    ),
    "idempotency_key_in_progress": (
        409,
        True,
        Text(
            "同じリクエストを処理しています",
            "同じ Idempotency-Key のリクエストがまだ終わっていません。",
            "少し待ってから、同じキーで送信してください。",
        ),
        Text(
            "The same request is still running",
            "A request with this Idempotency-Key is not finished yet.",
            "Wait a little and send it again with the same key.",
        ),
    ),
}

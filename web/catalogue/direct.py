"""JSON bodies and files sent straight to S3: code → (status, retryable, Japanese, English)."""

from __future__ import annotations

from web.catalogue.text import Text

DIRECT_TEXTS: dict[str, tuple[int, bool, Text, Text]] = {
    "json_invalid": (
        400,
        False,
        Text(
            "JSON が正しくありません",
            "JSON として読めないか、重複したキー、NaN、NUL、不正な文字、深すぎる入れ子があります。",
            "JSON を直して送信してください。",
        ),
        Text(
            "The JSON is not valid",
            "It is no JSON, or has a key twice, NaN, NUL, a lone surrogate or too deep a nesting.",
            "Correct the JSON and send it again.",
        ),
    ),
    "items_invalid": (
        422,
        False,
        Text(
            "受け付けられない項目があります",
            "1 件でも誤りがあれば、全体を受け付けません。",
            "errors が示す項目を直して送信してください。",
        ),
        Text(
            "Some items cannot be taken",
            "One wrong item refuses the whole request.",
            "Correct the places named in errors and send it again.",
        ),
    ),
    "upload_unknown": (
        422,
        False,
        Text(
            "このアップロードはありません",
            "upload_id が違うか、12 時間の期限が過ぎました。",
            "もう一度 /api/v1/uploads から始めてください。",
        ),
        Text(
            "There is no such upload",
            "The upload_id is wrong, or its 12 hours are over.",
            "Begin again with /api/v1/uploads.",
        ),
    ),
    "upload_used": (
        409,
        False,
        Text(
            "このアップロードは使用済みです",
            "アップロードは 1 度だけ使えます。",
            "同じファイルをまた取り込むには、もう一度送ってください。",
        ),
        Text(
            "The upload has been used",
            "An upload can be used once.",
            "Send the file again to import it again.",
        ),
    ),
    "upload_missing": (
        422,
        True,
        Text(
            "ファイルがまだ届いていません",
            "発行された URL への PUT が終わっていません。",
            "PUT が終わってから、もう一度送信してください。",
        ),
        Text(
            "The file has not arrived",
            "Nothing was PUT to the URL of this upload yet.",
            "PUT the file and send the request again.",
        ),
    ),
    "upload_mismatch": (
        422,
        False,
        Text(
            "届いたファイルが宣言と違います",
            "大きさまたは SHA-256 が一致しません。",
            "宣言したとおりのファイルを、返されたヘッダーを付けて PUT してください。",
        ),
        Text(
            "The file is not the one that was promised",
            "Its size or its SHA-256 differs.",
            "PUT the promised bytes with the headers that were given.",
        ),
    ),
    "upload_repeated": (
        422,
        False,
        Text(
            "同じアップロードが 2 度あります",
            "1 つのバッチで、同じ upload_id が繰り返されています。",
            "重複を取り除いてください。",
        ),
        Text(
            "The same upload is there twice",
            "A batch names the same upload_id more than once.",
            "Remove the repetition.",
        ),
    ),
    "custom_id_repeated": (
        422,
        False,
        Text(
            "同じ custom_id が 2 度あります",
            "custom_id はバッチの中で重複できません。",
            "別の値にしてください。",
        ),
        Text(
            "The same custom_id is there twice",
            "A custom_id names one item of its batch.",
            "Choose another one.",
        ),
    ),
    "uploads_unverified": (
        409,
        False,
        Text(
            "確認していないアップロードが多すぎます",
            "バッチの作成時に確認できるのは 1,000 件までです。",
            "先に /api/v1/uploads/complete で確認してから送信してください。",
        ),
        Text(
            "Too many uploads are not verified",
            "Making a batch verifies at most 1,000 of them.",
            "Verify them by /api/v1/uploads/complete first.",
        ),
    ),
}

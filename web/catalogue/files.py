"""Why a file or its name can be refused: code → (status, retryable, Japanese, English)."""

from __future__ import annotations

from web.catalogue.text import Text

FILES_TEXTS: dict[str, tuple[int, bool, Text, Text]] = {
    "file_missing": (
        400,
        False,
        Text(
            "ファイルがありません",
            "ファイルが 1 つも選ばれていないか、空の項目が送られました。",
            "ファイルを選んでから送信してください。",
        ),
        Text(
            "There is no file",
            "No file was chosen, or a file field was sent without one.",
            "Choose a file and send the request again.",
        ),
    ),
    "file_empty": (
        422,
        False,
        Text(
            "ファイルが空です",
            "ファイルの大きさが 0 バイトです。",
            "内容のあるファイルを選んでください。",
        ),
        Text(
            "The file is empty",
            "Its size is zero bytes.",
            "Choose a file with content.",
        ),
    ),
    "file_too_large": (
        413,
        False,
        Text(
            "ファイルが大きすぎます",
            "1 件の大きさの上限を超えています。",
            "ファイルを分割するか、小さくしてから送信してください。",
        ),
        Text(
            "The file is too large",
            "It is larger than one file may be.",
            "Split it or make it smaller and send it again.",
        ),
    ),
    "file_name_missing": (
        400,
        False,
        Text(
            "ファイル名がありません",
            "ファイルの名前が送られていません。",
            "ファイル名を付けて送信してください。",
        ),
        Text(
            "The file has no name",
            "No file name came with the file.",
            "Name it by Content-Disposition or ?filename= and send it again.",
        ),
    ),
    "file_name_undecodable": (
        400,
        False,
        Text(
            "ファイル名の文字コードを読めません",
            "ファイル名が UTF-8 ではありません。",
            "ファイル名を UTF-8 で送信してください。",
        ),
        Text(
            "The file name cannot be decoded",
            "It is not UTF-8.",
            "Send the file name as UTF-8.",
        ),
    ),
    "file_name_control": (
        400,
        False,
        Text(
            "ファイル名に制御文字が含まれています",
            "改行や NUL などの文字は、ファイル名に使えません。",
            "ファイル名を変えて送信してください。",
        ),
        Text(
            "The file name has control characters",
            "Line breaks, NUL and the like cannot be part of a file name.",
            "Rename the file and send it again.",
        ),
    ),
    "file_name_bidi": (
        400,
        False,
        Text(
            "ファイル名に書字方向を変える文字が含まれています",
            "見た目と異なる名前に見せかけられるため、受け付けていません。",
            "その文字を除いた名前で送信してください。",
        ),
        Text(
            "The file name has characters that turn text around",
            "They can make a name look like another one, so they are refused.",
            "Rename the file without them and send it again.",
        ),
    ),
    "file_name_path": (
        400,
        False,
        Text(
            "ファイル名にフォルダーの区切りが含まれています",
            "「/」や「\\」を含む名前は受け付けていません。",
            "フォルダー名を除いた名前で送信してください。",
        ),
        Text(
            "The file name is a path",
            "Names with / or \\ are refused.",
            "Send the name without its folders.",
        ),
    ),
    "file_name_too_long": (
        400,
        False,
        Text(
            "ファイル名が長すぎます",
            "UTF-8 で 255 バイトを超えています。",
            "短い名前に変えて送信してください。",
        ),
        Text(
            "The file name is too long",
            "It is longer than 255 bytes in UTF-8.",
            "Shorten the name and send the file again.",
        ),
    ),
}

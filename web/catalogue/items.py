"""Why an import can fail: code → (retryable, Japanese, English). See web.catalogue."""

from __future__ import annotations

from web.catalogue.text import Text

ITEM_TEXTS: dict[str, tuple[bool, Text, Text]] = {
    "type_unsupported": (
        False,
        Text(
            "この形式のファイルには対応していません",
            "ファイルの中身を調べましたが、取り込める形式ではありませんでした。",
            "対応している形式に変換してから、もう一度取り込んでください。",
        ),
        Text(
            "This kind of file is not supported",
            "Its content is not of a format that can be imported.",
            "Convert it to a supported format and import it again.",
        ),
    ),
    "file_encrypted": (
        False,
        Text(
            "ファイルにパスワードがかかっています",
            "暗号化されているため、中身を読み取れません。",
            "パスワードを添えて、またはパスワードを解除して、もう一度取り込んでください。",
        ),
        Text(
            "The file is protected by a password",
            "Its content is encrypted and cannot be read.",
            "Import the file again, with its password or with the password removed.",
        ),
    ),
    "file_corrupt": (
        False,
        Text(
            "ファイルが壊れています",
            "途中で切れているか、形式の規則に合わない箇所があります。",
            "元のアプリケーションで開けるか確かめ、保存し直してから取り込んでください。",
        ),
        Text(
            "The file is damaged",
            "It is cut short or breaks the rules of its format.",
            "Check that it opens in its own application, save it again and import that copy.",
        ),
    ),
    "file_empty": (
        False,
        Text(
            "ファイルが空です",
            "中身が 1 バイトもないか、読み取れる内容がありません。",
            "内容のあるファイルを選んでください。",
        ),
        Text(
            "The file is empty",
            "It holds no byte, or nothing that can be read.",
            "Choose a file with content.",
        ),
    ),
    "pages_exceeded": (
        False,
        Text(
            "ページ数が上限を超えています",
            "1 件で取り込めるページ数を超えています。",
            "ファイルを分割して取り込んでください。",
        ),
        Text(
            "The file has too many pages",
            "It has more pages than one import may have.",
            "Split the file and import the parts.",
        ),
    ),
    "encoding_unknown": (
        False,
        Text(
            "文字コードを判別できません",
            "UTF-8、Shift_JIS、EUC-JP などのどれとしても正しく読めませんでした。",
            "UTF-8 で保存し直してから取り込んでください。",
        ),
        Text(
            "The text encoding is unknown",
            "The text reads correctly in none of the encodings that were tried.",
            "Save the file as UTF-8 and import it again.",
        ),
    ),
    "no_pages": (
        False,
        Text(
            "ページがありません",
            "ファイルは開けましたが、ページが 1 つもありませんでした。",
            "内容のあるファイルを選んでください。",
        ),
        Text(
            "The file has no pages",
            "It could be opened but holds not a single page.",
            "Choose a file with content.",
        ),
    ),
    "archive_limits": (
        False,
        Text(
            "圧縮データが上限を超えています",
            "展開すると大きすぎるか、入れ子や件数が多すぎます。",
            "中身を取り出し、必要なファイルだけを取り込んでください。",
        ),
        Text(
            "The compressed data goes beyond the limits",
            "Unpacked it is too large, too deeply nested or has too many entries.",
            "Unpack it yourself and import the files that you need.",
        ),
    ),
    "code_unsupported": (
        False,
        Text(
            "このプログラミング言語には対応していません",
            "設計書を作成できる言語のソースコードではありませんでした。",
            "対応している言語のファイルを選んでください。",
        ),
        Text(
            "This programming language is not supported",
            "The source code is not in a language that can be described.",
            "Choose a file in a supported language.",
        ),
    ),
    "result_too_large": (
        False,
        Text(
            "取り込み結果が大きすぎます",
            "読み取った内容が、保存できる上限を超えました。",
            "ファイルを分割して取り込んでください。",
        ),
        Text(
            "The result is too large",
            "What was read from the file is larger than can be kept.",
            "Split the file and import the parts.",
        ),
    ),
    "parse_timeout": (
        False,
        Text(
            "読み取りに時間がかかりすぎました",
            "制限時間内に読み取りが終わりませんでした。",
            "ファイルを分割するか、簡単な構成にして取り込んでください。",
        ),
        Text(
            "Reading the file took too long",
            "It was not finished within the time allowed.",
            "Split or simplify the file and import it again.",
        ),
    ),
    "parse_memory": (
        False,
        Text(
            "読み取りに必要なメモリが上限を超えました",
            "ファイルの構造が大きすぎるか、複雑すぎます。",
            "ファイルを分割するか、簡単な構成にして取り込んでください。",
        ),
        Text(
            "Reading the file needed too much memory",
            "Its structure is too large or too complex.",
            "Split or simplify the file and import it again.",
        ),
    ),
    "parse_crashed": (
        False,
        Text(
            "ファイルを読み取れませんでした",
            "読み取り中に問題が起き、処理が止まりました。",
            "ファイルを保存し直して取り込んでください。続く場合は取込IDを添えてお知らせください。",
        ),
        Text(
            "The file could not be read",
            "Something in it stopped the reading.",
            "Save it again and import that copy. If it fails again, report the import ID.",
        ),
    ),
    "output_limit": (
        False,
        Text(
            "読み取った内容が多すぎます",
            "読み取り中の出力が上限を超えたため、処理を止めました。",
            "ファイルを分割して取り込んでください。",
        ),
        Text(
            "The file produced too much output",
            "Reading was stopped because its output passed the limit.",
            "Split the file and import the parts.",
        ),
    ),
    "source_missing": (
        True,
        Text(
            "保存したファイルが見つかりません",
            "取り込みを始める前に、保存先からファイルがなくなっていました。",
            "同じファイルをもう一度取り込んでください。",
        ),
        Text(
            "The stored file is gone",
            "It was removed from the store before it could be read.",
            "Import the same file again.",
        ),
    ),
    "source_corrupt": (
        True,
        Text(
            "保存したファイルの内容が変わっています",
            "保存時の記録とサイズまたはハッシュ値が一致しません。",
            "同じファイルをもう一度取り込んでください。",
        ),
        Text(
            "The stored file has changed",
            "Its size or digest is not the one recorded when it was stored.",
            "Import the same file again.",
        ),
    ),
    "exhausted": (
        True,
        Text(
            "処理の順番待ちに登録できませんでした",
            "キューへの登録を 3 回試みましたが、成功しませんでした。",
            "しばらくしてから、もう一度取り込んでください。",
        ),
        Text(
            "The import could not be queued",
            "Three attempts to hand it to the queue have failed.",
            "Import the file again after a while.",
        ),
    ),
    "dead_lettered": (
        True,
        Text(
            "繰り返し処理に失敗しました",
            "何度か処理をやり直しましたが、完了できませんでした。",
            "もう一度取り込んでください。続く場合は取込IDを添えてお知らせください。",
        ),
        Text(
            "The import failed again and again",
            "It was tried several times and could not be finished.",
            "Import the file again. If it fails again, report the import ID.",
        ),
    ),
    "stalled": (
        True,
        Text(
            "処理が止まったままになりました",
            "処理からの応答が長い間なく、やり直しても完了しませんでした。",
            "もう一度取り込んでください。",
        ),
        Text(
            "The import came to a standstill",
            "Nothing was heard from it for a long time, not even after new attempts.",
            "Import the file again.",
        ),
    ),
    "expired": (
        True,
        Text(
            "期限までに処理が終わりませんでした",
            "受け付けてから長い時間がたったため、処理を打ち切りました。",
            "もう一度取り込んでください。",
        ),
        Text(
            "The import was not finished in time",
            "It was given up because too much time had passed since it was accepted.",
            "Import the file again.",
        ),
    ),
    "failed_by_operator": (
        True,
        Text(
            "運用担当者が処理を打ち切りました",
            "このサービスの運用担当者が取込を終了させました。理由は詳細に書かれています。",
            "理由が解消してから、もう一度取り込んでください。",
        ),
        Text(
            "An operator has given the import up",
            "Somebody who operates this service ended it; the detail says why.",
            "Import the file again when the reason is gone.",
        ),
    ),
}

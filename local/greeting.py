"""What a person reads when everything runs."""

from jobs.parsing.page_import.pdf_fonts import japanese_font
from local.errors import LocalError
from local.stack import Stack

FONT_PACKAGE = "fonts-ipafont-mincho"


def greeting(stack: Stack) -> list[str]:
    """Say where it is and how to sign in, in English and in Japanese, and what is missing."""
    return [*_where(stack), _metrics(stack), *missing_font(japanese_font())]


def _metrics(stack: Stack) -> str:
    """Name the listeners: their usual ports may have been taken."""
    told = ", ".join(
        f"{name.partition('_')[0].lower()} http://127.0.0.1:{port}/metrics"
        for name, port in stack.plan.metrics_ports.items()
    )
    return f"Metrics / メトリクス: {told}"


def missing_font(found: str | None) -> list[str]:
    """Say what to install when this machine has no Japanese font."""
    if found is not None:
        return []
    return [
        "There is no Japanese font here: PDFs that do not embed theirs may lose text. "
        f"Install one with `sudo apt-get install {FONT_PACKAGE}` and start again.",
        "日本語フォントがありません。フォントを埋め込んでいない PDF の文字が"
        "失われることがあります。"
        f"`sudo apt-get install {FONT_PACKAGE}` で入れて、起動し直してください。",
    ]


def _where(stack: Stack) -> list[str]:
    try:
        who = stack.provisioned
    except LocalError:
        return [
            f"Torikomi is ready at {stack.url} — sign in with a user of your own pool.",
            f"取込の準備ができました: {stack.url} (ご自身のユーザーでサインインしてください)",
        ]
    return [
        f"Torikomi is ready at {stack.url} — sign in as {who.username} with {who.password}"
        " (Ctrl-C stops it)",
        f"取込の準備ができました: {stack.url} — ユーザー名 {who.username}、"
        f"パスワード {who.password}(Ctrl-C で停止)",
    ]

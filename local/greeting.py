"""What a person reads when everything runs."""

from local.errors import LocalError
from local.stack import Stack


def greeting(stack: Stack) -> list[str]:
    """Say where it is and how to sign in, in English and in Japanese."""
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

"""Why a caller can be refused: code → (status, retryable, Japanese, English)."""

from __future__ import annotations

from web.catalogue.text import Text

ACCESS_TEXTS: dict[str, tuple[int, bool, Text, Text]] = {
    "token_missing": (
        401,
        False,
        Text(
            "サインインが必要です",
            "アクセストークンが送られていません。",
            "Authorization: Bearer でアクセストークンを送ってください。",
        ),
        Text(
            "Signing in is required",
            "No access token was sent.",
            "Send an access token as Authorization: Bearer.",
        ),
    ),
    "token_invalid": (
        401,
        False,
        Text(
            "アクセストークンが正しくありません",
            "署名、発行元、用途などの確認に通りませんでした。",
            "アクセストークンを取り直してください。",
        ),
        Text(
            "The access token is not valid",
            "Its signature, issuer or purpose did not pass the check.",
            "Get a new access token.",
        ),
    ),
    "token_expired": (
        401,
        False,
        Text(
            "アクセストークンの期限が切れています",
            "有効期限を過ぎています。",
            "アクセストークンを取り直してください。",
        ),
        Text(
            "The access token has expired",
            "Its time is over.",
            "Get a new access token.",
        ),
    ),
    "sign_in_failed": (
        401,
        False,
        Text(
            "サインインできませんでした",
            "ユーザー名またはパスワードが違います。",
            "入力を確かめて、もう一度お試しください。",
        ),
        Text(
            "Signing in has failed",
            "The user name or the password is wrong.",
            "Check both and try again.",
        ),
    ),
    "sign_in_challenge": (
        401,
        False,
        Text(
            "このページではサインインを完了できません",
            "初回のパスワード変更など、追加の手続きが必要です。",
            "管理者に連絡してください。",
        ),
        Text(
            "Signing in cannot be finished here",
            "The account needs a further step, such as a first change of password.",
            "Ask your administrator.",
        ),
    ),
    "csrf_failed": (
        400,
        False,
        Text(
            "フォームの有効期限が切れています",
            "ページを開いてから時間がたったか、別の場所から送信されました。",
            "ページを開き直して、もう一度送信してください。",
        ),
        Text(
            "The form is out of date",
            "The page was open for too long, or the form was sent from elsewhere.",
            "Open the page again and send the form from there.",
        ),
    ),
    "signature_invalid": (
        401,
        False,
        Text(
            "署名が正しくありません",
            "署名、時刻、ヘッダーの確認に通りませんでした。",
            "秘密鍵と時計を確かめてください。",
        ),
        Text(
            "The signature is not valid",
            "The signature, its time or its headers did not pass the check.",
            "Check the secret and the clock.",
        ),
    ),
    "forbidden": (
        403,
        False,
        Text(
            "許可されていません",
            "この操作は許可されていません。",
            "管理者に確認してください。",
        ),
        Text(
            "This is not allowed",
            "You may not do this.",
            "Ask your administrator.",
        ),
    ),
    "sign_in_limited": (
        429,
        True,
        Text(
            "サインインの試行が多すぎます",
            "短い時間に、何度もサインインに失敗しました。",
            "Retry-After の秒数だけ待ってから、お試しください。",
        ),
        Text(
            "There are too many attempts to sign in",
            "Signing in failed many times in a short while.",
            "Wait for the seconds in Retry-After and try again.",
        ),
    ),
    "rate_limited": (
        429,
        True,
        Text(
            "リクエストが多すぎます",
            "短い時間に多くのリクエストが送られました。",
            "Retry-After の秒数だけ待ってから、お試しください。",
        ),
        Text(
            "There are too many requests",
            "Too many came in a short time.",
            "Wait for the seconds in Retry-After and try again.",
        ),
    ),
    "identity_unavailable": (
        503,
        True,
        Text(
            "サインインの確認ができません",
            "認証サービスに一時的につながりません。",
            "しばらくしてから、もう一度お試しください。",
        ),
        Text(
            "Signing in cannot be checked",
            "The identity service cannot be reached at the moment.",
            "Try again after a while.",
        ),
    ),
}

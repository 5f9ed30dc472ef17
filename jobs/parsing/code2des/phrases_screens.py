"""Fixed phrases about screens: Japanese, English."""

from __future__ import annotations

from collections.abc import Mapping

SCREENS: Mapping[str, tuple[str, str]] = {
    "screens": ("画面一覧", "Screens"),
    "screen_fields": ("画面項目", "Fields of screens"),
    "screen_transitions": ("画面遷移", "Navigation"),
    "screen": ("画面", "Screen"),
    "title_words": ("見出し", "Heading"),
    "routes": ("経路", "Routes"),
    "fields": ("項目数", "Fields"),
    "links": ("リンク数", "Links"),
    "form": ("フォーム", "Form"),
    "required": ("必須", "Required"),
    "yes": ("○", "yes"),
    "operation": ("操作", "Operation"),
    "target_written": ("遷移先（記載のまま）", "Target as written"),
    "target_screen": ("遷移先の画面", "Screen"),
    "rows_more": ("ほか {count} 件。", "{count} more."),
    "screen_page": ("画面", "page"),
    "screen_component": ("部品", "component"),
    "screen_template": ("テンプレート", "template"),
    "screen_fragment": ("部分テンプレート", "partial"),
    "screen_layout": ("共通レイアウト", "layout"),
    "limit_screens_told": (
        "画面一覧・画面項目・画面遷移は5章に記載。見た目の配置はソースからは判断できません",
        "Screens, fields and navigation stand in section 5; looks are not derivable from source",
    ),
}

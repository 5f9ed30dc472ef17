"""Which lists a design workbook has: each sheet's name, its columns, its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from web.designs import rows
from web.designs.rows import Row, Rows


@dataclass(frozen=True)
class Column:
    """A heading in Japanese and English, and the width in characters.

    `terms`: its values are words of ours, which the Japanese workbook says in Japanese.
    """

    ja: str
    en: str
    width: int = 14
    terms: bool = False


@dataclass(frozen=True)
class Sheet:
    """One list; a sheet without rows is left out."""

    ja: str
    en: str
    columns: tuple[Column, ...]
    rows: Callable[[Row], Rows]


_NAME = Column("物理名", "Name", 32)
_LOGICAL = Column("論理名", "Summary", 34)
_PLACE = Column("位置", "Location", 36)
_KIND = Column("種別", "Kind", 20, terms=True)
_TYPE = Column("型", "Type", 20)
_DEFAULT = Column("既定値", "Default", 18)
_NOTE = Column("備考", "Comment", 34)


SHEETS: tuple[Sheet, ...] = (
    Sheet(
        "ファイル一覧",
        "Files",
        (
            Column("ファイル", "File", 44),
            Column("言語", "Language"),
            Column("文字コード", "Encoding", 12),
            Column("改行", "Newline", 8),
            Column("バイト数", "Bytes", 10),
            Column("行数", "Lines", 8),
            Column("状態", "Status", 10, terms=True),
            Column("理由", "Reason", 20, terms=True),
        ),
        rows.files,
    ),
    Sheet(
        "モジュール一覧",
        "Modules",
        (
            _LOGICAL,
            _NAME,
            Column("言語", "Language"),
            Column("役割", "Role", 8, terms=True),
            Column("層", "Layer", 6),
            Column("被依存数", "Used by", 9),
            Column("依存数", "Uses", 9),
            Column("不安定度", "Instability", 10),
            _PLACE,
        ),
        rows.modules,
    ),
    Sheet(
        "クラス一覧",
        "Types",
        (
            _LOGICAL,
            _NAME,
            _KIND,
            Column("継承元", "Bases", 24),
            Column("属性数", "Fields", 8),
            _PLACE,
        ),
        rows.types,
    ),
    Sheet(
        "属性一覧",
        "Fields",
        (Column("クラス", "Type", 28), Column("属性", "Field", 24), _TYPE, _DEFAULT, _NOTE),
        rows.fields,
    ),
    Sheet(
        "関数一覧",
        "Functions",
        (
            _LOGICAL,
            _NAME,
            Column("シグネチャ", "Signature", 48),
            Column("戻り値", "Returns", 18),
            Column("例外", "Raises", 20),
            Column("複雑度", "Complexity", 8),
            Column("行数", "Lines", 8),
            Column("被呼び出し数", "Callers", 10),
            _PLACE,
        ),
        rows.functions,
    ),
    Sheet(
        "API一覧",
        "Endpoints",
        (
            Column("メソッド", "Method", 10),
            Column("パス", "Path", 40),
            Column("処理関数", "Handler", 36),
            Column("フレームワーク", "Framework", 14),
            _PLACE,
        ),
        rows.endpoints,
    ),
    Sheet(
        "画面一覧",
        "Screens",
        (
            Column("画面", "Screen", 30),
            _KIND,
            Column("見出し", "Heading", 30),
            Column("経路", "Routes", 30),
            Column("項目数", "Fields", 8),
            Column("リンク数", "Links", 8),
            _PLACE,
        ),
        rows.screens,
    ),
    Sheet(
        "画面項目",
        "Screen fields",
        (
            Column("画面", "Screen", 26),
            Column("フォーム", "Form", 26),
            _LOGICAL,
            _NAME,
            Column("種別", "Kind", 14),
            Column("必須", "Required", 8),
            _PLACE,
        ),
        rows.screen_fields,
    ),
    Sheet(
        "画面遷移",
        "Navigation",
        (
            Column("画面", "Screen", 26),
            Column("操作", "Operation", 26),
            Column("遷移先（記載のまま）", "Target as written", 36),
            Column("遷移先の画面", "Leads to", 26),
            _PLACE,
        ),
        rows.transitions,
    ),
    Sheet(
        "エントリポイント",
        "Entry points",
        (_KIND, _NAME, Column("起動対象", "Starts", 44), _PLACE),
        rows.entry_points,
    ),
    Sheet(
        "テーブル一覧",
        "Tables",
        (
            Column("テーブル", "Table", 30),
            Column("列数", "Columns", 8),
            Column("索引数", "Indexes", 8),
            Column("根拠", "Source", 14, terms=True),
            _PLACE,
        ),
        rows.tables,
    ),
    Sheet(
        "テーブル定義",
        "Table columns",
        (
            Column("テーブル", "Table", 26),
            _LOGICAL,
            _NAME,
            _TYPE,
            Column("NULL可", "Nullable", 8),
            Column("キー", "Key", 10, terms=True),
            _DEFAULT,
            Column("参照先", "References", 24),
        ),
        rows.columns,
    ),
    Sheet(
        "CRUD表",
        "CRUD",
        (
            Column("関数", "Function", 40),
            Column("テーブル", "Table", 26),
            Column("C 作成", "Create", 8),
            Column("R 参照", "Read", 8),
            Column("U 更新", "Update", 8),
            Column("D 削除", "Delete", 8),
            Column("ファイル", "File", 36),
        ),
        rows.crud,
    ),
    Sheet(
        "外部依存",
        "External packages",
        (
            Column("パッケージ", "Package", 30),
            Column("バージョン", "Version", 14),
            _KIND,
            Column("宣言箇所", "Declared in", 26),
            Column("使用モジュール", "Used by", 60),
        ),
        rows.external,
    ),
    Sheet(
        "関係一覧",
        "Relations",
        (
            Column("から", "From", 48),
            Column("関係", "Relation", 12, terms=True),
            Column("へ", "To", 48),
            Column("確度", "Confidence", 11, terms=True),
            _PLACE,
        ),
        rows.relations,
    ),
    Sheet(
        "品質指標",
        "Hotspots",
        (
            Column("関数", "Function", 48),
            Column("スコア", "Score", 8),
            Column("複雑度", "Complexity", 8),
            Column("被呼び出し数", "Callers", 10),
        ),
        rows.hotspots,
    ),
    Sheet(
        "警告一覧",
        "Warnings",
        (
            Column("警告", "Warning", 22, terms=True),
            Column("ファイル", "File", 44),
            Column("行", "Line", 8),
            Column("詳細", "Detail", 50),
        ),
        rows.warnings,
    ),
)

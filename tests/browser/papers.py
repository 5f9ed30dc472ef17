"""The papers of the screenshots: an office's files, invented."""

#: (file name, pages) of one batch; None waits.
PLAN = (
    ("見積書_青葉商事.csv", 1),
    ("2026年度_事業計画書.pdf", 48),
    ("就業規則_改定案.html", 6),
    ("Q3_sales_report.pdf", 17),
    ("議事録_11月定例.md", None),
)

_BUDGET = [
    ["部門", "2025 年度", "2026 年度", "増減"],
    ["営業", "12,400", "13,100", "+700"],
    ["開発", "28,900", "31,250", "+2,350"],
    ["総務", "6,150", "6,020", "-130"],
]


def _table(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


#: (Markdown, tables) of each page of one document.
MINUTES: tuple[tuple[str, list[list[list[str]]]], ...] = (
    (
        "# 事業計画 定例会議 議事録\n\n"
        "日時: 2026 年 11 月 30 日 10:00-11:30 場所: 第 2 会議室\n\n"
        "## 1. 来年度の予算\n\n"
        "各部門の予算案を確認した。開発部門の増額は、文書取込サービスの全社展開に伴うもの。"
        "単位は千円。\n\n" + _table(_BUDGET) + "\n\n"
        "## 2. 決定事項\n\n"
        "- 予算案を承認し、12 月 10 日の取締役会に提出する\n"
        "- 紙の契約書は **3 月末までに** すべて電子化する\n"
        "- 次回は 12 月 14 日に開催する\n",
        [_BUDGET],
    ),
    *((f"## 付録 {n}\n\n部門別の内訳を示す。\n", []) for n in range(1, 24)),
)

SHOP = '''"""Takes orders in and keeps the stock right."""

from dataclasses import dataclass, field


class OutOfStock(Exception):
    """Fewer pieces are left than were ordered."""


@dataclass
class Item:
    """One product on the shelf."""

    name: str
    price_yen: int
    stock: int = 0

    def take(self, pieces: int) -> int:
        """Take pieces off the shelf and return what they cost."""
        if pieces > self.stock:
            raise OutOfStock(self.name)
        self.stock -= pieces
        return pieces * self.price_yen


@dataclass
class Order:
    """What one customer wants."""

    customer: str
    lines: list[tuple[Item, int]] = field(default_factory=list)

    def add(self, item: Item, pieces: int = 1) -> None:
        """Put pieces of an item on the order."""
        self.lines.append((item, pieces))


class Shop:
    """Accepts orders."""

    def __init__(self) -> None:
        self.total_yen = 0

    def accept(self, order: Order) -> int:
        """Take everything off the shelves; all of an order or nothing."""
        for item, pieces in order.lines:
            if pieces > item.stock:
                raise OutOfStock(item.name)
        cost = sum(item.take(pieces) for item, pieces in order.lines)
        self.total_yen += cost
        return cost
'''

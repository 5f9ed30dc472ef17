"""A flow of blocks with inline text inside: the page, or one table cell."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from jobs.parsing.page_import.markup import escape_inline, escape_line_starts, fence

_SPACE = re.compile(r"[ \t\n\r\f]+")
_CJK = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef"
_CJK_BREAK = re.compile(rf"(?<=[{_CJK}])[ \t]*\n\s*(?=[{_CJK}])")
_SAFE_LINK = re.compile(r"(?:https?:|mailto:|tel:|ftp:|[/#?.]|[^:]*$)", re.IGNORECASE)
_MAX_LINK_CHARACTERS = 2_000


@dataclass
class _Frame:
    """Inline text inside one inline element; the lowest frame belongs to no element."""

    tag: str = ""
    mark: str = ""
    markdown: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)


@dataclass
class _Container:
    """A list item or a quote around the blocks that follow."""

    marker: str
    used: bool = False

    @property
    def is_quote(self) -> bool:
        return self.marker == "> "


class Flow:
    """Blocks in Markdown and in plain text, side by side."""

    def __init__(self) -> None:
        self._frames = [_Frame()]
        self._containers: list[_Container] = []
        self._markdown: list[str] = []
        self._texts: list[str] = []
        self._item_before = False
        self._preformatted = 0

    def add(self, markdown: str, text: str) -> None:
        """Append inline content as it is; U+0000 in Markdown stands for a hard break."""
        self._frames[-1].markdown.append(markdown)
        self._frames[-1].text.append(text)

    def add_text(self, text: str | None) -> None:
        """Append character data: white space collapses, line ends between CJK vanish."""
        if not text:
            return
        if self._preformatted:
            self.add(text, text)
            return
        flat = _SPACE.sub(" ", _CJK_BREAK.sub("", text))
        self.add(escape_inline(flat), flat)

    def open(self, tag: str, mark: str) -> None:
        """Start an inline element; `mark` is its delimiter, or the target of a link."""
        self._frames.append(_Frame(tag, mark))

    def close(self, tag: str) -> None:
        """End an inline element; does nothing when a block boundary has ended it before."""
        if all(frame.tag != tag for frame in self._frames[1:]):
            return
        while len(self._frames) > 1:
            frame = self._frames.pop()
            self._append_frame(frame)
            if frame.tag == tag:
                return

    def _append_frame(self, frame: _Frame) -> None:
        markdown, text = "".join(frame.markdown), "".join(frame.text)
        inner = markdown.strip(" ")
        if not inner or self._preformatted or "\x00" in inner:
            self.add(markdown, text)
            return
        before = markdown[: len(markdown) - len(markdown.lstrip(" "))]
        after = markdown[len(markdown.rstrip(" ")) :]
        self.add(before + _wrap(frame, inner, text.strip()) + after, text)

    def take_inline(self) -> tuple[str, str]:
        """Remove and return the pending inline content as Markdown and text."""
        while len(self._frames) > 1:
            self._append_frame(self._frames.pop())
        frame, self._frames = self._frames[0], [_Frame()]
        lines = "".join(frame.markdown).strip("\x00 \n").split("\x00")
        markdown = "  \n".join(_SPACE.sub(" ", line).strip() for line in lines)
        text = "\n".join(" ".join(line.split(" ")).strip() for line in _lines(frame.text))
        return escape_line_starts(markdown), text.strip()

    def end_block(self) -> None:
        """Write the pending inline content as a paragraph."""
        if self._preformatted:
            return
        markdown, text = self.take_inline()
        if text:
            self.add_block(markdown, text)

    def add_block(self, markdown: str, text: str) -> None:
        """Write one block; `markdown` may have several lines."""
        self.end_block()
        starts_item = bool(self._containers) and not self._containers[-1].used
        if self._markdown:
            tight = starts_item and self._item_before and not self._containers[-1].is_quote
            self._markdown.append("\n" if tight else "\n" + self._blank_line() + "\n")
        lines = markdown.split("\n")
        first = self._prefix()
        rest = self._prefix()
        self._markdown.append(first + f"\n{rest}".join(lines))
        if text:
            self._texts.append(text)
        self._item_before = bool(self._containers) and not self._containers[-1].is_quote

    def _prefix(self) -> str:
        parts = []
        for container in self._containers:
            fresh = container.is_quote or not container.used
            parts.append(container.marker if fresh else " " * len(container.marker))
            container.used = True
        return "".join(parts)

    def _blank_line(self) -> str:
        quotes = 0
        for container in self._containers:
            if not (container.is_quote and container.used):
                break
            quotes += 1
        return ("> " * quotes).rstrip()

    def push_quote(self) -> None:
        """Start a quotation."""
        self.end_block()
        self._containers.append(_Container("> "))

    def push_item(self, marker: str) -> None:
        """Start a list item with its marker, such as `- ` or `3. `."""
        self._containers.append(_Container(marker))

    def end_list(self) -> None:
        """End a list: what follows stands apart from it."""
        self.end_block()
        self._item_before = bool(self._containers)

    def pop(self) -> None:
        """End the innermost quotation or item."""
        self.end_block()
        if self._containers:
            self._containers.pop()

    def start_preformatted(self) -> None:
        """Keep white space from here on."""
        self.end_block()
        self._preformatted += 1

    def end_preformatted(self) -> None:
        """Write the preformatted text as a fenced block."""
        if not self._preformatted:
            return
        while len(self._frames) > 1:
            self._append_frame(self._frames.pop())
        self._preformatted -= 1
        frame, self._frames = self._frames[0], [_Frame()]
        code = "".join(frame.text).strip("\n")
        if code.strip():
            self.add_block(fence(code), code)

    def markdown(self) -> str:
        """Return all blocks as Markdown."""
        return "".join(self._markdown)

    def cell_markdown(self) -> str:
        """Return the flow as Markdown that may stand inside a table cell."""
        lines = (line.strip() for line in self.markdown().split("\n"))
        return "<br>".join(line for line in lines if line and line != "---")

    def text(self) -> str:
        """Return all blocks as plain text, a line each."""
        return "\n".join(self._texts)


def _lines(parts: list[str]) -> list[str]:
    return [re.sub(" +", " ", line) for line in "".join(parts).split("\n")]


def _wrap(frame: _Frame, markdown: str, text: str) -> str:
    if frame.tag == "a":
        target = frame.mark.strip()
        if not target or len(target) > _MAX_LINK_CHARACTERS or not _SAFE_LINK.match(target):
            return markdown
        for character, code in ((" ", "%20"), ("(", "%28"), (")", "%29"), ("<", "%3C"), ("\n", "")):
            target = target.replace(character, code)
        return f"[{markdown}]({target})"
    if frame.tag == "code":
        ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
        pad = " " if text.startswith("`") or text.endswith("`") else ""
        return f"{ticks}{pad}{text}{pad}{ticks}"
    return f"{frame.mark}{markdown}{frame.mark}"

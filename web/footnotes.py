"""Footnotes of Markdown: `[^1]` leads to `[^1]: its text`, which stays where it is written.

Our own rules, because those of mdit-py-plugins drop a note that nothing refers to, and take a
minute for 30,000 characters of `[^a`. A note is one paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

_LABEL = r"\[\^([^\s\[\]]{1,64})\]"
_NOTE = re.compile(rf"{_LABEL}:[ \t]*")
_REFERENCE = re.compile(_LABEL)


@dataclass
class Notes:
    """The notes of one text; `anchor` begins their ids, which must be unique on a page."""

    anchor: str
    #: label → number; only the first note of a label is one, a second is plain text
    numbers: dict[str, int] = field(default_factory=dict)
    referred: set[int] = field(default_factory=set)


def environment(anchor: str) -> dict[str, Any]:
    """Return what a text is parsed and rendered with."""
    return {"notes": Notes(anchor)}


def footnotes(parser: MarkdownIt) -> None:
    """Teach a parser footnotes; a plugin for its `use`."""
    ends = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("reference", "footnote", _note, {"alt": ends})
    parser.inline.ruler.before("link", "footnote", _reference)
    parser.add_render_rule("footnote_mark", _draw_mark)
    parser.add_render_rule("footnote_reference", _draw_reference)


def _note(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Take a paragraph that begins with `[^label]:`."""
    if state.is_code_block(start):
        return False
    first = state.bMarks[start] + state.tShift[start]
    match = _NOTE.match(state.src, first, state.eMarks[start])
    if match is None:
        return False
    if silent:
        return True
    following = _end_of_paragraph(state, start, end)
    lines = state.getLines(start, following, state.blkIndent, False)
    state.line = following
    notes: Notes = state.env["notes"]
    # A tight list draws no paragraphs, but a note in one needs its own line.
    opening = state.push("footnote_open", "p", 1)
    opening.map = [start, following]
    opening.attrSet("class", "footnote")
    number = None
    if match[1] not in notes.numbers:
        number = notes.numbers[match[1]] = len(notes.numbers) + 1
        opening.attrSet("id", f"{notes.anchor}-note-{number}")
    state.push("footnote_mark", "", 0).meta = {"label": match[1], "number": number}
    text = state.push("inline", "", 0)
    text.map = [start, following]
    text.content = lines.strip()[match.end() - match.start() :]
    text.children = []
    state.push("footnote_close", "p", -1)
    return True


def _end_of_paragraph(state: StateBlock, start: int, end: int) -> int:
    """Return the line that no longer belongs to the paragraph which begins at `start`."""
    rules = state.md.block.ruler.getRules("paragraph")
    before, state.parentType = state.parentType, "paragraph"
    line = start + 1
    while line < end and not state.isEmpty(line):
        indent = state.sCount[line]
        looked_at = indent >= 0 and indent - state.blkIndent <= 3
        if looked_at and any(rule(state, line, end, True) for rule in rules):
            break
        line += 1
    state.parentType = before
    return line


def _reference(state: StateInline, silent: bool) -> bool:
    """Take `[^label]` where there is such a note."""
    match = _REFERENCE.match(state.src, state.pos, state.posMax)
    notes: Notes = state.env["notes"]
    number = notes.numbers.get(match[1]) if match else None
    if match is None or number is None:
        return False
    if not silent:
        state.push("footnote_reference", "", 0).meta = {
            "label": match[1],
            "number": number,
            "first": number not in notes.referred,
        }
        notes.referred.add(number)
    state.pos = match.end()
    return True


def _draw_mark(
    _: RendererProtocol, tokens: Sequence[Token], at: int, __: OptionsDict, env: EnvType
) -> str:
    """Draw the note's own mark; it leads back to where it is first referred to."""
    about, notes = tokens[at].meta, env["notes"]
    if about["number"] not in notes.referred:
        return str(Markup("[{}] ").format(about["label"]))
    drawn = Markup('<a href="#{}-mark-{}">[{}]</a> ')
    return str(drawn.format(notes.anchor, about["number"], about["label"]))


def _draw_reference(
    _: RendererProtocol, tokens: Sequence[Token], at: int, __: OptionsDict, env: EnvType
) -> str:
    about, anchor = tokens[at].meta, env["notes"].anchor
    name = Markup(' id="{}-mark-{}"').format(anchor, about["number"]) if about["first"] else ""
    drawn = Markup('<sup{}><a href="#{}-note-{}">[{}]</a></sup>')
    return str(drawn.format(name, anchor, about["number"], about["label"]))

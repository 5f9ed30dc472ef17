"""Write an Office equation on one line, as one would type it."""

from __future__ import annotations

from typing import Any

from jobs.parsing.page_import.ooxml import child, children, local, value_of

_SKIPPED = frozenset({"rPr", "ctrlPr", "oMathParaPr", "argPr"})


def equation_text(element: Any) -> str:
    """Return the text of m:oMath and of what stands inside it."""
    name = local(element)
    if name == "t":
        return element.text or ""
    if name in _SKIPPED or name.endswith("Pr"):
        return ""
    if name == "f":
        return f"{_group(element, 'num')}/{_group(element, 'den')}"
    if name in ("sSup", "sSub", "sSubSup", "sPre"):
        return _scripts(element)
    if name == "rad":
        degree = _inside(element, "deg")
        return f"{'√' if not degree else degree + '√'}({_inside(element, 'e')})"
    if name == "nary":
        sign = value_of(element, "naryPr", "chr") or "∫"
        limits = f"_{_group(element, 'sub')}^{_group(element, 'sup')}"
        return f"{sign}{limits} {_inside(element, 'e')}"
    if name == "d":
        return _delimited(element)
    if name == "mr":
        return ", ".join(_all(cell) for cell in children(element, "e")) + "; "
    return _all(element)


def _all(element: Any) -> str:
    return "".join(equation_text(part) for part in element)


def _inside(element: Any, name: str) -> str:
    found = child(element, name)
    return "" if found is None else _all(found)


def _group(element: Any, name: str) -> str:
    text = _inside(element, name)
    return text if len(text) < 2 or text.isalnum() else f"({text})"


def _scripts(element: Any) -> str:
    text = _group(element, "e")
    for name, mark in (("sub", "_"), ("sup", "^")):
        if child(element, name) is not None:
            text += mark + _group(element, name)
    return text


def _delimited(element: Any) -> str:
    begin = value_of(element, "dPr", "begChr")
    end = value_of(element, "dPr", "endChr")
    inside = ", ".join(_all(part) for part in children(element, "e"))
    return f"{'(' if begin is None else begin}{inside}{')' if end is None else end}"

"""HTML and templates that write it: Jinja, Django, ERB, Blade, Thymeleaf, JSP, EJS, Vue and kin.

One file is one screen or a part of one. What it extends or includes are its imports.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import itemgetter

from jobs.parsing.code2des.facts import Element, FileFacts, Import, SourceFile
from jobs.parsing.code2des.markup import (
    FIELDS,
    HEADINGS,
    LINKS,
    MAX_TAGS,
    Lines,
    blank,
    read_tags,
)
from jobs.parsing.code2des.resolving import FolderResolver, Target

__all__ = ["Resolver", "analyse", "grammars"]

_WANTED = frozenset((*FIELDS, *HEADINGS, *LINKS, "form", "label", "option", "html", "template"))
_PARTS = (
    re.compile(r"\{%-?\s*+(?:extends|include|import|from)\s+[\"']([^\"']+)[\"']"),
    re.compile(r"@(?:extends|include|includeIf|component|each)\(\s*['\"]([\w./-]+)['\"]"),
    re.compile(r"th:(?:replace|insert|include)\s*=\s*+[\"']\s*+~?\{?\s*+([\w./-]+)"),
    re.compile(r"layout:decorate\s*=\s*[\"']~?\{?\s*([\w./-]+)"),
    re.compile(r"<%@\s*include\s+file\s*=\s*[\"']([^\"']+)[\"']"),
    re.compile(r"<jsp:include\s+page\s*=\s*[\"']([^\"']+)[\"']"),
    re.compile(r"<%-?=?\s*include\(?\s*['\"]([\w./-]+)['\"]"),
    re.compile(r"<%=\s*render\s*+\(?\s*+(?:partial:\s*)?['\"]([\w./-]+)['\"]"),
    re.compile(r"\{\{>\s*([\w./-]+)"),
)
#: a field or a link that a call writes → what it is in HTML
_CALLS = (
    (re.compile(r"\{\{-?\s*form\.(\w+)\s*(?:\(|\||-?\}\})"), "field"),
    (re.compile(r"<%=\s*\w+\.(\w+_(?:field|area|box|button)|select)\s*+\(?\s*+:(\w+)"), "helper"),
    (re.compile(r"<%=\s*link_to\s*+\(?\s*+['\"]([^'\"]*)['\"]\s*,\s*([^%,]+)"), "link"),
    (re.compile(r"<%=\s*(form_(?:with|for|tag))\b([^%]*)%>"), "form"),
)


def grammars() -> dict[str, str]:
    """Return nothing: tags are read by our own rules."""
    return {}


def analyse(source: SourceFile) -> FileFacts:
    """Return the tags, parts and first comment of one file."""
    facts = FileFacts(source=source)
    text = blank(source.text)
    for line in source.text.split("\n"):
        facts.code_lines += bool(line.strip())
    found = [*read_tags(text, _WANTED), *_called(text)]
    found.sort(key=itemgetter(0))
    facts.elements = list(_numbered([element for _, element in found[:MAX_TAGS]]))
    facts.imports = _parts(text)
    return facts


def _numbered(elements: Sequence[Element]) -> Iterator[Element]:
    """Yield the elements, each with the number of the form around it."""
    count = current = 0
    for element in elements:
        if element.tag == "form":
            count += 1
            current = count
        element.form = current
        if element.tag == "/form":
            current = 0
        yield element


def _called(text: str) -> Iterator[tuple[int, Element]]:
    lines = Lines(text)
    for pattern, tag in _CALLS:
        for number, match in enumerate(pattern.finditer(text)):
            if number >= MAX_TAGS:
                return
            yield match.start(), _call(match, tag, lines.at(match.start()))


def _call(match: re.Match[str], tag: str, line: int) -> Element:
    first, second = match.group(1), match.group(match.lastindex or 1)
    if tag == "field":
        return Element(tag="field", attributes={"name": first}, line=line)
    if tag == "helper":
        kind = first.partition("_")[0]
        return Element(tag="field", attributes={"name": second, "type": kind}, line=line)
    if tag == "link":
        target = second.strip().rstrip("-) ")
        return Element(tag="a", attributes={"href": target}, line=line, text=first)
    url = re.search(r"(?:url:|form_tag)\s*+\(?\s*+([\w'\"/.]+)", match.group(0))
    action = url.group(1).strip("'\"") if url else ""
    return Element(tag="form", attributes={"action": action, "method": "post"}, line=line)


def _parts(text: str) -> list[Import]:
    found = {}
    lines = Lines(text)
    for pattern in _PARTS:
        for match in pattern.finditer(text):
            line = lines.at(match.start())
            name = match.group(1)
            key = (line, name)
            found[key] = Import(
                module=name, level=0, name=None, alias=name, line=line, kind="includes"
            )
    return [found[key] for key in sorted(found)]


class Resolver(FolderResolver):
    """Parts of templates: the only file whose path ends as written, with or without an ending."""

    def __init__(self, files: Sequence[FileFacts]) -> None:
        self._ends: dict[str, list[str]] = defaultdict(list)
        for path in sorted(facts.source.path for facts in files):
            for name in template_names(path):
                self._ends[name].append(path)

    def module_name(self, path: str) -> str:
        """Return the path."""
        return path

    def resolve(self, entry: Import, path: str) -> Target:
        """Return the included file."""
        near = posixpath.dirname(path)
        wanted = template_key(entry.module)
        found = [p for p in self._ends.get(posixpath.basename(wanted), ()) if _ends_so(p, wanted)]
        same = [candidate for candidate in found if posixpath.dirname(candidate) == near]
        chosen = found if len(found) == 1 else same
        if len(chosen) == 1 and chosen[0] != path:
            return Target(path=chosen[0], confidence="likely")
        return Target(external=entry.module, ecosystem="unresolved")


def template_key(name: str) -> str:
    """Return the name of a template as its path would end, without ending and underscore."""
    name = name.strip("/").removeprefix("./")
    folder, _, last = name.rpartition("/")
    if "." in last and last.rpartition(".")[2].lower() not in _ENDINGS:
        dotted = name.replace(".", "/")  # Blade: orders.list
        folder, _, last = dotted.rpartition("/")
    stem = _stem(last).removeprefix("_")
    return f"{folder}/{stem}" if folder else stem


_ENDINGS = frozenset(
    ("html", "htm", "xhtml", "j2", "jinja", "jinja2", "erb", "php", "jsp", "ejs", "hbs", "vue")
) | {"mustache", "twig", "ftl", "cshtml", "svelte", "blade"}


def _stem(name: str) -> str:
    while "." in name and name.rpartition(".")[2].lower() in _ENDINGS:
        name = name.rpartition(".")[0]
    return name


def template_names(path: str) -> list[str]:
    """Return the names under which the last part of a template's path is asked for."""
    return [_stem(posixpath.basename(path)).removeprefix("_")]


def _ends_so(path: str, wanted: str) -> bool:
    folder, _, last = path.rpartition("/")
    bare = f"/{folder}/{_stem(last).removeprefix('_')}"
    return bare.endswith(f"/{wanted}")

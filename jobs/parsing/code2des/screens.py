"""Screens of the model: templates and components with their forms, fields and links.

What shows a screen is known from routes whose function renders it, and from where a link leads.
Nothing is guessed from looks: a target that no route or file has stays as it is written.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from jobs.parsing.code2des.facts import Element, FileFacts
from jobs.parsing.code2des.html import template_key
from jobs.parsing.code2des.index import Index
from jobs.parsing.code2des.markup import FIELDS, LINKS
from jobs.parsing.code2des.screen_fields import field_row, forms_of, label_texts, target_of

Row = dict[str, Any]
_OUTSIDE = re.compile(r"^(?:[a-z][\w+.-]*:|//|#|$)", re.IGNORECASE)
_NEXT_APP = re.compile(r"(?:^|/)app/(?:(.*)/)?page\.[jt]sx?$")
_NEXT_PAGES = re.compile(r"(?:^|/)pages/(.*?)(?:/?index)?\.[jt]sx?$")
_HOLE = re.compile(r"\{\{.*?\}\}|\$\{.*?\}|<%.*?%>|\{[^{}]*\}|<[^<>]*>|:\w+|\[[^\]]*\]")
_NAMED = re.compile(
    r"(?:url_for|url|route|reverse|path_for)\s*\(?\s*['\"]([\w.:-]+)['\"]|^(\w+)_(?:path|url)\b"
)


def find_screens(
    files: Sequence[FileFacts], index: Index, endpoints: Sequence[Row], uses_next: bool
) -> list[Row]:
    """Return the screens of all files, sorted by file and line."""
    groups = {
        (facts.source.path, owner): elements
        for facts in files
        for owner, elements in _by_owner(facts).items()
    }
    known = _Known(files, index, endpoints, groups)
    rows = [
        _row(path, owner, elements, known, uses_next) for (path, owner), elements in groups.items()
    ]
    kept = [row for row in rows if row is not None]
    return sorted(kept, key=lambda row: (row["file"], row["line"], row["name"]))


def _by_owner(facts: FileFacts) -> dict[str, list[Element]]:
    found: dict[str, list[Element]] = defaultdict(list)
    is_template = facts.source.language == "html"
    for element in facts.elements:
        found[_component(element.owner, facts) if not is_template else ""].append(element)
    if is_template:
        found.setdefault("", [])
    return found


def _component(qualified: str, facts: FileFacts) -> str:
    """Return the component of a function: the outermost name with a capital, else its file."""
    for part in qualified.split("."):
        if part[:1].isupper():
            return part
    name = posixpath.basename(facts.source.path).split(".")[0]
    return qualified.split(".")[0] or name


def screen_id(path: str, owner: str) -> str:
    """Return the identifier of a screen."""
    return f"screen:{path}#{owner}" if owner else f"screen:{path}"


class _Known:
    """What leads to screens: routes by path and by name of their function, files by name."""

    def __init__(
        self,
        files: Sequence[FileFacts],
        index: Index,
        endpoints: Sequence[Row],
        groups: Mapping[tuple[str, str], list[Element]],
    ) -> None:
        self.index = index
        self.groups = groups
        self._templates: dict[str, list[str]] = defaultdict(list)
        for path, owner in groups:
            if not owner:
                self._templates[posixpath.basename(template_key(path))].append(path)
        self.routes: dict[str, list[Row]] = defaultdict(list)
        self._by_pattern: dict[str, str] = {}
        self._by_name: dict[str, str] = {}
        shown = self._shown(files, endpoints)
        for endpoint in endpoints:
            for screen in shown.get(endpoint["handler"] or "", ()):
                self.routes[screen].append(endpoint)
                if endpoint["method"] in ("GET", "ANY"):
                    self._by_pattern.setdefault(_pattern(endpoint["path"]), screen)
                name = (endpoint["handler"] or "").partition("#")[2].split("(")[0]
                for known_as in (endpoint["name"], name.rpartition(".")[2]):
                    if known_as:
                        self._by_name.setdefault(known_as, screen)
        for (path, _), elements in groups.items():
            self._client_routes(path, elements)

    def _shown(self, files: Sequence[FileFacts], endpoints: Sequence[Row]) -> dict[str, list[str]]:
        """Return function → screens that it renders."""
        found: dict[str, list[str]] = defaultdict(list)
        for facts in files:
            entry = self.index.files[facts.source.path]
            for render in facts.renders:
                path = self.template(render.template)
                if path is None:
                    continue
                for handler in _handlers(render.function, entry.functions, entry.types):
                    found[handler].append(screen_id(path, ""))
        for endpoint in endpoints if self._templates else ():
            path = self._of_rails(endpoint)
            if path is not None and endpoint["handler"] not in found:
                found[endpoint["handler"]].append(screen_id(path, ""))
        return found

    def _of_rails(self, endpoint: Row) -> str | None:
        """Return the template that an action of Rails shows when it names none."""
        name = (endpoint["handler"] or "").partition("#")[2].split("(")[0]
        match = re.fullmatch(r"(?:.*\.)?(\w+)Controller\.(\w+)", name)
        if endpoint["framework"] != "rails" or match is None:
            return None
        folder = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", match.group(1)).lower()
        return self.template(f"{folder}/{match.group(2)}")

    def _client_routes(self, path: str, elements: Sequence[Element]) -> None:
        """Take the routes that `<Route path="/x" element={<X />}>` declares."""
        for element in elements:
            shown = element.attributes.get("element") or element.attributes.get("component") or ""
            match = re.search(r"<?\s*([A-Z]\w*)", shown)
            if element.tag != "route" or match is None or "path" not in element.attributes:
                continue
            screen = self.component(match.group(1), path)
            if screen is not None:
                written = element.attributes["path"]
                route = {"method": "GET", "path": written, "handler": None}
                self.routes[screen].append(route)
                self._by_pattern.setdefault(_pattern(written), screen)

    def template(self, name: str) -> str | None:
        """Return the only template whose path ends as a name does."""
        wanted = template_key(name)
        found = [
            path
            for path in self._templates.get(posixpath.basename(wanted), ())
            if f"/{template_key(path)}".endswith(f"/{wanted}")
        ]
        return found[0] if len(found) == 1 else None

    def component(self, name: str, path: str) -> str | None:
        """Return the screen of a component that a file names."""
        found = self.index.find(name, path)
        if found is None:
            return screen_id(path, name) if (path, name) in self.groups else None
        file, _, rest = found.partition(":")[2].partition("#")
        owner = rest.split("(")[0].split(".")[0]
        return screen_id(file, owner) if (file, owner) in self.groups else None

    def _routed(self, path: str) -> str | None:
        """Return the screen of a path; a star of a route takes any one part."""
        if path in self._by_pattern:
            return self._by_pattern[path]
        parts = path.split("/")
        for pattern, screen in self._by_pattern.items():
            wanted = pattern.split("/")
            fits = "*" in pattern and len(wanted) == len(parts)
            if fits and all(w in ("*", p) for w, p in zip(wanted, parts, strict=True)):
                return screen
        return None

    def target(self, written: str, path: str) -> str | None:
        """Return the screen that a link written in the file at `path` leads to."""
        if match := _NAMED.search(written):
            name = match.group(1) or match.group(2)
            return self._by_name.get(name) or self._by_name.get(re.split(r"[.:]", name)[-1])
        if written.startswith("@{"):
            written = written[2:].split("(")[0].rstrip("}")
        bare = written.split("?")[0].split("#")[0].strip()
        if bare.startswith("/"):
            return self._routed(_pattern(bare))
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), bare))
        return screen_id(beside, "") if (beside, "") in self.groups else None


def _handlers(name: str, functions: Mapping[str, str], types: Mapping[str, str]) -> list[str]:
    """Return a function, or a class with its methods, that shows a screen."""
    if name in functions:
        return [functions[name]]
    own = [identifier for method, identifier in functions.items() if method.startswith(f"{name}.")]
    return [*own, types[name]] if name in types else []


def _pattern(path: str) -> str:
    """Return a path with every parameter as a star."""
    return _HOLE.sub("*", path.strip("@{}\"'` ")).rstrip("/") or "/"


def _row(
    path: str, owner: str, elements: Sequence[Element], known: _Known, uses_next: bool
) -> Row | None:
    screen = screen_id(path, owner)
    routes = sorted({f"{r['method']} {r['path']}" for r in known.routes.get(screen, ())})
    if uses_next and owner and (found := _next_route(path)):
        routes = sorted({*routes, f"GET {found}"})
    labels = label_texts(elements)
    forms = forms_of(elements, labels)
    for form in forms:
        form["screen"] = known.target(form["action"], path) if form["action"] else None
    loose = [field_row(e, labels) for e in elements if e.tag in FIELDS and not e.form]
    links = [_link(e, path, known) for e in elements if e.tag in LINKS]
    uses = sorted({u for e in elements if (u := _used(e, path, known)) and u != screen})
    heading = next((e.text for e in elements if e.tag in ("title", "h1", "h2") and e.text), None)
    return {
        "id": screen,
        "name": owner or path,
        "kind": _kind(path, owner, elements, bool(routes)),
        "title": heading,
        "file": path,
        "line": elements[0].line if elements and owner else 1,
        "routes": routes,
        "forms": forms,
        "fields": [field for field in loose if field is not None],
        "links": [link for link in links if link is not None],
        "uses": uses,
    }


def _kind(path: str, owner: str, elements: Sequence[Element], has_route: bool) -> str:
    if owner:
        return "page" if has_route else "component"
    name = posixpath.basename(path)
    is_whole = any(element.tag == "html" for element in elements)
    if has_route or (is_whole and not name.startswith(("_", "base", "layout"))):
        return "page"
    return "layout" if is_whole else "fragment" if name.startswith("_") else "template"


def _next_route(path: str) -> str | None:
    if match := _NEXT_APP.search(path):
        parts = [p for p in (match.group(1) or "").split("/") if p and not p.startswith("(")]
        return "/" + "/".join(parts)
    match = _NEXT_PAGES.search(path)
    if match is None or match.group(1).startswith(("api/", "_")):
        return None
    return f"/{match.group(1)}"


def _link(element: Element, path: str, known: _Known) -> Row | None:
    target = target_of(element)
    if target is None or (_OUTSIDE.match(target) and not target.startswith("@{")):
        return None
    return {
        "text": element.text or element.attributes.get("aria-label") or None,
        "target": target,
        "screen": known.target(target, path),
        "line": element.line,
    }


def _used(element: Element, path: str, known: _Known) -> str | None:
    name = element.attributes.get("", "")
    return known.component(name, path) if name[:1].isupper() else None

"""Where a project meets the outside: endpoints, entry points, external packages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from jobs.parsing.code2des.facts import Endpoint, FileFacts
from jobs.parsing.code2des.index import Index
from jobs.parsing.code2des.manifests import Manifest
from jobs.parsing.code2des.mounts import mounts
from jobs.parsing.code2des.python_django import VERBS, methods_of
from jobs.parsing.code2des.relations import module_id

#: every router of a file
_ANY = "*"
_PATH_PARAMETER = re.compile(r"<(?:[^:<>]+:)?([^<>]+)>|\{([^{}:]+)(?::[^{}]*)?\}|[:](\w+)")


def endpoints(files: Sequence[FileFacts], index: Index) -> list[dict[str, Any]]:
    """Return all routes with the prefixes of their routers, sorted by path and method."""
    mounted = _mounted_prefixes(files, index)
    included = mounts(files, index)
    rows = []
    for facts in files:
        path = facts.source.path
        for endpoint in facts.endpoints:
            prefix = mounted.get((path, endpoint.router)) or mounted.get((path, _ANY), "")
            if not _same(prefix, facts, endpoint):
                prefix += facts.prefixes.get(endpoint.router, "")
            full = prefix.rstrip("/") + endpoint.path if endpoint.path else prefix or "/"
            if endpoint.framework == "django":
                rows += _django_rows(endpoint, included.get(path, [""]), path, index)
            else:
                handler = _handler(endpoint, path, index)
                rows.append(_endpoint_row(endpoint, endpoint.method, full, handler, path))
    return sorted(rows, key=lambda row: (row["path"], row["method"], row["file"], row["line"]))


def _django_rows(
    endpoint: Endpoint, prefixes: Sequence[str], path: str, index: Index
) -> list[dict[str, Any]]:
    """Return the rows of a route under each of its prefixes, one for each method that is known."""
    found = index.find(endpoint.handler, path)
    pairs: list[tuple[str, str | None]] = [("ANY", found)]
    if found in index.functions:
        pairs = [(method, found) for method in methods_of(index.functions[found])]
    elif found is not None:
        own = {verb: index.method(found, verb) for verb in VERBS}
        pairs = [(v.upper(), m[0]) for v, m in own.items() if m is not None] or pairs
    return [
        _endpoint_row(endpoint, method, "/" + prefix + endpoint.path[1:], handler, path)
        for prefix in prefixes
        for method, handler in pairs
    ]


def _endpoint_row(
    endpoint: Endpoint, method: str, full: str, handler: str | None, path: str
) -> dict[str, Any]:
    return {
        "method": method,
        "path": full,
        "name": endpoint.name or None,
        "handler": handler,
        "framework": endpoint.framework,
        "params": [a or b or c for a, b, c in _PATH_PARAMETER.findall(full)],
        "file": path,
        "line": endpoint.line,
    }


def _handler(endpoint: Endpoint, path: str, index: Index) -> str | None:
    found = index.function_at(endpoint.handler, path, endpoint.line)
    found = found or index.find(endpoint.handler, path)
    return found if found in index.functions else None


def _same(prefix: str, facts: FileFacts, endpoint: Endpoint) -> bool:
    """Say whether the mounting call stands in the router's own file and is counted already."""
    return bool(prefix) and facts.prefixes.get(endpoint.router) == prefix


def _mounted_prefixes(files: Sequence[FileFacts], index: Index) -> dict[tuple[str, str], str]:
    """Return (file, router variable) → prefix given where the router is mounted elsewhere."""
    found: dict[tuple[str, str], str] = {}
    for facts in files:
        path = facts.source.path
        for name, prefix in facts.prefixes.items():
            first, _, rest = name.partition(".")
            imported = index.files[path].imports.get(first)
            if imported is None:
                continue
            target = index.resolve_import(imported, path)
            if target.path is not None:
                member = rest or target.member or _ANY
                found.setdefault((target.path, _ANY if member == "default" else member), prefix)
        for imported in index.files[path].imports.values():
            if (prefix := facts.prefixes.get(imported.module, "")) and imported.module[:1] == ".":
                target = index.resolve_import(imported, path)
                found.setdefault((target.path or "", _ANY), prefix)
    return found


def entry_points(
    files: Sequence[FileFacts], index: Index, manifest: Manifest
) -> list[dict[str, Any]]:
    """Return what starts from outside: main blocks, commands, workers; routes stand apart."""
    rows = []
    for facts in files:
        path = facts.source.path
        known = index.files[path].functions
        for entry in facts.entry_points:
            target = known.get(entry.target, module_id(path))
            module = index.resolver(path).module_name(path).rpartition(".")[0]
            full = f"{module}.{entry.target}" if facts.package and module else None
            rows.append(_entry(entry.kind, target, full, path, entry.line))
        if PurePosixPath(path).name == "__main__.py" and not facts.entry_points:
            rows.append(_entry("main", module_id(path), None, path, 1))
    for command, target, source in manifest.scripts:
        rows.append(_entry("cli", _script_target(target, files, index), command, source, None))
    return sorted(rows, key=lambda r: (r["file"], r["line"] or 0, r["kind"], r["name"] or ""))


def _entry(kind: str, target: str, name: str | None, file: str, line: int | None) -> dict[str, Any]:
    return {"kind": kind, "id": target, "name": name, "file": file, "line": line}


def _script_target(target: str, files: Sequence[FileFacts], index: Index) -> str:
    module, _, function = target.partition(":")
    for facts in files:
        path = facts.source.path
        if path.removesuffix(".py").removesuffix("/__init__").replace("/", ".").endswith(module):
            return index.find(function, path) or module_id(path)
    return target


def externals(files: Sequence[FileFacts], index: Index, manifest: Manifest) -> list[dict[str, Any]]:
    """Return packages that are imported or declared; versions as declared."""
    used: dict[tuple[str, str], set[str]] = defaultdict(set)
    for facts in files:
        path = facts.source.path
        for imported in facts.imports:
            for target in index.import_targets(imported, path):
                if target.external is not None and target.external != "__future__":
                    used[(target.ecosystem or "unknown", target.external)].add(module_id(path))
    declared = {
        (ecosystem, _plain(name)): (name, version, file)
        for ecosystem, name, version, file in reversed(manifest.packages)
    }
    rows = []
    for (ecosystem, name), modules in used.items():
        match = declared.pop((ecosystem, _plain(name)), None)
        rows.append(
            {
                "ecosystem": ecosystem,
                "name": name,
                "version": match[1] if match else None,
                "source_file": match[2] if match else None,
                "used_by": sorted(modules),
            }
        )
    for (ecosystem, _), (name, wanted, file) in declared.items():
        row = {"ecosystem": ecosystem, "name": name, "version": wanted, "source_file": file}
        rows.append({**row, "used_by": []})
    return sorted(rows, key=lambda row: (row["ecosystem"], row["name"].lower(), row["name"]))


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()

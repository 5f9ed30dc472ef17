"""The design model `code2des/1`: plain JSON, sorted, the same bytes for the same input."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from jobs.parsing.code2des.architecture import describe_packages
from jobs.parsing.code2des.data import crud_rows, find_tables
from jobs.parsing.code2des.facts import FileFacts
from jobs.parsing.code2des.graph import components, layers, ranks
from jobs.parsing.code2des.index import Index
from jobs.parsing.code2des.interfaces import endpoints, entry_points, externals
from jobs.parsing.code2des.languages import DISPLAY, family, load
from jobs.parsing.code2des.manifests import read_manifests
from jobs.parsing.code2des.model_rows import function_row, type_row
from jobs.parsing.code2des.relations import DEPENDS, find_relations, module_id
from jobs.parsing.code2des.screens import find_screens
from jobs.parsing.code2des.sources import Sources
from jobs.parsing.code2des.summaries import is_test, summary_of
from jobs.parsing.errors import PARSER_VERSION

_MAX_HOTSPOTS = 30
Row = dict[str, Any]


def build_model(sources: Sources, files: Sequence[FileFacts], root_name: str) -> Row:
    """Return the whole model; `files` are the facts of `sources.files`, in any order."""
    files = sorted(files, key=lambda facts: facts.source.path)
    used = sorted({facts.source.language for facts in files})
    resolvers = {
        name: load(name).Resolver([f for f in files if family(f.source.language) == family(name)])
        for name in used
    }
    for resolver in resolvers.values():
        resolver.configure(sources.manifests)
    index = Index(files, resolvers)
    manifest = read_manifests(sources.manifests)
    relations = find_relations(files, index)
    functions = [
        function_row(f, index.ids[id(f)], facts) for facts in files for f in facts.functions
    ]
    types = [type_row(t, index.ids[id(t)], facts) for facts in files for t in facts.types]
    modules = _modules(files, resolvers, relations)
    _count_fans(functions, relations)
    warnings = [*sources.warnings, *_warnings(files, manifest.broken)]
    tables = find_tables(files, index)
    routes = endpoints(files, index)
    uses_next = any(package[:2] == ("npm", "next") for package in manifest.packages)
    return {
        "schema": "code2des/1",
        "project": _project(sources, files, manifest.name or root_name, manifest),
        "files": _files(sources, files),
        "modules": modules,
        **describe_packages(modules, _packages(files, resolvers), import_edges(relations)),
        "types": types,
        "functions": functions,
        "relations": relations,
        "endpoints": routes,
        "screens": find_screens(files, index, routes, uses_next),
        "entry_points": entry_points(files, index, manifest),
        "tables": tables,
        "crud": crud_rows(files, index, tables, relations),
        "external": externals(files, index, manifest),
        "cycles": _cycles(modules, relations),
        "hotspots": _hotspots(functions),
        "warnings": sorted(warnings, key=_warning_order),
        "totals": _totals(files, sources, types, functions, relations),
    }


def _packages(files: Sequence[FileFacts], resolvers: Row) -> dict[str, str]:
    return {
        module_id(path := facts.source.path): resolvers[facts.source.language].package_of(path)
        for facts in files
    }


def _warning_order(warning: Row) -> tuple[str, int, str, str]:
    detail = warning["detail"] or ""
    return warning["path"] or "", warning["line"] or 0, warning["code"], detail


def _project(sources: Sources, files: Sequence[FileFacts], name: str, manifest: Any) -> Row:
    digest = hashlib.sha256()
    for facts in files:
        digest.update(f"{facts.source.path}\0{facts.source.sha256}\n".encode())
    grammars: dict[str, str] = {}
    languages: dict[str, Row] = {}
    for facts in files:
        language = facts.source.language
        grammars.update(load(language).grammars())
        start = {"name": DISPLAY[language], "files": 0, "lines": 0, "code": 0, "comment": 0}
        row = languages.setdefault(language, start)
        row["files"] += 1
        row["lines"] += _line_count(facts.source.text)
        row["code"] += facts.code_lines
        row["comment"] += facts.comment_lines
    return {
        "name": name,
        "version": manifest.version,
        "summary": manifest.summary,
        "digest": digest.hexdigest(),
        "root_kind": sources.root_kind,
        "languages": [languages[key] for key in sorted(languages)],
        "generator": {"name": "torikomi", "version": PARSER_VERSION, "grammars": grammars},
    }


def _line_count(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and bool(text))


def _files(sources: Sources, files: Sequence[FileFacts]) -> list[Row]:
    rows = [
        {
            "id": f"file:{facts.source.path}",
            "path": facts.source.path,
            "language": facts.source.language,
            "encoding": facts.source.encoding,
            "newline": facts.source.newline,
            "bytes": facts.source.size_bytes,
            "lines": _line_count(facts.source.text),
            "status": "partial" if facts.error_nodes else "parsed",
            "reason": "syntax_errors" if facts.error_nodes else None,
            "error_nodes": facts.error_nodes,
        }
        for facts in files
    ]
    rows += [
        {
            "id": f"file:{skipped.path}",
            "path": skipped.path,
            "language": skipped.language,
            "encoding": None,
            "newline": None,
            "bytes": skipped.size_bytes,
            "lines": None,
            "status": "skipped",
            "reason": skipped.reason,
            "error_nodes": 0,
        }
        for skipped in sources.skipped
    ]
    return sorted(rows, key=lambda row: (row["path"], row["status"]))


def _modules(files: Sequence[FileFacts], resolvers: Row, relations: Sequence[Row]) -> list[Row]:
    edges = import_edges(relations)
    nodes = [module_id(facts.source.path) for facts in files]
    layer = layers(nodes, edges)
    fan_in = Counter(target for targets in edges.values() for target in targets)
    groups = [group for group in components(nodes, edges) if len(group) > 1]
    cycle_of = {node: number for number, group in enumerate(sorted(groups), 1) for node in group}
    rows = []
    for facts in files:
        path = facts.source.path
        node = module_id(path)
        out = len(edges.get(node, ()))
        rows.append(
            {
                "id": node,
                "name": resolvers[facts.source.language].module_name(path),
                "path": path,
                "language": facts.source.language,
                "role": "test" if is_test(path) else "code",
                "layer": layer[node],
                "summary": summary_of(facts.doc or _main_doc(facts)),
                "fan_in": fan_in[node],
                "fan_out": out,
                "instability": round(out / (out + fan_in[node]), 3) if out + fan_in[node] else None,
                "scc": cycle_of.get(node),
            }
        )
    return rows


def _main_doc(facts: FileFacts) -> str | None:
    """Return the comment of the first type, which most often says what its file is for."""
    return next((kind.doc for kind in facts.types if "." not in kind.qualified), None)


def import_edges(relations: Sequence[Row]) -> dict[str, list[str]]:
    """Return importing module → imported modules, sorted."""
    edges: dict[str, set[str]] = defaultdict(set)
    for relation in relations:
        if relation["kind"] in DEPENDS:
            edges[relation["from"]].add(relation["to"])
    return {node: sorted(targets) for node, targets in sorted(edges.items())}


def call_edges(relations: Sequence[Row]) -> dict[str, list[str]]:
    """Return caller → called functions, only what is resolved."""
    edges: dict[str, set[str]] = defaultdict(set)
    for relation in relations:
        if relation["kind"] == "calls" and relation["confidence"] != "ambiguous":
            edges[relation["from"]].add(relation["to"])
    return {node: sorted(targets) for node, targets in sorted(edges.items())}


def _count_fans(functions: Sequence[Row], relations: Sequence[Row]) -> None:
    edges = call_edges(relations)
    fan_in = Counter(target for targets in edges.values() for target in targets)
    nodes = [function["id"] for function in functions]
    known = set(nodes)
    inner = {
        node: [target for target in targets if target in known]
        for node, targets in edges.items()
        if node in known
    }
    rank = ranks(nodes, inner)
    for function in functions:
        function["metrics"]["fan_in"] = fan_in[function["id"]]
        function["metrics"]["fan_out"] = len(inner.get(function["id"], ()))
        function["rank"] = rank[function["id"]]


def _cycles(modules: Sequence[Row], relations: Sequence[Row]) -> list[list[str]]:
    nodes = [module["id"] for module in modules]
    groups = components(nodes, import_edges(relations))
    return sorted(group for group in groups if len(group) > 1)


def _hotspots(functions: Sequence[Row]) -> list[Row]:
    rows = [
        {
            "id": function["id"],
            "score": function["metrics"]["cyclomatic"] * (1 + function["metrics"]["fan_in"]),
            "cyclomatic": function["metrics"]["cyclomatic"],
            "fan_in": function["metrics"]["fan_in"],
        }
        for function in functions
        if not function["test"] and "overload" not in function["modifiers"]
    ]
    rows.sort(key=lambda row: (-row["score"], row["id"]))
    return [row for row in rows[:_MAX_HOTSPOTS] if row["score"] > 1]


def _warnings(files: Sequence[FileFacts], broken: Sequence[str]) -> list[Row]:
    found: list[Row] = [
        {
            "code": "syntax_errors",
            "path": facts.source.path,
            "line": facts.error_line,
            "detail": f"{facts.error_nodes} places could not be parsed",
        }
        for facts in files
        if facts.error_nodes
    ]
    found += [
        {"code": "query_mismatch", "path": f.source.path, "line": None, "detail": detail}
        for f in files
        for detail in f.unasked
    ]
    for path in broken:
        found.append({"code": "manifest_broken", "path": path, "line": None, "detail": None})
    return found


def _totals(
    files: Sequence[FileFacts],
    sources: Sources,
    types: Sequence[Row],
    functions: Sequence[Row],
    relations: Sequence[Row],
) -> Row:
    kinds = Counter(f"{r['kind']}_{r['confidence']}" for r in relations)
    return {
        "files_parsed": len(files),
        "files_skipped": len(sources.skipped),
        "lines": sum(_line_count(facts.source.text) for facts in files),
        "code_lines": sum(facts.code_lines for facts in files),
        "comment_lines": sum(facts.comment_lines for facts in files),
        "types": len(types),
        "functions": len(functions),
        "imports": sum(len(facts.imports) for facts in files),
        "relations": dict(sorted(kinds.items())),
        "skipped_by_reason": dict(sorted(Counter(s.reason for s in sources.skipped).items())),
    }

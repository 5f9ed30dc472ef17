"""Declared dependencies and commands: pyproject.toml and requirements files, read as text."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jobs.parsing.code2des.manifest_formats import project_of, read_other
from jobs.parsing.code2des.tsconfig import NAMES

_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*([^;#]*)")


@dataclass
class Manifest:
    """What the manifests of a project declare."""

    name: str | None = None
    version: str | None = None
    summary: str | None = None
    #: (ecosystem, package name, version or None, manifest path)
    packages: list[tuple[str, str, str | None, str]] = field(default_factory=list)
    #: (command, target such as `package.module:function`, manifest path)
    scripts: list[tuple[str, str, str]] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


def read_manifests(texts: Mapping[str, str]) -> Manifest:
    """Read all manifests; the one nearest to the root names the project."""
    manifest = Manifest()
    for path in sorted(texts, key=lambda p: (p.count("/"), p)):
        if NAMES.search(path.rsplit("/", 1)[-1]):
            continue  # tells where names lead, not what the project needs
        if path.endswith("pyproject.toml"):
            _read_pyproject(manifest, path, texts[path])
        elif path.endswith(".txt"):
            for line in texts[path].split("\n"):
                _add_requirement(manifest, line, path)
        else:
            _read_other(manifest, path, texts[path])
    return manifest


def _read_other(manifest: Manifest, path: str, text: str) -> None:
    file_name = path.rsplit("/", 1)[-1]
    found = read_other(file_name, text)
    if found is None:
        manifest.broken.append(path)
        return
    name, version, summary = project_of(file_name, text)
    manifest.name = manifest.name or name
    manifest.version = manifest.version or version
    manifest.summary = manifest.summary or summary
    manifest.packages += [(e, package, wanted, path) for e, package, wanted in found]


def _read_pyproject(manifest: Manifest, path: str, text: str) -> None:
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        manifest.broken.append(path)
        return
    project = content.get("project")
    if not isinstance(project, dict):
        return
    manifest.name = manifest.name or _text(project.get("name"))
    manifest.version = manifest.version or _text(project.get("version"))
    manifest.summary = manifest.summary or _text(project.get("description"))
    for requirement in _list(project.get("dependencies")):
        _add_requirement(manifest, requirement, path)
    optional = project.get("optional-dependencies")
    for group in optional.values() if isinstance(optional, dict) else ():
        for requirement in _list(group):
            _add_requirement(manifest, requirement, path)
    scripts = project.get("scripts")
    for command, target in sorted(scripts.items()) if isinstance(scripts, dict) else ():
        if isinstance(target, str):
            manifest.scripts.append((command, target, path))


def _add_requirement(manifest: Manifest, line: Any, path: str) -> None:
    match = _REQUIREMENT.match(line) if isinstance(line, str) else None
    if match:
        version = "".join(match.group(2).split()) or None
        manifest.packages.append(("pypi", match.group(1), version, path))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None

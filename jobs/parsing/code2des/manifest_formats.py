"""Dependencies that other ecosystems declare: npm, Composer, Go, Cargo, Maven, Gradle, Bundler.

XML and Gradle files are read by expression: no entity is expanded and no script is run.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

#: (ecosystem, package, version or None)
Package = tuple[str, str, str | None]
_POM = re.compile(r"<dependency>(.*?)</dependency>", re.DOTALL)
_TAG = re.compile(r"<(groupId|artifactId|version)>\s*([^<\s]+)\s*</\1>")
_GRADLE = re.compile(
    r"\b(?:implementation|api|compileOnly|runtimeOnly|testImplementation|compile)\s*\(?\s*"
    r"[\"']([\w.-]+):([\w.-]+)(?::([\w.-]+))?[\"']"
)
_GEM = re.compile(r"^\s*gem\s+[\"']([\w-]+)[\"'](?:\s*,\s*[\"']([^\"']+)[\"'])?", re.MULTILINE)
_GO = re.compile(r"^\s*(?:require\s+)?([\w.-]+\.[\w./~-]+)\s+(v[\w.+-]+)", re.MULTILINE)
_CSPROJ = re.compile(r'<PackageReference\s+Include="([^"]+)"(?:\s+Version="([^"]+)")?')


def read_other(name: str, text: str) -> list[Package] | None:
    """Return what the manifest `name` declares; None when it cannot be read."""
    try:
        if name == "package.json":
            return _npm(json.loads(text))
        if name == "composer.json":
            return _composer(json.loads(text))
        if name == "Cargo.toml":
            return _cargo(tomllib.loads(text))
    except (ValueError, RecursionError):
        return None
    if name == "pom.xml":
        return _maven(text)
    if name.endswith(".csproj"):
        return [("nuget", a, b or None) for a, b in _CSPROJ.findall(text)]
    if name == "Gemfile":
        return [("rubygems", a, b or None) for a, b in _GEM.findall(text)]
    if name == "go.mod":
        return [("go-module", a, b) for a, b in _GO.findall(text)]
    return [("maven", f"{a}:{b}", c or None) for a, b, c in _GRADLE.findall(text)]


def project_of(name: str, text: str) -> tuple[str | None, str | None, str | None]:
    """Return name, version and summary that a manifest in JSON gives its project."""
    try:
        content = json.loads(text) if name.endswith(".json") else {}
    except (ValueError, RecursionError):
        content = {}
    if not isinstance(content, dict):
        return None, None, None
    found = [content.get(key) for key in ("name", "version", "description")]
    texts = [value if isinstance(value, str) and value else None for value in found]
    return texts[0], texts[1], texts[2]


def _pairs(content: Any, *keys: str) -> list[tuple[str, str | None]]:
    found = []
    for key in keys:
        section = content.get(key) if isinstance(content, dict) else None
        for name, value in sorted(section.items()) if isinstance(section, dict) else ():
            version = value.get("version") if isinstance(value, dict) else value
            found.append((str(name), version if isinstance(version, str) else None))
    return found


def _npm(content: Any) -> list[Package]:
    keys = ("dependencies", "peerDependencies", "devDependencies")
    return [("npm", name, version) for name, version in _pairs(content, *keys)]


def _composer(content: Any) -> list[Package]:
    found = _pairs(content, "require", "require-dev")
    return [("packagist", name, version) for name, version in found if "/" in name]


def _cargo(content: Any) -> list[Package]:
    found = _pairs(content, "dependencies", "dev-dependencies", "build-dependencies")
    return [("crates", name, version) for name, version in found]


def _maven(text: str) -> list[Package]:
    found: list[Package] = []
    for block in _POM.findall(text):
        tags = dict(_TAG.findall(block))
        if "artifactId" in tags:
            name = f"{tags.get('groupId', '')}:{tags['artifactId']}"
            found.append(("maven", name, tags.get("version")))
    return found

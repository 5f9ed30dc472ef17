"""The registry of source languages: name → module that analyses it.

Adding a language = one module with `analyse(source) -> FileFacts` and `grammars()`, which
`sweep.reading` makes of a dialect with its query, and a `Resolver`; and one line in MODULES. A
suffix of a language that has no module is recognised, counted and skipped.
"""

from __future__ import annotations

import importlib
import posixpath
from collections.abc import Mapping
from typing import Any

MODULES: Mapping[str, str] = {
    "python": "jobs.parsing.code2des.python",
    "java": "jobs.parsing.code2des.java",
    "javascript": "jobs.parsing.code2des.javascript",
    "typescript": "jobs.parsing.code2des.typescript",
    "c": "jobs.parsing.code2des.c",
    "cpp": "jobs.parsing.code2des.cpp",
    "cobol": "jobs.parsing.code2des.cobol",
    "sql": "jobs.parsing.code2des.sql",
    "go": "jobs.parsing.code2des.go",
    "csharp": "jobs.parsing.code2des.csharp",
    "ruby": "jobs.parsing.code2des.ruby",
    "php": "jobs.parsing.code2des.php",
    "rust": "jobs.parsing.code2des.rust",
    "kotlin": "jobs.parsing.code2des.kotlin",
    "html": "jobs.parsing.code2des.html",
}

#: languages whose files name each other: they share one resolver's view
FAMILIES: Mapping[str, str] = {
    "javascript": "ecmascript",
    "typescript": "ecmascript",
    "java": "jvm",
    "kotlin": "jvm",
    "c": "c",
    "cpp": "c",
}

#: languages in which a bare name may be a method of the object at hand
IMPLICIT_THIS = frozenset({"java", "kotlin", "csharp", "cpp", "ruby"})

#: suffix → language, also of those that are recognised but not analysed yet
SUFFIXES: Mapping[str, str] = {
    ".py": "python",
    ".pyw": "python",
    ".pyi": "python",
    ".java": "java",
    ".js": "javascript",
    ".jsx": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "typescript",
    ".go": "go",
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    ".hpp": "cpp",
    ".hh": "cpp",
    ".hxx": "cpp",
    ".cs": "csharp",
    ".rb": "ruby",
    ".php": "php",
    ".rs": "rust",
    ".kt": "kotlin",
    ".kts": "kotlin",
    ".scala": "scala",
    ".swift": "swift",
    ".vb": "vb",
    ".sql": "sql",
    ".ddl": "sql",
    ".cbl": "cobol",
    ".cob": "cobol",
    ".cpy": "cobol",
    ".copy": "cobol",
    ".pco": "cobol",
    **dict.fromkeys(
        (
            *(".html", ".htm", ".xhtml", ".j2", ".jinja", ".jinja2", ".erb", ".jsp", ".ejs"),
            *(".hbs", ".mustache", ".twig", ".ftl", ".cshtml", ".vue", ".svelte"),
        ),
        "html",
    ),
}

DISPLAY: Mapping[str, str] = {
    "python": "Python",
    "java": "Java",
    "javascript": "JavaScript",
    "typescript": "TypeScript",
    "go": "Go",
    "c": "C",
    "cpp": "C++",
    "csharp": "C#",
    "ruby": "Ruby",
    "php": "PHP",
    "rust": "Rust",
    "kotlin": "Kotlin",
    "sql": "SQL",
    "cobol": "COBOL",
    "html": "HTML",
}


def language_of(path: str) -> str | None:
    """Return the language that the suffix of `path` stands for."""
    if path.lower().endswith(".blade.php"):
        return "html"
    return SUFFIXES.get(posixpath.splitext(path)[1].lower())


def family(language: str) -> str:
    """Return the name under which files of a language find each other."""
    return FAMILIES.get(language, language)


def load(language: str) -> Any:  # the module named in MODULES
    """Import the module of a language."""
    return importlib.import_module(MODULES[language])

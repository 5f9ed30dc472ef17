"""Who else can tell what a file defines and imports: ast, tsc, javac where there is a JDK, ctags.

An import is known by what is written: `..pkg:name` in Python, `java.util.*` in Java, the module of
a statement in TypeScript and JavaScript. Ctags tells none.
"""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.code2des_typescript import Truth, TypeScript, has_typescript

_CHUNK = 300
_CTAGS_NAMES = {
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
}
_TYPES = frozenset(
    ("class", "interface", "struct", "enum", "record", "trait", "union", "object", "annotation",
     "type", "alias", "typedef", "talias")
)  # fmt: skip
_FUNCTIONS = frozenset(
    ("function", "method", "constructor", "func", "subroutine", "singletonMethod", "generator",
     "getter", "setter", "methodSpec")
)  # fmt: skip


class Oracle(Protocol):
    """Tells types, functions and imports of files as (path, name), counted."""

    name: str

    def read(self, root: Path, paths: list[str]) -> Truth:
        """Return what the files define."""


def oracles_for(language: str, ctags: str) -> Oracle | None:
    """Return the best oracle of this machine for a language; None when there is none."""
    if language == "python":
        return PythonAst()
    if language == "java" and shutil.which("javac") and shutil.which("java"):
        return Javac()
    if language in ("typescript", "javascript") and has_typescript():
        return TypeScript()
    if language in _CTAGS_NAMES and shutil.which(ctags):
        return Ctags(ctags, _CTAGS_NAMES[language])
    return None


@dataclass
class PythonAst:
    """Python's own parser."""

    name: str = "ast"

    def read(self, root: Path, paths: list[str]) -> Truth:
        """Return classes, functions and imported names."""
        found: Truth = {"types": Counter(), "functions": Counter(), "imports": Counter()}
        for path in paths:
            try:
                tree = ast.parse((root / path).read_bytes())
            except (SyntaxError, ValueError):
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    found["types"][(path, node.name)] += 1
                elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    found["functions"][(path, node.name)] += 1
                elif isinstance(node, ast.Import):
                    found["imports"].update((path, f"{alias.name}:") for alias in node.names)
                elif isinstance(node, ast.ImportFrom):
                    module = "." * node.level + (node.module or "")
                    names = [f"{module}:{alias.name}" for alias in node.names]
                    found["imports"].update((path, name) for name in names)
        return found


_JAVA = """
import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.util.*;
import javax.tools.*;

public class Scan {
  public static void main(String[] a) throws Exception {
    JavaCompiler c = ToolProvider.getSystemJavaCompiler();
    StandardJavaFileManager m = c.getStandardFileManager(d -> {}, null, null);
    List<String> files = java.nio.file.Files.readAllLines(java.nio.file.Path.of(a[0]));
    JavacTask t = (JavacTask) c.getTask(null, m, d -> {}, List.of("-proc:none"), null,
        m.getJavaFileObjectsFromStrings(files));
    for (CompilationUnitTree u : t.parse()) {
      String f = u.getSourceFile().getName();
      new TreeScanner<Void, Void>() {
        public Void visitImport(ImportTree n, Void v) {
          System.out.println("imports\\t" + f + "\\t" + n.getQualifiedIdentifier());
          return null;
        }
        public Void visitClass(ClassTree n, Void v) {
          if (!n.getSimpleName().isEmpty())
            System.out.println("types\\t" + f + "\\t" + n.getSimpleName());
          return super.visitClass(n, v);
        }
        public Void visitMethod(MethodTree n, Void v) {
          System.out.println("functions\\t" + f + "\\t" + n.getName());
          return super.visitMethod(n, v);
        }
      }.scan(u, null);
    }
  }
}
"""


@dataclass
class Javac:
    """The parser of javac, through its Tree API; constructors have no name there."""

    name: str = "javac"

    def read(self, root: Path, paths: list[str]) -> Truth:
        """Return classes, methods and imports; constructors, nameless there, are left out."""
        found: Truth = {"types": Counter(), "functions": Counter(), "imports": Counter()}
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "Scan.java"
            program.write_text(_JAVA)
            listed = Path(folder) / "files.txt"
            listed.write_text("\n".join(str(root / path) for path in paths))
            quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
            command = ["java", *quick, str(program), str(listed)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            kind, path, name = line.split("\t")
            if name != "<init>":
                found[kind][(str(Path(path).relative_to(root)), name)] += 1
        return found


@dataclass
class Ctags:
    """Universal Ctags: a yardstick, not the truth."""

    command: str
    language: str
    name: str = "ctags"

    def read(self, root: Path, paths: list[str]) -> Truth:
        """Return what ctags calls a type or a function; anonymous ones are left out."""
        found: Truth = {"types": Counter(), "functions": Counter()}
        for start in range(0, len(paths), _CHUNK):
            done = subprocess.run(
                [
                    self.command,
                    "--output-format=json",
                    "--fields=+K",
                    f"--language-force={self.language}",
                    "-f-",
                    *paths[start : start + _CHUNK],
                ],
                cwd=root,
                capture_output=True,
                text=True,
                check=True,
            )
            for line in done.stdout.splitlines():
                tag = json.loads(line)
                name, kind = tag.get("name", ""), tag.get("kind")
                if name.startswith("__anon") or name.startswith("Anonymous"):
                    continue
                key = (tag["path"], name.rpartition("::")[2].replace("operator ", "operator"))
                if kind in _TYPES and not (kind == "alias" and self.language == "PHP"):
                    found["types"][key] += 1
                elif kind in _FUNCTIONS:
                    found["functions"][key] += 1
        return found

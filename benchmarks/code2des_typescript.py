"""The TypeScript compiler as an oracle, run by Node: Debian's `node-typescript`, or `typescript` of
npm in the folder that NODE_PATH names. Only its parser is asked; nothing is type-checked.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

Truth = dict[str, Counter[tuple[str, str]]]
INSTALL = "sudo apt-get install node-typescript"
_DEBIAN = "/usr/share/nodejs/typescript"
_PROGRAM = """
const fs = require("fs"), [folder, list] = process.argv.slice(1);
let ts;
try { ts = require(folder) } catch (_) { ts = require("typescript") }
const isFunction = n => n && (ts.isArrowFunction(n) || ts.isFunctionExpression(n));
const isCall = n => n && ts.isCallExpression(n) && n.arguments.length == 1
  && n.expression.getText() == "require" && ts.isStringLiteral(n.arguments[0]);
const name = n => ts.isStringLiteralLike(n) ? n.text : n.getText();
for (const file of fs.readFileSync(list, "utf8").split("\\n")) {
  const kind = /x$/.test(file) ? ts.ScriptKind.TSX : /js$/.test(file) ? ts.ScriptKind.JSX
    : ts.ScriptKind.TS;
  const source = ts.createSourceFile(
    file, fs.readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true, kind);
  const say = (what, text) => console.log(JSON.stringify([what, file, text]));
  const walk = n => {
    if ((ts.isClassLike(n) || ts.isInterfaceDeclaration(n) || ts.isEnumDeclaration(n)
        || ts.isTypeAliasDeclaration(n)) && n.name) say("types", n.name.text);
    if ((ts.isFunctionDeclaration(n) || ts.isMethodDeclaration(n) || ts.isMethodSignature(n)
        || ts.isAccessor(n)) && n.name) say("functions", name(n.name));
    if (ts.isConstructorDeclaration(n)) say("functions", "constructor");
    if (ts.isPropertyDeclaration(n) && isFunction(n.initializer)) say("functions", name(n.name));
    if (ts.isBinaryExpression(n) && n.operatorToken.kind == ts.SyntaxKind.EqualsToken
        && ts.isPropertyAccessExpression(n.left) && isFunction(n.right))
      say("functions", n.left.name.text);
    if (ts.isVariableDeclaration(n) && ts.isIdentifier(n.name) && isFunction(n.initializer))
      say("variables", n.name.text);
    const from = n.moduleSpecifier || n.moduleReference && n.moduleReference.expression
      || ts.isVariableDeclaration(n) && isCall(n.initializer) && n.initializer.arguments[0];
    if (from && from.text !== undefined && ts.isStringLiteral(from)) say("imports", from.text);
    ts.forEachChild(n, walk);
  };
  walk(source);
}
"""


def has_typescript() -> bool:
    """Say whether Node and a TypeScript compiler are installed."""
    if shutil.which("node") is None:
        return False
    if Path(_DEBIAN).is_dir():
        return True
    asked = ["node", "-e", "require.resolve('typescript')"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


@dataclass
class TypeScript:
    """The parser of the TypeScript compiler, for JavaScript too."""

    name: str = "tsc"

    def read(self, root: Path, paths: list[str]) -> Truth:
        """Return types, functions, variables that hold a function, and imported modules."""
        found: Truth = {
            "types": Counter(),
            "functions": Counter(),
            "variables": Counter(),
            "imports": Counter(),
        }
        listed = "\n".join(str(root / path) for path in paths)
        done = subprocess.run(
            ["node", "-e", _PROGRAM, _DEBIAN, "/dev/stdin"],
            input=listed,
            capture_output=True,
            text=True,
            check=True,
        )
        for line in done.stdout.splitlines():
            kind, path, name = json.loads(line)
            found[kind][(str(Path(path).relative_to(root)), name)] += 1
        return found

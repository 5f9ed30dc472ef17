"""Code2Des against compilers: ast, the TypeScript compiler, and javac where there is a JDK.

Bars: types 0.97, functions and imports 0.99 found, 0.99 of what is found right.
"""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.code2des_facts import definitions, imports
from benchmarks.code2des_oracles import Javac, PythonAst, Truth
from benchmarks.code2des_typescript import INSTALL, TypeScript, has_typescript
from jobs.parsing.code2des.languages import language_of
from tests.jobs.parsing.code_samples import CODE, archive, design

BARS = {"types": 0.97, "functions": 0.99, "variables": 0.99, "imports": 0.99}
ROOT = Path(__file__).resolve().parents[3]

PYTHON = b"""
import os.path as p, sys
from . import a, b as c
from ..pkg.mod import (d,
    e as f)
from x import *
async def g(x: int, /, *, y: int = 1) -> int:
    def inner(): ...
    class Local(dict[str, int]):
        @property
        def value(self): return lambda: 1
    if y:
        import late
        def branch(): pass
    return x
try:
    from fast import load
except ImportError:
    load = None
match sys.argv:
    case [_, n]:
        class InCase: pass
"""
TYPESCRIPT = b"""
import type { A, B as C } from "./a";
import d, * as e from "../d.js";
import f = require("f");
export * from "./g";
export type { H } from './h';
import "./side";
export default class Shop<T extends A = A> extends Base<T> implements I, J {
  static #count = 0; private readonly x?: number;
  constructor(private name: string); constructor(name: any) { super(); }
  get size(): number { return 1 } set size(n) {}
  async *walk(): AsyncGenerator<T> {}
  handler = (e: Event) => { function nested() {} };
  "quoted name"() {} [Symbol.iterator]() { return this } #secret() {}
  protected abstract later(): void;
}
abstract class Base<T> { abstract go(x: T): T; }
interface I { call(): void; (x: number): string; prop: () => void; get y(): number }
type J = { m(): void } | typeof import("./late");
declare module "ext" { export function inExt(a: string): void; interface InExt {} }
namespace N.M { export enum Color { Red, Green = "g" } export const enum Small { a } }
declare global { interface Window { extra(): void } }
declare function over(a: string): void; declare function over(a: number): void;
export function over2(a: string): void; export function over2(a: any) {}
const arrow = async <T,>(x: T) => x, plain = function named() {};
let o = { short() {}, async far() {}, pair: () => 1, fn: function () {}, get z() { return 1 } };
module.exports.run = () => 1; o.nested.deep = function () {};
function* gen(this: Window, ...rest: any[]) { class Inner { m() {} } return class { n() {} } }
const { q } = require("./q"); const r = require('r');
let v = <T,>(x: T) => x; let big = a as J; enum E {}
"""
JAVASCRIPT = b"""
const { a } = require("./a"), b = require('b'); import c, { d as e } from "c";
export * as f from "f";
exports.one = function () {}; Shop.prototype.two = (x) => x;
class Shop extends React.Component { static three = async () => {}; #four() {} static { }
  render() { return <List onClick={() => this.#four()}>
    {items.map((i) => <Item key={i} />)}</List> } }
export default function App({ x = 1, ...rest }) { const inner = useCallback(() => x, [x]); }
const Memo = memo(function Named(props) { return <></>; }), plain = () => <b>hi</b>;
const later = () => import("./later"); var old = function () {}; async function* gen() {}
export const Styled = { five() {}, get six() { return 6; }, ["se" + "ven"]() {}, eight: () => 8 };
"""
JAVA = b"""
package p.q;
import java.util.*; import static java.lang.Math.max; import static p.R.*; import p.Deep.Inner;
public sealed interface Shape permits Circle, Square { double area(); default void draw() {} }
record Circle(double r) implements Shape {
  Circle { if (r < 0) throw new IllegalArgumentException(); }
  public double area() { return switch (this) { case Circle(var x) -> x; default -> 0; }; }
  record Nested<T>(T... parts) { static <U> Nested<U> of(U u) { return null; } }
}
final class Square implements Shape {
  public double area() { return new Object() { double twice() { return 2; } }.twice(); }
  enum Color { RED { @Override String hex() { return ""; } }; abstract String hex(); }
  @interface Mark { String value() default "x"; int[] many() default {}; }
  static { class InBlock { void m() {} } }
  <T extends Comparable<T>> T[] generic(final T[] in, int... rest) throws Exception { return in; }
  String text = \"\"\"
     class NotOne { void no() {} }
     \"\"\";
  Runnable lambda = () -> { interface Local { void go(); } };
}
"""


def rated(truth: Truth, found: Truth) -> dict[str, tuple[float, float]]:
    """Return kind → (recall, precision)."""
    hits = {kind: sum((truth[kind] & found[kind]).values()) for kind in truth}
    return {
        kind: (hits[kind] / (truth[kind].total() or 1), hits[kind] / (found[kind].total() or 1))
        for kind in truth
        if truth[kind] or found[kind]
    }


def hold(described: Callable, root: Path, language: str, truth: Truth, least: int) -> None:
    """Fail unless everything under `root` is found as `truth` has it, and enough of it."""
    paths = [p.relative_to(root).as_posix() for p in sorted(root.rglob("*")) if p.is_file()]
    model = design(described(archive({p: (root / p).read_bytes() for p in paths}), "tree.zip"))
    own = [path for path in paths if language_of(path) == language]
    found = {**definitions(model, language), "imports": imports(root, own)}
    assert sum(truth["functions"].values()) >= least
    for kind, (recall, precision) in rated(truth, found).items():
        missed, extra = truth[kind] - found[kind], found[kind] - truth[kind]
        assert recall >= BARS[kind], (kind, missed)
        assert precision >= 0.99, (kind, extra)


def unpacked(name: str, root: Path, encoding: str = "utf-8") -> Path:
    """Return a folder with a sample, its texts in UTF-8, as compilers want them."""
    with zipfile.ZipFile(CODE / f"{name}.zip") as packed:
        for entry in packed.infolist():
            target = root / entry.filename
            if not entry.is_dir() and language_of(entry.filename):
                target.parent.mkdir(parents=True, exist_ok=True)
                text = packed.read(entry).decode(encoding, "replace")
                target.write_text(text, "utf-8")
    return root


def of(language: str, root: Path) -> list[str]:
    """Return the paths of the sources of a language below `root`."""
    paths = (p.relative_to(root).as_posix() for p in sorted(root.rglob("*")) if p.is_file())
    return [path for path in paths if language_of(path) == language]


def test_python_is_read_as_its_own_parser_reads_it(described, tmp_path):
    root = unpacked("py-itsdangerous", tmp_path / "tree")
    leave_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "jobs" / "parsing" / "code2des", root / "own", ignore=leave_out)
    (root / "traps.py").write_bytes(PYTHON)
    hold(described, root, "python", PythonAst().read(root, of("python", root)), 500)


def test_typescript_is_read_as_its_compiler_reads_it(described, tmp_path):
    assert has_typescript(), f"the TypeScript compiler is missing: {INSTALL}"
    root = unpacked("ts-redux", tmp_path / "tree")
    (root / "traps.ts").write_bytes(TYPESCRIPT)
    hold(described, root, "typescript", TypeScript().read(root, of("typescript", root)), 40)


def test_javascript_is_read_as_the_typescript_compiler_reads_it(described, tmp_path):
    assert has_typescript(), f"the TypeScript compiler is missing: {INSTALL}"
    root = tmp_path / "tree"
    shutil.copytree(ROOT / "web" / "static", root, ignore=shutil.ignore_patterns("*.min.js"))
    (root / "traps.jsx").write_bytes(JAVASCRIPT)
    hold(described, root, "javascript", TypeScript().read(root, of("javascript", root)), 10)


if shutil.which("javac"):  # the JDK is 200 MB: an oracle where it is, no need where it is not

    def test_java_is_read_as_javac_reads_it(described, tmp_path):
        root = unpacked("java-order-sjis", tmp_path / "tree", "cp932")
        (root / "Shape.java").write_bytes(JAVA)
        hold(described, root, "java", Javac().read(root, of("java", root)), 25)

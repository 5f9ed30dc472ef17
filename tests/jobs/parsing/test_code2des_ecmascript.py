"""JavaScript and TypeScript: the sample meets what tsc found; routes of Express and Nest."""

import zipfile
from collections import Counter

import pytest

from jobs.parsing.code2des import typescript
from jobs.parsing.code2des.facts import SourceFile
from tests.jobs.parsing.code_samples import archive, design, edges, expected, routes, tail


def facts_of(path: str, text: str):
    return typescript.analyse(
        SourceFile(
            path=path,
            language="typescript",
            text=text,
            encoding="utf-8",
            newline="lf",
            size_bytes=len(text),
            sha256="",
        )
    )


@pytest.fixture
def redux(described, corpus):
    """The model of the redux sample."""
    return design(described(corpus("code/ts-redux.zip")))


def test_the_sample_has_every_definition_that_tsc_finds(redux):
    kinds = expected("ts-redux")["kinds"]
    types = Counter(t["kind"] for t in redux["types"])
    assert {"alias", "interface", "namespace"} == set(types)
    assert all(types[kind] == kinds[kind] for kind in types)
    overloads = [f for f in redux["functions"] if "overload" in f["modifiers"]]
    assert len(overloads) == kinds["overload"]
    functions = Counter(f["kind"] for f in redux["functions"])
    assert functions["function"] - len(overloads) == kinds["function"]
    assert functions["method"] == kinds["objmethod"] + kinds["signature"]
    assert functions["lambda_var"] == kinds["fnvar"]


def test_the_sample_has_every_import_and_reexport(corpus):
    count = 0
    with zipfile.ZipFile(corpus("code/ts-redux.zip")) as sample:
        for name in sample.namelist():
            if name.endswith(".ts"):
                text = sample.read(name).decode()
                count += len({entry.line for entry in facts_of(name, text).imports})
    assert count == expected("ts-redux")["kinds"]["import"]


def test_relative_imports_and_reexports_are_resolved(redux):
    assert not any(p["ecosystem"] == "unresolved" for p in redux["external"])
    found = {(r["from"], r["to"]) for r in redux["relations"] if r["kind"] == "imports"}
    assert ("module:src/index.ts", "module:src/types/store.ts") in found
    assert ("module:src/createStore.ts", "module:src/utils/kindOf.ts") in found


def test_calls_through_default_and_star_exports_are_resolved(described):
    files = {
        "a/deep.ts": "export function deep(): void {}\n",
        "a/index.ts": "export * from './deep'\n",
        "main.ts": "import { deep } from './a'\nimport run from './run.js'\n"
        "const go = () => { deep(); run() }\n",
        "run.ts": "export default function run() {}\n",
    }
    calls = edges(design(described(archive(files), "a.zip")), "calls")
    assert {("go()", "deep()", "exact"), ("go()", "run()", "exact")} <= calls


def test_the_comment_of_the_first_overload_stands_at_all(described):
    source = (
        "/** 変換する。 */\nexport function f(a: string): string;\n"
        "export function f(a: number): number;\nexport function f(a: boolean): boolean;\n"
        "export function f(a: unknown): unknown { return a }\n"
    )
    found = design(described(source.encode(), "f.ts"))["functions"]
    assert [f["summary"] for f in found] == ["変換する"] * 4
    assert ["overload" in f["modifiers"] for f in found] == [True, True, True, False]


def test_decorators_do_not_hide_members(described):
    source = (
        "@Component({selector: 'x'})\nexport class X {\n  @Input() id: string;\n"
        "  @ViewChild('a', {static: false}) view: E;\n  @HostListener('click')\n  one() {}\n"
        "  two(): void {}\n  get three() { return 1 }\n  private four = () => 4;\n}\n"
    )
    model = design(described(source.encode(), "x.ts"))
    assert [f["name"] for f in model["functions"]] == ["one", "two", "three", "four"]
    assert [f["name"] for f in model["types"][0]["fields"]] == ["id", "view"]
    assert model["types"][0]["decorators"] == ["Component({selector: 'x'})"]


def test_express_routes_carry_the_prefix_under_which_they_are_mounted(described):
    files = {
        "app.js": "const express = require('express');\nconst users = require('./users');\n"
        "const app = express();\napp.get('/', (req, res) => res.send('能'));\n"
        "app.use('/users', users);\napp.get('env');\n",
        "users.js": "const express = require('express');\nconst router = express.Router();\n"
        "/** 一覧 */\nfunction list(req, res) {}\nrouter.get('/', list);\n"
        "router.post('/:id', async (req, res) => {});\nmodule.exports = router;\n",
    }
    model = design(described(archive(files), "app.zip"))
    assert routes(model) == [("GET", "/"), ("GET", "/users/"), ("POST", "/users/:id")]
    assert tail(model["endpoints"][1]["handler"]) == "list(req,res)"
    assert model["endpoints"][2]["params"] == ["id"]
    assert [p["name"] for p in model["external"]] == ["express"]


def test_nest_routes_carry_the_prefix_of_their_controller(described):
    source = (
        "import { Controller, Get, Post } from '@nestjs/common';\n@Controller('cats')\n"
        "export class CatsController {\n  constructor(private readonly cats: CatsService) {}\n"
        "  @Get() all() { return this.cats.all() }\n  @Post(':id/feed') feed() {} }\n"
        "@Controller()\nexport class AppController { @Get() hello() {} }\n"
    )
    model = design(described(source.encode(), "cats.ts"))
    assert routes(model) == [("GET", "/"), ("GET", "/cats"), ("POST", "/cats/:id/feed")]


def test_jsx_and_tsx_are_read(described):
    files = {
        "A.tsx": "export const A: React.FC<P> = ({x}) => <div onClick={() => f<T>(x)}>表</div>\n",
        "B.jsx": "export default function B() { return <A x='能' /> }\n",
    }
    model = design(described(archive(files), "ui.zip"))
    assert [(f["name"], f["kind"]) for f in model["functions"]] == [
        ("A", "lambda_var"),
        ("B", "function"),
    ]
    assert model["warnings"] == []

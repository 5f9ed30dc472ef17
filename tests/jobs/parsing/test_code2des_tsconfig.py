"""Module names that tsconfig.json maps lead to files of the project."""

import pytest

from jobs.parsing.code2des.tsconfig import PathMaps
from tests.jobs.parsing.code_samples import archive, design

BASE = """{
  // comments and trailing commas are usual here
  "compilerOptions": {
    "baseUrl": "./src", /* so is "this" */
    "paths": { "@app/*": ["app/*"], "@app/special": ["special/index.ts"],
      "#lib": ["lib/main.ts"], },
  },
}"""


def imported(lines):
    return {
        (r["from"].removeprefix("module:"), r["to"].removeprefix("module:"))
        for r in design(lines)["relations"]
        if r["kind"] == "imports"
    }


def test_paths_and_base_url_lead_to_files(described):
    tree = {
        "tsconfig.base.json": BASE,
        "web/tsconfig.json": '{"extends": "../tsconfig.base.json"}',
        "web/main.ts": 'import { a } from "@app/a";\nimport s from "@app/special";\n'
        'import l from "#lib";\nimport { u } from "util/text";\nimport React from "react";\n'
        "a(); u();\n",
        "src/app/a.ts": "export function a() {}\n",
        "src/app/special.ts": "export default 1;\n",
        "src/special/index.ts": "export default function special() {}\n",
        "src/lib/main.ts": "export default class Lib {}\n",
        "src/util/text.ts": "export function u() {}\n",
    }
    lines = described(archive(tree), "web.zip")
    assert imported(lines) == {
        ("web/main.ts", "src/app/a.ts"),
        ("web/main.ts", "src/special/index.ts"),
        ("web/main.ts", "src/lib/main.ts"),
        ("web/main.ts", "src/util/text.ts"),
    }
    model = design(lines)
    assert [package["name"] for package in model["external"]] == ["react"]
    assert {r["to"] for r in model["relations"] if r["kind"] == "calls"} == {
        "typescript:src/app/a.ts#a()",
        "typescript:src/util/text.ts#u()",
    }
    assert model["warnings"] == []


@pytest.mark.parametrize(
    "broken", ["{", "[]", '{"compilerOptions": 1}', '{"extends": "./tsconfig.json"}', "/*" * 90_000]
)
def test_a_broken_configuration_maps_nothing(broken):
    assert list(PathMaps({"tsconfig.json": broken}).candidates("@app/a", "src/x.ts")) == []


def test_the_nearest_configuration_counts():
    maps = PathMaps(
        {
            "tsconfig.json": '{"compilerOptions": {"baseUrl": "."}}',
            "a/jsconfig.json": '{"compilerOptions": {"paths": {"~*": ["./lib/*"]}}}',
        }
    )
    assert list(maps.candidates("~x", "a/b/c.js")) == ["a/lib/x"]
    assert list(maps.candidates("x/y", "b/c.js")) == ["x/y"]

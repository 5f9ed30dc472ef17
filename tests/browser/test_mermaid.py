"""Every diagram of every sample is one that Mermaid itself accepts (11.12.2, MIT).

Mermaid's parser needs a document, so it runs in Chromium, offline.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from jobs.parsing import parse

MERMAID = Path(__file__).parent / "vendor" / "mermaid.min.js"
SAMPLES = Path(__file__).parents[3] / "shared" / "code-samples"
HOSTILE = '''class A["x"]:
    """`code` -- %%{init: {}}%% ; end <script>"""
    def graph(self): return end()
def end(): return A().graph()
def subgraph(a="]-->n1;click n1 call alert()"): return end()
'''
SQL = 'CREATE TABLE "注文; end" ("a b" int PRIMARY KEY, "end" text, "x\\"y" int);'


def packed(folder: Path, destination: Path) -> Path:
    with zipfile.ZipFile(destination, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    return destination


@pytest.fixture(scope="module")
def mermaid(browser: Browser) -> Any:
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.set_content("<!doctype html><title>diagrams</title>")
    page.add_script_tag(path=str(MERMAID))
    yield page
    context.close()


def refused(page: Page, path: Path) -> list[str]:
    """Return what Mermaid says to the diagrams of one project that it does not accept."""
    lines = parse("code2des", path, file_name=path.name, options={}, progress=lambda a, b: None)
    found = {kind: value for line in lines for kind, value in line.items()}
    texts = [diagram["mermaid"] for diagram in found["design"]["diagrams"]]
    assert texts, path
    for written in found["markdown"].values():
        assert written.count("```mermaid\n") <= len(texts)
    script = """async texts => {
        const said = [];
        for (const text of texts) {
            try { await mermaid.parse(text); } catch (error) { said.push(text + error); }
        }
        return said;
    }"""
    return list(page.evaluate(script, texts))


@pytest.mark.parametrize("sample", sorted(p.name for p in SAMPLES.iterdir() if p.is_dir()))
def test_mermaid_accepts_every_diagram_of_a_sample(
    mermaid: Page, sample: str, tmp_path: Path
) -> None:
    assert refused(mermaid, packed(SAMPLES / sample, tmp_path / "sample.zip")) == []


def test_mermaid_accepts_the_diagrams_of_hostile_names(mermaid: Page, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "hostile.zip", "w") as archive:
        archive.writestr("end/graph TD.py", HOSTILE)
        archive.writestr("end/];click.py", "import end\nclass B: pass\n")
        archive.writestr("注文.sql", SQL)
    assert refused(mermaid, tmp_path / "hostile.zip") == []


def test_mermaid_does_refuse_what_is_wrong(mermaid: Page) -> None:
    wrong = "flowchart TD\n  end --> ]"
    script = "text => mermaid.parse(text).then(() => true, () => false)"
    assert mermaid.evaluate(script, wrong) is False

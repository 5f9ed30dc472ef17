"""Every corpus file gives what is known about it: tests/corpus/facts.json, one entry for each.

`pictures` are the width and height of each page's picture, `characters` counts what is not white
space, `tables` are rows × columns, `headings` are those in the Markdown, `warnings` their first
words. The shared corpus is used where it is at hand; the copy beside the facts lacks only the files
over 200 KB.
"""

import json
from pathlib import Path

import pytest

from jobs.parsing import ParseError, draw
from tests.jobs.parsing.conftest import FILES

SHARED = FILES.parents[3] / "shared" / "corpus"
FACTS = json.loads((FILES.parent / "facts.json").read_text(encoding="utf-8"))
#: over 200 KB, so not copied
LARGE = {"pdf/normal_4pages.pdf", "pptx/2411-Performance_Up.pptx"}
#: pdfium versions differ by a few characters in what they call a space or a hyphen
TOLERANCE = 0.01


def place(name: str) -> Path:
    own = FILES / name
    return own if own.exists() else SHARED / name


@pytest.mark.parametrize("name", [name for name in FACTS if place(name).exists()])
def test_a_corpus_file_gives_what_is_known_about_it(imported, name):
    facts = FACTS[name]
    if "error" in facts:
        with pytest.raises(ParseError) as caught:
            imported(place(name))
        assert caught.value.code == facts["error"]
        return
    lines = imported(place(name))
    document, pages = lines[0]["document"], [line["page"] for line in lines[1:]]
    text = "\n".join(page["text"] for page in pages)
    markdown = [line for page in pages for line in page["markdown"].split("\n")]
    warnings = document["warnings"] + [w for page in pages for w in page["warnings"]]
    assert (document["detected_type"], document["page_count"]) == (facts["type"], facts["pages"])
    assert (document["language"], document["encoding"]) == (
        facts.get("language"),
        facts.get("encoding"),
    )
    assert len("".join(text.split())) == pytest.approx(facts["characters"], rel=TOLERANCE)
    assert [
        [len(table), max(map(len, table))] for page in pages for table in page["tables"]
    ] == facts["tables"]
    assert sum(line.startswith("#") for line in markdown) == facts["headings"]
    assert sorted({warning.split(":")[0] for warning in warnings}) == facts["warnings"]
    titles = [entry["title"] for entry in document["outline"]]
    assert titles[: len(facts.get("outline", []))] == facts.get("outline", [])
    assert [words for words in facts.get("passages", []) if words not in text] == []


@pytest.mark.parametrize(
    "name", [name for name in FACTS if "error" not in FACTS[name] and place(name).exists()]
)
def test_the_pages_of_a_corpus_file_have_the_pictures_that_are_known(name):
    path = place(name)
    drawn = draw(
        path,
        file_name=path.name,
        options={},
        first=1,
        cpu_seconds=60,
        progress=lambda done, total: None,
    )

    assert [[one.width, one.height] for one in drawn] == FACTS[name].get("pictures", [])


def test_every_corpus_file_has_its_facts():
    own = {str(path.relative_to(FILES)) for path in FILES.rglob("*") if path.is_file()}
    assert {name for name in own if not name.startswith("code/")} | LARGE == set(FACTS)

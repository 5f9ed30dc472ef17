"""Ten bugs reported against public parsers, tried on ours; most through the real sandbox.

The reports: langgenius/dify#22358, tafia/calamine#693, py-pdf/pypdf#3799,
firecrawl/pdf-inspector#575, mwilliamson/python-mammoth#76, python-openxml/python-docx#155,
jawah/charset_normalizer#605, microsoft/markitdown#1949, danny-avila/rag_api#295,
pypdfium2-team/pypdfium2#303.
"""

import json
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.parsing.page_import.pdf_fonts import has_japanese_font
from jobs.worker.sandbox import ParseJob, Sandbox
from jobs.worker.walls import Limits
from tests.jobs.parsing import office_files as office
from tests.jobs.parsing import pdf_files
from tests.jobs.parsing.conftest import FILES

LIMITS = Limits(cpu_seconds=20, memory_bytes=1 << 30, output_bytes=64 << 20)
Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox(["page_import"], LIMITS, wall_seconds=25)
    yield made
    made.close()


def parse_in(sandbox: Sandbox, directory: Path, name: str, content: bytes) -> Lines:
    directory.mkdir(exist_ok=True)
    source = directory / "source"
    source.write_bytes(content)
    job = ParseJob(type="page_import", source=source, directory=directory, file_name=name)
    found = sandbox.parse(job, on_progress=lambda done, total: None, should_stop=lambda: False)
    assert isinstance(found, Path), found
    return [json.loads(line) for line in found.read_bytes().splitlines()]


@pytest.fixture
def parse(sandbox, tmp_path) -> Callable[[str, bytes], Lines]:
    return lambda name, content: parse_in(sandbox, tmp_path, name, content)


def text_of(lines: Lines) -> str:
    return "\n".join(line["page"]["text"] for line in lines[1:])


def test_dify_22358_text_in_fonts_that_are_not_embedded_is_read_or_missed_aloud(parse):
    page = pdf_files.text("V", 300, 450, "縦書きの本文です")
    lines = parse("a.pdf", pdf_files.pdf(page))
    warnings = [warning.split(":")[0] for warning in lines[1]["page"]["warnings"]]
    if has_japanese_font():
        assert "縦書きの本文です" in text_of(lines)
    else:
        assert "font_missing" in warnings


def test_calamine_693_two_cells_in_the_corners_of_a_sheet(parse):
    rows = office.row(1, office.text_cell("A1", "左上")) + office.row(
        1048576, office.text_cell("XFD1048576", "右下")
    )
    lines = parse("a.xlsx", office.xlsx({"S": rows}))
    assert lines[1]["page"]["tables"] == [[["左上", ""], ["", "右下"]]]


@pytest.mark.parametrize("encoding", ["90ms-RKSJ-H", "90msp-RKSJ-H", "EUC-H", "UniJIS-UCS2-H"])
def test_pypdf_3799_predefined_japanese_encodings(parse, encoding):
    codec = {"E": "euc_jp", "U": "utf-16-be"}.get(encoding[0], "cp932")
    code = "日本語の文字".encode(codec).hex().encode()
    content = pdf_files.pdf(b"BT /H 12 Tf 50 400 Td <%s> Tj ET" % code)
    content = content.replace(b"/Encoding/UniJIS-UTF16-H", b"/Encoding/" + encoding.encode())
    assert text_of(parse("a.pdf", content)) == "日本語の文字"


def test_pdf_inspector_575_vertical_columns_are_read_from_the_right(parse):
    content = (FILES / "pdf/vertical_writing.pdf").read_bytes()
    first = pdf_files.text("V", 300, 450, "一列目から読み")
    second = pdf_files.text("V", 280, 450, "二列目へ進む。")
    lines = parse("a.pdf", pdf_files.pdf(first + second))
    assert text_of(lines).replace("\n", "") == "一列目から読み二列目へ進む。"
    assert "日本語" in text_of(parse("b.pdf", content))


def test_mammoth_76_ruby_keeps_its_base_and_its_reading(parse):
    content = (FILES / "docx/61470.docx").read_bytes()
    assert text_of(parse("a.docx", content)) == "東京(とうきょう)"


def test_python_docx_155_text_in_content_controls(parse):
    content = (FILES / "docx/testWORD_missing_text.docx").read_bytes()
    text = text_of(parse("a.docx", content))
    assert all(words in text for words in ("BigCompany", "Seasoned", "Rich_text_in_cell"))


def test_charset_normalizer_605_slices_of_cp932_tables(parse):
    rows = [f"{n},ﾎｯｶｲﾄﾞｳ,北海道札幌市中央区{n}条西{n}丁目,髙橋①㈱" for n in range(400)]
    generator = random.Random(605)
    for _ in range(8):
        start = generator.randrange(390)
        size = generator.choice((1, 3, 10))
        text = "\n".join(rows[start : start + size]) + "\n"
        head = parse("a.csv", text.encode("cp932"))[0]["document"]
        assert head["encoding"] == "cp932", text


def test_markitdown_1949_one_letter_after_a_long_ascii_text(parse):
    content = b"ascii only\n" * 10_000 + "終わりに café\n".encode()
    lines = parse("a.txt", content)
    assert lines[0]["document"]["encoding"] == "utf-8"
    assert text_of(lines).endswith("終わりに café")


def test_rag_api_295_nul_in_the_metadata_of_a_pdf(parse):
    lines = parse(
        "a.pdf",
        pdf_files.pdf(pdf_files.text("H", 50, 400, "本文"), info=rb"/Title(ab\000c)/Author(\000)"),
    )
    head = lines[0]["document"]
    assert "\0" not in json.dumps(head, ensure_ascii=False)
    assert (head["title"], head["author"]) == ("abc", None)


def test_pypdfium2_303_several_pdfs_at_once(sandbox, tmp_path):
    content = (FILES / "pdf/jsverb.pdf").read_bytes()
    expected = parse_in(sandbox, tmp_path / "first", "a.pdf", content)
    found: list[Lines] = []

    def work(number: int) -> None:
        for _ in range(3):
            found.append(parse_in(sandbox, tmp_path / str(number), "a.pdf", content))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 12

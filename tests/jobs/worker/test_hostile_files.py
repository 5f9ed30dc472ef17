"""Files made to kill a parser end with a code inside the limits, and the next file is read.

Through the real sandbox and the real parsers: some of these abort the process, which no test in
process could survive.
"""

import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs.worker.sandbox import ParseJob, Sandbox
from jobs.worker.verdicts import ParseFailure
from jobs.worker.walls import Limits
from tests.jobs.parsing import office_files as office
from tests.jobs.parsing import pdf_files

LIMITS = Limits(cpu_seconds=4, memory_bytes=1 << 30, output_bytes=64 << 20)
COMPLETED = "completed"
DTD = (
    '<!DOCTYPE w [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY {n} "{f"&{p};" * 10}">' for p, n in zip("abcdefghi", "bcdefghij", strict=True)
    )
    + "]><w>&j;</w>"
)
XXE = '<!DOCTYPE w [<!ENTITY x SYSTEM "file:///etc/hostname">]><w>&x;</w>'


def pdf(*objects: bytes, root: int = 1) -> bytes:
    """A PDF of those objects, numbered from 1, without a cross-reference table."""
    out = b"%PDF-1.5\n" + b"".join(
        b"%d 0 obj\n%s\nendobj\n" % (number, content) for number, content in enumerate(objects, 1)
    )
    return out + b"trailer<</Size %d/Root %d 0 R>>\n%%%%EOF" % (len(objects) + 1, root)


def stream(content: bytes, head: bytes = b"") -> bytes:
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (head, len(content), content)


CATALOG, PAGES = b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources 5 0 R>>"


def flate_bomb() -> bytes:
    packer = zlib.compressobj(9)
    block = b"q " * 500_000  # 1 MB
    packed = b"".join(packer.compress(block) for _ in range(300)) + packer.flush()
    return pdf(CATALOG, PAGES, PAGE, stream(packed, b"/Filter/FlateDecode"), b"<<>>")


def exponential_forms() -> bytes:
    forms = []
    for level in range(9):
        names = b"/Resources<</XObject<</X %d 0 R>>>>" % (7 + level)
        head = b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]" + names
        forms.append(stream(b"/X Do " * 10, head))
    forms.append(stream(b"0 0 1 1 re f", b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]"))
    return pdf(CATALOG, PAGES, PAGE, stream(b"/X Do " * 10), b"<</XObject<</X 6 0 R>>>>", *forms)


def many_kids() -> bytes:
    kids = b"<</Type/Pages/Kids[" + b"3 0 R " * 200_000 + b"]/Count 200000>>"
    return pdf(CATALOG, kids, PAGE, stream(b""), b"<<>>")


def many_cells_on_one_string() -> bytes:
    cells = "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c></row>' for n in range(1, 200_001))
    return office.xlsx({"S": cells}, strings=f"<si><t>{'x' * 100_000}</t></si>")


def overlapping_entries() -> bytes:
    data = bytearray(office.package({"a.txt": "x" * 9_000, "b.txt": "y" * 9_000}))
    second = data.rindex(b"PK\x01\x02")
    data[second + 42 : second + 46] = (0).to_bytes(4, "little")
    return bytes(data)


def wide_table() -> bytes:
    cell = '<w:tc><w:tcPr><w:gridSpan w:val="999999999"/></w:tcPr><w:p/></w:tc>'
    return office.docx(f"<w:tbl><w:tr>{cell * 3}</w:tr></w:tbl>" + office.paragraph("x"))


ROWS: dict[str, tuple[str, Callable[[], bytes], set[str]]] = {
    "docx part of 100 MB": (
        "a.docx",
        lambda: office.docx("", extra={"word/document.xml": b" " * 100_000_000}),
        {"archive_limits"},
    ),
    "xlsx string of 100 MB": (
        "a.xlsx",
        lambda: office.xlsx({"S": ""}, strings="<si><t>" + "x" * 100_000_000),
        {"archive_limits", "file_corrupt"},
    ),
    "xlsx opposite corners": (
        "a.xlsx",
        lambda: office.xlsx(
            {
                "S": office.row(1, office.text_cell("A1", "x"))
                + office.row(1048576, office.text_cell("XFD1048576", "y"))
            }
        ),
        {COMPLETED},
    ),
    "xlsx 200,000 cells on one string": (
        "a.xlsx",
        many_cells_on_one_string,
        {"result_too_large", "output_limit", "archive_limits"},
    ),
    "docx billion laughs": (
        "a.docx",
        lambda: office.docx("", extra={"word/document.xml": DTD}),
        {"file_corrupt"},
    ),
    "xlsx external entity": (
        "a.xlsx",
        lambda: office.xlsx({"S": ""}, extra={"xl/worksheets/sheet1.xml": XXE}),
        {"file_corrupt", COMPLETED},
    ),
    "docx 25,000 members": (
        "a.docx",
        lambda: office.package({"word/document.xml": "", **{f"m{n}": "" for n in range(25_000)}}),
        {"archive_limits"},
    ),
    "docx giant spans": ("a.docx", wide_table, {COMPLETED}),
    "docx 100,000 nested controls": (
        "a.docx",
        lambda: office.docx("<w:sdt><w:sdtContent>" * 100_000),
        {"file_corrupt"},
    ),
    "zip overlapping entries": ("a.zip", overlapping_entries, {COMPLETED, "file_corrupt"}),
    "pdf flate bomb": ("a.pdf", flate_bomb, {"parse_memory", "parse_timeout", COMPLETED}),
    "pdf exponential forms": (
        "a.pdf",
        exponential_forms,
        {"parse_memory", "parse_timeout", COMPLETED},
    ),
    "pdf 200,000 kids": ("a.pdf", many_kids, {"pages_exceeded"}),
    "pdf count of a billion": (
        "a.pdf",
        lambda: pdf(CATALOG, b"<</Type/Pages/Kids[3 0 R]/Count 1000000000>>", PAGE),
        {"pages_exceeded", "no_pages", COMPLETED},
    ),
    "pdf page tree in a circle": (
        "a.pdf",
        lambda: pdf(CATALOG, b"<</Type/Pages/Kids[2 0 R]/Count 3>>"),
        {COMPLETED, "no_pages", "file_corrupt"},
    ),
    "pdf a million arrays": (
        "a.pdf",
        lambda: pdf(CATALOG, PAGES, PAGE, b"[" * 1_000_000),
        {COMPLETED, "file_corrupt"},
    ),
    "pdf without pages": (
        "a.pdf",
        pdf_files.pdf,
        {"no_pages"},
    ),
    "html 1,000,000 open tags": ("a.html", lambda: b"<div>" * 1_000_000 + b"x", {COMPLETED}),
    "html 1,000,000 attributes": (
        "a.html",
        lambda: b"<p " + b" ".join(b"a%d=1" % n for n in range(1_000_000)) + b">x",
        {COMPLETED},
    ),
    "json nested 100,000 times": ("a.json", lambda: b"[" * 100_000, {"file_corrupt"}),
    "csv of 1,000,000 columns": ("a.csv", lambda: b"a," * 1_000_000, {"file_corrupt"}),
    "eml of 100,000 parts": (
        "a.eml",
        lambda: b"Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\n" * 100_000,
        {"archive_limits"},
    ),
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox(["page_import"], LIMITS, wall_seconds=25)
    yield made
    made.close()


def outcome_of(sandbox: Sandbox, directory: Path, name: str, content: bytes) -> str:
    source = directory / "source"
    source.write_bytes(content)
    job = ParseJob(type="page_import", source=source, directory=directory, file_name=name)
    found = sandbox.parse(job, on_progress=lambda done, total: None, should_stop=lambda: False)
    if isinstance(found, ParseFailure):
        return found.code
    kinds = [next(iter(json.loads(line))) for line in found.read_bytes().splitlines()]
    assert kinds[0] == "document"
    return COMPLETED


@pytest.mark.parametrize("row", ROWS)
def test_a_hostile_file_ends_with_its_code_and_the_next_one_is_read(sandbox, tmp_path, row):
    name, make, allowed = ROWS[row]

    assert outcome_of(sandbox, tmp_path, name, make()) in allowed
    assert outcome_of(sandbox, tmp_path, "次.txt", "次のファイル".encode()) == COMPLETED

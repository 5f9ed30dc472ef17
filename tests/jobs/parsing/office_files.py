"""Write small Office files by hand: only the parts that a reader needs."""

import io
import struct
import zipfile
from collections.abc import Mapping
from xml.sax.saxutils import escape

_NAMES = "http://schemas.openxmlformats.org/package/2006/"
_RELS = f'<Relationships xmlns="{_NAMES}relationships">%s</Relationships>'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
WORD = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    ' xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    ' xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
    ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    f' xmlns:r="{_OFFICE[:-1]}"'
)
SLIDE = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    f' xmlns:r="{_OFFICE[:-1]}"'
)


def package(parts: Mapping[str, str | bytes]) -> bytes:
    """Return a ZIP of those parts."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


def relationships(*entries: tuple[str, str, str], external: tuple[str, ...] = ()) -> str:
    """Return a relationships part of (identifier, kind, target)."""
    mode = ' TargetMode="External"'
    return _RELS % "".join(
        f'<Relationship Id="{name}" Type="{_OFFICE}{kind}" Target="{escape(target)}"'
        f"{mode if name in external else ''}/>"
        for name, kind, target in entries
    )


def xlsx(
    sheets: Mapping[str, str],
    *,
    strings: str = "",
    styles: str = "",
    hidden: tuple[str, ...] = (),
    extra: Mapping[str, str | bytes] | None = None,
) -> bytes:
    """Return a workbook; each sheet is the XML of its rows."""
    listed, related, parts = "", [], {}
    for number, (name, rows) in enumerate(sheets.items(), start=1):
        state = ' state="hidden"' if name in hidden else ""
        listed += f'<sheet name="{escape(name)}" sheetId="{number}"{state} r:id="rId{number}"/>'
        related.append((f"rId{number}", "worksheet", f"worksheets/sheet{number}.xml"))
        parts[f"xl/worksheets/sheet{number}.xml"] = (
            f"<worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>"
        )
    related += [
        ("rId901", "sharedStrings", "sharedStrings.xml"),
        ("rId902", "styles", "styles.xml"),
    ]
    return package(
        {
            "[Content_Types].xml": f'<Types xmlns="{_NAMES}content-types"/>',
            "_rels/.rels": relationships(("rId1", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook {MAIN} xmlns:r="{_OFFICE[:-1]}">'
            f"<sheets>{listed}</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": relationships(*related),
            "xl/sharedStrings.xml": f"<sst {MAIN}>{strings}</sst>",
            "xl/styles.xml": f"<styleSheet {MAIN}>{styles}</styleSheet>",
            **parts,
            **(extra or {}),
        }
    )


def row(number: int, *cells: str) -> str:
    """Return a row of cells that are XML already."""
    return f'<row r="{number}">{"".join(cells)}</row>'


def text_cell(place: str, text: str) -> str:
    """Return a cell with an inline string."""
    return f'<c r="{place}" t="inlineStr"><is><t>{escape(text)}</t></is></c>'


def docx(body: str, *, related: str = "", extra: Mapping[str, str | bytes] | None = None) -> bytes:
    """Return a Word document; `body` is the XML inside w:body."""
    return package(
        {
            "_rels/.rels": relationships(("rId1", "officeDocument", "word/document.xml")),
            "word/document.xml": f"<w:document {WORD}><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": related or relationships(),
            **(extra or {}),
        }
    )


def paragraph(text: str, properties: str = "") -> str:
    """Return a Word paragraph of one run."""
    head = f"<w:pPr>{properties}</w:pPr>" if properties else ""
    return f"<w:p>{head}<w:r><w:t xml:space='preserve'>{escape(text)}</w:t></w:r></w:p>"


def pptx(slides: list[str], *, extra: Mapping[str, str | bytes] | None = None) -> bytes:
    """Return a presentation; each slide is the XML of its shapes."""
    listed = "".join(f'<p:sldId id="{256 + n}" r:id="rId{n}"/>' for n in range(1, len(slides) + 1))
    parts: dict[str, str | bytes] = {
        "_rels/.rels": relationships(("rId1", "officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f"<p:presentation {SLIDE}><p:sldIdLst>{listed}</p:sldIdLst>"
        '<p:sldSz cx="9144000" cy="6858000"/></p:presentation>',
        "ppt/_rels/presentation.xml.rels": relationships(
            *((f"rId{n}", "slide", f"slides/slide{n}.xml") for n in range(1, len(slides) + 1))
        ),
    }
    for number, shapes in enumerate(slides, start=1):
        parts[f"ppt/slides/slide{number}.xml"] = (
            f"<p:sld {SLIDE}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        )
    return package({**parts, **(extra or {})})


def shape(kind: str, *paragraphs: str) -> str:
    """Return a placeholder shape; `kind` is its type, such as title or body."""
    body = "".join(f"<a:p><a:r><a:t>{escape(text)}</a:t></a:r></a:p>" for text in paragraphs)
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="s"/><p:nvPr><p:ph type="{kind}"/></p:nvPr>'
        f"</p:nvSpPr><p:txBody>{body}</p:txBody></p:sp>"
    )


def ole(name: str, content: bytes) -> bytes:
    """Return an OLE container of one stream of at most 4096 bytes."""
    none, last = 0xFFFFFFFF, 0xFFFFFFFE
    head = bytes.fromhex("D0CF11E0A1B11AE1") + bytes(16)
    head += struct.pack("<5H6x", 0x3E, 3, 0xFFFE, 9, 6)
    head += struct.pack("<9I109I", 0, 1, 1, 0, 4096, last, 0, last, 0, 0, *[none] * 108)
    table = struct.pack("<128I", 0xFFFFFFFD, last, *range(3, 10), last, *[none] * 118)

    def entry(title: str, kind: int, child: int, start: int, size: int) -> bytes:
        text = title.encode("utf-16-le").ljust(64, b"\0")
        links = struct.pack("<HBB3I36x", 2 * len(title) + 2, kind, 1, none, none, child)
        return text + links + struct.pack("<IQ", start, size)

    names = entry("Root Entry", 5, 1, last, 0) + entry(name, 2, none, 2, 4096)
    return head + table + names.ljust(512, b"\0") + content.ljust(4096, b"\0")


def xls(*cells: tuple[int, bytes], heads: tuple[tuple[int, bytes], ...] = ()) -> bytes:
    """Return an Excel 97 workbook of one sheet `S`; cells are kinds and contents of records."""

    def record(kind: int, content: bytes = b"") -> bytes:
        return struct.pack("<HH", kind, len(content)) + content

    def begin(kind: int) -> bytes:
        return record(0x809, struct.pack("<HHHHII", 0x600, kind, 0, 1997, 0, 6))

    first = begin(5) + b"".join(record(kind, content) for kind, content in heads)
    start = len(first) + 13 + 4
    first += record(0x85, struct.pack("<IHBB", start, 0, 1, 0) + b"S") + record(0x0A)
    size = record(0x200, struct.pack("<IIHHH", 0, 99, 0, 20, 0))
    body = b"".join(record(kind, content) for kind, content in cells)
    return ole("Workbook", first + begin(0x10) + size + body + record(0x0A))


def xlsb(*cells: tuple[int, bytes]) -> bytes:
    """Return a binary workbook of one sheet `S`; cells are kinds and contents of records."""

    def record(kind: int, content: bytes = b"") -> bytes:
        first = bytes([kind]) if kind < 128 else bytes([kind & 127 | 128, kind >> 7])
        return first + bytes([len(content)]) + content

    def text(value: str) -> bytes:
        return struct.pack("<I", len(value)) + value.encode("utf-16-le")

    sheet = record(156, struct.pack("<II", 0, 1) + text("rId1") + text("S"))
    body = b"".join(record(kind, content) for kind, content in cells)
    return package(
        {
            "[Content_Types].xml": f'<Types xmlns="{_NAMES}content-types"/>',
            "_rels/.rels": relationships(("rId1", "officeDocument", "xl/workbook.bin")),
            "xl/workbook.bin": record(131) + record(143) + sheet + record(144) + record(157),
            "xl/_rels/workbook.bin.rels": relationships(
                ("rId1", "worksheet", "worksheets/sheet1.bin")
            ),
            "xl/worksheets/sheet1.bin": record(148, struct.pack("<4I", 0, 99, 0, 20))
            + record(145)
            + body
            + record(146),
        }
    )


def ods(tables: Mapping[str, str]) -> bytes:
    """Return an OpenDocument workbook; each table is the XML of its rows."""
    office = "urn:oasis:names:tc:opendocument:xmlns:"
    names = " ".join(f"xmlns:{name}='{office}{name}:1.0'" for name in ("office", "table", "text"))
    names += " xmlns:calcext='urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0'"
    body = "".join(
        f"<table:table table:name='{name}'>{rows}</table:table>" for name, rows in tables.items()
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    entry = f"<manifest:file-entry manifest:full-path='/' manifest:media-type='{kind}'/>"
    return package(
        {
            "mimetype": kind,
            "content.xml": f"<office:document-content {names}><office:body><office:spreadsheet>"
            f"{body}</office:spreadsheet></office:body></office:document-content>",
            "META-INF/manifest.xml": f"<manifest:manifest xmlns:manifest='{office}manifest:1.0'>"
            f"{entry}</manifest:manifest>",
        }
    )

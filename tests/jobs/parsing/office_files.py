"""Write small Office files by hand: only the parts that a reader needs."""

import io
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

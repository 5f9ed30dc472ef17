"""Write small PDFs by hand: Japanese text in fonts that are not embedded, across or downwards."""

_FONT = (
    b"<</Type/Font/Subtype/Type0/BaseFont/Ryumin-Light-UniJIS-UTF16-%s"
    b"/Encoding/UniJIS-UTF16-%s/DescendantFonts[%d 0 R]>>"
)


def text(font: str, x: float, y: float, content: str, size: float = 12) -> bytes:
    """Return the operators that show `content` in font H (across) or V (downwards)."""
    code = content.encode("utf-16-be").hex().encode()
    return b"BT /%s %g Tf %g %g Td <%s> Tj ET\n" % (font.encode(), size, x, y, code)


def pdf(*pages: bytes, info: bytes = b"", media: bytes = b"0 0 400 500") -> bytes:
    """Return a PDF with a page for each content stream."""
    count = len(pages)
    kids = b" ".join(b"%d 0 R" % (7 + 2 * number) for number in range(count))
    resources = b"<</Font<</H 3 0 R/V 4 0 R>>>>"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, count),
        _FONT % (b"H", b"H", 5),
        _FONT % (b"V", b"V", 5),
        b"<</Type/Font/Subtype/CIDFontType0/BaseFont/Ryumin-Light/CIDSystemInfo"
        b"<</Registry(Adobe)/Ordering(Japan1)/Supplement 4>>/FontDescriptor 6 0 R>>",
        b"<</Type/FontDescriptor/FontName/Ryumin-Light/Flags 4/FontBBox[0 -120 1000 880]"
        b"/ItalicAngle 0/Ascent 880/Descent -120/CapHeight 700/StemV 80>>",
    ]
    for number, stream in enumerate(pages):
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[%s]/Contents %d 0 R/Resources%s>>"
            % (media, 8 + 2 * number, resources)
        )
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
    objects.append(b"<<%s>>" % info)
    return _file(objects)


def _file(objects: list[bytes]) -> bytes:
    out, offsets = b"%PDF-1.5\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    head = b"xref\n0 %d\n0000000000 65535 f \n" % size
    trailer = b"trailer<</Size %d/Root 1 0 R/Info %d 0 R>>\nstartxref\n%d\n%%%%EOF"
    return out + head + table + trailer % (size, size - 1, len(out))

"""Write small PDFs by hand: Japanese text in fonts that are not embedded, across or downwards."""

import hashlib

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


_PAD = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")


def restricted(words: str, owner: str) -> bytes:
    """Return a PDF that opens without a password, its owner's rights apart (ISO 32000-1, 7.6.3)."""

    def digest(content: bytes) -> bytes:
        return hashlib.md5(content, usedforsecurity=False).digest()

    rights, name = -64, b"0123456789abcdef"
    proof = rc4(digest((owner.encode() + _PAD)[:32])[:5], _PAD)
    key = digest(_PAD + proof + rights.to_bytes(4, "little", signed=True) + name)[:5]
    stream = rc4(
        digest(key + (4).to_bytes(3, "little") + bytes(2))[:10],
        b"BT /F 12 Tf 20 100 Td (%s) Tj ET" % words.encode(),
    )
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R"
        b"/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<<>>",
    ]
    entry = b"/ID[<%s><%s>]/Encrypt<</Filter/Standard/V 1/R 2/P %d/O<%s>/U<%s>>>" % (
        *[name.hex().encode()] * 2,
        rights,
        proof.hex().encode(),
        rc4(key, _PAD).hex().encode(),
    )
    return _file(objects).replace(b"trailer<<", b"trailer<<" + entry)


def rc4(key: bytes, content: bytes) -> bytes:
    """Encrypt as old PDFs are."""
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in content:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)

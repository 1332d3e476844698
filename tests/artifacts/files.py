"""Files as people attach them, as small as they can be."""

import struct
import zlib


def png(width: int = 2, height: int = 2, *, padding: int = 0) -> bytes:
    """A PNG of one colour; `padding` adds so many bytes of text to it."""
    rows = (b"\0" + b"\x80\x40\x20" * width) * height if width * height <= 1_000_000 else b""
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
            _chunk(b"tEXt", b"Comment\0" + b"x" * padding) if padding else b"",
            _chunk(b"IDAT", zlib.compress(rows)),
            _chunk(b"IEND", b""),
        )
    )


def jpeg(width: int = 2, height: int = 2, *, before: int = 0) -> bytes:
    """The headers of a JPEG; `before` bytes of a camera's notes stand before its size."""
    notes = b""
    while len(notes) < before:
        notes += b"\xff\xe1" + struct.pack(">H", 60_000) + b"n" * 59_998
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\0"
    return b"\xff\xd8" + notes + frame + b"\xff\xd9"


def gif(width: int = 2, height: int = 2) -> bytes:
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0, 0, 0) + b";"


def webp(width: int = 2, height: int = 2) -> bytes:
    bits = struct.pack("<I", width - 1 | (height - 1) << 14)
    body = b"WEBP" + b"VP8L" + struct.pack("<I", 5) + b"\x2f" + bits + b"\0"
    return b"RIFF" + struct.pack("<I", len(body)) + body


def pdf(pages: int = 1, *, locked: bool = False, linearized: bool = False, scan: bytes = b"") -> bytes:
    """A PDF with so many pages; `linearized` tells their number first and has them in a compressed object.
    `scan` is what else is in it."""
    objects = [b"1 0 obj\n<</Type /Catalog /Pages 2 0 R>>\nendobj\n"]
    if linearized:
        objects.insert(
            0, b"9 0 obj\n<</Linearized 1 /L 1000 /H [1 2] /O 3 /E 4 /N %d /T 5>>\nendobj\n" % pages
        )
        objects.append(
            b"3 0 obj\n<</Type /ObjStm /N 3>>stream\n" + zlib.compress(b"pages") + b"\nendstream\n"
        )
    else:
        objects.append(b"2 0 obj\n<</Type /Pages /Count %d>>\nendobj\n" % pages)
        objects += [
            b"%d 0 obj\n<</Type /Page /Parent 2 0 R>>\nendobj\n" % (3 + page) for page in range(pages)
        ]
    lock = b" /Encrypt 8 0 R" if locked else b""
    return b"%PDF-1.7\n" + b"".join(objects) + scan + b"trailer\n<</Root 1 0 R" + lock + b">>\n%%EOF\n"


def packed_pdf(*streams: bytes) -> bytes:
    """A PDF with these object streams, and nothing of a page in the open."""
    objects = [
        b"%d 0 obj\n<</Type/ObjStm/N 1/First 5/Filter/FlateDecode/Length %d>>stream\r\n%b\nendstream endobj\n"
        % (number, len(stream), stream)
        for number, stream in enumerate(streams, 1)
    ]
    return b"%PDF-1.7\n" + b"".join(objects) + b"startxref\n9\n%%EOF\n"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

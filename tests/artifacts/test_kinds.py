"""The kind of a content: what its bytes say counts more than what is declared."""

import io
import random
import struct
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.artifacts.content import bytes_content, measure
from gateway.artifacts.kinds import image_size, kind_of
from gateway.storage.artifacts import TEXTS

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", 640, 480) + b"\x08\x02\x00\x00\x00"
GIF = b"GIF89a" + struct.pack("<HH", 320, 200) + b"\x00"
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(10) + b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", 480, 640)
WEBP_LOSSY = b"RIFF\x24\x00\x00\x00WEBPVP8 " + bytes(7) + b"\x9d\x01\x2a" + struct.pack("<HH", 640, 480)
WEBP_LOSSLESS = b"RIFF\x24\x00\x00\x00WEBPVP8L" + bytes(4) + b"\x2f" + struct.pack("<I", 639 | 479 << 14)
WEBP_EXTENDED = b"RIFF\x24\x00\x00\x00WEBPVP8X" + bytes(8) + b"\x7f\x02\x00\xdf\x01\x00"
IMAGES = {
    "image/png": PNG,
    "image/gif": GIF + b"\x00",
    "image/jpeg": JPEG,
    "image/webp": WEBP_LOSSY,
}
LOG = "2026-01-02 10:00:00,123 INFO started\n2026-01-02 10:00:01,456 ERROR failed\n"


def kind(data: bytes | str, name: str | None = None, mime: str | None = None) -> tuple[str, str]:
    content = bytes_content(data.encode() if isinstance(data, str) else data)
    return kind_of(measure(content), name, mime)


@pytest.mark.parametrize("mime", IMAGES)
def test_an_image_is_told_by_its_first_bytes_whatever_was_declared(mime: str) -> None:
    assert kind(IMAGES[mime], "notes.txt", "text/plain") == ("image", mime)


@pytest.mark.parametrize("data", [PNG, JPEG, WEBP_LOSSY, WEBP_LOSSLESS, WEBP_EXTENDED])
def test_the_header_of_an_image_tells_its_pixels(data: bytes) -> None:
    assert image_size(data) == (640, 480)


@given(st.sampled_from([PNG, GIF, JPEG, WEBP_LOSSY, WEBP_LOSSLESS, WEBP_EXTENDED]), st.binary(max_size=64))
def test_a_broken_header_has_a_size_of_positive_numbers_or_none(header: bytes, tail: bytes) -> None:
    for end in range(len(header)):
        size = image_size(header[:end] + tail)
        assert size is None or min(size) > 0


@pytest.mark.parametrize(
    ("data", "declared", "message"),
    [
        (b"no image at all", "image/png", ("text", "text/plain")),
        (b"GIF89a is how a GIF begins\n", "image/gif", ("text", "text/plain")),
        (b"%PDF-1.7 is how a PDF begins\n", "application/pdf", ("text", "text/plain")),
        (b"{not json", "application/json", ("text", "text/plain")),
        (b"one column\nonly", "text/csv", ("text", "text/plain")),
        (b"\x00\x01\x02", "text/plain", ("binary", "application/octet-stream")),
        ("caf\xe9".encode("latin-1"), "text/plain", ("binary", "application/octet-stream")),
        (b"plain", "text/html\r\nX-Evil: 1", ("text", "text/plain")),
    ],
)
def test_what_is_declared_is_not_believed_against_the_bytes(
    data: bytes, declared: str, message: tuple[str, str]
) -> None:
    assert kind(data, None, declared) == message


@pytest.mark.parametrize(
    ("data", "name", "mime", "message"),
    [
        ('{"a": [1, 2]}', None, None, ("json", "application/json")),
        ('\ufeff[{"名": "王"}]', None, None, ("json", "application/json")),
        ("[" * 10_000 + "]" * 10_000, None, None, ("json", "application/json")),
        ('{"a": 1}\n{"a": 2}\n', None, None, ("text", "text/plain")),
        ("a,b\n1,2\n", "a.csv", None, ("csv", "text/csv")),
        ("a,b\n1,2\n", None, "text/csv; charset=utf-8", ("csv", "text/csv")),
        ("姓名,城市\n李雷,上海\n韩梅梅,北京\n", None, None, ("csv", "text/csv")),
        ("a\tb\n1\t2\n3\t4\n", None, None, ("csv", "text/tab-separated-values")),
        ("Dear Sir, hello\nI came, I saw\nSo long, farewell\n", None, None, ("text", "text/plain")),
        ("# One\n\ntext\n\n## Two\n", None, None, ("markdown", "text/markdown")),
        ("anything", "README.md", None, ("markdown", "text/markdown")),
        ("# set -e\n# another\necho\n", None, None, ("text", "text/plain")),
        ("print(1)\n", "a.py", None, ("code", "text/plain")),
        ("<svg xmlns='x'><script>1</script></svg>", "a.svg", "image/svg+xml", ("code", "text/plain")),
        ("<!DOCTYPE html><p>hi", None, "text/plain", ("code", "text/plain")),
        (LOG, None, None, ("log", "text/plain")),
        ("anything", "server.log", None, ("log", "text/plain")),
        ("今天天气很好。\n", None, None, ("text", "text/plain")),
        ("", None, None, ("text", "text/plain")),
        (b"PK\x03\x04\x00\x00", "a.json", "application/json", ("binary", "application/zip")),
        (b"%PDF-1.7\n\xe2\xe3\n%%EOF\n", None, None, ("pdf", "application/pdf")),
    ],
)
def test_a_content_has_the_kind_that_it_reads_as(
    data: bytes | str, name: str | None, mime: str | None, message: tuple[str, str]
) -> None:
    assert kind(data, name, mime) == message


def archive(*names: str, first: bytes = b"") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        if first:
            opened.writestr(zipfile.ZipInfo("mimetype"), first)
        for name in names:
            opened.writestr(name, random.Random(7).randbytes(90_000))
    return file.getvalue()


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
OOXML, ODF = "application/vnd.openxmlformats-officedocument", "application/vnd.oasis.opendocument"


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (
            archive("[Content_Types].xml", "media/1", "word/document.xml"),
            f"{OOXML}.wordprocessingml.document",
        ),
        (archive("xl/workbook.xml"), f"{OOXML}.spreadsheetml.sheet"),
        (archive("ppt/embeddings/a.bin", "ppt/presentation.xml"), f"{OOXML}.presentationml.presentation"),
        (archive("content.xml", first=f"{ODF}.text".encode()), f"{ODF}.text"),
        (archive("content.xml", first=f"{ODF}.spreadsheet".encode()), f"{ODF}.spreadsheet"),
        (archive("book.opf", first=b"application/epub+zip"), "application/epub+zip"),
        (archive("notes.txt"), "application/zip"),
        (OLE + "WordDocument".encode("utf-16-le") + bytes(9), "application/msword"),
        (OLE + "Workbook".encode("utf-16-le"), "application/vnd.ms-excel"),
        (OLE, "application/x-ole-storage"),
        (b"BM" + struct.pack("<IHHI", 90, 0, 0, 54) + bytes(40), "image/bmp"),
        (b"II*\x00" + bytes(40), "image/tiff"),
        (b"ID3\x04" + bytes(40), "audio/mpeg"),
        (b"\xff\xfb\x90\x64" + bytes(400), "audio/mpeg"),
        (b"\xff\xfb\xf0\x64" + bytes(400), "application/octet-stream"),
        (b"\x1aE\xdf\xa3" + bytes(40), "video/x-matroska"),
    ],
)
def test_what_is_no_text_has_its_right_name(data: bytes, mime: str) -> None:
    assert kind(data, "notes.txt", "text/plain") == ("binary", mime)


def test_a_text_that_begins_like_a_format_stays_a_text() -> None:
    for text in ("BMW and others\n", "MZ is a sign\n"):
        assert kind(text * 20) == ("text", "text/plain")
        assert kind((text * 20).encode() + b"\xff", None, None)[0] in {"text", "binary"}


def test_a_large_json_is_told_by_its_beginning_wherever_its_head_is_cut() -> None:
    for pad in range(12):
        assert kind('{"' + "x" * pad + '": "' + "\\ud83d\\ude00中" * 9000 + '"}')[0] == "json"
        assert kind('{"' + "x" * pad + '": "a" nonsense ' + "中" * 40_000)[0] == "text"


@given(st.binary(max_size=300), st.none() | st.text(max_size=20), st.none() | st.text(max_size=20))
def test_any_bytes_have_a_kind_and_text_is_a_kind_of_text(
    data: bytes, name: str | None, mime: str | None
) -> None:
    measured = measure(bytes_content(data))
    found, plain = kind_of(measured, name, mime)
    assert found in TEXTS or measured.lines is None or found == "pdf"
    assert plain.isascii()
    assert plain.count("/") == 1


@pytest.mark.parametrize(
    ("brand", "mime"),
    [
        *((brand, "image/heic") for brand in ("heic", "heix", "hevc")),
        *((brand, "image/heif") for brand in ("mif1", "msf1")),
        *((brand, "image/avif") for brand in ("avif", "avis")),
        *((brand, "video/mp4") for brand in ("isom", "mp42", "avc1", "heiX", "")),
        ("qt  ", "video/quicktime"),
        ("M4A ", "audio/mp4"),
    ],
)
def test_photographs_of_telephones_are_no_films(brand: str, mime: str) -> None:
    """What an iPhone or an Android sends is named by the brand behind `ftyp` (ISO 14496-12, 4.3), whatever
    was declared."""
    data = b"\x00\x00\x00\x18ftyp" + brand.encode() + b"\x00\x00\x00\x00mif1heic" + bytes(200)

    assert kind(data, "IMG_1.mp4", "video/mp4") == ("binary", mime)

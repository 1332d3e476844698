"""Formats recognised by their first bytes."""

from typing import NamedTuple


class Format(NamedTuple):
    """A format: how people call it, and its mime type."""

    name: str
    mime: str


UNKNOWN = Format("data of unknown format", "application/octet-stream")
HEIC = Format("HEIC", "image/heic")
BMP = Format("BMP", "image/bmp")
ZIP = Format("ZIP archive", "application/zip")
OFFICE_97 = Format("Office document of before 2007", "application/x-ole-storage")
MP3 = Format("MP3", "audio/mpeg")
UTF_16 = Format("UTF-16 text", "application/octet-stream")

# At which byte, what stands there, and what that is. As file(1) has it, for what people send.
_FORMATS: tuple[tuple[int, bytes, Format], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", Format("PNG", "image/png")),
    (0, b"\xff\xd8\xff", Format("JPEG", "image/jpeg")),
    (0, b"GIF87a", Format("GIF", "image/gif")),
    (0, b"GIF89a", Format("GIF", "image/gif")),
    (8, b"WEBP", Format("WebP", "image/webp")),
    (0, b"%PDF-", Format("PDF", "application/pdf")),
    (0, b"PK\x03\x04", ZIP),
    (0, b"PK\x05\x06", Format("empty ZIP archive", "application/zip")),
    (0, b"\x1f\x8b", Format("gzip", "application/gzip")),
    (0, b"BZh", Format("bzip2", "application/x-bzip2")),
    (0, b"\xfd7zXZ\x00", Format("xz", "application/x-xz")),
    (0, b"\x28\xb5\x2f\xfd", Format("Zstandard", "application/zstd")),
    (0, b"7z\xbc\xaf\x27\x1c", Format("7-Zip archive", "application/x-7z-compressed")),
    (0, b"Rar!\x1a\x07", Format("RAR archive", "application/vnd.rar")),
    (257, b"ustar", Format("tar archive", "application/x-tar")),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OFFICE_97),
    (0, b"\x1aE\xdf\xa3", Format("Matroska", "video/x-matroska")),
    (0, b"SQLite format 3\x00", Format("SQLite database", "application/vnd.sqlite3")),
    (0, b"PAR1", Format("Parquet", "application/vnd.apache.parquet")),
    (0, b"\x7fELF", Format("ELF program", "application/octet-stream")),
    (0, b"MZ", Format("Windows program", "application/octet-stream")),
    (0, b"\x00asm", Format("WebAssembly", "application/wasm")),
    (0, b"II*\x00", Format("TIFF", "image/tiff")),
    (0, b"MM\x00*", Format("TIFF", "image/tiff")),
    (6, b"\x00\x00\x00\x00", BMP),
    *((4, b"ftyp" + brand, HEIC) for brand in (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx")),
    *((4, b"ftyp" + brand, Format("HEIF", "image/heif")) for brand in (b"mif1", b"msf1")),
    *((4, b"ftyp" + brand, Format("AVIF", "image/avif")) for brand in (b"avif", b"avis")),
    *((4, b"ftyp" + brand, Format("M4A", "audio/mp4")) for brand in (b"M4A ", b"M4B ")),
    (4, b"ftypqt  ", Format("QuickTime", "video/quicktime")),
    (4, b"ftyp", Format("MP4", "video/mp4")),
    (0, b"OggS", Format("Ogg", "application/ogg")),
    (0, b"ID3", MP3),
    (0, b"fLaC", Format("FLAC", "audio/flac")),
    (8, b"WAVE", Format("WAV", "audio/wav")),
    (0, b"\xff\xfe", UTF_16),
    (0, b"\xfe\xff", UTF_16),
)
_RIFF = ("WebP", "WAV")

_OOXML = "application/vnd.openxmlformats-officedocument"
_ODF = "application/vnd.oasis.opendocument"
# What a ZIP archive is that has a part of that name, or begins with that type: both stand in it in the open.
_IN_ZIP: tuple[tuple[bytes, Format], ...] = (
    (b"mimetypeapplication/epub+zip", Format("EPUB", "application/epub+zip")),
    (f"mimetype{_ODF}.text".encode(), Format("OpenDocument text", f"{_ODF}.text")),
    (f"mimetype{_ODF}.spreadsheet".encode(), Format("OpenDocument table", f"{_ODF}.spreadsheet")),
    (f"mimetype{_ODF}.presentation".encode(), Format("OpenDocument slides", f"{_ODF}.presentation")),
    (b"word/document.xml", Format("Word document", f"{_OOXML}.wordprocessingml.document")),
    (b"ppt/presentation.xml", Format("PowerPoint slides", f"{_OOXML}.presentationml.presentation")),
    (b"xl/workbook.", Format("Excel workbook", f"{_OOXML}.spreadsheetml.sheet")),
)
# The names of streams of a compound file (MS-CFB, 2.6.1).
_IN_OLE: tuple[tuple[bytes, Format], ...] = (
    ("WordDocument".encode("utf-16-le"), Format("Word document of before 2007", "application/msword")),
    (
        "PowerPoint".encode("utf-16-le"),
        Format("PowerPoint slides of before 2007", "application/vnd.ms-powerpoint"),
    ),
    ("Workbook".encode("utf-16-le"), Format("Excel workbook of before 2007", "application/vnd.ms-excel")),
)


def format_of(head: bytes, tail: bytes = b"") -> Format:
    """The format of a content that begins with `head` and ends with `tail`; UNKNOWN when it is none of those
    known here."""
    for at, sign, known in _FORMATS:
        if not head.startswith(sign, at) or (known.name in _RIFF and not head.startswith(b"RIFF")):
            continue
        if known is BMP and not head.startswith(b"BM"):
            continue
        inner = {ZIP: _IN_ZIP, OFFICE_97: _IN_OLE}.get(known, ())
        return next((each for sign, each in inner if sign in head or sign in tail), known)
    return MP3 if _is_mpeg_audio(head) else UNKNOWN


def _is_mpeg_audio(head: bytes) -> bool:
    """Whether it begins with a frame of MPEG audio, layer III, as an MP3 without ID3 does (ISO 11172-3,
    2.4.1.3): neither the rate of its bits nor that of its samples is one that is not allowed."""
    return (
        len(head) > 3
        and head[0] == 0xFF
        and head[1] & 0xE6 == 0xE2
        and head[1] & 0x18 != 0x08
        and head[2] & 0xF0 not in {0x00, 0xF0}
        and head[2] & 0x0C != 0x0C
    )

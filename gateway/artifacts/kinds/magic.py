"""Formats recognised by their first bytes."""

from typing import NamedTuple


class Format(NamedTuple):
    """A format: how people call it, and its mime type."""

    name: str
    mime: str


UNKNOWN = Format("data of unknown format", "application/octet-stream")
HEIC = Format("HEIC", "image/heic")
UTF_16 = Format("UTF-16 text", "application/octet-stream")

# At which byte, what stands there, and what that is. As file(1) has it, for what people send.
_FORMATS: tuple[tuple[int, bytes, Format], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", Format("PNG", "image/png")),
    (0, b"\xff\xd8\xff", Format("JPEG", "image/jpeg")),
    (0, b"GIF87a", Format("GIF", "image/gif")),
    (0, b"GIF89a", Format("GIF", "image/gif")),
    (8, b"WEBP", Format("WebP", "image/webp")),
    (0, b"%PDF-", Format("PDF", "application/pdf")),
    (0, b"PK\x03\x04", Format("ZIP archive", "application/zip")),
    (0, b"PK\x05\x06", Format("empty ZIP archive", "application/zip")),
    (0, b"\x1f\x8b", Format("gzip", "application/gzip")),
    (0, b"BZh", Format("bzip2", "application/x-bzip2")),
    (0, b"\xfd7zXZ\x00", Format("xz", "application/x-xz")),
    (0, b"\x28\xb5\x2f\xfd", Format("Zstandard", "application/zstd")),
    (0, b"7z\xbc\xaf\x27\x1c", Format("7-Zip archive", "application/x-7z-compressed")),
    (0, b"Rar!\x1a\x07", Format("RAR archive", "application/vnd.rar")),
    (257, b"ustar", Format("tar archive", "application/x-tar")),
    (0, b"SQLite format 3\x00", Format("SQLite database", "application/vnd.sqlite3")),
    (0, b"PAR1", Format("Parquet", "application/vnd.apache.parquet")),
    (0, b"\x7fELF", Format("ELF program", "application/octet-stream")),
    (0, b"MZ", Format("Windows program", "application/octet-stream")),
    (0, b"\x00asm", Format("WebAssembly", "application/wasm")),
    (0, b"II*\x00", Format("TIFF", "image/tiff")),
    (0, b"MM\x00*", Format("TIFF", "image/tiff")),
    (0, b"BM", Format("BMP", "image/bmp")),
    *((4, b"ftyp" + brand, HEIC) for brand in (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx")),
    *((4, b"ftyp" + brand, Format("HEIF", "image/heif")) for brand in (b"mif1", b"msf1")),
    *((4, b"ftyp" + brand, Format("AVIF", "image/avif")) for brand in (b"avif", b"avis")),
    *((4, b"ftyp" + brand, Format("M4A", "audio/mp4")) for brand in (b"M4A ", b"M4B ")),
    (4, b"ftypqt  ", Format("QuickTime", "video/quicktime")),
    (4, b"ftyp", Format("MP4", "video/mp4")),
    (0, b"OggS", Format("Ogg", "application/ogg")),
    (0, b"ID3", Format("MP3", "audio/mpeg")),
    (0, b"fLaC", Format("FLAC", "audio/flac")),
    (8, b"WAVE", Format("WAV", "audio/wav")),
    (0, b"\xff\xfe", UTF_16),
    (0, b"\xfe\xff", UTF_16),
)
_RIFF = ("WebP", "WAV")


def format_of(head: bytes) -> Format:
    """The format of a content that begins with `head`; UNKNOWN when it is none of those known here."""
    for at, sign, known in _FORMATS:
        if head.startswith(sign, at) and (known.name not in _RIFF or head.startswith(b"RIFF")):
            return known
    return UNKNOWN

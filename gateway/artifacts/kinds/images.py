"""How large an image is, from its header alone: nothing is decoded."""

import struct
from struct import unpack_from

# Markers of JPEG frames, which hold the size (ITU-T T.81, table B.1): all SOFn, without DHT, JPG and DAC.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})  # markers without a length


def image_size(head: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, JPEG, GIF or WebP that begins with `head`; None where the header
    does not have them."""
    try:
        size = _size(head)
    except (struct.error, IndexError):
        return None
    return size if size is not None and all(size) else None


def _size(head: bytes) -> tuple[int, int] | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n") and head[12:16] == b"IHDR":
        width, height = unpack_from(">II", head, 16)
        return width, height
    if head.startswith((b"GIF87a", b"GIF89a")):
        width, height = unpack_from("<HH", head, 6)
        return width, height
    if head.startswith(b"\xff\xd8\xff"):
        return _jpeg_size(head)
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return _webp_size(head)
    return None


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    """From the first frame; each segment before it has its length."""
    at = 2
    while head[at] == 0xFF:
        marker = head[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _ALONE:
            at += 2
        elif marker in _FRAMES:
            height, width = unpack_from(">HH", head, at + 5)
            return width, height
        else:
            at += 2 + max(2, unpack_from(">H", head, at + 2)[0])
    return None


def _webp_size(head: bytes) -> tuple[int, int] | None:
    """From the first chunk: RFC 9649, sections 2.5 to 2.7."""
    match head[12:16]:
        case b"VP8 " if head[23:26] == b"\x9d\x01\x2a":
            width, height = unpack_from("<HH", head, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L" if head[20] == 0x2F:
            bits = unpack_from("<I", head, 21)[0]
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            width, height = int.from_bytes(head[24:27], "little"), int.from_bytes(head[27:30], "little")
            return (width + 1, height + 1) if len(head) >= 30 else None
        case _:
            return None

"""The form of other content: its format. Nothing is decoded, decompressed or unpacked."""

from gateway.artifacts.compact.base import Compact, counted
from gateway.artifacts.content import ArtifactContent, Measured
from gateway.artifacts.kinds.images import image_size
from gateway.artifacts.kinds.magic import UNKNOWN, UTF_16, format_of
from gateway.artifacts.pdf import pages_of

_SHOWN = 32  # bytes
_LOOKED_AT = 4096  # bytes of what may be text
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\f\r"))


def image_form(_content: ArtifactContent, measured: Measured) -> Compact:
    size = image_size(measured.head)
    pixels = f"{size[0]:,} × {size[1]:,} pixels" if size else "of unknown size in pixels"
    return Compact(f"{format_of(measured.head).name} image, {pixels}")


def pdf_form(content: ArtifactContent, _measured: Measured) -> Compact:
    pages = pages_of(content.chunks())
    return Compact(
        f"PDF, {counted(pages, 'page')}" if pages else "PDF, its pages cannot be counted from outside"
    )


def binary_form(_content: ArtifactContent, measured: Measured) -> Compact:
    if not measured.size:
        return Compact("Nothing: it is empty")
    begins = f"Begins with (hex): {measured.head[:_SHOWN].hex(' ')}"
    found = format_of(measured.head, measured.tail)
    if found is UTF_16:
        return Compact(f"Text in UTF-16, not UTF-8\n{_CONVERT.format('UTF-16')}\n{begins}")
    if is_unknown_encoding(measured.head):
        first = "No UTF-8: perhaps text in another encoding, such as GBK"
        return Compact(f"{first}\n{_CONVERT.format('GBK')}\n{begins}")
    if found.mime.startswith("image/"):
        return Compact(f"{found.name} image, which the model is not shown\n{begins}")
    return Compact(f"{found.name[0].upper()}{found.name[1:]}, no text\n{begins}")


_CONVERT = "To read it as text, keep it converted to UTF-8 (iconv -f {} -t UTF-8)"


def is_unknown_encoding(head: bytes) -> bool:
    """Whether what begins so, and is no UTF-8, seems to be a text: it has the mark of UTF-16, or no control
    characters, as texts in GBK, Big5, Shift-JIS and Latin-1 have none."""
    looked_at = head[:_LOOKED_AT]
    found = format_of(head)
    return found is UTF_16 or (found is UNKNOWN and looked_at.translate(None, _CONTROLS) == looked_at)

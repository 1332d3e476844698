"""What is no text, told by its format. Nothing is decoded, decompressed or unpacked."""

from gateway.artifacts.compact.base import Compact, counted
from gateway.artifacts.content import Content, Measured
from gateway.artifacts.kinds.images import image_size
from gateway.artifacts.kinds.magic import format_of
from gateway.artifacts.pdf import pages_of

_SHOWN = 32  # bytes


def image_form(_content: Content, measured: Measured) -> Compact:
    size = image_size(measured.head)
    pixels = f"{size[0]:,} × {size[1]:,} pixels" if size else "of unknown size in pixels"
    return Compact(f"{format_of(measured.head).name} image, {pixels}")


def pdf_form(content: Content, _measured: Measured) -> Compact:
    pages = pages_of(content.chunks())
    return Compact(
        f"PDF, {counted(pages, 'page')}" if pages else "PDF, its pages cannot be counted from outside"
    )


def binary_form(_content: Content, measured: Measured) -> Compact:
    if not measured.size:
        return Compact("Nothing: it is empty")
    begins = measured.head[:_SHOWN].hex(" ")
    name = format_of(measured.head).name
    return Compact(f"{name[0].upper()}{name[1:]}, no text\nBegins with (hex): {begins}")

"""What is no text, told by its format. Nothing is decoded, decompressed or unpacked."""

import re

from gateway.artifacts.compact.base import Compact, counted
from gateway.artifacts.content import Content, Measured
from gateway.artifacts.kinds.images import image_size
from gateway.artifacts.kinds.magic import format_of

_SHOWN = 32  # bytes
_LOOKED_THROUGH = 8_388_608  # bytes of a PDF
_LINEARIZED = re.compile(rb"/Linearized[^>]{0,200}/N\s{1,4}(\d{1,6})\b")  # ISO 32000-2, annex F
_PAGE = re.compile(rb"/Type\s{0,4}/Page(?![A-Za-z])")
_OVERLAP = 32  # bytes: more than the longest /Type /Page


def image_form(_content: Content, measured: Measured) -> Compact:
    size = image_size(measured.head)
    pixels = f"{size[0]:,} × {size[1]:,} pixels" if size else "of unknown size in pixels"
    return Compact(f"{format_of(measured.head).name} image, {pixels}")


def pdf_form(content: Content, measured: Measured) -> Compact:
    pages = _pages(content, measured)
    return Compact(
        f"PDF, {counted(pages, 'page')}" if pages else "PDF, its pages cannot be counted from outside"
    )


def binary_form(_content: Content, measured: Measured) -> Compact:
    if not measured.size:
        return Compact("Nothing: it is empty")
    begins = measured.head[:_SHOWN].hex(" ")
    name = format_of(measured.head).name
    return Compact(f"{name[0].upper()}{name[1:]}, no text\nBegins with (hex): {begins}")


def _pages(content: Content, measured: Measured) -> int:
    """As the file says at its beginning, else the page objects that are not compressed. 0 is unknown."""
    if told := _LINEARIZED.search(measured.head[:2048]):
        return int(told[1])
    if measured.size > _LOOKED_THROUGH:
        return 0
    pages, before = 0, b""
    for chunk in content.chunks():
        data = before + chunk
        edge = len(data) - _OVERLAP
        pages += sum(match.start() < edge for match in _PAGE.finditer(data))
        before = data[max(0, edge) :]
    return pages + len(_PAGE.findall(before))

"""Images and documents in a request: what the Messages API refuses of them, in its words, and about how many
tokens they are.

Rules: docs.claude.com, "Vision" and "PDF support". A URL is taken as it is: the demo fetches nothing.
"""

import binascii
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

MAX_IMAGE = 5_242_880
"""Bytes of an image in base64, as which the API counts its 5 MB."""
MAX_FILES = 100
"""Images and documents of one request."""
IMAGE_TOKENS, DOCUMENT_TOKENS = 1600, 2000
"""What an image has at most, and what a page of a document has about."""

_MAGIC = {
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
    "application/pdf": (b"%PDF-",),
}
_TYPES = {
    "image": ("image/jpeg", "image/png", "image/gif", "image/webp"),
    "document": ("application/pdf",),
}
_FIELDS = {
    "base64": {"type", "media_type", "data"},
    "url": {"type", "url"},
    "text": {"type", "media_type", "data"},
}
_SOURCES = {"image": ("base64", "url"), "document": ("base64", "text", "url")}
_READ = 64  # characters of base64 that tell the type


class NotShown(ValueError):
    """The API would refuse the block; the message is the end of its own, after the block's path."""


def check_source(kind: str, source: Mapping[str, Any]) -> None:
    """Raises NotShown when the API would refuse an image or a document with that source."""
    tag = source.get("type")
    if not isinstance(tag, str) or tag not in _SOURCES[kind]:
        expected = ", ".join(f"'{each}'" for each in _SOURCES[kind])
        found = f"Input tag '{tag}' found using 'type'"
        raise NotShown(f".source: {found} does not match any of the expected tags: {expected}")
    for name in sorted(_FIELDS[tag]):
        if not isinstance(source.get(name), str):
            raise NotShown(f".source.{tag}.{name}: Field required")
    for name in source.keys() - _FIELDS[tag]:
        raise NotShown(f".source.{tag}.{name}: Extra inputs are not permitted")
    if tag == "base64":
        _check_data(kind, source["media_type"], source["data"])
    elif tag == "text" and (source["media_type"] != "text/plain" or not source["data"].strip()):
        raise NotShown(".source.text: Input should be plain text that is not empty")


def _check_data(kind: str, media_type: str, data: str) -> None:
    if media_type not in _TYPES[kind]:
        expected = ", ".join(f"'{each}'" for each in _TYPES[kind])
        raise NotShown(f".source.base64.media_type: Input should be {expected}")
    if not data:
        raise NotShown(f".source.base64: {kind} cannot be empty")
    if kind == "image" and len(data) > MAX_IMAGE:
        raise NotShown(f".source.base64: image exceeds 5 MB maximum: {len(data)} bytes > {MAX_IMAGE} bytes")
    try:
        b64decode(data, validate=True)
        head = b64decode(data[:_READ])
    except (binascii.Error, ValueError):
        raise NotShown(".source.base64.data: Invalid base64 data") from None
    if not head.startswith(_MAGIC[media_type]):
        told = f"The {kind} was specified using the {media_type} media type, but it is of another"
        raise NotShown(f".source.base64.data: {told}")


def files(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The images and documents of a request's messages, also those in results of tools."""
    for message in body["messages"]:
        content = message["content"]
        waiting = [] if isinstance(content, str) else list(content)
        while waiting:
            block = waiting.pop()
            if block["type"] in _TYPES:
                yield block
            elif block["type"] == "tool_result" and isinstance(block.get("content"), list):
                waiting += block["content"]


def tokens(block: Mapping[str, Any]) -> int | None:
    """About how many tokens an image or a document is; None for other blocks."""
    return {"image": IMAGE_TOKENS, "document": DOCUMENT_TOKENS}.get(str(block.get("type")))

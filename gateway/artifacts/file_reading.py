"""What the model gets of a file that a user attaches: its words, itself as an image or a document, or no more
than a description. It is decided here once, and told to people in the same terms."""

import asyncio
from typing import Literal, NamedTuple

from gateway.artifacts.artifact_store import ArtifactStore
from gateway.artifacts.attachment_budget import REQUEST_ENCODED, encoded
from gateway.artifacts.compact.media import is_unknown_encoding
from gateway.artifacts.compact.model_view import render
from gateway.artifacts.kinds import image_size
from gateway.artifacts.pdf import is_locked, pages_of
from gateway.artifacts.reading.chunks import readable, text_of
from gateway.lexical import estimate_tokens
from gateway.messages import (
    DOCUMENT_PAGES,
    IMAGE_TOKENS,
    FileReading,
    NotRead,
    document_tokens,
    image_tokens,
)
from gateway.storage.artifacts import CHUNK, TEXTS, ArtifactRow

INLINE_BYTES = 32_768
"""Bytes of a text that may be shown whole."""

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
IMAGE_ENCODED = 5_242_880
"""Bytes of an image in base64, as which the API counts its 5 MB (docs.claude.com "Vision"; its refusal names
`source.base64` and that length)."""
IMAGE_SIDE = 8000
"""Pixels (ibid.)."""
UNSCALED_SIDE = 1568
"""Pixels of a side of an image that is looked at in full; larger ones are scaled down (ibid.)."""

ATTACHED_HERE = "The user attached this file to the message below; it is material for the request."
TOO_MANY = "too many to be shown to you."


class ShownFile(NamedTuple):
    """How the model gets a file: the `text` that it reads, and the `tokens` that it takes to look at the file
    itself; and what people are told of it."""

    shown: Literal["text", "compact", "image", "document"]
    reading: FileReading
    text: str = ""
    tokens: int | None = None


async def read_file(store: ArtifactStore, row: ArtifactRow, most_tokens: int) -> ShownFile:
    """A text is shown whole when it takes at most `most_tokens`.

    Raises:
        errors.ArtifactDamaged, errors.NotFound, errors.StorageError: as `ArtifactStore.read`.
    """
    if row.kind in TEXTS:
        return await _text(store, row, most_tokens)
    if row.kind == "image":
        return await _image(store, row)
    if row.kind == "pdf":
        return await _document(store, row)
    if not row.size:
        return _described(row, "It is empty.", "empty")
    if row.mime == "application/octet-stream" and is_unknown_encoding(await store.read(row, 0, CHUNK)):
        return _described(row, "A text in another encoding than UTF-8 cannot be shown to you.", "encoding")
    return _described(row, "A file of this type cannot be shown to you.", "format")


async def _text(store: ArtifactStore, row: ArtifactRow, most_tokens: int) -> ShownFile:
    if not row.size:
        return ShownFile("text", FileReading(how="none", why="empty"))
    lines = row.lines or None
    if row.size <= INLINE_BYTES:
        as_stored = text_of(await store.read(row, 0, row.size))
        text = readable(as_stored)
        damaged = sum(before != after for before, after in zip(as_stored, text, strict=True))
        if estimate_tokens(text) <= most_tokens:
            return ShownFile("text", FileReading(how="text", lines=lines, damaged=damaged or None), text)
    reading = FileReading(how="part", lines=lines)
    return ShownFile("compact", reading, _compact(row, "It is too long to be shown whole."))


async def _image(store: ArtifactStore, row: ArtifactRow) -> ShownFile:
    if row.mime not in IMAGE_TYPES:
        return _described(row, f"An image of the type {row.mime} cannot be shown to you.", "format")
    if encoded(row.size) > IMAGE_ENCODED:
        return _described(row, f"It has more than {IMAGE_ENCODED // 4 * 3:,} bytes: {TOO_MANY}", "too_large")
    # The header may stand behind a lot that a camera wrote: all that is read at once is looked through.
    size = image_size(await store.read(row, 0, CHUNK))
    if size is None:
        why = "Its header does not tell its size in pixels, so that it cannot be shown to you."
        return _described(row, why, "damaged")
    if max(size) > IMAGE_SIDE:
        return _described(
            row, f"It has more than {IMAGE_SIDE:,} pixels a side: {TOO_MANY}", "too_many_pixels"
        )
    tokens = image_tokens(*size)
    scaled = max(size) > UNSCALED_SIDE or tokens == IMAGE_TOKENS
    return ShownFile("image", FileReading(how="image", scaled=scaled or None), tokens=tokens)


async def _document(store: ArtifactStore, row: ArtifactRow) -> ShownFile:
    if encoded(row.size) > REQUEST_ENCODED:
        return _described(
            row, f"It has more than {REQUEST_ENCODED // 4 * 3:,} bytes: {TOO_MANY}", "too_large"
        )
    data = await store.read(row, 0, row.size)
    if await asyncio.to_thread(is_locked, data):
        return _described(row, "It is encrypted, so that it cannot be shown to you.", "encrypted")
    pages = await asyncio.to_thread(pages_of, [data])
    if pages is not None and pages > DOCUMENT_PAGES:
        why = f"It has {pages:,} pages: at most {DOCUMENT_PAGES} can be shown to you."
        return _described(row, why, "too_many_pages", pages=pages)
    return ShownFile(
        "document", FileReading(how="pages", pages=pages), tokens=document_tokens(row.size, pages)
    )


def _described(row: ArtifactRow, why_not: str, why: NotRead, *, pages: int | None = None) -> ShownFile:
    """A file that the API would refuse, as far as its bytes show it."""
    return ShownFile("compact", FileReading(how="none", why=why, pages=pages), _compact(row, why_not))


def _compact(row: ArtifactRow, why_not: str) -> str:
    return render(row, note=f"{ATTACHED_HERE} {why_not}")

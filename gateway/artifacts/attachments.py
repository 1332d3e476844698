"""Files that users attach to their messages: kept as artifacts, told in words, and shown where the Messages
API can show them.

    attach: what came with a message -> artifacts, and what the model is told of each, fixed from then on
    fill:   messages that name artifacts as images and documents -> the same with their contents
"""

import asyncio
import base64
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from gateway.artifacts.compact.told import told
from gateway.artifacts.content import bytes_content
from gateway.artifacts.kinds import image_size
from gateway.artifacts.pdf import is_locked, pages_of
from gateway.artifacts.shelf import Origin, Shelf
from gateway.errors import ArtifactDamaged, NotFound, StorageError
from gateway.lexical import estimate_tokens
from gateway.messages import KEPT, Attached, Block, Message, text_block
from gateway.settings import Settings
from gateway.storage.artifacts import CHUNK, TEXTS, ArtifactRow

MOST = 20
"""Attachments of one message. No more files are shown in one request either: with more than 20 images the API
refuses those of over 2000 pixels a side (docs.claude.com "Vision", "General limits")."""
INLINE_BYTES = 32_768
"""Bytes of a text that is shown whole, whatever its tokens."""
INLINE_SHARE = 4
"""All texts that one message shows whole take at most so many times the tokens of one."""

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
IMAGE_ENCODED = 5_242_880
"""Bytes of an image in base64, as which the API counts its 5 MB (docs.claude.com "Vision"; its refusal names
`source.base64` and that length)."""
IMAGE_SIDE = 8000
"""Pixels (ibid.)."""
DOCUMENT_PAGES = 100
"""Pages of all PDFs of one request (docs.claude.com "PDF support")."""
REQUEST_ENCODED = 25_165_824
"""Bytes in base64 of all files of one request, which may have 32 MB (ibid.): the rest is for everything
else."""

ATTACHED_HERE = "The user attached this file to the message below; it is material for the request."
NO_ROOM = "is not shown any more: newer files take all the room that a request has."
REFUSED = "is not shown: the model's endpoint refused what was shown. Tools can read it."


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came with the message itself. `mime` None lets its content tell."""

    data: bytes = field(repr=False)
    name: str
    mime: str | None = None


class AttachedFiles(NamedTuple):
    """What a message brings along, and the artifacts that were made of it."""

    files: tuple[Attached, ...] = ()
    made: tuple[str, ...] = ()


class Filled(NamedTuple):
    """Messages with the contents of their files, and what could not be shown, for people."""

    messages: Sequence[Message]
    problems: Sequence[str] = ()


class Attachments:
    """The files of messages. One for a process."""

    def __init__(self, shelf: Shelf, settings: Settings) -> None:
        self._shelf = shelf
        self._settings = settings

    async def attach(self, given: Sequence[str | Upload], origin: Origin) -> AttachedFiles:
        """Uploads become artifacts of that origin, references name such as are there. All or nothing.

        Raises:
            errors.NotFound: (artifact_not_found) a reference is none of the owner's.
            errors.ArtifactDamaged: what a reference names is missing or changed.
            errors.TooLarge, errors.ArtifactsFull, errors.StorageError: as `Shelf.keep`.
        """
        made: list[str] = []
        files: list[Attached] = []
        room = INLINE_SHARE * self._settings.artifact_tokens
        try:
            for each in given:
                if isinstance(each, Upload):
                    row = await self._shelf.keep(bytes_content(each.data, each.name, each.mime), origin)
                    made.append(row.ref)
                else:
                    row = await self._shelf.get(origin.owner, each)
                attached = await self._attached(row, room)
                room -= estimate_tokens(attached.text) if attached.shown == "text" else 0
                files.append(attached)
        except BaseException:
            await self.withdraw(origin.owner, made)
            raise
        return AttachedFiles(tuple(files), tuple(made))

    async def withdraw(self, owner: str, made: Sequence[str]) -> None:
        """Removes what was made for a message that nobody needs. What cannot be removed now expires."""
        for ref in made:
            with suppress(StorageError, NotFound):
                await self._shelf.delete(owner, ref)

    async def fill(self, owner: str, messages: Sequence[Message]) -> Filled:
        """The messages with their images and documents read from the shelf: the newest ones, as many as one
        request may have. In place of the others stands a text that says so. Messages without files are the
        same objects.

        Raises:
            errors.StorageError: a file cannot be read now. What is missing or changed is a problem instead.
        """
        contents = {
            index: list(message.content)
            for index, message in enumerate(messages)
            if any(_is_kept(block) for block in message.content)
        }
        if not contents:
            return Filled(messages)
        room, problems = _Room(), list[str]()
        for index in reversed(contents):
            for place, block in reversed(list(enumerate(contents[index]))):
                if _is_kept(block):
                    contents[index][place] = await self._filled(owner, block, room, problems)
        filled = [
            Message(message.role, contents[index]) if index in contents else message
            for index, message in enumerate(messages)
        ]
        return Filled(filled, problems)

    @staticmethod
    def withhold(messages: Sequence[Message]) -> Sequence[Message]:
        """The messages with a text in place of each image and document."""
        return [
            Message(
                message.role,
                [
                    _instead(block, f"[{block['source']['ref']} {REFUSED}]") if _is_kept(block) else block
                    for block in message.content
                ],
            )
            for message in messages
        ]

    async def _filled(self, owner: str, block: Block, room: "_Room", problems: list[str]) -> Block:
        ref = block["source"]["ref"]
        try:
            row = await self._shelf.get(owner, ref)
            if not room.take(_encoded(row.size)):
                return _instead(block, f"[{ref} {NO_ROOM}]")
            data = await self._shelf.read(row, 0, row.size)
        except NotFound:
            return _instead(block, f"[{ref} cannot be shown: it was removed.]")
        except ArtifactDamaged as error:
            problems.append(f"An attached file cannot be shown to the model. {error.message}")
            return _instead(block, f"[{ref} cannot be shown: its content is damaged or missing.]")
        if block["type"] == "document" and not room.take_pages(await asyncio.to_thread(pages_of, [data])):
            return _instead(block, f"[{ref} {NO_ROOM}]")
        encoded = await asyncio.to_thread(base64.b64encode, data)
        media_type = block["source"]["media_type"]
        source = {"type": "base64", "media_type": media_type, "data": encoded.decode()}
        return {**block, "source": source}

    async def _attached(self, row: ArtifactRow, room: int) -> Attached:
        shown, text = await self._shown(row, room)
        return Attached(
            ref=row.ref, name=row.name or row.ref, mime=row.mime, size=row.size, shown=shown, text=text
        )

    async def _shown(
        self, row: ArtifactRow, room: int
    ) -> tuple[Literal["text", "compact", "image", "document"], str]:
        why_not = ""
        if row.kind in TEXTS:
            if row.size <= INLINE_BYTES:
                text = (await self._shelf.read(row, 0, row.size)).decode()
                if estimate_tokens(text) <= min(room, self._settings.artifact_tokens):
                    return "text", text
            why_not = "It is too long to be shown whole."
        elif row.kind == "image":
            if not (why_not := await self._image_refused(row)):
                return "image", ""
        elif row.kind == "pdf":
            if not (why_not := await self._document_refused(row)):
                return "document", ""
        else:
            why_not = "A file of this type cannot be shown to you."
        return "compact", told(row, note=f"{ATTACHED_HERE} {why_not}")

    async def _image_refused(self, row: ArtifactRow) -> str:
        """Why the API would refuse an image; empty when it takes it."""
        if row.mime not in IMAGE_TYPES:
            return f"An image of the type {row.mime} cannot be shown to you."
        if _encoded(row.size) > IMAGE_ENCODED:
            return f"It has more than {IMAGE_ENCODED // 4 * 3:,} bytes: too many to be shown to you."
        # The header may stand behind a lot that a camera wrote: all that is read at once is looked through.
        size = image_size(await self._shelf.read(row, 0, CHUNK))
        if size is None:
            return "Its header does not tell its size in pixels, so that it cannot be shown to you."
        if max(size) > IMAGE_SIDE:
            return f"It has more than {IMAGE_SIDE:,} pixels a side: too many to be shown to you."
        return ""

    async def _document_refused(self, row: ArtifactRow) -> str:
        """Why the API would refuse a PDF, as far as that can be seen; empty when it seems to take it."""
        if _encoded(row.size) > REQUEST_ENCODED:
            return f"It has more than {REQUEST_ENCODED // 4 * 3:,} bytes: too many to be shown to you."
        data = await self._shelf.read(row, 0, row.size)
        if await asyncio.to_thread(is_locked, data):
            return "It is encrypted, so that it cannot be shown to you."
        pages = await asyncio.to_thread(pages_of, [data])
        if pages is not None and pages > DOCUMENT_PAGES:
            return f"It has {pages:,} pages: at most {DOCUMENT_PAGES} can be shown to you."
        return ""


@dataclass(slots=True)
class _Room:
    """What one request may still show. Once something did not fit nothing older does: else a file that is
    left out could come back later, and change once more a prompt that was only to grow."""

    files: int = MOST
    encoded: int = REQUEST_ENCODED
    pages: int = DOCUMENT_PAGES

    def take(self, encoded: int) -> bool:
        self.files -= 1
        self.encoded -= encoded
        return self._is_left()

    def take_pages(self, pages: int | None) -> bool:
        self.pages -= pages or 0
        return self._is_left()

    def _is_left(self) -> bool:
        return min(self.files, self.encoded, self.pages) >= 0


def _is_kept(block: Block) -> bool:
    match block:
        case {"type": "image" | "document", "source": {"type": kind, "ref": str(), "media_type": str()}}:
            return kind == KEPT
        case _:
            return False


def _instead(block: Block, text: str) -> Block:
    marks = {"cache_control": block["cache_control"]} if "cache_control" in block else {}
    return {**text_block(text), **marks}


def _encoded(size: int) -> int:
    """Bytes of base64 (RFC 4648) for so many bytes."""
    return -(-size // 3) * 4

"""Files that users attach to their messages: stored as artifacts, described in words, and shown where the
Messages API can show them.

    attach: files of a message -> artifacts, and a description of each for the model, fixed from then on
    fill:   messages that name artifacts as images and documents -> the same with their contents
"""

import asyncio
import base64
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import structlog

from gateway.artifacts.artifact_store import ArtifactStore, Origin
from gateway.artifacts.attachment_budget import REQUEST_ENCODED, encoded, has_artifact_source, left_out
from gateway.artifacts.compact.model_view import render
from gateway.artifacts.content import bytes_content
from gateway.artifacts.kinds import image_size
from gateway.artifacts.pdf import is_locked, pages_of
from gateway.bounded_dict import BoundedDict
from gateway.errors import ArtifactDamaged, NotFound, StorageError
from gateway.lexical import estimate_tokens
from gateway.messages import (
    DOCUMENT_PAGES,
    Attached,
    Block,
    Message,
    document_tokens,
    image_tokens,
    text_block,
)
from gateway.settings import Settings
from gateway.storage.artifacts import CHUNK, TEXTS, ArtifactRow

log = structlog.get_logger(__name__)

INLINE_BYTES = 32_768
"""Bytes of a text that may be shown whole."""
INLINE_SHARE = 4
"""All texts that one message shows whole take at most so many times the tokens of one."""

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
IMAGE_ENCODED = 5_242_880
"""Bytes of an image in base64, as which the API counts its 5 MB (docs.claude.com "Vision"; its refusal names
`source.base64` and that length)."""
IMAGE_SIDE = 8000
"""Pixels (ibid.)."""

ATTACHED_HERE = "The user attached this file to the message below; it is material for the request."
TOO_MANY = "too many to be shown to you."
OVER_BUDGET = "is not shown any more: newer files take all the room that a request has."
BLIND = "is not shown: you do not look at files of this type. Tools can read it."
REFUSED = "is not shown: the model's endpoint refused what was shown. Tools can read it."


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came with the message itself. `mime` None: its content decides."""

    data: bytes = field(repr=False)
    name: str
    mime: str | None = None


UNSEEN = {"image": "images", "document": "PDFs"}
"""Types of blocks, in words."""

MAX_REFUSED = 10_000
"""Files that are remembered as refused by the endpoint."""


class AttachedFiles(NamedTuple):
    """The files of a message, and the artifacts made of them."""

    files: tuple[Attached, ...] = ()
    made: tuple[str, ...] = ()


class Filled(NamedTuple):
    """Messages with the contents of their files, and what could not be shown, for people; `is_whole`: nothing
    is missing, for any reason."""

    messages: Sequence[Message]
    problems: Sequence[str] = ()
    is_whole: bool = True


class _Shown(NamedTuple):
    """How the model gets a file: the `text` that it reads, and what it takes to look at the file itself."""

    shown: Literal["text", "compact", "image", "document"]
    text: str = ""
    tokens: int | None = None


class Attachments:
    """The files of messages. One for a process."""

    def __init__(self, store: ArtifactStore, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._refused = BoundedDict[tuple[str, str, str], None](MAX_REFUSED)

    async def attach(
        self, given: Sequence[str | Upload], origin: Origin, *, within: str | None = None
    ) -> AttachedFiles:
        """Uploads become artifacts of that origin, references name such as are there, and (`within`) are used
        by that session. All or nothing.

        Raises:
            errors.NotFound: (artifact_not_found) a reference is none of the owner's.
            errors.ArtifactDamaged: what a reference names is missing or changed.
            errors.TooLarge, errors.ArtifactsFull, errors.StorageError: as `ArtifactStore.keep`.
        """
        made: list[str] = []
        files: list[Attached] = []
        budget = INLINE_SHARE * self._settings.artifact_tokens
        try:
            for each in given:
                if isinstance(each, Upload):
                    row = await self._store.put(bytes_content(each.data, each.name, each.mime), origin)
                    made.append(row.ref)
                else:
                    row = await self._store.get(origin.owner, each, within=within)
                attached = await self._attached(row, budget)
                budget -= estimate_tokens(attached.text) if attached.shown == "text" else 0
                files.append(attached)
        except BaseException:
            await self.withdraw(origin.owner, made)
            raise
        return AttachedFiles(tuple(files), tuple(made))

    async def withdraw(self, owner: str, made: Sequence[str]) -> None:
        """Removes what was made for a message that is not needed. What cannot be removed now expires."""
        for ref in made:
            with suppress(StorageError, NotFound):
                await self._store.delete(owner, ref)

    @staticmethod
    def left_out(messages: Sequence[Message]) -> int:
        """How many files of `messages`, the oldest ones, `fill` does not show any more. Messages that are
        added at the end make it more, or leave it: where it is more, the prompt before them changes."""
        return left_out(messages)

    async def fill(
        self,
        owner: str,
        messages: Sequence[Message],
        *,
        model: str = "",
        withheld: Collection[str] = (),
        unseen: Collection[str] = (),
    ) -> Filled:
        """The messages with their images and documents read from the store: the newest ones, as many as one
        request may have. In place of the others, of those `withheld`, of what the endpoint of `model` refused
        before, of the types of block that the model does not look at (`unseen`) and of what cannot be read,
        stands a text with the reason. Messages without files are the same
        objects. Never raises for what the store cannot do."""
        contents = {
            index: list(message.content)
            for index, message in enumerate(messages)
            if any(has_artifact_source(block) for block in message.content)
        }
        if not contents:
            return Filled(messages)
        gone, problems = left_out(messages), list[str]()
        places = [
            (content, place)
            for content in contents.values()
            for place, block in enumerate(content)
            if has_artifact_source(block)
        ]
        for number, (content, place) in enumerate(places):
            block = content[place]
            content[place] = (
                _instead(block, f"[{block['source']['ref']} {OVER_BUDGET}]")
                if number < gone
                else _unseen(block, model, problems)
                if block["type"] in unseen
                else await self._filled(owner, block, model, withheld, problems)
            )
        filled = [
            Message(message.role, contents[index]) if index in contents else message
            for index, message in enumerate(messages)
        ]
        is_whole = all(content[place]["type"] != "text" for content, place in places)
        return Filled(filled, problems, is_whole)

    @staticmethod
    def suspects(messages: Sequence[Message], withheld: Collection[str]) -> frozenset[str]:
        """Which files may be why the endpoint refused a request that shows those of `messages`, but for the
        ones `withheld`: those of the newest message with files, or else all. Empty when none was shown."""
        shown = [
            refs
            for each in messages
            if (refs := {block["source"]["ref"] for block in each.content if has_artifact_source(block)})
        ]
        if not shown or not (newest := shown[-1] - set(withheld)):
            return frozenset().union(*shown) - set(withheld)
        return frozenset(newest)

    def mark_rejected(self, owner: str, model: str, refs: Collection[str]) -> None:
        """The model's endpoint took a request without these files that it had refused with them: this process
        shows them to it no more."""
        for ref in refs:
            self._refused[owner, ref, model] = None

    async def _filled(
        self, owner: str, block: Block, model: str, withheld: Collection[str], problems: list[str]
    ) -> Block:
        ref = block["source"]["ref"]
        if ref in withheld or (owner, ref, model) in self._refused:
            return _instead(block, f"[{ref} {REFUSED}]")
        try:
            row = await self._store.get(owner, ref)
            if row.size != block["source"]["size"]:  # the budget was computed with that size
                return _instead(block, f"[{ref} cannot be shown: it is not what was attached.]")
            data = await self._store.read(row, 0, row.size)
        except NotFound:
            return _instead(block, f"[{ref} cannot be shown: it was removed.]")
        except ArtifactDamaged as error:
            problems.append(f"An attached file cannot be shown to the model. {error.message}")
            return _instead(block, f"[{ref} cannot be shown: its content is damaged or missing.]")
        except StorageError as error:
            log.warning("attachment_not_read", ref=ref, code=error.code, error=str(error))
            problems.append(f"An attached file, {ref}, cannot be shown to the model: it cannot be read now.")
            return _instead(block, f"[{ref} cannot be shown: it cannot be read now.]")
        data = await asyncio.to_thread(base64.b64encode, data)
        media_type = block["source"]["media_type"]
        source = {"type": "base64", "media_type": media_type, "data": data.decode()}
        return {**block, "source": source}

    async def _attached(self, row: ArtifactRow, budget: int) -> Attached:
        shown, text, tokens = await self._shown(row, budget)
        return Attached(
            ref=row.ref,
            name=row.name or row.ref,
            mime=row.mime,
            size=row.size,
            shown=shown,
            text=text,
            tokens=tokens,
        )

    async def _shown(self, row: ArtifactRow, budget: int) -> _Shown:
        if row.kind in TEXTS:
            return await self._as_text(row, budget)
        if row.kind == "image":
            return await self._as_image(row)
        if row.kind == "pdf":
            return await self._as_document(row)
        return _compact(row, "A file of this type cannot be shown to you.")

    async def _as_text(self, row: ArtifactRow, budget: int) -> _Shown:
        if row.size <= INLINE_BYTES:
            text = (await self._store.read(row, 0, row.size)).decode()
            if estimate_tokens(text) <= min(budget, self._settings.artifact_tokens):
                return _Shown("text", text)
        return _compact(row, "It is too long to be shown whole.")

    async def _as_image(self, row: ArtifactRow) -> _Shown:
        if row.mime not in IMAGE_TYPES:
            return _compact(row, f"An image of the type {row.mime} cannot be shown to you.")
        if encoded(row.size) > IMAGE_ENCODED:
            return _compact(row, f"It has more than {IMAGE_ENCODED // 4 * 3:,} bytes: {TOO_MANY}")
        # The header may stand behind a lot that a camera wrote: all that is read at once is looked through.
        size = image_size(await self._store.read(row, 0, CHUNK))
        if size is None:
            return _compact(
                row, "Its header does not tell its size in pixels, so that it cannot be shown to you."
            )
        if max(size) > IMAGE_SIDE:
            return _compact(row, f"It has more than {IMAGE_SIDE:,} pixels a side: {TOO_MANY}")
        return _Shown("image", tokens=image_tokens(*size))

    async def _as_document(self, row: ArtifactRow) -> _Shown:
        if encoded(row.size) > REQUEST_ENCODED:
            return _compact(row, f"It has more than {REQUEST_ENCODED // 4 * 3:,} bytes: {TOO_MANY}")
        data = await self._store.read(row, 0, row.size)
        if await asyncio.to_thread(is_locked, data):
            return _compact(row, "It is encrypted, so that it cannot be shown to you.")
        pages = await asyncio.to_thread(pages_of, [data])
        if pages is not None and pages > DOCUMENT_PAGES:
            return _compact(row, f"It has {pages:,} pages: at most {DOCUMENT_PAGES} can be shown to you.")
        return _Shown("document", tokens=document_tokens(row.size, pages))


def _compact(row: ArtifactRow, why_not: str) -> _Shown:
    """The compact form of a file that the API would refuse, as far as its bytes show it, with the reason."""
    return _Shown("compact", render(row, note=f"{ATTACHED_HERE} {why_not}"))


def _unseen(block: Block, model: str, problems: list[str]) -> Block:
    ref, what = block["source"]["ref"], UNSEEN.get(block["type"], "such files")
    problems.append(f"{model} does not look at {what}: what is attached is described to it, and not shown.")
    return _instead(block, f"[{ref} {BLIND}]")


def _instead(block: Block, text: str) -> Block:
    marks = {"cache_control": block["cache_control"]} if "cache_control" in block else {}
    return {**text_block(text), **marks}

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
from typing import NamedTuple

import structlog

from gateway.artifacts.artifact_store import ArtifactStore, Origin
from gateway.artifacts.attachment_budget import has_artifact_source, left_out
from gateway.artifacts.content import bytes_content
from gateway.artifacts.file_reading import ShownFile, read_file
from gateway.bounded_dict import BoundedDict
from gateway.errors import ArtifactDamaged, NotFound, StorageError
from gateway.lexical import estimate_tokens
from gateway.messages import Attached, Block, FileReading, Message, text_block
from gateway.settings import Settings
from gateway.storage.artifacts import ArtifactRow

log = structlog.get_logger(__name__)

INLINE_SHARE = 4
"""All texts that one message shows whole take at most so many times the tokens of one."""

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
                file = await read_file(self._store, row, min(budget, self._settings.artifact_tokens))
                budget -= estimate_tokens(file.text) if file.shown == "text" else 0
                files.append(_attached(row, file))
        except BaseException:
            await self.withdraw(origin.owner, made)
            raise
        return AttachedFiles(tuple(files), tuple(made))

    async def reading(self, row: ArtifactRow) -> FileReading | None:
        """What the model gets of an artifact that is the only file of a message; None where it cannot be read
        now."""
        try:
            return (await read_file(self._store, row, self._settings.artifact_tokens)).reading
        except (StorageError, NotFound):
            return None

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


def _attached(row: ArtifactRow, file: ShownFile) -> Attached:
    return Attached(
        ref=row.ref,
        name=row.name or row.ref,
        mime=row.mime,
        size=row.size,
        shown=file.shown,
        text=file.text,
        tokens=file.tokens,
        reading=file.reading,
    )


def _unseen(block: Block, model: str, problems: list[str]) -> Block:
    ref, what = block["source"]["ref"], UNSEEN.get(block["type"], "such files")
    problems.append(f"{model} does not look at {what}: what is attached is described to it, and not shown.")
    return _instead(block, f"[{ref} {BLIND}]")


def _instead(block: Block, text: str) -> Block:
    marks = {"cache_control": block["cache_control"]} if "cache_control" in block else {}
    return {**text_block(text), **marks}

"""The import of chats from exports of other products: first what is in a file, then those that were chosen.

A chat has the same id each time, so that what is there already is told of and left alone. Its turns are
seeded ones: nothing in them is taken for the user's word.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Collection, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from gateway.artifacts.attached_files import Upload
from gateway.auth import Principal
from gateway.cancellation_shield import finish
from gateway.errors import BadImport, Draining, GatewayError, SessionIdTaken
from gateway.history.foreign_chats.chat_file import Found, chats_in
from gateway.history.foreign_chats.foreign_chat import ForeignChat, ForeignMessage, UnreadableChat
from gateway.ids import now_ms
from gateway.service.dependencies import Dependencies
from gateway.service.seeding import SeedMessage, seed
from gateway.service.upload_buffer import UploadBuffer
from gateway.storage.sessions import SessionRow
from gateway.turn.in_flight import InFlight

State = Literal["new", "there", "imported", "refused"]
UNASKED = "…"
"""Of a chat that the assistant began: what stands for the message of the user."""


@dataclass(frozen=True, slots=True)
class ForeignOutcome:
    """What became of the chat with this number in the file, from 1: it may be imported (new), was before
    (there), is now (imported), or is not, for a `reason` (refused)."""

    number: int
    state: State
    chat: ForeignChat | None = None
    session_id: str | None = None
    reason: str | None = None


class ForeignChats:
    """One per process."""

    def __init__(self, deps: Dependencies, in_flight: InFlight, files: UploadBuffer) -> None:
        self._deps = deps
        self._draining = in_flight.draining
        self._files = files

    async def outcomes(
        self, who: Principal, chunks: AsyncIterable[bytes], *, only: Collection[int] | None, preview: bool
    ) -> AsyncGenerator[ForeignOutcome]:
        """Each chat of the file in its order, as it is read: with a `preview` what there is, else imported,
        of those `only` (None: all). Raises errors.BadImport, before the first: it is no export;
        errors.TooLarge, errors.QueueFull, errors.Draining."""
        if self._draining.is_set():
            raise Draining("The server is shutting down. Import the file again in a moment.")
        async with self._files.received(chunks, who.user_id) as file:
            number = 0
            async with aclosing(_read(chats_in(file))) as found:
                async for each in found:
                    number += 1
                    if only is None or number in only:
                        yield await self._outcome(who, number, each, preview=preview)
            if not number:
                raise BadImport("There are no chats in this file.")

    async def _outcome(self, who: Principal, number: int, found: Found, *, preview: bool) -> ForeignOutcome:
        if isinstance(found, UnreadableChat):
            return ForeignOutcome(number, "refused", reason=str(found))
        name = f"{found.source}-{found.id}"
        session_id = await self._deps.session_ids.new(who.user_id, name)
        if await self._deps.copies.taken(session_id):
            return ForeignOutcome(number, "there", found, session_id)
        if preview:
            return ForeignOutcome(number, "new", found)
        try:
            # To its end: else it would be unknown whether archives that were written belong to a session.
            await finish(seed(self._deps, _session_of(found, session_id, who.user_id), _seeds(found)))
        except SessionIdTaken:
            return ForeignOutcome(number, "there", found, session_id)
        except GatewayError as error:
            return ForeignOutcome(number, "refused", found, reason=error.message)
        return ForeignOutcome(number, "imported", found, session_id)


def _session_of(chat: ForeignChat, session_id: str, owner: str) -> SessionRow:
    now = now_ms()
    made = min(chat.created_at or now, now)
    used = min(max(chat.updated_at or made, made), now)
    return SessionRow(session_id, owner, chat.title, made, used, 0)


def _seeds(chat: ForeignChat) -> Sequence[SeedMessage]:
    found = [_seed(each) for each in chat.messages]
    if found[0].role == "assistant":
        found.insert(0, SeedMessage("user", UNASKED, at=found[0].at))
    return found


def _seed(message: ForeignMessage) -> SeedMessage:
    files = [Upload(each.text.encode(), each.name, "text/plain") for each in message.files]
    return SeedMessage(message.role, message.text or UNASKED, files, message.at)


async def _read(found: Iterator[Found]) -> AsyncGenerator[Found]:
    """One after another, each read in a thread."""
    while (each := await asyncio.to_thread(next, found, None)) is not None:
        yield each

"""One thread: its session is followed in the log, and what a turn says is brought to the messenger.

    log ──frames──▶ reader: draws the turn ──changed──▶ writer: posts, edits until the messages say it
         ▲                                                │
         └── cursor, once a turn stands there whole ◀─────┘

A turn is drawn from its first event on, also after a restart; the messages that are there already are edited.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any

import structlog

from gateway.adapters.messengers.base import (
    Drawn,
    MessageGone,
    MessageRejected,
    Messenger,
    MessengerBusy,
    Question,
    Thread,
)
from gateway.adapters.messengers.journal import Journal, Posted
from gateway.adapters.messengers.turn_drawing import TurnDrawing
from gateway.backlog import doubled
from gateway.client import AsyncGatewayClient, Frame
from gateway.errors import GatewayError, RequestRefused
from gateway.ids import OPERATION_PREFIX

FIRST_PAUSE, LAST_PAUSE = 0.5, 30.0
"""Seconds between two attempts to reach a messenger that fails."""
GONE = ""
"""In the place of a message's id: somebody deleted it, and it stays so."""
FROM_THE_END = 10**12
"""A seq behind every log's head."""

log = structlog.get_logger(__name__)


class ThreadDelivery:
    """`run` until it is cancelled. `turn` is what is being delivered."""

    def __init__(
        self, thread: Thread, client: AsyncGatewayClient, messenger: Messenger, journal: Journal
    ) -> None:
        self.turn: TurnDrawing | None = None
        self._thread = thread
        self._client = client
        self._messenger = messenger
        self._journal = journal
        self._changed = asyncio.Event()
        self._is_whole = asyncio.Event()

    async def run(self) -> None:
        """Raises GatewayError: the gateway or the messenger refuses."""
        self.turn = None
        self._changed.clear()
        self._is_whole.clear()
        tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._write())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.wait(tasks)

    async def go_back(self) -> None:
        """The log ends before what was delivered: the gateway has a backup. What was never posted here is
        delivered, as a turn that began there before anybody looked; where no turn is known, nothing is."""
        try:
            page = await self._client.events(self._thread.session_id, types="done", before=FROM_THE_END)
        except GatewayError as error:  # the next attempt asks again
            self._log("log_not_read", error)
            return
        known = [each["seq"] for each in page["events"] if self._journal.posted(each["turn_id"])]
        self._journal.delivered(self._thread, max(known, default=page["head"]))

    async def _read(self) -> None:
        thread = self._thread
        cursor = self._journal.cursor(thread)
        following = self._client.follow_session(thread.session_id, after=cursor, patience=None)
        async with aclosing(following) as frames:
            async for frame in frames:
                await self._take(frame)

    async def _take(self, frame: Frame) -> None:
        turn_id = frame.load()["turn_id"]
        if self.turn is None:
            if frame.event != "turn_start" or turn_id.startswith(OPERATION_PREFIX):
                assert frame.seq is not None
                self._journal.delivered(self._thread, frame.seq)
                return  # feedback, or work beside turns
            self.turn = TurnDrawing(f"{self._messenger.name}-")
        elif turn_id != self.turn.turn_id:
            return
        self.turn.take(frame)
        self._changed.set()
        if self.turn.is_over:
            await self._is_whole.wait()
            self._is_whole.clear()
            self._journal.delivered(self._thread, self.turn.seq)
            self.turn = None

    async def _write(self) -> None:
        failures = 0
        while True:
            await self._changed.wait()
            self._changed.clear()
            turn = self.turn
            if turn is None:
                continue
            is_over = turn.is_over
            try:
                await self._deliver(turn)
                failures = 0
            except MessengerBusy as error:
                failures += 1
                pause = doubled(FIRST_PAUSE, failures, LAST_PAUSE)
                log.warning("messenger_busy", error=error.message, again_in=pause)
                await asyncio.sleep(pause)
                self._changed.set()
                continue
            if is_over:
                self._is_whole.set()

    async def _deliver(self, turn: TurnDrawing) -> None:
        """Brings the messages of the turn to what it says now."""
        posted = self._journal.posted(turn.turn_id)
        number = 0
        while number < len(self._drawn(turn)):
            before = posted.get(str(number))
            if before is None or before.message is None:
                await self._post(turn, number, is_unknown=before is not None)
            elif before.message != GONE and before.digest != self._drawn(turn)[number].digest:
                await self._edit(turn, number, before.message)
            number += 1
        if turn.is_over:
            await self._upload(turn, posted)
        for part, former in posted.items():
            if part.isdigit() and int(part) >= number:  # an attempt was discarded that had said more
                if former.message:
                    await self._delete(former.message)
                self._journal.withdraw(turn.turn_id, part)

    async def _upload(self, turn: TurnDrawing, posted: Mapping[str, Posted]) -> None:
        """The files that the turn made, each once."""
        for ref, about in turn.files_to_show():
            before = posted.get(ref)
            if before is not None and before.message is not None:
                continue
            key = f"{turn.turn_id}.{ref}"
            message = await self._messenger.find(self._thread, key) if before is not None else None
            if message is None:
                self._journal.intend(self._thread, turn.turn_id, ref)
                message = await self._send_file(key, ref, about)
            self._journal.record(turn.turn_id, ref, message, "")

    async def _send_file(self, key: str, ref: str, about: Mapping[str, Any]) -> str:
        try:
            content = await self._client.artifact_content(ref)
            name = str(about.get("name") or ref)
            return await self._messenger.upload(self._thread, key, name, str(about["mime"]), content)
        except (MessageGone, MessageRejected, RequestRefused) as error:
            log.warning("file_not_delivered", ref=ref, error=error.message)
            return GONE

    def _drawn(self, turn: TurnDrawing) -> Sequence[Drawn]:
        return turn.messages(self._messenger.message_size)

    async def _post(self, turn: TurnDrawing, number: int, *, is_unknown: bool) -> None:
        key = f"{turn.turn_id}.{number}"
        if is_unknown and (found := await self._messenger.find(self._thread, key)) is not None:
            self._journal.record(turn.turn_id, str(number), found, "")
            await self._edit(turn, number, found)
            return
        self._journal.intend(self._thread, turn.turn_id, str(number))
        sent = _Sent(turn, number, self._messenger.message_size)
        message = await self._try_post(key, sent)
        self._journal.record(turn.turn_id, str(number), message, sent.digest)

    async def _edit(self, turn: TurnDrawing, number: int, message: str) -> None:
        sent = _Sent(turn, number, self._messenger.message_size)
        key = f"{turn.turn_id}.{number}"
        try:
            await self._messenger.edit(self._thread, message, key, sent)
        except MessageGone as error:
            self._log("message_gone", error)
            message = GONE
        except MessageRejected as error:
            self._log("edit_rejected", error)
            drawn = sent()
            if drawn.is_final or any(isinstance(each, Question) for each in drawn.items):
                message = await self._try_post(key, sent)  # else the next change is tried again
        self._journal.record(turn.turn_id, str(number), message, sent.digest)

    async def _try_post(self, key: str, sent: "_Sent") -> str:
        """The id of the message; GONE: the messenger does not take it."""
        try:
            return await self._messenger.post(self._thread, key, sent)
        except (MessageGone, MessageRejected) as error:
            self._log("message_not_posted", error)
            return GONE

    def _log(self, event: str, error: GatewayError) -> None:
        log.warning(event, code=error.code, error=error.message, session_id=self._thread.session_id)

    async def _delete(self, message: str) -> None:
        with suppress(MessageGone, MessageRejected):
            await self._messenger.delete(self._thread, message)


class _Sent:
    """Draws a message when the messenger is about to send it, and remembers what that was."""

    def __init__(self, turn: TurnDrawing, number: int, size: int) -> None:
        self.digest = ""
        self._turn, self._number, self._size = turn, number, size

    @property
    def is_over(self) -> bool:
        return self._turn.is_over

    def __call__(self) -> Drawn:
        drawn = self._turn.messages(self._size)
        # Fewer, when an attempt was discarded while the messenger waited: the message is deleted next.
        message = drawn[self._number] if self._number < len(drawn) else Drawn((), self._turn.seq)
        self.digest = message.digest
        return message

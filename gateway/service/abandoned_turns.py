"""Turns of clients whose Stop is only a closed connection: cancelled when no reader came back.

release ──grace──▶ does anybody here read it? ──no──▶ does another replica say so? ──no──▶ cancel

A replica that receives no signals from the others cannot know their readers, and leaves the turn as it is.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any

import structlog

from gateway.errors import GatewayError
from gateway.service.follower import StreamRange
from gateway.storage.replica_signals import Signal, Signals
from gateway.storage.turns import TurnRow
from gateway.storage.turns.store import Turns

GRACE = 15.0
"""Seconds: SDKs repeat a request after 0.5 to 8 seconds."""
MAX_GRACE = 300.0
ANSWER_TIMEOUT = 2.0
"""Seconds that other replicas have to report a reader. The question reaches them within milliseconds."""

log = structlog.get_logger(__name__)


class Releases:
    """One per process. Kept in memory alone: a turn whose release is forgotten goes on."""

    def __init__(
        self,
        turns: Turns,
        signals: Signals,
        cancel: Callable[[TurnRow], Awaitable[object]],
        *,
        shared: bool,
    ) -> None:
        """`cancel` stops a turn; `shared`: other replicas may have readers."""
        self._turns = turns
        self._signals = signals
        self._cancel = cancel
        self._is_shared = shared
        self._readers = Counter[tuple[str, str | None]]()
        self._waiting: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._asking: set[tuple[str, str]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        signals.on("unread", self._answer)
        signals.on("read", lambda subject: self._keep(_turn_of(subject)))

    @contextmanager
    def reading(self, place: StreamRange) -> Generator[None]:
        """While the context is open, a reader at that place keeps the turns that it reads. If the reader
        leaves before the end and `place` asks for it, its turn is released."""
        session_id, turn = place.session_id, place.turn
        reader = (session_id, turn.id if turn is not None else None)
        self._readers[reader] += place.live
        for waiting in [each for each in self._waiting if place.live and each[0] == session_id]:
            if turn is None or turn.id == waiting[1]:
                self._keep(waiting)
        left_early = True
        try:
            yield
            left_early = False
        finally:
            self._readers[reader] -= place.live
            if not self._readers[reader]:
                del self._readers[reader]
            if left_early and turn is not None and place.release_after is not None:
                self.release(turn, place.release_after)

    def release(self, turn: TurnRow, grace: float) -> None:
        """Cancels the turn when it has no reader for `grace` seconds; a former release of it is replaced. A
        turn that waits for a person or a client then is left as it is."""
        if self._closed:
            return
        named = (turn.session_id, turn.id)
        self._keep(named)
        self._waiting[named] = self._hold(self._wait(turn, grace))

    def is_left(self, turn: TurnRow) -> bool:
        """Whether its reader has gone, and has not come back yet."""
        return (turn.session_id, turn.id) in self._waiting

    async def close(self) -> None:
        """Shutdown: what was released is forgotten."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _wait(self, turn: TurnRow, grace: float) -> None:
        named = (turn.session_id, turn.id)
        me = asyncio.current_task()
        try:
            await asyncio.sleep(grace)
            if self._is_read(*named):
                return
            if self._is_shared:
                self._asking.add(named)
                asked_at = asyncio.get_running_loop().time()
                await self._turns.notify(Signal("unread", "/".join(named)))
                await asyncio.sleep(ANSWER_TIMEOUT)
                if not self._signals.has_received_since(asked_at):
                    log.warning("release_forgotten", turn_id=turn.id, code="no_answer_heard")
                    return
            now = await self._turns.get(*named, turn.session_owner)
            del self._waiting[named]  # from here on it is too late to keep it
            if now.status in {"accepted", "running"}:
                log.info("turn_cancelled_unread", session_id=turn.session_id, turn_id=turn.id)
                await self._cancel(now)
        except GatewayError as error:  # the session is gone, or the database cannot be asked
            log.info("release_forgotten", turn_id=turn.id, code=error.code)
        finally:
            self._asking.discard(named)
            if self._waiting.get(named) is me:
                del self._waiting[named]

    def _is_read(self, session_id: str, turn_id: str) -> bool:
        return self._readers[session_id, turn_id] + self._readers[session_id, None] > 0

    def _keep(self, named: tuple[str, str]) -> None:
        if (task := self._waiting.pop(named, None)) is not None:
            task.cancel()

    def _answer(self, subject: str) -> None:
        """Answers a replica's question, also this one's own: whether the turn has a reader or may still get
        one."""
        named = _turn_of(subject)
        if self._is_read(*named) or (named in self._waiting and named not in self._asking):
            self._hold(self._notify_read(subject))

    async def _notify_read(self, subject: str) -> None:
        try:
            await self._turns.notify(Signal("read", subject))
        except GatewayError as error:
            log.info("reader_not_told", code=error.code)

    def _hold(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _turn_of(subject: str) -> tuple[str, str]:
    session_id, _, turn_id = subject.partition("/")
    return session_id, turn_id

"""Has the keeper learn from sessions, after their turns or at their end, while nobody waits for it."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import structlog

from gateway.errors import GatewayError, MemoryFull, NotFound
from gateway.events.envelope import StoredEvent
from gateway.ids import now_ms
from gateway.memory.keeper.keeper import Keeper, Told
from gateway.memory.memories import Changed
from gateway.memory.room import households_of
from gateway.service.telling import Telling
from gateway.storage.base import SessionRow, StoredMessage, TurnRow
from gateway.storage.memories import Scope
from gateway.turn.parts import Parts

MOST_WAITING = 1000
"""Sessions that may wait to be learned from; more are passed over."""
MOST_KNOWN = 10_000
"""Turns that run, and sessions that were read, of which something is remembered."""
MOST_ATTEMPTS = 3
"""Attempts with one session before it is passed over."""
FIRST_RETRY, LAST_RETRY = 5.0, 300.0
"""Seconds after a failure until the next attempt, with whichever session: doubled each time, up to the
last."""
DRAIN_PATIENCE = 2.0
"""Seconds that waiting sessions get when the server stops."""
CONTEXT = 10
"""Messages before the new ones that are loaded, to understand those by."""

T = TypeVar("T")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Due:
    """A session to learn from: `turn_id` is the first turn that was not learned from (None: see how far it
    was read), `at` when its last message was said, Unix ms."""

    scope: Scope
    turn_id: str | None
    at: int
    failures: int = 0


class Learning:
    """One per process, on its event loop. It is a `Watcher` of turns and an observer of the bus; sessions
    that are over are told to `session_ended`."""

    def __init__(self, parts: Parts, keeper: Keeper | None, *, first_retry: float = FIRST_RETRY) -> None:
        self._parts = parts
        self._keeper = keeper
        self._mode = parts.settings.memory_learning if keeper is not None else "off"
        self._first_retry = first_retry
        self._turns: OrderedDict[str, TurnRow] = OrderedDict()
        self._waiting: OrderedDict[str, _Due] = OrderedDict()
        self._read: OrderedDict[str, int] = OrderedDict()
        self._wake, self._idle = asyncio.Event(), asyncio.Event()

    # What it hears

    def recall(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """Of a turn's past nothing is needed."""

    def take_up(self, turn: TurnRow) -> None:
        """The turn runs here from now on."""
        if self._mode == "turns":
            _remember(self._turns, turn.id, turn)

    def watch(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """An observer of the bus: quick, and never raises."""
        for event in events:
            if event.type == "done" and (turn := self._turns.pop(event.turn_id, None)) is not None:
                scope = self._scope(turn.owner, turn.role_id, turn.project_id, session_id)
                self._add(_Due(scope, turn.id, now_ms()), session_id)

    def session_ended(self, session: SessionRow) -> None:
        """Nobody uses the session at the moment. Quick, and never raises."""
        if self._mode == "sessions":
            scope = self._scope(session.owner, session.role_id, session.project_id, session.id)
            self._add(_Due(scope, None, session.updated_at), session.id)

    # What it does

    async def run(self, telling: Telling) -> None:
        """Learns until it is cancelled, from one session at a time. What came of it, and of the suggestions
        of tools, is told in the sessions' logs."""

        async def tell(session_id: str, changed: Sequence[Changed]) -> None:
            await telling.tell_changes(session_id, changed)

        if self._keeper is not None:
            self._keeper.told = tell
        retry = self._first_retry
        while True:
            if not self._waiting:
                self._idle.set()
                self._wake.clear()
                await self._wake.wait()
                continue
            session_id, due = self._waiting.popitem(last=False)
            if await self._attempt(session_id, due, tell):
                retry = self._first_retry
            else:
                await asyncio.sleep(retry)
                retry = min(2 * retry, LAST_RETRY)

    async def settled(self) -> None:
        """Returns when everything that it heard of was learned from, or given up."""
        await self._idle.wait()

    async def close(self) -> None:
        """Waits, shortly, for what is due; `run` must still be running."""
        try:
            await asyncio.wait_for(self.settled(), DRAIN_PATIENCE)
        except TimeoutError:
            log.warning("memory_learning_dropped", waiting=len(self._waiting))

    def _scope(self, owner: str, role_id: str | None, project_id: str | None, session_id: str) -> Scope:
        return Scope(owner, role_id, project_id, session_id, households_of(self._parts.settings, owner))

    def _add(self, due: _Due, session_id: str) -> None:
        known = self._waiting.get(session_id)
        if known is None and len(self._waiting) >= MOST_WAITING:
            log.warning("memory_learning_dropped", session_id=session_id, waiting=len(self._waiting))
            return
        # What was not learned from begins with the earliest turn.
        self._waiting[session_id] = due if known is None else replace(due, turn_id=known.turn_id)
        self._idle.clear()
        self._wake.set()

    async def _attempt(self, session_id: str, due: _Due, tell: Told) -> bool:
        """False when it failed."""
        try:
            await tell(session_id, await self._learn(session_id, due))
        except NotFound:
            pass  # the session was deleted
        except MemoryFull as full:
            # Its message tells of memories.
            log.warning("memory_full", session_id=session_id, count=(full.details or {}).get("count"))
        except GatewayError as error:
            log.warning("memory_learning_failed", session_id=session_id, code=error.code, error=error.message)
            if error.retryable and due.failures + 1 < MOST_ATTEMPTS:
                self._put_back(session_id, replace(due, failures=due.failures + 1))
            return False
        except Exception:
            # A mistake of ours with one session must not end the learning from all others.
            log.exception("memory_learning_failed", session_id=session_id)
            return False
        return True

    def _put_back(self, session_id: str, due: _Due) -> None:
        newer = self._waiting.get(session_id)
        self._waiting[session_id] = due if newer is None else replace(newer, turn_id=due.turn_id)

    async def _learn(self, session_id: str, due: _Due) -> Sequence[Changed]:
        messages, after = await self._unread(session_id, due)
        if not messages:
            return ()
        parts = self._parts
        assert self._keeper is not None  # nothing is due otherwise
        changed = await self._keeper.learn(
            due.scope,
            messages,
            session_id=session_id,
            model=await parts.turns.model(session_id) or parts.settings.model,
            after=after,
            said_at=due.at,
        )
        if due.turn_id is None:
            _remember(self._read, session_id, messages[-1].position)
        return changed

    async def _unread(self, session_id: str, due: _Due) -> tuple[Sequence[StoredMessage], int]:
        """Messages, and the position after which they were not learned from."""
        sessions = self._parts.sessions
        if due.turn_id is not None:
            messages = (await sessions.history(session_id)).messages
            first = next((item.position for item in messages if item.turn_id == due.turn_id), None)
            if first is None:
                return (), 0
            return [item for item in messages if item.position >= first - CONTEXT], first - 1
        read = self._read.get(session_id, 0)
        return await sessions.messages(session_id, after=max(0, read - CONTEXT)), read


def _remember(known: OrderedDict[str, T], name: str, value: T) -> None:
    known[name] = value
    known.move_to_end(name)
    if len(known) > MOST_KNOWN:
        known.popitem(last=False)

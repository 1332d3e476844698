"""The background worker that learns from sessions, after their turns or at their end.

    a turn begins ──begin──▶ the session is unread from there on    (gateway.db: survives a crash)
    the turn or the session ends ──▶ queued ──learn──▶ memories ──advance──▶ the session is read

One process looks for what others left. At its start it queues all unread sessions: a stop of the gateway ends
sessions too.
"""

import asyncio
from collections.abc import Sequence
from functools import partial

import structlog

from gateway.backlog import Backlog
from gateway.bounded_dict import BoundedDict
from gateway.errors import (
    Conflict,
    GatewayError,
    LearningFailed,
    LimitReached,
    LimitsUnavailable,
    MemoryFull,
    NotFound,
    StorageError,
)
from gateway.events.envelope import StoredEvent
from gateway.ids import now_ms
from gateway.memory.changes import Changed
from gateway.memory.extraction.extractor import Extractor, PublishChanges
from gateway.memory.extraction.reconciler import TurnTimes
from gateway.memory.households import households_of
from gateway.service.dependencies import Dependencies
from gateway.service.session_events import SessionEvents
from gateway.storage.memories import Scope
from gateway.storage.messages import StoredMessage
from gateway.storage.sessions import SessionRow
from gateway.storage.sessions.learning_progress import LearnedSessions
from gateway.storage.turns import TurnRow
from gateway.turn.influence import brought_along

MAX_SESSIONS = 10_000
"""Running turns that the worker knows of."""
DRAIN_TIMEOUT = 2.0
"""Seconds for queued sessions when the server stops."""
CONTEXT = 10
"""Messages before the new ones that are loaded as context."""
BATCH = 20
"""Sessions that are looked up at once."""
LOOK_EVERY = 600.0
"""Seconds between two looks for sessions that a process left unread as it ended."""
MAX_WAITING = 1000
"""Sessions in the queue."""
MAX_ATTEMPTS = 3
"""Attempts with one session until its next turn, its next end or the next start."""
FIRST_RETRY, LAST_RETRY = 5.0, 300.0
"""Seconds after a failure until the next attempt: doubled each time, up to the last."""

_UNUSABLE = frozenset((LearningFailed.code, "context_overflow", "content_refused"))
"""Errors that the messages themselves cause."""

log = structlog.get_logger(__name__)


class LearningWorker:
    """One per process, on its event loop. It is a `TurnObserver` of turns and an observer of the bus;
    `session_ended` reports sessions that are over."""

    def __init__(
        self,
        deps: Dependencies,
        extractor: Extractor | None,
        learned: LearnedSessions,
        *,
        first_retry: float = FIRST_RETRY,
    ) -> None:
        self._deps = deps
        self._extractor = extractor
        self._learned = learned
        self._mode = deps.settings.memory_learning if extractor is not None else "off"
        self._first_retry = first_retry
        self._turns = BoundedDict[str, TurnRow](MAX_SESSIONS)
        self._begun = BoundedDict[str, str](MAX_SESSIONS)
        self._marking = asyncio.Lock()
        self._backlog = Backlog[str, Scope](
            limit=MAX_WAITING, first_retry=first_retry, last_retry=LAST_RETRY, attempts=MAX_ATTEMPTS
        )
        self._looked_to: str | None = None
        self._before = 0
        self._to_mark = asyncio.Event()

    # Notifications

    def replay(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """Does nothing: the past of a turn is not needed."""

    def take_up(self, turn: TurnRow) -> None:
        """The turn runs in this process from now on."""
        if self._mode == "off":
            return
        self._begun[turn.id] = turn.session_id
        self._to_mark.set()
        if self._mode == "turns":
            self._turns[turn.id] = turn

    def watch(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """An observer of the bus: quick, and never raises."""
        for event in events:
            if event.type == "done" and (turn := self._turns.pop(event.turn_id, None)) is not None:
                self._add(
                    session_id, self._scope(turn.session_owner, turn.role_id, turn.project_id, session_id)
                )

    def session_ended(self, session: SessionRow) -> None:
        """The session is not in use. Quick, and never raises."""
        if self._mode == "sessions":
            self._add(session.id, self._scope_of(session))

    # The work

    async def run(self, events: SessionEvents) -> None:
        """Learns until it is cancelled, from one session at a time, while `mark_begun` runs concurrently. The
        changes, also those of tools' suggestions, are published in the sessions' logs."""

        if self._extractor is not None:
            self._extractor.publish_changes = events.add_changes
        self._warn()
        await self._learn_from_all(events.add_changes)

    async def look(self) -> None:
        """Looks for unread sessions until it is cancelled: all of them first, then those that have not been
        used or read for a while. If sessions are learned from at their end, being idle does not end them."""
        age = 0.0
        while self._mode == "turns" or (self._mode == "sessions" and not age):
            self._looked_to, self._before = "", now_ms() - int(age * 1000)
            self._backlog.look()
            age = LOOK_EVERY
            await asyncio.sleep(age)
        await asyncio.Event().wait()

    async def mark_begun(self) -> None:
        """Records the sessions of new turns as unread, until it is cancelled: so they are read also after a
        crash."""
        while True:
            await self._mark()  # at once: a former run may have failed in the middle of it
            await self._to_mark.wait()
            self._to_mark.clear()

    @property
    def waiting(self) -> int:
        """Sessions in the queue."""
        return len(self._backlog)

    async def settled(self) -> None:
        """Returns when the queue is empty."""
        await self._backlog.settled()

    async def close(self) -> None:
        """Waits up to DRAIN_TIMEOUT for the queue; `run` must still be running. The rest is for the next
        start."""
        try:
            await asyncio.wait_for(self.settled(), DRAIN_TIMEOUT)
        except TimeoutError:
            log.info("memory_learning_put_off", waiting=self.waiting)

    def _warn(self) -> None:
        settings = self._deps.settings
        summarised = settings.session_summaries and settings.summary_after is not None
        if self._mode == "sessions" and settings.archive_after is None and not summarised:
            log.warning(
                "memory_learning_never",
                error="No session ever ends, so nothing is learned before the next start: set "
                "GATEWAY_ARCHIVE_AFTER or GATEWAY_SUMMARY_AFTER, or GATEWAY_MEMORY_LEARNING=turns.",
            )

    def _scope(self, owner: str, role_id: str | None, project_id: str | None, session_id: str) -> Scope:
        return Scope(owner, role_id, project_id, session_id, households_of(self._deps.settings, owner))

    def _scope_of(self, session: SessionRow) -> Scope:
        return self._scope(session.owner, session.role_id, session.project_id, session.id)

    def _add(self, session_id: str, scope: Scope) -> None:
        if not self._backlog.add(session_id, scope):
            self._looked_to, self._before = "", now_ms() + 1  # it is found in the database, later

    # Unread sessions, in the database

    async def _mark(self) -> None:
        async with self._marking:
            while self._begun:
                begun = list(self._begun.items())
                self._begun.clear()
                # What is asked of the database at once is one transaction.
                await asyncio.gather(*(self._begin(turn_id, session_id) for turn_id, session_id in begun))

    async def _begin(self, turn_id: str, session_id: str) -> None:
        try:
            await self._learned.begin(session_id, turn_id)
        except GatewayError as error:
            _warn_of(session_id, error)

    # Reading

    async def _learn_from_all(self, publish: PublishChanges) -> None:
        while True:
            if not self._backlog and await self._looked():
                continue
            await self._backlog.ready()
            for session_id, scope in self._backlog.take().items():
                await self._attempt(session_id, scope, publish)

    async def _looked(self) -> bool:
        """Queues unread sessions of the database; False when there are no more."""
        if self._looked_to is None:
            return False
        try:
            found = await self._learned.due(before=self._before, after=self._looked_to, limit=BATCH)
            self._looked_to = found[-1][0] if len(found) == BATCH else None
            for session_id, owner in found:
                try:
                    session = await self._deps.sessions.get(session_id, owner)
                    self._backlog.add(session_id, self._scope_of(session))
                except NotFound:  # it was deleted meanwhile
                    continue
                except StorageError:
                    raise
                except Exception:
                    # A bug with one session must not hide the others.
                    log.exception("memory_learning_failed", session_id=session_id)
        except GatewayError as error:  # the database, for now
            log.warning("memory_learning_failed", code=error.code, error=str(error))
            self._looked_to = ""  # anew: to find a session twice changes nothing
            await asyncio.sleep(self._first_retry)
        return True

    async def _attempt(self, session_id: str, scope: Scope, publish: PublishChanges) -> None:
        busy = Conflict(f"Session {session_id} is being learned from already.", retryable=True)
        try:
            async with self._deps.exclusive.hold(f"learning {session_id}", refusal=busy):
                await self._learn_of(session_id, scope, publish)
        except (Conflict, StorageError) as error:  # later messages may be left to read
            if error is not busy:
                _warn_of(session_id, error)
            self._backlog.failed(session_id, scope, gives_up=False)

    async def _learn_of(self, session_id: str, scope: Scope, publish: PublishChanges) -> None:
        read_to: int | None = None
        try:
            await self._mark()
            after = await self._learned.learned_to(session_id)
            if after is None:
                return
            # A message that was edited since no longer counts: the active branch alone is read.
            branch = await self._deps.sessions.branch(session_id)
            messages = await self._deps.sessions.messages(
                session_id, after=max(0, after - CONTEXT), branch=branch
            )
            # The id may belong to another user's session by now: it is not read, and no event goes there.
            session = await self._deps.sessions.get(session_id, scope.user_id)
            # A turn that runs is read when it is over: its model may be about to save the same facts.
            running = await self._deps.turns.open_turn(session_id)
            if running is not None:
                messages = [each for each in messages if each.turn_id != running.id]
            newest = messages[-1].position if messages else after
            others = await self._deps.turns.of_others(session_id, scope.user_id)
            # Nobody has asked to learn from what others may have written.
            brought = await brought_along(self._deps.turns, self._deps.settings, session_id)
            messages = [each for each in messages if each.turn_id not in others | brought]
            read_to = max(after, newest, branch.last if branch is not None and running is None else 0)
            # Of what others read along nothing is learned: the changes would show them what was known.
            if newest > after and session.shared is None:
                changed = await self._learn(session_id, scope, messages, after, brought)
                if changed and await self._is_private(session_id, scope.user_id):
                    await publish(session_id, scope.user_id, changed)
                self._backlog.go_on()
        except MemoryFull as full:
            # Its message contains memories.
            log.info("memory_full", session_id=session_id, count=(full.details or {}).get("count"))
        except (LimitReached, LimitsUnavailable) as error:  # it waits until there is room
            log.info("memory_learning_waits", session_id=session_id, code=error.code)
            self._backlog.failed(session_id, scope, gives_up=False)
            return
        except GatewayError as error:
            _warn_of(session_id, error)
            if not self._gives_up(session_id, scope, error):
                return
        except Exception:
            # A bug with one session must not end the learning from all others.
            log.exception("memory_learning_failed", session_id=session_id)
        self._backlog.done(session_id)
        if read_to is not None:
            await self._advance(session_id, read_to)

    async def _learn(
        self,
        session_id: str,
        scope: Scope,
        messages: Sequence[StoredMessage],
        after: int,
        brought: frozenset[str],
    ) -> Sequence[Changed]:
        deps = self._deps
        assert self._extractor is not None  # nothing is due otherwise
        return await self._extractor.learn(
            scope,
            messages,
            session_id=session_id,
            model=await deps.turns.model(session_id) or deps.settings.model,
            after=after,
            brought=brought,
            turn_times=turn_times(deps, session_id, scope.user_id),
            may_keep=partial(self._is_private, session_id, scope.user_id),
            in_background=True,
        )

    async def _is_private(self, session_id: str, owner: str) -> bool:
        """Whether it is still read by its owner alone: it may be shared while the model is asked. Raises
        errors.NotFound, errors.StorageError."""
        return (await self._deps.sessions.get(session_id, owner)).shared is None

    def _gives_up(self, session_id: str, scope: Scope, error: GatewayError) -> bool:
        """Whether these messages are skipped, because they or the model's answer cannot be used. Failures of
        the endpoint or the database are retried: soon, or after the session's next turn."""
        unusable = error.code in _UNUSABLE
        if isinstance(error, LearningFailed) and error.retryable and not unusable:
            self._backlog.pause()
        if error.retryable and self._backlog.failed(session_id, scope):
            return False
        self._backlog.done(session_id)
        return unusable

    async def _advance(self, session_id: str, to: int) -> None:
        try:
            await self._learned.advance(session_id, to)
        except GatewayError as error:  # it is read again: that changes nothing
            _warn_of(session_id, error)


def turn_times(deps: Dependencies, session_id: str, owner: str) -> TurnTimes:
    """The beginnings of a session's turns; now for an unknown one."""

    async def when(turn_id: str) -> int:
        try:
            return (await deps.turns.get(session_id, turn_id, owner)).created_at
        except NotFound:
            return now_ms()

    return when


def _warn_of(session_id: str, error: GatewayError) -> None:
    log.warning("memory_learning_failed", session_id=session_id, code=error.code, error=str(error))

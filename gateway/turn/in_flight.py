"""The turns now running: each belongs to the server, not to a request. Start, cancel, recover, drain."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from itertools import chain, repeat

import structlog

from gateway.errors import Conflict, GatewayError, QueueFull, StorageError
from gateway.events.lifecycle import Done
from gateway.ids import now_ms
from gateway.storage.log import OutboxEntry
from gateway.storage.turns import Accepted, OwnedTurn, TurnRow
from gateway.turn.dependencies import TurnDependencies
from gateway.turn.finalize import start_of
from gateway.turn.observer import NullObserver, Tracing, TurnObserver, ids_of
from gateway.turn.runner import CANCEL_TIMEOUT, RETRY_DELAYS, Running, TurnRunner

REAP_EVERY = 5.0
"""Seconds between two looks for turns without an owner. One that is found twice is taken over."""

NEVER_RAN = Done(status="cancelled", iterations=0, duration_ms=0)

log = structlog.get_logger(__name__)


class InFlight:
    """Owns the task of every running turn. One per process."""

    def __init__(
        self, deps: TurnDependencies, observer: TurnObserver | None = None, *, traces_recorded: bool = False
    ) -> None:
        self._deps = deps
        self._tasks: set[asyncio.Task[None]] = set()
        self._owned: Counter[str] = Counter()
        self._waiting: set[str] = set()
        self.queued = 0
        """Accepted turns that wait for those before them; for a moment one less, when one is claimed before
        it was counted."""
        self.draining = asyncio.Event()
        self._observer = observer or NullObserver()
        self._tracing = Tracing(traces_recorded, deps.settings.trace_url)
        self._runner = TurnRunner(deps, self._observer, self._tracing, self.draining)
        self._running = self._runner.running

    @property
    def free_slots(self) -> int:
        """How many more turns may run."""
        return max(0, self._deps.settings.max_turns_in_flight - len(self._tasks))

    def admit(self) -> None:
        """Raises errors.QueueFull when as many turns run as the settings allow."""
        most = self._deps.settings.max_turns_in_flight
        if not self.free_slots:
            raise QueueFull(
                f"The server runs {most} turns already. Try again in a moment.", code="server_busy"
            )

    def start(self, accepted: Accepted) -> None:
        """Takes a running turn into ownership; it goes on whether anybody follows it or not."""
        self._running[accepted.turn.id] = Running(accepted.turn)  # from now on it can be cancelled
        self._spawn(accepted.turn.session_id, accepted)

    def queue(self, session_id: str, *, more: int = 0) -> None:
        """A turn of that session waits: it runs when those before it are done, at once if none is left.
        `more` is 1 when it is a new one."""
        self.queued += more
        self._waiting.add(session_id)
        if not self._owned[session_id]:
            self._spawn(session_id, None)

    def resume(self, accepted: Accepted) -> None:
        """Takes a turn back that was parked."""
        self._waiting.add(accepted.turn.session_id)  # others may have come meanwhile
        self.start(accepted)

    def cancel(self, turn_id: str) -> None:
        """Stops a running turn: its model call and tools are cancelled, then its books are closed."""
        if (running := self._running.get(turn_id)) is not None:
            running.request_stop("cancelled")

    def trouble(self, session_id: str) -> StorageError | None:
        """Why the open turn of a session cannot be recorded at the moment, if so."""
        return self._runner.troubles.get(session_id)

    def deliver(self, session_id: str, entry: OutboxEntry) -> None:
        """Has the turn that is being written put an entry of the outbox into the log, or sees to it that it
        gets there when that turn is over."""
        self._runner.deliver(session_id, entry)

    async def close_waiting(self, turn: TurnRow) -> bool:
        """Ends a turn that waits for others as cancelled; False when it does not wait any more. What it asked
        does not join the history: no model has read it. Raises StorageError."""
        at = now_ms()
        self._observer.take_up(turn)
        start = start_of(turn, self._tracing, max(1, at - turn.created_at))
        try:
            entry = await self._deps.log.close_waiting(turn, [start, NEVER_RAN], at)
        except Conflict:
            return False
        self.queued -= 1
        if entry is not None:
            self._runner.deliver(turn.session_id, entry)
        return True

    def recover(
        self, left_open: Iterable[Accepted], *, queued: int = 0, undelivered: Iterable[str] = ()
    ) -> None:
        """Goes on with turns that another owner left; `queued` others wait for them. The outbox has something
        of the sessions `undelivered`."""
        self.queued += queued
        self._runner.undelivered.update(undelivered)
        for accepted in left_open:
            self._waiting.add(accepted.turn.session_id)
            log.info("turn_recovered", **ids_of(accepted.turn))
            self._running[accepted.turn.id] = Running(accepted.turn, has_waited=not accepted.turn.first_seq)
            self._spawn(accepted.turn.session_id, accepted)
        for session_id in undelivered:
            self._spawn(session_id, None)

    async def reap(self) -> None:
        """Takes over the turns that run and that nobody owns, of which there should be none, and tries again
        to deliver what is left in the outbox, for as long as the process lives. Raises StorageError."""
        suspects: set[OwnedTurn] = set()
        while not self.draining.is_set():
            owned = await self._deps.turns.owned()
            orphans = {turn for turn in owned if turn.turn_id not in self._running}
            for turn in orphans & suspects:
                try:
                    accepted = await self._deps.turns.take_over(turn.turn_id, recovered=True)
                except StorageError as error:
                    log.warning("turn_not_taken_over", turn_id=turn.turn_id, error=error.message)
                    continue
                if accepted is not None:
                    log.error("turn_without_owner", **ids_of(accepted.turn))
                    self.recover([accepted])
            suspects = orphans
            for session_id in list(self._runner.undelivered):
                if not self._owned[session_id]:
                    self._spawn(session_id, None)
            await asyncio.sleep(REAP_EVERY)

    async def drain(self, grace: float) -> None:
        """Shutdown: running turns get `grace` seconds to finish; the rest stay open in the log and are
        resumed by the next process. Returns when no task is left."""
        self.draining.set()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)
        for running in self._running.values():
            running.request_stop("shutdown")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CANCEL_TIMEOUT * 2)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CANCEL_TIMEOUT)

    def _spawn(self, session_id: str, accepted: Accepted | None) -> None:
        self._owned[session_id] += 1
        task = asyncio.create_task(self._own(session_id, accepted), name=f"turns of {session_id}")
        self._tasks.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("turn_owner_failed", task=task.get_name(), exc_info=error)

    async def _own(self, session_id: str, accepted: Accepted | None) -> None:
        """Runs one turn, if given, and then those that wait in its session."""
        try:
            while (accepted := accepted or await self._claim_next(session_id)) is not None:
                goes_on = await self._runner.finish(accepted)
                await self._deliver(session_id)
                if not goes_on or self.draining.is_set():
                    return
                accepted = None
            await self._deliver(session_id)
        finally:
            self._owned[session_id] -= 1
            if not self._owned[session_id]:
                del self._owned[session_id]

    async def _deliver(self, session_id: str) -> None:
        """Between two turns: what is in the outbox gets into the log."""
        undelivered = self._runner.undelivered
        if session_id not in undelivered:
            return
        undelivered.discard(session_id)  # before asking: what comes meanwhile is asked for again
        try:
            delivered = await self._deps.log.deliver(session_id, now_ms())
        except GatewayError as error:
            log.warning("outbox_not_delivered", session_id=session_id, code=error.code)
            delivered = error.code == "session_not_found"
        if not delivered:
            undelivered.add(session_id)

    async def _claim_next(self, session_id: str) -> Accepted | None:
        """The turn that waited longest, if one does; tried until the database answers."""
        delays = chain(RETRY_DELAYS, repeat(RETRY_DELAYS[-1]))
        while session_id in self._waiting and not self.draining.is_set():
            self._waiting.discard(session_id)  # before asking: who comes meanwhile is asked for again
            try:
                accepted = await self._deps.turns.claim_next(session_id)
            except StorageError:
                self._waiting.add(session_id)
                await asyncio.sleep(next(delays))
                continue
            self.queued -= accepted is not None
            if accepted is not None or self._owned[session_id] > 1:
                self._waiting.add(session_id)  # others may wait, or wait for the turn that runs now
                return accepted
        return None

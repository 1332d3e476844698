"""The turns now running: each belongs to the server, not to a request. Start, cancel, recover, drain."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from itertools import chain, repeat

import structlog

from gateway.errors import QueueFull, StorageError, TurnLost
from gateway.ids import now_ms
from gateway.storage.base import Accepted, TurnRow
from gateway.turn.books import CANCELLED, Ending, close_books, failed, noted
from gateway.turn.emitter import Emitter
from gateway.turn.limits import Limits, out_of_time
from gateway.turn.parts import Parts
from gateway.turn.progress import Progress
from gateway.turn.run import run_turn
from gateway.turn.running import CANCEL_PATIENCE, Running
from gateway.turn.watching import Nobody, Tracing, Watcher, ids_of

RETRY_DELAYS = (0.5, 1.0, 2.0, 5.0)
"""Seconds between attempts to go on after the database failed; the last one repeats."""

PAGE = 500

MISTAKE = failed("internal", "The server made a mistake; its log has the details.", retryable=False)

log = structlog.get_logger(__name__)


class InFlight:
    """Owns the task of every running turn. One per process."""

    def __init__(
        self, parts: Parts, watcher: Watcher | None = None, *, traces_recorded: bool = False
    ) -> None:
        settings = parts.settings
        self._parts = parts
        self._watcher = watcher or Nobody()
        self._tracing = Tracing(traces_recorded, settings.trace_url)
        self._limits = Limits(settings.max_iterations, settings.turn_token_budget, settings.turn_timeout)
        self._running: dict[str, Running] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._troubles: dict[str, StorageError] = {}
        self._emitters: dict[str, Emitter] = {}
        self._owned: Counter[str] = Counter()
        self._waiting: set[str] = set()
        self.queued = 0
        """Accepted turns that wait for those before them; for a moment one less, when one is claimed before
        it was counted."""
        self.draining = asyncio.Event()

    @property
    def room(self) -> int:
        """How many more turns may run."""
        return max(0, self._parts.settings.max_turns_in_flight - len(self._tasks))

    def admit(self) -> None:
        """Raises errors.QueueFull when as many turns run as the settings allow."""
        most = self._parts.settings.max_turns_in_flight
        if not self.room:
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
        return self._troubles.get(session_id)

    def emitter_of(self, session_id: str) -> Emitter | None:
        """The way into the log while a turn of the session runs: nobody else may append then."""
        return self._emitters.get(session_id)

    def recover(self, left_open: Iterable[Accepted], *, queued: int = 0) -> None:
        """Goes on with turns that a former process left; `queued` others wait for them."""
        self.queued += queued
        for accepted in left_open:
            self._waiting.add(accepted.turn.session_id)
            log.info("turn_recovered", **ids_of(accepted.turn))
            self._running[accepted.turn.id] = Running(accepted.turn, has_waited=not accepted.turn.first_seq)
            self._spawn(accepted.turn.session_id, accepted)

    async def drain(self, grace: float) -> None:
        """Shutdown: running turns get `grace` seconds to finish; the rest stay open in the log and are
        resumed by the next process. Returns when no task is left."""
        self.draining.set()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)
        for running in self._running.values():
            running.request_stop("shutdown")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CANCEL_PATIENCE * 2)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CANCEL_PATIENCE)

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
        """Runs one turn, if given, and then whatever waits in its session."""
        try:
            while (accepted := accepted or await self._claim_next(session_id)) is not None:
                if not await self._finish(accepted) or self.draining.is_set():
                    return
                accepted = None
        finally:
            self._owned[session_id] -= 1
            if not self._owned[session_id]:
                del self._owned[session_id]

    async def _finish(self, accepted: Accepted) -> bool:
        """Whether the turn's books were closed, by its own work or for it; False when it stays open."""
        turn = accepted.turn
        running = self._running[turn.id] = self._running.get(turn.id) or Running(turn, has_waited=True)
        # The task may have been made by the request of another turn of the session: whatever is logged from
        # here on belongs to this one.
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(**ids_of(turn))
        try:
            return await self._run_to_done(accepted, running)
        except TurnLost:
            log.warning("turn_lost")
            return False
        except StorageError as error:
            log.error("turn_not_recorded", error=error.message)
            ending = failed("storage_unavailable", error.message, retryable=True)
            return await self._close_when_possible(turn, ending, error)
        except Exception:
            # A mistake of ours, wherever it is, must not leave the session with a turn that never ends.
            log.exception("turn_failed")
            trouble = StorageError("The server made a mistake and is closing this turn.", code="internal")
            return await self._close_when_possible(turn, MISTAKE, trouble)
        finally:
            if self._running.get(turn.id) is running:  # a turn that was parked may have been taken back
                del self._running[turn.id]

    async def _claim_next(self, session_id: str) -> Accepted | None:
        """The turn that waited longest, if one does; tried until the database answers."""
        delays = chain(RETRY_DELAYS, repeat(RETRY_DELAYS[-1]))
        while session_id in self._waiting and not self.draining.is_set():
            self._waiting.discard(session_id)  # before asking: who comes meanwhile is asked for again
            try:
                accepted = await self._parts.turns.claim_next(session_id)
            except StorageError:
                self._waiting.add(session_id)
                await asyncio.sleep(next(delays))
                continue
            self.queued -= accepted is not None
            if accepted is not None or self._owned[session_id] > 1:
                self._waiting.add(session_id)  # others may wait, or wait for the turn that runs now
                return accepted
        return None

    async def _run_to_done(self, accepted: Accepted, running: Running) -> bool:
        """Whether the turn's books were closed; False when it stays open for its next owner."""
        turn = accepted.turn
        progress = await self._progress(turn, accepted.head)
        self._watcher.take_up(turn)
        waited = now_ms() - turn.created_at if running.has_waited and progress.started_at is None else 0
        emitter = Emitter(
            self._parts.log,
            turn,
            accepted.head,
            progress,
            tracing=self._tracing,
            queued_ms=waited if waited > 0 else None,
        )
        ending = self._refuse(accepted.turn, progress) or await self._run_until_stopped(emitter, running)
        if ending is None:
            await emitter.settled()
            return False
        close_books(emitter, ending)
        await emitter.settled()
        return True

    def _refuse(self, turn: TurnRow, progress: Progress) -> Ending | None:
        """An ending for a turn that must not go on, though it is open."""
        if turn.cancel_requested:
            return CANCELLED
        if turn.epoch > 1 + self._parts.settings.recover_attempts:
            message = f"The server stopped {turn.epoch - 1} times while this turn ran."
            return Ending("interrupted", error=failed("server_restart", message, retryable=True).error)
        return None

    async def _run_until_stopped(self, emitter: Emitter, running: Running) -> Ending | None:
        session_id = emitter.turn.session_id
        self._emitters[session_id] = emitter
        try:
            work = await running.work(run_turn(self._parts, emitter, self._limits), self._limits.seconds)
        finally:
            if self._emitters.get(session_id) is emitter:
                del self._emitters[session_id]
        if not work.done():
            log.error("turn_ignores_cancellation")
            emitter.abandon(StorageError("The turn is closed."))
            raise StorageError("A tool does not heed its cancellation.")
        return self._ending_of(work, running)

    async def _progress(self, turn: TurnRow, head: int) -> Progress:
        progress = Progress()
        after = turn.first_seq - 1 if turn.first_seq else head
        while after < head:
            page = await self._parts.log.read(turn.session_id, after=after, limit=PAGE, until=head)
            for event in page:
                progress.apply_stored(event)
            self._watcher.recall(turn.session_id, page)
            after = page[-1].seq if page else head
        progress.attempt_began |= progress.attempt_open  # the log does not say what the endpoint had answered
        return progress

    async def _close_when_possible(self, turn: TurnRow, ending: Ending, trouble: StorageError) -> bool:
        """Tries until the log works again to end the turn. Readers are told why they wait."""
        parts = self._parts
        self._troubles[turn.session_id] = trouble
        parts.bus.publish(turn.session_id, ())
        try:
            for delay in chain(RETRY_DELAYS, repeat(RETRY_DELAYS[-1])):
                await asyncio.sleep(delay)
                if self.draining.is_set():
                    break
                try:
                    await self._close_anew(turn, ending)
                except TurnLost:
                    return False
                except StorageError:
                    continue
                return True
            return False
        finally:
            del self._troubles[turn.session_id]

    async def _close_anew(self, turn: TurnRow, ending: Ending) -> None:
        """Closes the books from what the log holds."""
        parts = self._parts
        head = (await parts.sessions.get(turn.session_id, turn.owner)).head
        turn = await parts.turns.get(turn.session_id, turn.id, turn.owner)
        if turn.status == "done":
            return
        try:
            progress = await self._progress(turn, head)
        except ValueError:  # an event that this version does not understand
            log.exception("turn_not_understood")
            progress = Progress(started_at=turn.created_at)
        emitter = Emitter(parts.log, turn, head, progress, tracing=self._tracing)
        close_books(emitter, ending)
        await emitter.settled()

    def _ending_of(self, work: asyncio.Task[Ending | None], running: Running) -> Ending | None:
        """None when the turn stays open: parked, or for the next process."""
        if work.cancelled():
            if running.why == "shutdown":
                return None
            if running.why == "cancelled":
                return CANCELLED
            if running.why is None:
                log.error("turn_cancelled_itself")
                return MISTAKE
            reached = out_of_time(self._limits)
            return noted("limit_reached", reached.code, reached.message)
        error = work.exception()
        if error is None:
            return work.result()
        if isinstance(error, StorageError):
            raise error
        log.error("turn_failed", exc_info=error)
        return MISTAKE

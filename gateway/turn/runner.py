"""Runs one turn after the other, and gives each its end, after any failure."""

import asyncio
from collections.abc import Mapping
from itertools import chain, repeat

import structlog

from gateway.bounded_dict import BoundedDict
from gateway.errors import StorageError, TurnLost
from gateway.ids import now_ms
from gateway.storage.messages import History
from gateway.storage.turns import Accepted, OwnedTurn, TurnRow
from gateway.turn.dependencies import TurnDependencies
from gateway.turn.emitter import Emitter
from gateway.turn.observer import Tracing, TurnObserver, ids_of
from gateway.turn.progress import TurnProgress
from gateway.turn.run import run_turn
from gateway.turn.running_turn import RunningTurn
from gateway.turn.start_and_end import (
    CANCELLED,
    Ending,
    TurnBounds,
    access_ended,
    failed,
    finalize_turn,
    out_of_time,
)
from gateway.turn.turn_from_log import close_from_log, progress_of, skip_published_seqs

RETRY_DELAYS = (0.5, 1.0, 2.0, 5.0)
"""Seconds between attempts to go on after the database failed; the last one repeats."""


MAX_CANCELLED = 1000
"""Turns that were cancelled and do not run in this process, or not yet."""


INTERNAL_ERROR = failed("internal", "The server made a mistake; its log has the details.", retryable=False)

log = structlog.get_logger(__name__)


class TurnRunner:
    """What becomes of the turns of this process. `running` are those that have a task here, by id."""

    def __init__(
        self, deps: TurnDependencies, observer: TurnObserver, tracing: Tracing, draining: asyncio.Event
    ) -> None:
        settings = deps.settings
        self.running: dict[str, RunningTurn] = {}
        self.undelivered: set[str] = set()
        """Sessions of which something may be in the outbox."""
        self._deps = deps
        self._observer = observer
        self._tracing = tracing
        self._draining = draining
        self._limits = TurnBounds(settings.max_iterations, settings.turn_token_budget, settings.turn_timeout)
        self._storage_errors: dict[str, StorageError] = {}
        self._emitters: dict[str, Emitter] = {}
        self._cancelled = BoundedDict[str, bool](MAX_CANCELLED)

    @property
    def storage_errors(self) -> Mapping[str, StorageError]:
        """By session: why its open turn cannot be recorded at the moment."""
        return self._storage_errors

    def is_writing(self, session_id: str) -> bool:
        """Whether a turn of the session is at work here."""
        return session_id in self._emitters

    def own(self, turn: TurnRow, *, has_waited: bool = False) -> RunningTurn:
        """Makes the turn cancellable, and cancels it if that was requested earlier. Call it after the commit
        that gives the turn to this process."""
        running = self.running[turn.id] = RunningTurn(turn, has_waited=has_waited)
        if self._cancelled.pop(turn.id, False):
            running.request_stop("cancelled")
        return running

    def cancel(self, turn_id: str) -> None:
        """Stops a turn: its model call and tools are cancelled, then it gets its end."""
        if (running := self.running.get(turn_id)) is not None:
            running.request_stop("cancelled")
        else:
            self._cancelled[turn_id] = True

    async def deliver(self, session_id: str) -> None:
        """Has the turn that is at work put what is in the outbox into the log. Where none is, or it cannot,
        that stays there until the session's next turn ended."""
        emitter = self._emitters.get(session_id)
        try:
            entries = await self._deps.log.outbox_of(session_id)
            if emitter is not None and self._emitters.get(session_id) is emitter:
                for entry in entries:
                    emitter.deliver(entry)
        except StorageError as error:
            log.info("outbox_entry_stays", session_id=session_id, error=str(error))

    async def finish(self, accepted: Accepted) -> bool:
        """Whether the turn has its end, by its own work or for it; False when it stays open for another
        owner."""
        turn = accepted.turn
        running = self.running.get(turn.id) or self.own(turn, has_waited=True)
        # The task may have been made by the request of another turn of the session: what is logged from
        # here on belongs to this one.
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(**ids_of(turn))
        try:
            while True:
                try:
                    accepted = await skip_published_seqs(self._deps.turns, accepted, self._shown(accepted))
                    if accepted.lost:
                        self.undelivered.add(turn.session_id)  # the warning
                    is_over = await self._run_to_done(accepted, running)
                    if not is_over and self._draining.is_set():
                        await self._release(accepted.turn)
                    return is_over
                except TurnLost:
                    log.warning("turn_lost", epoch=accepted.turn.epoch)
                taken = await self._reclaim(running)
                if taken is None:
                    return False
                accepted = taken
                running = self.running[turn.id] = self.running.get(turn.id, running).renewed()
        except StorageError as error:
            log.error("turn_not_recorded", error=str(error))
            is_damaged = error.code == "storage_damaged"
            code = "storage_damaged" if is_damaged else "storage_unavailable"
            ending = failed(code, error.message, retryable=not is_damaged)
            return await self._close_when_possible(running, ending, error)
        except Exception:
            # A mistake of ours, wherever it is, must not leave the session with a turn that never ends.
            log.exception("turn_failed")
            return await self._close(running, self._ending_asked(running) or INTERNAL_ERROR)
        finally:
            if self.running.get(turn.id) is running:  # a suspended turn may run again already
                del self.running[turn.id]

    async def _reclaim(self, running: RunningTurn) -> Accepted | None:
        """Claims the turn again after an append of it was refused. None where the refusal was right: it is
        over or suspended, or another task of this process has it."""
        for delay in chain(RETRY_DELAYS, repeat(RETRY_DELAYS[-1])):
            if self._draining.is_set() or self.running.get(running.turn.id) is not running:
                return None
            try:
                return await self._deps.turns.take_over(running.turn.id, recovered=True)
            except StorageError:
                await asyncio.sleep(delay)
        return None

    async def _release(self, turn: TurnRow) -> None:
        """Hands a turn that stays open over to another replica. Nothing happens to a suspended one."""
        try:
            await self._deps.replicas.release(OwnedTurn(turn.session_id, turn.id, turn.epoch))
        except StorageError as error:  # it is taken over later
            log.warning("turn_not_released", code=error.code, error=str(error))

    async def _run_to_done(self, accepted: Accepted, running: RunningTurn) -> bool:
        """Whether the turn has its end; False when it stays open for its next owner."""
        turn = accepted.turn
        progress = TurnProgress()
        if turn.first_seq:
            progress = await progress_of(self._deps.log, turn, accepted.head, self._observer)
        self._observer.take_up(turn)
        waited = now_ms() - turn.created_at if running.has_waited and progress.started_at is None else 0
        emitter = Emitter(
            self._deps.log,
            turn,
            accepted.head,
            progress,
            tracing=self._tracing,
            queued_ms=waited if waited > 0 else None,
        )
        ending = await self._explained(turn, self._ending_before_resume(turn, progress))
        if ending is None:
            work = await self._work(emitter, running, accepted.history)
            if not work.done() or _failure_of(work) is not None:
                # The emitter's state no longer matches the log.
                return await self._close(running, self._ending_of(work, running))
            ending = await self._explained(turn, self._ending_of(work, running))
        if ending is None:
            await emitter.flush()
            return False
        if not progress.done:
            await finalize_turn(emitter, ending)
        await emitter.flush()
        return True

    def _ending_before_resume(self, turn: TurnRow, progress: TurnProgress) -> Ending | None:
        """The ending of an open turn that must not go on."""
        if turn.cancel_requested:
            return CANCELLED
        if turn.recoveries > self._deps.settings.recover_attempts:
            message = f"The server stopped {turn.recoveries} times while this turn ran."
            return Ending("interrupted", error=failed("server_restart", message, retryable=True).error)
        return None

    async def _work(
        self, emitter: Emitter, running: RunningTurn, preloaded: History | None
    ) -> asyncio.Task[Ending | None]:
        """The turn's work, which is over, or silent from now on."""
        session_id = emitter.turn.session_id
        self._emitters[session_id] = emitter
        try:
            if session_id in self.undelivered:
                for entry in await self._deps.log.outbox_of(session_id):
                    emitter.deliver(entry)
            work = await running.work(self._run(emitter, preloaded), self._limits.seconds)
        finally:
            if self._emitters.get(session_id) is emitter:
                del self._emitters[session_id]
        if not work.done():
            log.error("turn_ignores_cancellation")
            emitter.abandon(StorageError("The turn is closed."))
            work.add_done_callback(_report_late)
        return work

    async def _run(self, emitter: Emitter, preloaded: History | None) -> Ending | None:
        """The turn's work and, where nothing of it is open, its end: in the same tick as its last answer, so
        that both are one transaction."""
        ending = await run_turn(self._deps, emitter, self._limits, preloaded)
        if ending is not None and not emitter.progress.unanswered:
            await finalize_turn(emitter, ending)
        return ending

    async def _close(self, running: RunningTurn, ending: Ending | None) -> bool:
        """Ends a turn from what the log holds; None leaves it open."""
        ending = await self._explained(running.turn, ending)
        if ending is None:
            return False
        try:
            await self._close_from_log(running.turn, ending)
        except StorageError as error:
            return await self._close_when_possible(running, ending, error)
        return True

    async def _explained(self, turn: TurnRow, ending: Ending | None) -> Ending | None:
        """A turn that was cancelled tells why where that was no wish of its sender's."""
        if ending is CANCELLED and (why := await self._deps.why_ended(turn)) is not None:
            return access_ended(why)
        return ending

    async def _close_when_possible(self, running: RunningTurn, ending: Ending, trouble: StorageError) -> bool:
        """Tries to end the turn, by the requested ending if there is one, until the log works again. Readers
        get the reason for the wait."""
        turn = running.turn
        self._storage_errors[turn.session_id] = trouble
        self._deps.bus.publish(turn.session_id, ())
        try:
            for delay in chain(RETRY_DELAYS, repeat(RETRY_DELAYS[-1])):
                await asyncio.sleep(delay)
                if self._draining.is_set():
                    break
                try:
                    await self._close_from_log(turn, self._ending_asked(running) or ending)
                except StorageError:
                    continue
                return True
            return False
        finally:
            del self._storage_errors[turn.session_id]

    async def _close_from_log(self, turn: TurnRow, ending: Ending) -> None:
        deps = self._deps
        await close_from_log(
            deps.log,
            deps.turns,
            turn,
            ending,
            observer=self._observer,
            tracing=self._tracing,
            shown=self._shown,
        )

    def _shown(self, accepted: Accepted) -> int:
        return self._deps.bus.shown(accepted.turn.session_id, accepted.made_at)

    def _ending_of(self, work: asyncio.Task[Ending | None], running: RunningTurn) -> Ending | None:
        """None when the turn stays open: suspended, or for the next process. Raises StorageError."""
        if not work.done() or work.cancelled():
            if running.stop_cause is None:
                log.error("turn_cancelled_itself")
                return INTERNAL_ERROR
            return self._ending_asked(running)
        error = work.exception()
        if error is None:
            return work.result()
        if isinstance(error, StorageError):
            raise error
        log.error("turn_failed", exc_info=error)
        return INTERNAL_ERROR

    def _ending_asked(self, running: RunningTurn) -> Ending | None:
        """The ending that a cancel or the time limit demands; None: the turn ends otherwise, or goes on
        elsewhere."""
        match running.stop_cause:
            case "cancelled":
                return CANCELLED
            case "out_of_time":
                return out_of_time(self._limits)
            case _:
                return None


def _failure_of(work: asyncio.Task[Ending | None]) -> BaseException | None:
    return None if work.cancelled() else work.exception()


def _report_late(work: asyncio.Task[Ending | None]) -> None:
    if not work.cancelled() and (error := work.exception()) is not None:
        log.warning("turn_ended_late", error=type(error).__name__)

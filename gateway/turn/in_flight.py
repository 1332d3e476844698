"""The turns now running: each belongs to the server, not to a request. Start, cancel, recover, drain."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Generator, Iterable
from contextlib import contextmanager, suppress
from itertools import chain, repeat
from typing import Any

import structlog

from gateway.auth.static_keys import key_of
from gateway.errors import Conflict, GatewayError, QueueFull, StorageError
from gateway.events.lifecycle import Done
from gateway.ids import now_ms
from gateway.storage.turns import Accepted, TurnRow
from gateway.turn.dependencies import TurnDependencies
from gateway.turn.observer import NullObserver, Tracing, TurnObserver
from gateway.turn.runner import RETRY_DELAYS, TurnRunner
from gateway.turn.running_turn import CANCEL_TIMEOUT
from gateway.turn.start_and_end import access_ended, start_of

ACCEPTED_SOON = 0.01
"""Seconds between two looks whether a turn that was being accepted when a shutdown began has its task."""
MIN_SHARE = 4
"""Turns that each user may have at the same time where no setting says how many, if few run in all; half
of them at most."""
NEVER_RAN = Done(status="cancelled", iterations=0, duration_ms=0)

log = structlog.get_logger(__name__)


class InFlight:
    """Keeps the task of every running turn. One per process."""

    def __init__(
        self, deps: TurnDependencies, observer: TurnObserver | None = None, *, traces_recorded: bool = False
    ) -> None:
        self._deps = deps
        self._tasks: set[asyncio.Task[None]] = set()
        self._owned: Counter[str] = Counter()
        self._waiting: set[str] = set()
        self._entering: list[tuple[str, str]] = []
        self.draining = asyncio.Event()
        self.peer_count = 0
        """How many replicas would take over what this one leaves."""
        self._observer = observer or NullObserver()
        self._tracing = Tracing(traces_recorded, deps.settings.trace_url)
        self._runner = TurnRunner(deps, self._observer, self._tracing, self.draining)
        self._running = self._runner.running
        deps.signals.on("cancel", self.cancel)
        deps.signals.on("waiting", self.queue)
        deps.signals.on("outbox", self.deliver)

    @property
    def free_slots(self) -> int:
        """How many more turns may run."""
        return max(0, self._deps.settings.max_turns_in_flight - len(self._tasks))

    @contextmanager
    def admission(self, user_id: str, session_id: str) -> Generator[None]:
        """Reserves a slot while a turn is being accepted, so that turns that are accepted at the same time
        cannot exceed a limit together. A session needs one slot, however many of its turns wait.

        Raises:
            errors.QueueFull: as many run as the settings allow: in all, of that user, or of all users of the
                key that acts for them.
        """
        settings = self._deps.settings
        most = settings.max_turns_in_flight
        if self.free_slots <= len(self._entering):
            raise QueueFull(
                f"The server runs {most} turns already. Try again in a moment.", code="server_busy"
            )
        entering = (user_id, session_id)
        share = min(-(-most // 2), max(MIN_SHARE, most // 10)) if settings.has_accounts else None
        self._check_room("user", settings.max_turns_per_user or share, str, entering)
        self._check_room("key", settings.max_turns_per_key, key_of, entering)
        self._entering.append(entering)
        try:
            yield
        finally:
            self._entering.remove(entering)

    def _check_room(
        self, whose: str, most: int | None, name: Callable[[str], str], entering: tuple[str, str]
    ) -> None:
        if most is None:
            return
        user_id, session_id = entering
        running = ((each.turn.owner, each.turn.session_id) for each in self._running.values())
        taken = {at for owner, at in chain(running, self._entering) if name(owner) == name(user_id)}
        if len(taken - {session_id}) >= most:
            raise QueueFull(
                f"{most} turns of this {whose} are running already. Try again when one is over.",
                code=f"{whose}_busy",
            )

    def start(self, accepted: Accepted) -> None:
        """Takes a running turn into ownership; it goes on whether anybody follows it or not."""
        self._runner.own(accepted.turn)
        self._deps.bus.expect(accepted.turn.session_id, accepted.head, accepted.made_at)
        self._spawn(accepted.turn.session_id, accepted)

    def queue(self, session_id: str) -> None:
        """A turn of that session waits: it runs when those before it are done, at once if none is left."""
        self._waiting.add(session_id)
        if session_id not in self._owned:
            self._spawn(session_id)

    def resume(self, accepted: Accepted | None) -> None:
        """Goes on with a turn that was suspended, if it was. While the server shuts down it stays open in the
        log: the next process finds it."""
        if accepted is None or self.draining.is_set():
            return
        self._waiting.add(accepted.turn.session_id)  # others may have come meanwhile
        self.start(accepted)

    def cancel(self, turn_id: str) -> None:
        """Stops a turn that runs here, or is about to: its model call and tools are cancelled."""
        self._runner.cancel(turn_id)

    def storage_error(self, session_id: str) -> StorageError | None:
        """Why the open turn of a session cannot be recorded at the moment, if so."""
        return self._runner.storage_errors.get(session_id)

    def deliver(self, session_id: str) -> None:
        """The outbox has an entry of that session: its running turn emits it, or it is appended to the log
        when that turn is over, at once where none runs."""
        self._runner.undelivered.add(session_id)
        if self._runner.is_writing(session_id):
            self._track(self._runner.deliver(session_id), session_id)
        elif session_id not in self._owned:
            self._spawn(session_id)

    async def close_waiting(self, turn: TurnRow) -> bool:
        """Ends a turn that waits for others as cancelled; False when it does not wait any more. What it asked
        does not join the history: no model has read it. Raises StorageError."""
        at = now_ms()
        self._observer.take_up(turn)
        start = start_of(turn, self._tracing, max(1, at - turn.created_at))
        why = await self._deps.why_ended(turn)
        told = [warning] if why is not None and (warning := access_ended(why).warning) is not None else []
        try:
            await self._deps.log.close_waiting(turn, [start, *told, NEVER_RAN], at)
        except Conflict:
            return False
        return True

    def runs(self, turn_id: str) -> bool:
        """Whether a task of this process has the turn."""
        return turn_id in self._running

    def recover(self, accepted: Accepted) -> None:
        """Goes on with a turn that its former lease holder left. Others may wait for it, and the outbox may
        have something of its session."""
        turn = accepted.turn
        self._waiting.add(turn.session_id)
        self._runner.undelivered.add(turn.session_id)
        self._runner.own(turn, has_waited=not turn.first_seq)
        self._spawn(turn.session_id, accepted)

    def deliver_left(self, found: Iterable[str]) -> None:
        """Tries again to deliver what is left in the outbox, also of the sessions that were `found`."""
        self._runner.undelivered.update(found)
        for session_id in self._runner.undelivered:
            if session_id not in self._owned:
                self._spawn(session_id)

    async def drain(self, grace: float) -> None:
        """Shutdown: running turns get `grace` seconds to finish, or, where another replica can go on with
        them, to come to their next step; so do those that are being accepted. The rest stay open in the log;
        all that is left open is released. Returns when no task is left."""
        self.draining.set()
        self._deps.replicas.lease.handing_over = self.peer_count > 0
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                while self._tasks or self._entering:
                    await (asyncio.wait(self._tasks) if self._tasks else asyncio.sleep(ACCEPTED_SOON))
        for running in self._running.values():
            running.request_stop("shutdown")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CANCEL_TIMEOUT * 2)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CANCEL_TIMEOUT)

    def _spawn(self, session_id: str, accepted: Accepted | None = None) -> None:
        self._owned[session_id] += 1
        self._track(self._own(session_id, accepted), session_id)

    def _track(self, work: Coroutine[Any, Any, None], session_id: str) -> None:
        task = asyncio.create_task(work, name=f"turns of {session_id}")
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
                is_over = await self._runner.finish(accepted)
                if self._owned[session_id] == 1:  # else the next one runs already
                    self._deps.bus.release(session_id)
                await self._deliver(session_id)
                if not is_over or self.draining.is_set():
                    return
                accepted = None
            await self._deliver(session_id)
        finally:
            self._owned[session_id] -= 1
            if not self._owned[session_id]:
                del self._owned[session_id]
                self._deps.bus.release(session_id)

    async def _deliver(self, session_id: str) -> None:
        """Between two turns: appends what is in the outbox of the session to its log."""
        undelivered = self._runner.undelivered
        if session_id not in undelivered:
            return
        undelivered.discard(session_id)  # before the query: what comes during it adds the session again
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
            self._waiting.discard(session_id)  # before the query: who comes during it adds it again
            try:
                accepted = await self._deps.turns.claim_next(session_id)
            except StorageError:
                self._waiting.add(session_id)
                await asyncio.sleep(next(delays))
                continue
            if accepted is not None or self._owned[session_id] > 1:
                self._waiting.add(session_id)  # others may wait, or wait for the turn that runs now
                return accepted
        return None

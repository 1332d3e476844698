"""The operations of schedules for the routes, and the runs of those that are due.

    tick ─▶ settle      runs whose turns are over: how they ended, told once
         └▶ due ─▶ planned ─▶ begin       a turn in the session, under the owner, within their limits
                           └▶ skip_run    missed, or refused, with an event in the session

Any number of processes do this beside each other: who moves a due time on has its run (storage/schedules/).
A run is known by its client_message_id, ID-DUE, and lives on as its turn does, whichever process is killed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from time import monotonic
from typing import Literal, Protocol

import structlog

from gateway.auth import Principal, scopes_stored, stored_scopes
from gateway.backlog import Failures
from gateway.cancellation_shield import finish
from gateway.errors import GatewayError, LimitReached, NotFound, QueueFull, RequestRefused, StorageError
from gateway.events.session_changes import Schedule
from gateway.ids import SET_BY, SteadyClock, new_operation_id, now_ms
from gateway.pace import until_next
from gateway.schedules.due_times import MAX_SKEW, planned, put_right
from gateway.schedules.schedule_editor import NewSchedule, ScheduleEditor
from gateway.schedules.tool import changed
from gateway.service.dependencies import Dependencies
from gateway.service.limits import UserLimits
from gateway.service.session_events import SessionEvents
from gateway.service.turn_acceptance import new_turn
from gateway.storage.schedules import DIALECT, Planned, ScheduleRow, ScheduleRun
from gateway.storage.schedules.store import Schedules
from gateway.storage.turns import NewTurn
from gateway.turn.in_flight import InFlight
from gateway.turn.request import TurnRequest

EVERY = 1.0
"""Seconds between two looks for what is due."""
COUNTED_EVERY = 15.0
"""Seconds between two counts of what is held up, which only a metric tells."""
CHECKED_EVERY = 600.0
"""Seconds between two looks at due times that are too far off, unless the clock was set."""
PAGE = 100
CONCURRENT = 8
"""Runs that are begun at the same time: the database takes them in one transaction, or in some."""
SETTLED = 500
"""Runs whose end is noted in one look."""

log = structlog.get_logger(__name__)


class ScheduleObserver(Protocol):
    """Who measures schedules. Its methods are quick and never raise."""

    def schedule_noted(self, run: ScheduleRun) -> None:
        """A run began (`started`), ended, or did not take place."""
        ...


class UserSchedules:
    """What the caller does with their schedules: as `ScheduleEditor`, and told in the schedule's session."""

    def __init__(self, schedules: ScheduleEditor, events: SessionEvents) -> None:
        self.destinations = schedules.destinations
        self._schedules = schedules
        self._events = events

    async def create(self, who: Principal, new: NewSchedule) -> ScheduleRow:
        return await self._told(
            await self._schedules.create(
                who.user_id, new, key_id=who.key_id, scopes=stored_scopes(who.scopes)
            ),
            "created",
        )

    def preview(self, new: NewSchedule) -> Sequence[int]:
        return self._schedules.preview(new)

    async def list(self, who: Principal) -> Sequence[ScheduleRow]:
        return await self._schedules.list(who.user_id)

    async def get(self, who: Principal, schedule_id: str) -> ScheduleRow:
        return await self._schedules.get(who.user_id, schedule_id)

    async def runs(self, who: Principal, schedule_id: str) -> Sequence[ScheduleRun]:
        return await self._schedules.runs(who.user_id, schedule_id)

    async def pause(self, who: Principal, schedule_id: str) -> ScheduleRow:
        return await self._told(await self._schedules.pause(who.user_id, schedule_id), "paused")

    async def resume(self, who: Principal, schedule_id: str) -> ScheduleRow:
        return await self._told(
            await self._schedules.resume(who.user_id, schedule_id, key_id=who.key_id), "resumed"
        )

    async def run_now(self, who: Principal, schedule_id: str) -> ScheduleRow:
        return await self._told(
            await self._schedules.run_now(who.user_id, schedule_id, key_id=who.key_id), "run_asked"
        )

    async def delete(self, who: Principal, schedule_id: str) -> None:
        await self._told(await self._schedules.delete(who.user_id, schedule_id), "deleted")

    async def _told(
        self, row: ScheduleRow, action: Literal["created", "paused", "resumed", "run_asked", "deleted"]
    ) -> ScheduleRow:
        await publish_change(self._events, row, changed(row, action, row.owner))
        return row


class ScheduleWorker:
    """One per process. `refusal` is the code of why nobody may run a schedule any more, None: they may."""

    def __init__(
        self,
        deps: Dependencies,
        in_flight: InFlight,
        runs: Schedules,
        events: SessionEvents,
        observer: ScheduleObserver,
        *,
        limits: UserLimits,
        refusal: Callable[[ScheduleRow], Awaitable[str | None]],
        undelivered: Callable[[], None],
    ) -> None:
        """`undelivered` is called when there are results to deliver."""
        self.overdue = 0.0
        """Seconds since the time of the schedule that has been due longest and could not begin, as of the
        last tick; 0: none is."""
        self.held_up = 0
        """How many are late as their run before is under way, by the last count."""
        self._deps = deps
        self._in_flight = in_flight
        self._runs = runs
        self._events = events
        self._observer = observer
        self._limits = limits
        self._refusal = refusal
        self._undelivered = undelivered
        self._refused = Failures[str](1, 15, 10_000)
        self._counted_at = -COUNTED_EVERY
        self._clock, self._checked_at = SteadyClock(), -CHECKED_EVERY

    async def run(self) -> None:
        """Ticks until it is cancelled."""
        while True:
            try:
                await self.tick()
            except StorageError as error:
                log.warning("schedules_not_looked_at", code=error.code, error=str(error))
            await asyncio.sleep(until_next(EVERY))

    async def tick(self) -> None:
        """Notes what has ended, and begins what is due. Raises errors.StorageError."""
        now, waiting, after = now_ms(), list[int](), (0, "")
        awaited = await self._runs.awaited(now)
        for run in await self._runs.settle(SETTLED) if awaited.over else ():
            self._observer.schedule_noted(run)
            log.info(
                "schedule_run_ended", schedule_id=run.schedule_id, turn_id=run.turn_id, outcome=run.status
            )
        if awaited.over or awaited.undelivered:
            self._undelivered()
        await self._put_right(now)
        # One that is over may keep the next one from being due.
        while (awaited.over or awaited.due) and not self._in_flight.draining.is_set():
            page = await self._runs.due(now, after, PAGE)
            for first in range(0, len(page), CONCURRENT):
                part = page[first : first + CONCURRENT]
                begun = await asyncio.gather(*map(self._tried, part))
                waiting += [row.due_at or now for row, done in zip(part, begun, strict=True) if not done]
            if len(page) < PAGE or not self._in_flight.free_slots:
                break
            after = (page[-1].due_at or 0, page[-1].id)
        self.overdue = (now - min(waiting)) / 1000 if waiting else 0.0
        if monotonic() - self._counted_at >= COUNTED_EVERY:
            self._counted_at = monotonic()
            self.held_up = await self._runs.held_up(now - self._deps.settings.schedule_grace * 1000)

    async def _put_right(self, now: int) -> None:
        """Schedules that came due while a clock was ahead have their next time far off."""
        was_set = abs(now - self._clock.now()) > SET_BY
        if not was_set and monotonic() - self._checked_at < CHECKED_EVERY:
            return
        self._clock, self._checked_at, after = SteadyClock(), monotonic(), ""
        while page := await self._runs.ahead(now + MAX_SKEW, after, PAGE):
            for row in page:
                due_at = put_right(row, now)
                if due_at is not None and await self._runs.change(row, Planned(due_at, "active")):
                    log.warning(
                        "schedule_put_right", schedule_id=row.id, was_due_at=row.due_at, due_at=due_at
                    )
            after = page[-1].id
            await asyncio.sleep(0)

    async def _tried(self, row: ScheduleRow) -> bool:
        """Whether its due time is done with; if not it is tried again a little later."""
        if row.id in self._refused:
            return False
        try:
            await self._begin(row)
        except QueueFull as busy:
            log.info("schedule_waits", schedule_id=row.id, code=busy.code)
        except StorageError as error:
            log.warning("schedule_waits", schedule_id=row.id, code=error.code, error=str(error))
        except Exception:  # one schedule's failure must not keep the others waiting
            log.exception("schedule_waits", schedule_id=row.id)
        else:
            self._refused.forget(row.id)
            return True
        self._refused.add(row.id)
        return False

    async def _begin(self, row: ScheduleRow) -> None:
        """Raises errors.QueueFull, errors.StorageError: nothing was done."""
        now = now_ms()
        runs, plan = planned(row, now, grace=self._deps.settings.schedule_grace * 1000)
        if (code := await self._refusal(row)) is not None:
            await self._skip_run(row, Planned(None, "paused", code), "refused", code)
            return
        if not runs:
            await self._skip_run(row, plan, "missed", "late")
            return
        try:
            # To its end: a turn that is accepted must not be left unstarted.
            await finish(self._start(row, plan))
        except QueueFull:
            raise
        except LimitReached as reached:
            self._limits.reached(reached)
            if reached.retryable:  # a little later it has room again
                raise QueueFull(reached.message, code=reached.code) from None
            await self._skip_run(row, plan, "refused", reached.code)
        except NotFound as gone:  # its session is
            await self._skip_run(row, Planned(None, "paused", gone.code), "refused", gone.code)
        except RequestRefused as refused:
            await self._skip_run(row, plan, "refused", refused.code)

    async def _start(self, row: ScheduleRow, plan: Planned) -> None:
        new = self._turn_of(row)
        with self._in_flight.admission(row.owner, new.session_id):
            most = self._deps.settings.max_queued_turns
            accepted = await self._runs.begin(row, plan, new, max_queued=most)
            if accepted is None or accepted.repeated:
                return
            if accepted.turn.status == "running":
                self._in_flight.start(accepted)
        assert row.due_at is not None  # it was due
        turn = accepted.turn
        self._observer.schedule_noted(
            ScheduleRun(row.id, row.due_at, "started", new.at, turn.session_id, turn.id)
        )
        log.info("schedule_run_began", schedule_id=row.id, turn_id=turn.id, late_ms=new.at - row.due_at)

    def _turn_of(self, row: ScheduleRow) -> NewTurn:
        request = TurnRequest(
            row.message,
            row.session,
            client_message_id=f"{row.id}-{row.due_at}",
            on_conflict="queue",
        )
        who = Principal(row.owner, DIALECT, scopes=scopes_stored(row.scopes), key_id=row.key_id)
        new = new_turn(self._deps, who, request)
        return replace(new, charges=self._limits.charges(who, new.model, new.input))

    async def _skip_run(
        self, row: ScheduleRow, plan: Planned, status: Literal["missed", "refused"], code: str
    ) -> None:
        assert row.due_at is not None  # it was due
        run = ScheduleRun(row.id, row.due_at, status, now_ms(), code=code)
        if not await self._runs.skip_run(row, plan, run):
            return
        self._observer.schedule_noted(run)
        log.info("schedule_did_not_run", schedule_id=row.id, status=status, code=code, due_at=row.due_at)
        change = Schedule(
            schedule_id=row.id,
            name=row.name,
            action=status,
            due_at=row.due_at,
            next_due_at=plan.due_at,
            code=code,
        )
        await publish_change(self._events, row, change)


async def publish_change(events: SessionEvents, row: ScheduleRow, change: Schedule) -> None:
    """Adds the event to the schedule's session; one that is gone or cannot be written to is only logged."""
    if row.session is None:
        return
    try:
        await events.add(row.session, row.owner, new_operation_id(), change)
    except GatewayError as error:
        log.warning("schedule_event_lost", schedule_id=row.id, session_id=row.session, code=error.code)

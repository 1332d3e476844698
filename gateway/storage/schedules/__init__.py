"""What storage owes about schedules: messages that are sent at set times, each as a turn of their owner's.

due ── begin: the due time moves on, the turn is accepted and the run noted, in one transaction ──▶ run
   └── skip_run: the due time moves on, and why nothing ran is noted
run whose turn is over ── settle ──▶ how it ended, noted by one process

The due time is the fence: whoever moves it on from the value that was read has that run, and any other
process finds it moved. So a run begins once on any number of replicas, and one that was killed has begun it
or not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from gateway.events.lifecycle import Outcome
from gateway.storage.turns import Accepted, NewTurn

DIALECT = "schedule"
"""The dialect of turns that a schedule began (see `TurnRow`)."""
KEPT_RUNS = 100
"""Runs of one schedule that are kept, the newest."""

Late = Literal["skip", "once", "all"]
"""What becomes of due times that passed while nothing could run: none of them runs; one run stands for all;
each runs, one after the other."""
ScheduleStatus = Literal["active", "paused", "ended"]
RunStatus = Literal["started", "missed", "refused", "deleted"] | Outcome
"""The turn of the run is under way; the time had passed; the turn was refused; its session was deleted before
its end was noted; or how it ended."""


class Timing(NamedTuple):
    """Once `at` (Unix milliseconds); from then on each `every` seconds; or whenever `cron` fits the clocks of
    the `timezone`."""

    at: int | None = None
    every: int | None = None
    cron: str | None = None
    timezone: str = "UTC"


class Planned(NamedTuple):
    """What a schedule does next. `due_at` None: nothing. `reason`: why it is paused, unless its owner did
    that."""

    due_at: int | None
    status: ScheduleStatus
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """A `message` that is sent for its `owner`: into the session, or (None) into a new one each time. Times
    are Unix milliseconds; for `at`, `every`, `cron`, `timezone` see `Timing`, for `due_at` and `reason`
    `Planned`. `destination`: where results are delivered beside the session, KIND:ADDRESS.
    `key_id`: the key that it was made with, or resumed with since: its turns count for its limits, and it is
    paused when that key ends. `scopes`: what that key allows, where it is less than a member may."""

    id: str
    owner: str
    name: str
    message: str
    session: str | None
    at: int | None
    every: int | None
    cron: str | None
    timezone: str
    late: Late
    status: ScheduleStatus
    created_at: int
    due_at: int | None = None
    reason: str | None = None
    destination: str | None = None
    key_id: str | None = None
    scopes: str | None = None

    @property
    def timing(self) -> Timing:
        return Timing(self.at, self.every, self.cron, self.timezone)


@dataclass(frozen=True, slots=True)
class ScheduleRun:
    """What became of one due time, noted `at`. `code` says why it was refused or missed."""

    schedule_id: str
    due_at: int
    status: RunStatus
    at: int
    session: str | None = None
    turn_id: str | None = None
    code: str | None = None


class Undelivered(NamedTuple):
    """A run that is over, whose result is wanted elsewhere. `deliver_at` is the fence, as a due time is."""

    schedule: ScheduleRow
    run: ScheduleRun
    deliver_at: int
    tries: int


class Awaited(NamedTuple):
    """What there is for a process to do: runs whose turns are `over`, schedules that are `due` with no run
    under way, results that are `undelivered`."""

    over: bool
    due: bool
    undelivered: bool


class Schedules(Protocol):
    """Every method raises errors.StorageError when the database cannot do its work."""

    async def add(self, row: ScheduleRow, *, most: int) -> None:
        """Raises errors.Conflict (too_many_schedules): its owner has `most` already."""
        ...

    async def get(self, schedule_id: str, owner: str) -> ScheduleRow:
        """Raises errors.NotFound (schedule_not_found)."""
        ...

    async def list(self, owner: str, limit: int) -> Sequence[ScheduleRow]:
        """The owner's, the newest first."""
        ...

    async def runs(self, schedule_id: str, limit: int) -> Sequence[ScheduleRun]:
        """Of the newest due times first."""
        ...

    async def change(self, row: ScheduleRow, planned: Planned) -> bool:
        """Has the schedule do that next, with the key of `row`, unless its status or its due time is another
        than `row` says."""
        ...

    async def remove(self, schedule_id: str, owner: str) -> None:
        """With its runs; their turns go on. Raises errors.NotFound (schedule_not_found), errors.Conflict
        (legal_hold)."""
        ...


class ScheduleRuns(Protocol):
    """Runs begin and end. Every method raises errors.StorageError when the database cannot do its work."""

    async def awaited(self, now: int) -> Awaited:
        """What there is to do by now, in one read: nearly always nothing."""
        ...

    async def due(self, now: int, after: tuple[int, str], limit: int) -> Sequence[ScheduleRow]:
        """Those with a due time up to `now` and no run under way, by due time and id, behind `after`."""
        ...

    async def ahead(self, of: int, after: str, limit: int) -> Sequence[ScheduleRow]:
        """Active ones that are due later than that time, by id, behind `after`."""
        ...

    async def change(self, row: ScheduleRow, planned: Planned) -> bool:
        """As `Schedules.change`."""
        ...

    async def held_up(self, before: int) -> int:
        """How many have been due since before that time, with a run under way."""
        ...

    async def begin(
        self, row: ScheduleRow, planned: Planned, new: NewTurn, *, max_queued: int
    ) -> Accepted | None:
        """Accepts the turn of the due time of `row`, and plans the next. None, and nothing done, when the due
        time is another by now: somebody else began the run, or the schedule was changed. None as well, and
        the next planned, when a run of that time is noted already: a clock was set back. Raises as
        `Turns.accept`; the schedule is as it was then."""
        ...

    async def skip_run(self, row: ScheduleRow, planned: Planned, run: ScheduleRun) -> bool:
        """Plans the next time without a turn, and notes `run` in its place; False as `begin` returns None.
        Where the schedule has a destination it is undelivered from then on."""
        ...

    async def settle(self, limit: int) -> Sequence[ScheduleRun]:
        """Notes of at most `limit` runs whose turns are over how they ended. Each is returned once, to one
        process. Where the schedule has a destination it is undelivered from then on."""
        ...


class ResultDeliveries(Protocol):
    """Results of runs on their way to the destinations of their schedules. Every method raises
    errors.StorageError when the database cannot do its work."""

    async def undelivered(self, now: int, limit: int) -> Sequence[Undelivered]:
        """Runs that are to be delivered by now, those first that wait longest."""
        ...

    async def claim_delivery(self, found: Undelivered, again_at: int | None) -> bool:
        """Has it be delivered again at that time, or (None) not any more; False: another process has it, or
        it is gone."""
        ...

    async def enqueue_result(
        self, schedule: ScheduleRow, run: ScheduleRun, webhook_id: str, key: str
    ) -> bool:
        """Adds a delivery of what became of `run` to that webhook of the schedule's owner, and has the run
        delivered no more, in one transaction: once, however often it is asked. Where the webhook is off it
        is dead. False: there is no such webhook."""
        ...

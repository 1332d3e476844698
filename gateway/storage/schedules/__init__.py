"""Schedules: messages that are sent at set times, each as a turn of their owner's.

due ── begin: the due time moves on, the turn is accepted and the run noted, in one transaction ──▶ run
   └── skip_run: the due time moves on, and why nothing ran is noted
run whose turn is over ── settle ──▶ how it ended, noted by one process

The due time is the fence: whoever moves it on from the value that was read has that run, and any other
process finds it moved. So a run begins once on any number of replicas, and one that was killed has begun it
or not.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from gateway.events.lifecycle import Outcome

DIALECT = "schedule"
"""The dialect of turns that a schedule began (see `TurnRow`)."""
KEPT_RUNS = 100
"""Runs of one schedule that are kept, the newest."""
KEY_REVOKED = "key_revoked"
"""Why a schedule is paused, or a webhook off: the key that it was made with was revoked, or has expired."""

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

"""What a user does with their schedules, whoever asks on their behalf."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from gateway.errors import Conflict, InvalidRequest
from gateway.ids import new_schedule_id, now_ms
from gateway.messages import clean_text
from gateway.schedules.due_times import BadTiming, checked, moment, next_due, upcoming
from gateway.settings import Settings
from gateway.storage.schedules import KEY_REVOKED, Late, Planned, ScheduleRow, ScheduleRun, Timing
from gateway.storage.turns import title_from_message

if TYPE_CHECKING:
    from gateway.storage.schedules.store import Schedules
    from gateway.storage.sessions.store import Sessions

MAX_MESSAGE = 16_000
"""Characters of a schedule's message."""
MAX_NAME = 80
MIN_INTERVAL = 60
"""Seconds between two due times of a schedule."""
MAX_DESTINATION = 200
MAX_LISTED = 200
RUNS_SHOWN = 20
UPCOMING = 5


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """`at` is a date and time (ISO 8601), by the clocks of `timezone` unless it has an offset; for the others
    see `ScheduleRow`. `name` None: the beginning of the message."""

    message: str
    session_id: str | None = None
    name: str | None = None
    at: str | None = None
    every: int | None = None
    cron: str | None = None
    timezone: str = "UTC"
    late: Late = "once"
    destination: str | None = None


class Destination(Protocol):
    """One kind of place that results can be delivered to, a webhook say (`ScheduleEditor.destinations`)."""

    async def check(self, owner: str, address: str) -> None:
        """Raises errors.RequestRefused: that user cannot have results delivered there."""
        ...

    async def deliver(self, address: str, schedule: ScheduleRow, run: ScheduleRun, key: str) -> None:
        """Delivers what became of `run`: its `status`, and the turn, if there was one, whose events are in
        the log. It comes at least once; the same `key` is the same result. Whatever it raises: it is tried
        again later."""
        ...


class ScheduleEditor:
    """One per process. Every operation raises errors.NotFound (schedule_not_found) for what is not the
    owner's, and errors.StorageError."""

    def __init__(self, store: "Schedules", sessions: "Sessions", settings: Settings) -> None:
        self._store = store
        self._sessions = sessions
        self._settings = settings
        self.destinations: dict[str, Destination] = {}
        """By kind: an adapter that results can be delivered to enters itself."""

    async def create(
        self, owner: str, new: NewSchedule, *, key_id: str | None, scopes: str | None = None
    ) -> ScheduleRow:
        """Its turns count for the limits of the key `key_id` too, and may no more than `scopes`
        (None: what a member may). Raises errors.InvalidRequest
        (invalid_schedule: it is never due, too often, or for a destination of no known kind),
        errors.NotFound (the session, the webhook), errors.Conflict (too_many_schedules)."""
        now, message = now_ms(), clean_text(new.message).strip()
        name = clean_text(new.name or "").strip() or title_from_message(message)
        if name is None or not len(message) <= MAX_MESSAGE:
            raise InvalidRequest(f"message must have from 1 to {MAX_MESSAGE} characters.")
        timing, due_at = self._timing(new, now)
        if new.session_id is not None:
            await self._sessions.get(new.session_id, owner)
        if new.destination is not None:
            await self._check(new.destination, owner)
        row = ScheduleRow(
            new_schedule_id(),
            owner,
            name[:MAX_NAME],
            message,
            new.session_id,
            *timing,
            new.late,
            "active",
            now,
            due_at,
            destination=new.destination,
            key_id=key_id,
            scopes=scopes,
        )
        await self._store.add(row, most=self._settings.max_schedules)
        return row

    def preview(self, new: NewSchedule) -> Sequence[int]:
        """The first due times, UPCOMING at most, that such a schedule would have. Raises as `create`."""
        timing, first = self._timing(new, now_ms())
        return upcoming(timing, first - 1, UPCOMING)

    async def list(self, owner: str) -> Sequence[ScheduleRow]:
        """The newest MAX_LISTED."""
        return await self._store.list(owner, MAX_LISTED)

    async def get(self, owner: str, schedule_id: str) -> ScheduleRow:
        return await self._store.get(schedule_id, owner)

    async def runs(self, owner: str, schedule_id: str, limit: int = RUNS_SHOWN) -> Sequence[ScheduleRun]:
        """The last ones, the newest first."""
        await self.get(owner, schedule_id)
        return await self._store.runs(schedule_id, limit)

    async def pause(self, owner: str, schedule_id: str) -> ScheduleRow:
        """Due times that pass meanwhile are no late ones; a run that is under way goes on. One that is paused
        stays so. Raises errors.Conflict: it has ended."""
        row = await self.get(owner, schedule_id)
        if row.status == "ended":
            raise _ended(row)
        if row.status == "paused":
            return row
        return await self._change(row, Planned(None, "paused"))

    async def resume(self, owner: str, schedule_id: str, *, key_id: str | None) -> ScheduleRow:
        """It is due again from now on; one whose key has ended goes on with `key_id`. Raises errors.Conflict:
        it has ended, or its time has passed; errors.InvalidRequest: its time zone is gone."""
        row = await self.get(owner, schedule_id)
        if row.status == "active":
            return row
        due_at = next_due(row.timing, now_ms()) if row.status == "paused" else None
        if due_at is None:
            raise _ended(row)
        return await self._change(_with_key(row, key_id), Planned(due_at, "active"))

    async def run_now(self, owner: str, schedule_id: str, *, key_id: str | None) -> ScheduleRow:
        """It is due now, once, whatever its status; its other times stay. One whose key has ended runs with
        `key_id`. Raises errors.Conflict: a run of it is under way."""
        row = await self.get(owner, schedule_id)
        last = await self._store.runs(schedule_id, 1)
        if last and last[0].status == "started":
            raise Conflict(f"A run of {row.name} is under way.", code="run_in_progress")
        now = now_ms()
        if row.due_at is not None and row.due_at <= now:
            return row
        return await self._change(_with_key(row, key_id), Planned(now, row.status, row.reason))

    async def delete(self, owner: str, schedule_id: str) -> ScheduleRow:
        """What it was. A run that is under way goes on."""
        row = await self.get(owner, schedule_id)
        await self._store.remove(schedule_id, owner)
        return row

    async def _check(self, destination: str, owner: str) -> None:
        kind, _, address = destination.partition(":")
        if kind not in self.destinations:
            known = ", ".join(f"{each}:…" for each in sorted(self.destinations)) or "none"
            raise BadTiming(f"destination must be one of those there are here: {known}.")
        await self.destinations[kind].check(owner, address)

    def _timing(self, new: NewSchedule, now: int) -> tuple[Timing, int]:
        at = moment(new.at, new.timezone) if new.at is not None else None
        if at is None and new.every is not None and new.cron is None:
            at = now + new.every * 1000
        timing = Timing(at, new.every, new.cron, new.timezone)
        return timing, checked(timing, now, min_interval=MIN_INTERVAL)

    async def _change(self, row: ScheduleRow, planned: Planned) -> ScheduleRow:
        if not await self._store.change(row, planned):
            raise Conflict(f"{row.name} has just been changed: look at it again.", retryable=True)
        return await self.get(row.owner, row.id)


def next_of(row: ScheduleRow) -> Sequence[int]:
    """The next due times of a schedule, UPCOMING at most."""
    if row.due_at is None:
        return []
    try:
        later = upcoming(row.timing, row.due_at, UPCOMING - 1) if row.status == "active" else ()
        return [row.due_at, *later]
    except BadTiming:  # its time zone is gone
        return [row.due_at]


def _with_key(row: ScheduleRow, key_id: str | None) -> ScheduleRow:
    return replace(row, key_id=key_id) if row.reason == KEY_REVOKED else row


def _ended(row: ScheduleRow) -> Conflict:
    return Conflict(f"{row.name} has no further time: make a new schedule.", code="schedule_ended")

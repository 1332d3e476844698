"""When a schedule is due. Pure but for the time zone database.

Where the clocks change (`cron` and `at` in a named zone):

    forward, 02:00 ─▶ 03:00     a time that is left out, 02:30, is the first one there is: 03:00, once
    back, 03:00 ─▶ 02:00        a time that comes twice, 02:30, is the first of both, once
    `*` in minute or hour       counts the time that passes, as Debian's cron: `*/30 * * * *` is due in
                                both hours that are shown alike, and not in one that is left out
    every                       counts seconds, whatever the clocks show
"""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from cronsim import CronSim, CronSimError

from gateway.errors import InvalidRequest
from gateway.ids import DAY_MS
from gateway.storage.schedules import Planned, ScheduleRow, Timing
from gateway.tools.clock import zone

MAX_AHEAD_DAYS = 3660
"""Ten years: what is not due until then counts as never due. The longest that a yearly time takes is eight
(29 February around 2100)."""
MAX_CRON = 200
"""Characters of an expression."""
CATCH_UP_DAYS = 1
"""With `all`, due times that passed longer ago are missed."""

MAX_SKEW = 300_000
"""Milliseconds."""

_COMPARED = 50  # due times whose distances are looked at
_TRIED = (
    100  # steps until an expression is behind a given time: it begins again before it where clocks go back
)


class BadTiming(InvalidRequest):
    """A timing that no time follows from."""

    code = "invalid_schedule"


def next_due(timing: Timing, after: int) -> int | None:
    """The first due time later than `after`, both Unix milliseconds; None: there is none. Raises BadTiming:
    the expression or the time zone is none, or none any more."""
    if timing.cron is not None:
        return _next_of_cron(timing.cron, timing.timezone, after)
    assert timing.at is not None  # `checked`
    if after < timing.at:
        return timing.at
    if timing.every is None:
        return None
    step = timing.every * 1000
    return timing.at + ((after - timing.at) // step + 1) * step


def upcoming(timing: Timing, after: int, count: int) -> list[int]:
    """The next due times, fewer where there are fewer. Raises as `next_due`."""
    times: list[int] = []
    while len(times) < count and (due := next_due(timing, times[-1] if times else after)) is not None:
        times.append(due)
    return times


def planned(row: ScheduleRow, now: int, *, grace: int) -> tuple[bool, Planned]:
    """Whether a schedule that is due has its turn now, and what it does next. A time that passed more than
    `grace` milliseconds ago is late: the schedule's rule says what becomes of it. One that is paused or has
    ended is due as its owner asked for a run."""
    assert row.due_at is not None  # it is due
    if row.status != "active":
        return True, Planned(None, row.status, row.reason)
    is_late = now - row.due_at > grace
    runs, behind = True, row.due_at
    if is_late and row.late == "all":
        oldest = now - CATCH_UP_DAYS * DAY_MS
        runs, behind = row.due_at >= oldest, max(row.due_at, oldest - 1)
    elif is_late:
        runs, behind = row.late == "once", now
    try:
        upcoming = next_due(row.timing, behind)
    except BadTiming as error:
        return runs, Planned(None, "paused", error.message)
    return runs, Planned(upcoming, "active" if upcoming is not None else "ended")


def put_right(row: ScheduleRow, now: int) -> int | None:
    """The next due time of an active schedule that is due later than its timing says, as after a clock that
    was ahead for a while; None: it is right. Clocks of replicas may differ by MAX_SKEW."""
    assert row.due_at is not None  # it is active
    try:
        latest = next_due(row.timing, now + MAX_SKEW)
        return next_due(row.timing, now) if latest is not None and row.due_at > latest else None
    except BadTiming:  # what it does next says so when it is due
        return None


def checked(timing: Timing, now: int, *, min_interval: int) -> int:
    """The first due time of a new schedule. Times must be `min_interval` seconds apart, as far as the next
    ones tell. Raises BadTiming, saying what to give instead."""
    if timing.cron is not None and (timing.at is not None or timing.every is not None):
        raise BadTiming("Give one of cron, every and at; every may have an at to begin with.")
    if timing.cron is None and timing.at is None:
        raise BadTiming("Give when it is due: at, every or cron.")
    last = now + MAX_AHEAD_DAYS * DAY_MS
    if timing.every is not None and not min_interval <= timing.every <= MAX_AHEAD_DAYS * DAY_MS // 1000:
        raise BadTiming(f"every must be from {min_interval} seconds to {MAX_AHEAD_DAYS} days.")
    first = next_due(timing, now)
    if timing.at is not None and timing.at <= now:
        raise BadTiming("at must be in the future.")
    if first is None or first > last:
        raise BadTiming(
            f"It is not due within the next {MAX_AHEAD_DAYS // 366} years, which counts as never."
        )
    if timing.cron is not None:
        _check_distances(timing, first, last, min_interval)
    return first


def moment(text: str, timezone: str) -> int:
    """Unix milliseconds of an ISO 8601 date and time; without an offset it is what the clocks of that zone
    show. Raises BadTiming."""
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadTiming(f"at must be a date and time such as 2026-12-24T08:00, not {text[:40]!r}.") from None
    try:
        return _milliseconds(
            at if at.tzinfo is not None else _first(at.replace(tzinfo=_zone(timezone), fold=0))
        )
    except OverflowError:
        raise BadTiming("at is out of range.") from None


def _check_distances(timing: Timing, first: int, last: int, min_interval: int) -> None:
    times = [first]
    while len(times) < _COMPARED and (following := next_due(timing, times[-1])) is not None:
        if following > last:
            break
        times.append(following)
    if any(later - earlier < min_interval * 1000 for earlier, later in pairwise(times)):
        raise BadTiming(
            f"Due times must be {min_interval} seconds apart, and those of {timing.cron!r} are not."
        )


def _next_of_cron(cron: str, timezone: str, after: int) -> int | None:
    if len(cron) > MAX_CRON or len(cron.split()) != 5:
        raise BadTiming("cron must have five fields: minute, hour, day of month, month, day of week.")
    begin = datetime.fromtimestamp(after / 1000, _zone(timezone))
    try:
        times = CronSim(cron, begin)
    except CronSimError as error:
        raise BadTiming(f"cron {cron!r} cannot be used: {error}.") from None
    for _ in range(_TRIED):
        found = next(times, None)
        if found is None:
            return None
        if (due := _milliseconds(found)) > after:
            return due
    return None


def _first(at: datetime) -> datetime:
    """`at`, or the first minute after it that its clocks show."""
    while at != at.astimezone(UTC).astimezone(at.tzinfo):
        at += timedelta(minutes=1)
    return at


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _zone(name: str):
    try:
        return zone(name)
    except ValueError as error:
        raise BadTiming(str(error)) from None

"""When a schedule is due: by expressions, seconds and dates, around changes of the clocks, and when late."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.schedules.due_times import BadTiming, checked, moment, next_due, planned
from gateway.storage.schedules import Late, Planned, ScheduleRow, ScheduleStatus, Timing
from tests.product import DAY_MS

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
MINUTE = 60_000
NOW = int(datetime(2026, 11, 24, 12, tzinfo=UTC).timestamp() * 1000)


def ms(text: str, zone: str = "UTC") -> int:
    """Of a time that the clocks of that zone show, or that has an offset."""
    at = datetime.fromisoformat(text)
    return int((at if at.tzinfo else at.replace(tzinfo=ZoneInfo(zone))).timestamp() * 1000)


def due_times(timing: Timing, after: str, count: int) -> list[str]:
    """The next ones, as the clocks of the zone show them."""
    found: list[str] = []
    at = ms(after, timing.timezone)
    for _ in range(count):
        at = next_due(timing, at)
        assert at is not None
        found.append(
            datetime.fromtimestamp(at / 1000, ZoneInfo(timing.timezone)).isoformat(timespec="minutes")
        )
    return found


@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        # In spring 02:00 to 03:00 is left out in Berlin on 2027-03-28, in New York on 2027-03-14.
        ("30 2 * * *", BERLIN, "2027-03-27T12:00", ["2027-03-28T03:00+02:00", "2027-03-29T02:30+02:00"]),
        ("30 2 * * *", NEW_YORK, "2027-03-13T12:00", ["2027-03-14T03:00-04:00", "2027-03-15T02:30-04:00"]),
        ("0 8 * * *", BERLIN, "2027-03-27T08:00", ["2027-03-28T08:00+02:00", "2027-03-29T08:00+02:00"]),
        ("*/30 * * * *", BERLIN, "2027-03-28T01:15", ["2027-03-28T01:30+01:00", "2027-03-28T03:00+02:00"]),
        ("15 * * * *", BERLIN, "2027-03-28T01:00", ["2027-03-28T01:15+01:00", "2027-03-28T03:15+02:00"]),
        # In autumn it comes twice, on 2026-10-25 and on 2026-11-01 (01:00 to 02:00).
        ("30 2 * * *", BERLIN, "2026-10-24T12:00", ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]),
        ("30 1 * * *", NEW_YORK, "2026-10-31T12:00", ["2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"]),
        ("30 2 * * *", BERLIN, "2026-10-25T02:15+01:00", ["2026-10-26T02:30+01:00"]),
        (
            "*/30 * * * *",
            BERLIN,
            "2026-10-25T02:30+02:00",
            ["2026-10-25T02:00+01:00", "2026-10-25T02:30+01:00", "2026-10-25T03:00+01:00"],
        ),
        # By half an hour: 02:00 to 02:30 is left out on 2026-10-04.
        ("10 2 * * *", LORD_HOWE, "2026-10-03T12:00", ["2026-10-04T02:30+11:00", "2026-10-05T02:10+11:00"]),
        # Days as Debian's cron has them: 7 is Sunday, of two that are given one is enough.
        ("0 8 * * 1-5", "UTC", "2026-11-27T12:00", ["2026-11-30T08:00+00:00"]),
        ("0 8 * * 7", "UTC", "2026-11-24T12:00", ["2026-11-29T08:00+00:00"]),
        ("0 8 1 * 1", "UTC", "2026-11-24T12:00", ["2026-11-30T08:00+00:00", "2026-12-01T08:00+00:00"]),
        ("0 0 29 2 *", "UTC", "2026-11-24T12:00", ["2028-02-29T00:00+00:00"]),
        ("0 18 L * *", "Asia/Shanghai", "2027-02-01T00:00", ["2027-02-28T18:00+08:00"]),
    ],
)
def test_an_expression_is_due_as_the_clocks_of_its_zone_show(
    cron: str, zone: str, after: str, expected: list[str]
) -> None:
    assert due_times(Timing(cron=cron, timezone=zone), after, len(expected)) == expected


@given(
    st.sampled_from(
        ["30 2 * * *", "*/20 1-3 * * *", "0 */2 * * *", "7 1,2,3 * * 0", "* * * * *", "0 8 L * *"]
    ),
    st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, "UTC", "Asia/Shanghai", "Pacific/Apia"]),
    st.integers(ms("2026-01-01"), ms("2028-01-01")),
)
def test_each_due_time_is_later_than_what_it_comes_after(cron: str, zone: str, after: int) -> None:
    """So that no due time comes again, wherever the clocks stand."""
    timing = Timing(cron=cron, timezone=zone)
    for _ in range(4):
        due = next_due(timing, after)
        assert due is not None
        assert due > after
        after = due


def test_every_so_often_counts_seconds_from_its_beginning() -> None:
    """Also over a change of the clocks, and behind what was passed over."""
    timing = Timing(at=1_000, every=3600)
    assert [next_due(timing, after) for after in (0, 999, 1_000, 1_001, 3_601_000)] == [
        *(1_000, 1_000, 3_601_000, 3_601_000),
        7_201_000,
    ]
    assert next_due(Timing(at=5), 4) == 5
    assert next_due(Timing(at=5), 5) is None


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("2026-12-24T08:00", BERLIN, "2026-12-24T08:00+01:00"),
        ("2026-12-24T08:00+08:00", BERLIN, "2026-12-24T08:00+08:00"),
        ("2027-03-28T02:30", BERLIN, "2027-03-28T03:00+02:00"),
        ("2026-10-25T02:30", BERLIN, "2026-10-25T02:30+02:00"),
        ("2026-12-24", "UTC", "2026-12-24T00:00+00:00"),
    ],
)
def test_a_moment_without_an_offset_is_one_of_the_zones_clocks(text: str, zone: str, expected: str) -> None:
    assert moment(text, zone) == ms(expected)


@pytest.mark.parametrize(
    "timing",
    [
        Timing(cron="0 0 30 2 *"),
        Timing(cron="0 0 31 4,6,9,11 *"),
        Timing(cron="0 0 * 2 MON#5"),  # a Monday that is the 29th of February, in 2044
        Timing(cron="* * * * * *"),
        Timing(cron="@daily"),
        Timing(cron="60 * * * *"),
        Timing(cron="*/0 * * * *"),
        Timing(cron=""),
        Timing(cron="0 8 * * *", timezone="Europe/Atlantis"),
        Timing(cron="0 8 * * *", timezone="../../etc/passwd"),
        Timing(cron=f"{','.join(map(str, range(60)))} * * * {','.join('1234567' * 9)}"),
        Timing(cron="0 8 * * *", at=NOW + DAY_MS),
        Timing(cron="0 8 * * *", every=600),
        Timing(every=600),
        Timing(),
        Timing(at=NOW),
        Timing(at=NOW + 4000 * DAY_MS),
        Timing(at=NOW + DAY_MS, every=59),
        Timing(at=NOW + DAY_MS, every=10**9),
    ],
)
def test_what_is_never_due_or_too_often_is_refused(timing: Timing) -> None:
    with pytest.raises(BadTiming) as refused:
        checked(timing, NOW, min_interval=60)
    assert refused.value.code == "invalid_schedule"


def test_the_least_distance_is_the_operators() -> None:
    assert checked(Timing(cron="* * * * *"), NOW, min_interval=60) == NOW + MINUTE
    with pytest.raises(BadTiming, match="300 seconds apart"):
        checked(Timing(cron="0,4 * * * *"), NOW, min_interval=300)
    assert checked(Timing(cron="*/5 * * * *"), NOW, min_interval=300) == NOW + 5 * MINUTE


def row(late: Late = "once", *, due: int, timing: Timing, status: ScheduleStatus = "active") -> ScheduleRow:
    return ScheduleRow("sch_1", "ann", "n", "m", "s", *timing, late, status, 0, due)


HOURLY = Timing(cron="0 * * * *")
NEXT = NOW + 60 * MINUTE


@pytest.mark.parametrize(
    ("late", "hours", "runs", "following"),
    [
        ("skip", 0, True, NEXT),
        ("once", 0, True, NEXT),
        ("all", 0, True, NEXT),
        ("skip", 5, False, NEXT),
        ("once", 5, True, NEXT),
        ("all", 5, True, NOW - 4 * 60 * MINUTE),
        ("all", 24, True, NOW - 23 * 60 * MINUTE),
        ("all", 30, False, NOW - 24 * 60 * MINUTE),
    ],
)
def test_late_due_times_run_as_the_schedule_says(
    late: Late, hours: int, *, runs: bool, following: int
) -> None:
    """Not at all, once for all, or each that is not older than a day."""
    due = row(late, due=NOW - hours * 60 * MINUTE, timing=HOURLY)
    assert planned(due, NOW, grace=MINUTE) == (runs, Planned(following, "active"))


def test_what_has_no_further_time_has_ended() -> None:
    once = Timing(at=NOW)
    assert planned(row(due=NOW, timing=once), NOW, grace=MINUTE) == (True, Planned(None, "ended"))
    late = planned(row("skip", due=NOW, timing=once), NOW + DAY_MS, grace=MINUTE)
    assert late == (False, Planned(None, "ended"))


@pytest.mark.parametrize("status", ["paused", "ended"])
def test_a_run_that_was_asked_for_leaves_a_schedule_as_it_is(status: ScheduleStatus) -> None:
    assert planned(row(due=NOW, timing=HOURLY, status=status), NOW, grace=0) == (True, Planned(None, status))
    early = planned(row(due=NOW, timing=Timing(at=NEXT)), NOW, grace=0)
    assert early == (True, Planned(NEXT, "active"))


def test_a_time_zone_that_vanished_pauses_the_schedule_after_its_run() -> None:
    """The time that it has is right still; the next is not known."""
    gone = row(due=NOW, timing=Timing(cron="0 8 * * *", timezone="Europe/Atlantis"))
    runs, following = planned(gone, NOW, grace=MINUTE)
    assert runs
    assert (following.due_at, following.status) == (None, "paused")
    assert "Europe/Atlantis" in (following.reason or "")

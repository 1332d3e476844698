"""Due times that a clock has put too far off."""

import asyncio
from dataclasses import replace

import pytest

from gateway.schedules.due_times import MAX_SKEW, put_right
from gateway.storage.schedules import Planned, ScheduleRow
from tests.harness import TIMEOUT, running_gateway
from tests.postgres import on_both_engines
from tests.product import DAY_MS, Settings, now_ms, open_storage

NOW = 1_795_953_600_000
HOUR = 3_600_000
EVERY = ScheduleRow(
    "sch_a", "local", "n", "hi", None, NOW - HOUR, 3600, None, "UTC", "once", "active", NOW - HOUR, NOW + HOUR
)


@pytest.mark.parametrize("timing", [{}, {"at": None, "every": None, "cron": "0 * * * *"}])
def test_a_time_beyond_the_next_one_is_put_right(timing: dict[str, object]) -> None:
    """Of seconds and of cron expressions; a time that is right, or a little off as clocks of replicas are,
    stays, and so does a first time that was chosen."""
    row = replace(EVERY, **timing)
    assert put_right(row, NOW + 1) is None
    assert put_right(row, NOW - MAX_SKEW + 1) is None
    assert put_right(replace(row, due_at=NOW + 30 * DAY_MS), NOW + 1) == NOW + HOUR
    first = replace(EVERY, at=NOW + 30 * DAY_MS, due_at=NOW + 30 * DAY_MS)
    assert put_right(first, NOW) is None
    assert put_right(replace(first, every=None), NOW) is None


@pytest.mark.anyio
@on_both_engines
async def test_a_schedule_that_came_due_while_the_clock_was_ahead_is_put_right(settings: Settings) -> None:
    """At the start of the gateway."""
    async with running_gateway(settings) as client:
        made = (await client.post("/api/schedules", {"message": "hi", "every": 3600})).json()
    async with open_storage(settings) as storage:
        row = await storage.schedules.get(made["id"], "local")
        assert row.due_at is not None
        assert await storage.schedules.change(row, Planned(row.due_at + 30 * DAY_MS, "active"))

    async with running_gateway(settings) as client, asyncio.timeout(TIMEOUT):
        while (shown := (await client.get(f"/api/schedules/{made['id']}")).json())[
            "due_at"
        ] > now_ms() + HOUR:
            await asyncio.sleep(0.02)
    assert (shown["status"], shown["due_at"]) == ("active", made["due_at"])

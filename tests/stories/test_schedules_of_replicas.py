"""Schedules of several processes on one PostgreSQL database: each due time runs once, whoever is killed."""

import asyncio
import signal
from pathlib import Path

import psycopg
import pytest

from tests.harness import TIMEOUT, Client
from tests.postgres import database_in, needs_postgres, new_database
from tests.product import Settings, now_ms
from tests.stories.test_other_replica import two
from tests.stories.test_replicas import replicas
from tests.stories.test_schedules import details, made, settled

pytestmark = [*needs_postgres, pytest.mark.anyio, pytest.mark.long, pytest.mark.waits]

MINUTE = 60_000


def due(url: str, at: int) -> None:
    """All schedules are due at that time."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE schedules SET due_at = %s", (at,))


async def turns_of(client: Client, session: str) -> list[str | None]:
    """What began the turns of a session, in order: of a run, its schedule and due time."""
    seen = await client.events(session)
    return [each["data"].get("client_message_id") for each in seen if each["type"] == "turn_start"]


async def test_a_due_time_of_two_replicas_has_one_run(settings: Settings, tmp_path: Path) -> None:
    url = database_in(tmp_path)
    shared = settings.model_copy(
        update={"database_url": url, "blob_url": (tmp_path / "blobs").as_uri(), "lease": 3600}
    )
    async with two(shared) as (a, b):
        opened = [await a.session() for _ in range(12)]
        sessions = {await made(a, "/say once", session): session for session in opened}
        at = now_ms()
        due(url, at)

        for schedule, session in sessions.items():
            (run,) = await settled(b, schedule)
            assert (run["status"], run["due_at"]) == ("completed", at)
            assert await turns_of(b, session) == [f"{schedule}-{at}"]


async def test_every_due_time_runs_once_also_when_replicas_are_killed(tmp_path: Path, demo_url: str) -> None:
    """A quarter of an hour is made up for, run after run, while process after process is killed."""
    url = new_database()
    async with replicas(tmp_path, demo_url, GATEWAY_DATABASE_URL=url, GATEWAY_SCHEDULE_GRACE="5") as start:
        a = await start("a")
        session = await a.client.session()
        schedule = await made(a.client, "/say once", session, cron="* * * * *", late="all")
        began = now_ms() // MINUTE * MINUTE - 15 * MINUTE
        due(url, began)
        for name, runs in (("b", 3), ("c", 7)):
            async with asyncio.timeout(TIMEOUT):
                while len((await details(a.client, schedule))["runs"]) < runs:
                    await asyncio.sleep(0.05)
            following = await start(name)
            a.process.send(signal.SIGKILL)
            a = following

        found = await settled(a.client, schedule, runs=15)

        times = [run["due_at"] for run in reversed(found)]
        assert times == [began + MINUTE * number for number in range(len(times))]
        assert {run["status"] for run in found} == {"completed"}
        begun = await turns_of(a.client, session)  # the next minute's may have begun by now
        assert begun[: len(times)] == [f"{schedule}-{at}" for at in times]
        assert len(set(begun)) == len(begun)

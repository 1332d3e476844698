"""Sessions that nobody uses: summarised and archived by themselves, where that is set."""

import asyncio

import pytest

from gateway.service.archiving import Archiver
from gateway.service.upkeep import Upkeep
from gateway.settings import Settings
from tests.harness import Client, running_gateway

pytestmark = pytest.mark.anyio

IDLE = 0.05
"""Seconds after which a session counts as idle in these stories."""


async def later(client: Client) -> Upkeep:
    """The upkeep of a gateway whose sessions have been idle for long enough."""
    await asyncio.sleep(2 * IDLE)
    parts = client.app.state.parts
    return Upkeep(parts, Archiver(parts))


async def summary_of(client: Client, session: str) -> tuple[int, str | None]:
    answer = await client.get(f"/api/session/summary/{session}")
    return answer.status_code, answer.json().get("trigger")


async def test_an_idle_session_is_summarised_once(settings: Settings) -> None:
    """And again when something more was said."""
    async with running_gateway(settings.model_copy(update={"summary_after": IDLE})) as client:
        await client.chat("I bought a teal lamp today.", session_id="s")
        upkeep = await later(client)
        await upkeep.look()
        first = (await client.get("/api/session/summary/s")).json()
        await upkeep.look()
        assert (await client.get("/api/session/summary/s")).json() == first
        assert (first["trigger"], first["to_position"]) == ("idle", 2)

        await client.chat("And my cat is called Tofu.", session_id="s")
        await (await later(client)).look()
        assert (await client.get("/api/session/summary/s")).json()["to_position"] == 4


async def test_without_the_settings_nothing_happens_by_itself(client: Client) -> None:
    """Neither a summary nor an archive is made."""
    await client.chat("My favourite colour is teal.", session_id="s")
    upkeep = await later(client)
    await upkeep.look()

    assert await summary_of(client, "s") == (404, None)
    assert (await client.post("/api/sessions/s/archive")).json()["events"]["first"] == 1


async def test_an_old_session_moves_to_its_archive_and_leaves_a_summary(settings: Settings) -> None:
    """Its events and messages are read as before; the rows are gone from the tables."""
    given = {"archive_after": IDLE, "summary_after": 3600.0}
    async with running_gateway(settings.model_copy(update=given)) as client:
        await client.chat("My favourite colour is teal.", session_id="s")
        before = await client.events("s")
        await (await later(client)).look()

        assert await client.events("s") == before
        assert len(await client.app.state.parts.archives.list("s")) == 1
        assert await summary_of(client, "s") == (200, "archive")


async def test_one_session_that_cannot_be_archived_does_not_keep_the_others(settings: Settings) -> None:
    """A file stands where its folder would be: that one is left for later, the next look passes it by."""
    async with running_gateway(settings.model_copy(update={"archive_after": IDLE})) as client:
        for session in ("bad", "good"):
            await client.chat("/say hello", session_id=session)
        blocked = settings.data_dir / "blobs" / "sessions" / "bad"
        blocked.parent.mkdir(parents=True)
        blocked.write_text("in the way")
        await (await later(client)).look()
        archives = client.app.state.parts.archives

        assert len(await archives.list("bad")) == 0
        assert len(await archives.list("good")) == 1
        assert (await client.events("bad"))[-1]["type"] == "done"


async def test_a_mistake_does_not_end_the_upkeep(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong in one look, there is a next one."""
    upkeep, looks = await later(client), asyncio.Semaphore(0)

    async def look() -> None:
        looks.release()
        raise ValueError("a mistake")

    monkeypatch.setattr(upkeep, "look", look)
    running = asyncio.create_task(upkeep.run(every=0.001))
    for _ in range(3):
        await asyncio.wait_for(looks.acquire(), 10)
    running.cancel()

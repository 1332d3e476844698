"""Sessions that nobody uses: summarised and archived by themselves, where that is set."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from gateway.history.archive import folder_of
from gateway.service import archiver, upkeep
from gateway.service.archiver import Archiver
from gateway.service.dependencies import Dependencies
from gateway.service.upkeep import Upkeep
from gateway.storage.archives import SummaryRow
from gateway.storage.sessions import SessionRow
from tests.harness import Client, running_gateway
from tests.loopback import TIMEOUT
from tests.product import Settings, StorageError, Supervisor

pytestmark = pytest.mark.anyio

IDLE = 0.05
"""Seconds after which a session counts as idle in these stories."""


async def later(client: Client) -> Upkeep:
    """The upkeep of a gateway whose sessions have been idle for long enough."""
    await asyncio.sleep(2 * IDLE)
    deps = client.app.state.deps
    return Upkeep(deps, Archiver(deps))


async def summary_of(client: Client, session: str) -> tuple[int, str | None]:
    answer = await client.get(f"/api/session/summary/{session}")
    return answer.status_code, answer.json().get("trigger")


async def test_an_idle_session_is_summarised_once(settings: Settings) -> None:
    """And again when something more was said."""
    async with running_gateway(settings.model_copy(update={"summary_after": IDLE})) as client:
        await client.chat("I bought a teal lamp today.", session_id="s")
        looking = await later(client)
        await looking.look()
        first = (await client.get("/api/session/summary/s")).json()
        await looking.look()
        assert (await client.get("/api/session/summary/s")).json() == first
        assert (first["trigger"], first["to_position"]) == ("idle", 2)

        await client.chat("And my cat is called Tofu.", session_id="s")
        await (await later(client)).look()
        assert (await client.get("/api/session/summary/s")).json()["to_position"] == 4


async def test_without_the_settings_nothing_happens_by_itself(client: Client) -> None:
    """Neither a summary nor an archive is made."""
    await client.chat("My favourite colour is teal.", session_id="s")
    looking = await later(client)
    await looking.look()

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
        assert len(await client.app.state.deps.archives.list("s")) == 1
        assert await summary_of(client, "s") == (200, "archive")


async def test_one_session_that_cannot_be_archived_does_not_keep_the_others(settings: Settings) -> None:
    """A file stands where its folder would be: that one is left for later, the next look passes it by."""
    async with running_gateway(settings.model_copy(update={"archive_after": IDLE})) as client:
        for session in ("bad", "good"):
            await client.chat("/say hello", session_id=session)
        blocked = settings.data_dir / "blobs" / folder_of("bad")
        blocked.parent.mkdir(parents=True)
        blocked.write_text("in the way")
        await (await later(client)).look()
        archives = client.app.state.deps.archives

        assert len(await archives.list("bad")) == 0
        assert len(await archives.list("good")) == 1
        assert (await client.events("bad"))[-1]["type"] == "done"


@pytest.mark.parametrize(
    "mistake", [KeyError("a mistake"), StorageError("for now"), asyncio.CancelledError()], ids=repr
)
async def test_one_session_with_which_something_fails_does_not_keep_the_others(
    mistake: BaseException, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it is: the other one is summarised, both are archived, and the summary that fails, which may
    have been paid for, is not asked for again."""
    asked: list[str] = []

    async def summarise(deps: Dependencies, session: SessionRow, trigger: Any) -> SummaryRow:
        asked.append(session.id)
        if session.id == "bad":
            raise mistake
        return await archiver.summarise(deps, session, trigger)

    monkeypatch.setattr(upkeep, "summarise", summarise)
    given = {"summary_after": IDLE, "archive_after": IDLE}
    async with running_gateway(settings.model_copy(update=given)) as client:
        for session in ("bad", "good"):
            await client.chat("/say hello", session_id=session)
        looking = await later(client)
        for _ in range(3):
            with suppress(asyncio.CancelledError):  # nobody asked for it: the supervisor has another look
                await looking.look()

        assert asked.count("bad") == 1
        assert (await summary_of(client, "good"))[0] == 200
        archives = client.app.state.deps.archives
        assert [len(await archives.list(session)) for session in ("bad", "good")] == [1, 1]


async def test_a_step_that_fails_does_not_keep_the_others(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old sessions are archived also when nobody knows which artifacts or summaries are due; then the first
    of what went wrong is raised, for whoever runs it."""
    async with running_gateway(
        settings.model_copy(update={"summary_after": 1, "archive_after": IDLE})
    ) as client:
        await client.chat("/say hello", session_id="s")
        deps = client.app.state.deps

        async def fail(*_: Any, **__: Any) -> None:
            raise KeyError("a mistake")

        monkeypatch.setattr(deps.artifact_store, "sweep", fail)
        monkeypatch.setattr(deps.summaries, "due", fail)
        looking = await later(client)
        with pytest.raises(KeyError):
            await looking.look()

        assert len(await deps.archives.list("s")) == 1


async def test_a_mistake_does_not_end_the_upkeep(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong in one look, there is a next one."""
    looking, looks = await later(client), asyncio.Semaphore(0)

    async def look() -> None:
        looks.release()
        raise ValueError("a mistake")

    monkeypatch.setattr(looking, "look", look)
    running = asyncio.create_task(Supervisor(first_pause=0).keep(looking.run, "upkeep"))
    for _ in range(3):
        await asyncio.wait_for(looks.acquire(), TIMEOUT)
    running.cancel()

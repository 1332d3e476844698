"""Clients whose Stop is only a closed connection: the turn ends when nobody came back to read it."""

import asyncio

import pytest

from gateway.api import turns_routes
from tests.harness import TIMEOUT, Client, events, the

pytestmark = pytest.mark.anyio

LONG = "/pieces 4000\n/pace 25"


async def end_of(client: Client, session: str, turn: str) -> str:
    """The status of the turn's `done`, once it is there; looked for without reading the turn."""
    async with asyncio.timeout(TIMEOUT):
        while (found := (await client.get(f"/api/turns/{turn}")).json())["status"] != "done":
            await asyncio.sleep(0.01)
    seen = events(await client.all_frames(f"/api/sessions/{session}/events?turn_id={turn}"))
    assert the(seen, "done")["status"] == found["outcome"]
    return found["outcome"]


@pytest.mark.parametrize("after", ["stream_open", "text"])
async def test_a_stream_that_ends_early_ends_its_turn_when_it_says_so(
    client: Client, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    """Wherever the connection ended. What was written is kept, as with any cancel."""
    monkeypatch.setattr(turns_routes, "GRACE", 0.05)
    session = await client.session()
    body = {"message": LONG, "on_disconnect": "release"}
    async with client.frames(f"/api/sessions/{session}/turns", body) as frames:
        async for frame in frames:
            if frame.event == after:
                break
    (turn,) = (await client.get("/api/turns")).json()["turns"]

    assert await end_of(client, session, turn["turn_id"]) == "cancelled"


async def test_a_turn_that_somebody_reads_is_kept(client: Client) -> None:
    """A reader of the session is one, too. When that goes it takes nothing with it."""
    session = await client.session()
    turn = (await client.begin(session, "/pieces 20\n/pace 25"))["turn_id"]
    async with client.frames(f"/api/sessions/{session}/events") as frames:
        async for frame in frames:
            if frame.event == "turn_start":
                path = f"/api/sessions/{session}/turns/{turn}/release"
                assert (await client.post(path, {"grace_seconds": 0})).status_code == 202
            if frame.event == "iteration_end":
                break

    assert await end_of(client, session, turn) == "completed"


async def test_a_released_turn_ends_when_nobody_reads_it(client: Client) -> None:
    """Whether it runs or waits for another. Once it is over a release changes nothing."""
    session = await client.session()
    running = (await client.begin(session, LONG))["turn_id"]
    waiting = (await client.begin(session, "/say hi", on_conflict="queue"))["turn_id"]
    for turn in (waiting, running):
        path = f"/api/sessions/{session}/turns/{turn}/release"
        await client.post(path, {"grace_seconds": 0})
        assert await end_of(client, session, turn) == "cancelled"
        assert (await client.post(path)).status_code == 200


@pytest.mark.parametrize("grace", [-1, 301, "soon"])
async def test_a_grace_is_bounded(client: Client, grace: object) -> None:
    turn = await client.begin(await client.session(), "/say hi")
    path = f"/api/sessions/{turn['session_id']}/turns/{turn['turn_id']}/release"

    assert (await client.post(path, {"grace_seconds": grace})).status_code == 400

"""Turns over HTTP by their ids alone, and a user's turns of all sessions."""

import pytest

from tests.harness import Client

pytestmark = pytest.mark.anyio


async def test_a_turn_is_read_and_stopped_by_its_id_alone(client: Client) -> None:
    """The same as with its session; over, it says what it used."""
    turn = (await client.begin(await client.session(), "/fault headers_stall"))["turn_id"]

    running = (await client.get(f"/api/turns/{turn}")).json()
    stopped = await client.post(f"/api/turns/{turn}/cancel")
    await client.all_frames(f"/api/sessions/{running['session_id']}/events?turn_id={turn}")
    over = (await client.get(f"/api/turns/{turn}")).json()

    assert (running["turn_id"], running["status"]) == (turn, "running")
    assert "ended_at" not in running
    assert stopped.json()["cancel_requested"]
    assert (over["status"], over["outcome"]) == ("done", "cancelled")
    assert over["ended_at"] >= over["created_at"]
    assert over == (await client.get(f"/api/sessions/{over['session_id']}/turns/{turn}")).json()


async def test_a_turn_that_is_over_tells_its_usage(client: Client) -> None:
    """As its `done` did."""
    done = (await client.chat("/say hi"))[-1]
    turn = (await client.get(f"/api/turns/{done['turn_id']}")).json()

    assert turn["usage"] == done["data"]["usage"]
    assert (turn["iterations"], turn["last_seq"]) == (1, done["seq"])


async def test_turns_of_all_sessions_are_listed_by_their_state(client: Client) -> None:
    """Page by page, the newest first."""
    finished = [(await client.chat(f"/say {number}"))[0]["turn_id"] for number in range(5)]
    running = (await client.begin(await client.session(), "/fault headers_stall"))["turn_id"]
    seen: list[str] = []
    path = "/api/turns?status=completed&limit=2"
    while path:
        page = (await client.get(path)).json()
        seen += [turn["turn_id"] for turn in page["turns"]]
        path = f"/api/turns?status=completed&limit=2&before={page['next']}" if "next" in page else ""

    assert sorted(seen) == sorted(finished)
    listed = (await client.get("/api/turns?status=running")).json()["turns"]
    assert [turn["turn_id"] for turn in listed] == [running]
    assert len((await client.get("/api/turns")).json()["turns"]) == 6
    assert (await client.get("/api/turns?status=odd")).status_code == 400
    assert (await client.get("/api/turns?before=odd")).status_code == 400
    await client.post(f"/api/turns/{running}/cancel")

"""What people think of turns, over HTTP: in the log, in the turn, in telemetry, in copies."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import SecretStr

from tests.harness import TIMEOUT, Client, events, running_gateway, settings_for, types
from tests.invariants import violations
from tests.postgres import on_both_engines
from tests.product import Settings
from tests.record import read_records

pytestmark = pytest.mark.anyio


async def rate(client: Client, turn: dict[str, Any], **body: Any) -> dict[str, Any]:
    path = f"/api/sessions/{turn['session_id']}/turns/{turn['turn_id']}/feedback"
    response = await client.post(path, body)
    assert response.status_code == 200, response.text
    return response.json()


async def ratings(client: Client, session: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (event["turn_id"], event["data"])
        for event in await client.events(session)
        if event["type"] == "feedback"
    ]


@on_both_engines
async def test_the_last_word_about_a_turn_holds(client: Client) -> None:
    """Each is an event of that turn, behind its `done`; the same again is none."""
    done = (await client.chat("/say hi"))[-1]
    turn, session = done["turn_id"], done["session_id"]

    first = await rate(client, done, rating="down", reason="Too short,\nreally.")
    again = await rate(client, done, rating="down", reason="Too short,\nreally.")
    better = await rate(client, done, rating="up", of="message")
    gone = await rate(client, done, rating="none")
    still_gone = await rate(client, done, rating="none", reason="as there is none")

    down = {"rating": "down", "reason": "Too short,\nreally.", "of": "turn"}
    assert first == again
    assert first["feedback"] == down
    assert better["feedback"] == {"rating": "up", "of": "message"}
    assert "feedback" not in gone
    assert "feedback" not in still_gone
    assert await ratings(client, session) == [
        (turn, down),
        (turn, {"rating": "up", "of": "message"}),
        (turn, {"rating": "none", "of": "turn"}),
    ]
    assert (await client.get(f"/api/turns/{turn}")).json()["last_seq"] == done["seq"]
    assert types(await client.events(session))[-2:] == ["done", "feedback"]


@on_both_engines
async def test_a_turn_is_rated_while_another_one_runs(client: Client) -> None:
    """Its event comes among those of the other, whose stream does not have it; both turns stay whole."""
    session = await client.session()
    first = (await client.chat("/say one", session_id=session))[-1]
    path = f"/api/sessions/{session}/turns"
    async with asyncio.timeout(TIMEOUT), client.frames(path, {"message": "/pace 20 /pieces 40"}) as frames:
        seen = [await anext(frames) for _ in range(5)]
        await rate(client, first, rating="up")
        async for frame in client_events(client, session, first["seq"]):
            if frame["type"] == "feedback":
                break
        seen += [frame async for frame in frames]

    own = events(seen)
    assert {event["turn_id"] for event in own} == {own[0]["turn_id"]} != {first["turn_id"]}
    logged = await client.events(session)
    (rated,) = [event for event in logged if event["type"] == "feedback"]
    assert rated["turn_id"] == first["turn_id"]
    assert own[0]["seq"] < rated["seq"] < own[-1]["seq"]
    assert [event["seq"] for event in logged] == list(range(1, len(logged) + 1))
    bounds = (await client.get(f"/api/turns/{first['turn_id']}")).json()
    assert (bounds["first_seq"], bounds["last_seq"]) == (1, first["seq"])


async def client_events(client: Client, session: str, after: int) -> AsyncIterator[dict[str, Any]]:
    """The session's events, as they come."""
    async with client.frames(f"/api/sessions/{session}/events?after={after}") as frames:
        async for frame in frames:
            if not frame.event.startswith("stream_"):
                yield frame.data


async def test_only_a_turn_of_ones_own_that_is_over_is_rated(client: Client) -> None:
    session = await client.session()
    running = await client.begin(session, "/fault headers_stall")
    path = f"/api/sessions/{session}/turns"

    early = await client.post(f"{path}/{running['turn_id']}/feedback", {"rating": "up"})
    unknown = await client.post(f"{path}/t_none/feedback", {"rating": "up"})
    elsewhere = await client.post(
        f"/api/sessions/other/turns/{running['turn_id']}/feedback", {"rating": "up"}
    )
    odd = [
        (await client.post(f"{path}/{running['turn_id']}/feedback", body)).status_code
        for body in ({}, {"rating": "fine"}, {"rating": "up", "reason": " "}, {"rating": "up", "of": "it"})
    ]
    await client.post(f"{path}/{running['turn_id']}/cancel")

    assert (early.status_code, early.json()["error"]["code"]) == (409, "turn_in_progress")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "turn_not_found")
    assert (elsewhere.status_code, elsewhere.json()["error"]["code"]) == (404, "session_not_found")
    assert odd == [400] * 4


async def test_nobody_rates_the_turn_of_another(settings: Settings) -> None:
    keys = "ann:secret-of-ann-0123456789,bob:secret-of-bob-0123456789"
    async with running_gateway(settings.model_copy(update={"api_keys": SecretStr(keys)})) as client:
        client.http.headers["authorization"] = "Bearer secret-of-ann-0123456789"
        done = (await client.chat("/say hi"))[-1]
        path = f"/api/sessions/{done['session_id']}/turns/{done['turn_id']}/feedback"
        theirs = await client.post(path, {"rating": "up"}, authorization="Bearer secret-of-bob-0123456789")

        assert theirs.status_code == 404
        assert await ratings(client, done["session_id"]) == []


@on_both_engines
async def test_what_was_thought_is_kept_with_the_session(client: Client) -> None:
    """In a replay, an archive, a copy that is imported, and of each branch in its own replay."""
    first = (await client.chat("/say one"))[-1]
    session = first["session_id"]
    again = (await client.all_frames(
        f"/api/sessions/{session}/turns/{first['turn_id']}/regenerate", {}
    ))[-1].data  # fmt: skip
    await rate(client, first, rating="down", reason="wrong")
    await rate(client, again, rating="up")
    logged = await client.events(session)

    async def replayed(query: str) -> list[dict[str, Any]]:
        path = f"/api/sessions/{session}/replay?speed=max{query}"
        return events(await client.all_frames(path))

    assert (await client.post(f"/api/sessions/{session}/archive")).json()["moved"]
    assert await replayed("") == await client.events(session) == logged
    for number, turn in ((0, first), (1, again)):
        told = [event for event in await replayed(f"&branch={number}") if event["type"] == "feedback"]
        assert [event["turn_id"] for event in told] == [turn["turn_id"]]
    copy = (await client.get(f"/api/sessions/{session}/export")).content
    await client.http.delete(f"/api/sessions/{session}")
    headers = {"content-type": "application/x-ndjson"}
    imported = await client.http.post("/api/sessions/import", content=copy, headers=headers)
    assert imported.status_code == 201, imported.text
    assert await client.events(session) == logged
    turn = (await client.get(f"/api/turns/{first['turn_id']}")).json()
    assert turn["feedback"] == {"rating": "down", "reason": "wrong", "of": "turn"}
    assert (await rate(client, first, rating="down", reason="wrong")) == turn
    assert await client.events(session) == logged


async def test_a_rated_session_is_sound_after_a_restart(settings: Settings, demo_url: str) -> None:
    async with running_gateway(settings) as client:
        done = (await client.chat("/say one"))[-1]
        await rate(client, done, rating="up")
    async with running_gateway(settings_for(settings.data_dir, demo_url)) as client:
        await client.chat("/say two", session_id=done["session_id"])
        await rate(client, done, rating="down")
        shown = (await client.get("/metrics")).text
    for record in read_records(settings.data_dir / "gateway.db"):
        assert violations(record) == []
    rated = 'gateway_feedback_total{gateway_feedback_of="turn",gateway_feedback_rating="down"} 1'
    assert rated in shown

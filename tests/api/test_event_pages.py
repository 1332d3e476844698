"""A session's events page by page from its end: what a page needs to draw an old conversation."""

from typing import Any

import orjson
import pytest

from gateway.service import follower
from tests.harness import Client
from tests.history.past import compress_past
from tests.postgres import on_both_engines

pytestmark = pytest.mark.anyio

JSON = {"accept": "application/json"}


async def page(client: Client, query: str, session: str = "s") -> dict[str, Any]:
    response = await client.get(f"/api/sessions/{session}/events?{query}", **JSON)
    assert response.status_code == 200, response.text
    return response.json()


async def backwards(client: Client, query: str, before: int = 10**12) -> list[list[dict[str, Any]]]:
    """The pages from the end to the beginning."""
    pages: list[list[dict[str, Any]]] = []
    cursor: int | None = before
    while cursor is not None:
        found = await page(client, f"{query}&before={cursor}")
        pages.append(found["events"])
        assert "next" not in found
        assert found.get("previous", 0) < cursor
        cursor = found.get("previous")
    return pages


def joined(pages: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [event for each in reversed(pages) for event in each]


@on_both_engines
async def test_pages_from_the_end_have_each_event_once(client: Client) -> None:
    """The newest first, in order within a page; so do those of an archived and a compressed session."""
    for message in ("What is 17*23?", "/pieces 30", "Remember that I like plain words."):
        await client.chat(message, session_id="s")
    logged = await client.events("s")
    last = len(logged)

    pages = await backwards(client, "limit=7")
    assert joined(pages) == logged
    assert [len(each) for each in pages[:-1]] == [7] * (len(pages) - 1)
    assert (await page(client, f"limit=3&before={last}"))["events"] == logged[-4:-1]
    assert (await page(client, "limit=3&before=4")) == {"events": logged[:3], "head": last}
    assert (await page(client, "limit=3&before=1")) == {"events": [], "head": last}
    assert joined(await backwards(client, "limit=5&after=10")) == logged[10:]
    texts = [event for event in logged if event["type"] == "text"]
    assert joined(await backwards(client, "limit=5&types=text")) == texts
    turn = logged[0]["turn_id"]
    own = [event for event in logged if event["turn_id"] == turn]
    assert joined(await backwards(client, f"limit=5&turn_id={turn}")) == own

    await compress_past(client.app.state.deps, "s", 2)
    logged = await client.events("s")
    assert (await client.post("/api/sessions/s/archive")).json()["moved"]
    assert joined(await backwards(client, "limit=9")) == logged


@on_both_engines
async def test_a_branch_has_pages_of_its_own(client: Client) -> None:
    """Forwards, backwards and as a stream that ends: its turns, and what happened beside them."""
    first = (await client.chat("/say one", session_id="s"))[0]["turn_id"]
    second = (await client.chat("/say two", session_id="s"))[0]["turn_id"]
    again = (await client.begin("s", "/say other", parent_turn_id=first))["turn_id"]
    await client.all_frames(f"/api/sessions/s/events?turn_id={again}")
    logged = await client.events("s")

    for number, turns in ((0, {first, second}), (1, {first, again})):
        own = [event for event in logged if event["turn_id"] in turns]
        assert joined(await backwards(client, f"limit=4&branch={number}")) == own
        assert (await page(client, f"branch={number}"))["events"] == own
        frames = await client.all_frames(f"/api/sessions/s/events?follow=0&branch={number}")
        assert [frame.data for frame in frames if not frame.event.startswith("stream_")] == own

    live = await client.get("/api/sessions/s/events?branch=0", accept="text/event-stream")
    stream = await client.get("/api/sessions/s/events?before=9", accept="text/event-stream")
    unknown = await client.get("/api/sessions/s/events?branch=7", **JSON)
    assert (live.status_code, stream.status_code) == (400, 400)
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "branch_not_found")


async def test_a_page_is_bounded_in_bytes_and_in_what_is_looked_through(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has fewer events then, maybe none, and tells where the others are."""
    await client.chat("/say first", session_id="s")
    await client.chat("/pieces 200", session_id="s")
    logged = await client.events("s")
    monkeypatch.setattr(follower, "PAGE_SIZE", 1000)
    pages = await backwards(client, "limit=50")
    assert joined(pages) == logged
    assert len(pages) > 1
    assert max(sum(len(orjson.dumps(each)) for each in events[:-1]) for events in pages) <= 1000

    monkeypatch.undo()
    monkeypatch.setattr(follower, "MAX_LOOKED", 1)
    pages = await backwards(client, "limit=1&types=turn_start")
    assert [event["type"] for event in joined(pages)] == ["turn_start", "turn_start"]
    assert [] in pages

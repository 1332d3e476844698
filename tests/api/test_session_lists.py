"""The list of sessions as a sidebar needs it: pinned ones, archived ones, what runs or waits, what is new."""

import asyncio
from typing import Any

import pytest

from tests.harness import TIMEOUT, Client, running_gateway
from tests.postgres import on_both_engines
from tests.product import Settings
from tests.stories.asking import Outbox, ask, parked

pytestmark = pytest.mark.anyio

SEND = '/call send {"to": "李雷"}\n/then\n/say over'
LOCATE = {"name": "locate", "input_schema": {"type": "object"}}


async def listed(client: Client, query: str = "") -> list[dict[str, Any]]:
    response = await client.get(f"/api/sessions{query}")
    assert response.status_code == 200, response.text
    return response.json()["sessions"]


async def ids(client: Client, query: str = "") -> list[str]:
    return [each["id"] for each in await listed(client, query)]


async def change(client: Client, session: str, **body: Any) -> dict[str, Any]:
    response = await client.http.patch(f"/api/sessions/{session}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


@on_both_engines
async def test_sessions_are_pinned_and_archived(client: Client) -> None:
    """Archived ones are listed only where they are asked for, and lose nothing; the order is another one."""
    for name in "abcd":
        await client.post("/api/sessions", {"id": name, "title": f"harvest {name}"})
    await client.chat("/say hi", session_id="b")

    pinned = await change(client, "a", pinned=True)
    archived = await change(client, "c", archived=True, title="later")

    assert (pinned["pinned"], pinned["archived"], pinned["title"]) == (True, False, "harvest a")
    assert (archived["pinned"], archived["archived"], archived["title"]) == (False, True, "later")
    assert await ids(client) == ["b", "d", "a"]
    assert await ids(client, "?pinned=true") == ["a"]
    assert await ids(client, "?pinned=false") == ["b", "d"]
    assert await ids(client, "?archived=true") == ["c"]
    assert await ids(client, "?archived=all&order=created") == ["d", "c", "b", "a"]
    assert await ids(client, "?q=harvest") == ["b", "d", "a"]
    assert await ids(client, "?q=later&archived=all") == ["c"]
    page = (await client.get("/api/sessions?order=created&limit=2")).json()
    assert await ids(client, f"?order=created&limit=2&before={page['next']}") == ["a"]

    await change(client, "a", pinned=False)
    await change(client, "c", archived=False)
    assert await ids(client, "?pinned=true") == await ids(client, "?archived=true") == []
    assert (await client.get("/api/sessions/c")).json()["archived"] is False


@pytest.mark.parametrize("body", [{}, {"pinned": "yes"}, {"pinned": None}, {"title": " "}, {"stars": 5}])
async def test_a_change_that_says_nothing_is_refused(client: Client, body: dict[str, Any]) -> None:
    await client.post("/api/sessions", {"id": "a"})
    assert (await client.http.patch("/api/sessions/a", json=body)).status_code == 400
    assert (await client.http.patch("/api/sessions/b", json={"pinned": True})).status_code == 404


@pytest.mark.parametrize("query", ["?pinned=maybe", "?archived=no", "?order=title"])
async def test_an_unknown_filter_is_refused(client: Client, query: str) -> None:
    assert (await client.get(f"/api/sessions{query}")).status_code == 400


@on_both_engines
async def test_the_list_tells_what_runs_and_what_waits_for_whom(settings: Settings) -> None:
    """And, by `head`, in which there is something new."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client, asyncio.timeout(TIMEOUT):
        asked = await parked(await ask(client, SEND))
        session = asked.session
        await client.post("/api/sessions", {"id": "runs"})
        running = await client.begin("runs", "/fault headers_stall")
        await client.post("/api/sessions", {"id": "asks"})
        await client.begin("asks", "/call locate {}", tools=[LOCATE])
        await client.post("/api/sessions", {"id": "rests"})
        while not (await client.get("/api/turns?status=awaiting_tool_result")).json()["turns"]:
            await asyncio.sleep(0.01)

        marks = {each["id"]: each.get("status") for each in await listed(client)}
        assert marks == {
            session: "awaiting_approval",
            "runs": "running",
            "asks": "awaiting_tool_result",
            "rests": None,
        }
        assert (await client.get("/api/sessions/runs")).json()["status"] == "running"
        before = {each["id"]: each["head"] for each in await listed(client)}
        await asked.decide("approve")
        await asked.all_events()
        await client.post(f"/api/turns/{running['turn_id']}/cancel")
        await client.all_frames(f"/api/sessions/runs/events?turn_id={running['turn_id']}")
        after = {each["id"]: each for each in await listed(client)}

        assert after[session]["head"] > before[session]
        assert after["asks"]["head"] == before["asks"]
        assert {each.get("status") for each in after.values()} == {None, "awaiting_tool_result"}


@on_both_engines
async def test_who_looks_again_is_told_when_nothing_has_changed(client: Client) -> None:
    """By the ETag of the page: whatever of it changes, another one."""
    await client.post("/api/sessions", {"id": "a"})
    seen: list[str] = []

    async def look(status: int) -> None:
        response = await client.get("/api/sessions", **({"if-none-match": seen[-1]} if seen else {}))
        assert response.status_code == status
        assert response.headers["cache-control"] == "private, no-cache"
        seen.append(response.headers["etag"])

    await look(200)
    await look(304)
    for what in ("turn", "title", "pin", "other", "deleted"):
        match what:
            case "turn":
                await client.chat("/say hi", session_id="a")
            case "title":
                await change(client, "a", title="Small talk")
            case "pin":
                await change(client, "a", pinned=True)
            case "other":
                await client.post("/api/sessions", {"id": "b"})
            case _:
                await client.http.delete("/api/sessions/b")
        await look(200)
        await look(304)
    assert len(set(seen)) == 5  # without the session that was deleted it is the page of before


async def test_a_title_tells_who_gave_it(client: Client) -> None:
    await client.post("/api/sessions", {"id": "given", "title": "Given"})
    await client.chat("Hello there", session_id="taken")
    renamed = await change(client, "taken", title="Hello there")

    found = {each["id"]: each.get("title_by") for each in await listed(client)}
    assert found == {"given": "user", "taken": "user"}
    assert renamed["title_by"] == "user"

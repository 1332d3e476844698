"""A temporary session is in no list, nothing is remembered in it or from it, and it ends with all it has."""

import asyncio
from typing import Any

import pytest

from tests.harness import Client, running_gateway
from tests.product import Settings

pytestmark = pytest.mark.anyio


async def temporary(client: Client, **body: Any) -> str:
    made = await client.post("/api/sessions", {"temporary": True, **body})
    assert (made.status_code, made.json()["temporary"]) == (201, True), made.text
    return made.json()["id"]


async def listed(client: Client, query: str = "") -> list[str]:
    found = (await client.get(f"/api/sessions?archived=all{query}")).json()["sessions"]
    return [each["id"] for each in found]


async def test_it_is_in_no_list_and_no_search_and_goes_on_by_its_id(client: Client) -> None:
    session = await temporary(client, title="Quetzals")
    await client.chat("/say quetzalcoatlus", session_id=session)
    kept = (await client.chat("/say quetzalcoatlus", session_id="kept"))[0]["session_id"]
    await asyncio.sleep(0.3)  # until the turns are searchable

    assert await listed(client) == [kept]
    assert await listed(client, "&q=quetzals") == []
    assert session not in await listed(client, "&q=quetzalcoatlus")
    again = await client.chat("/say and on", session_id=session)
    assert again[-1]["data"]["status"] == "completed"
    assert (await client.get(f"/api/sessions/{session}")).json()["temporary"] is True
    assert "temporary" not in (await client.get(f"/api/sessions/{kept}")).json()


async def test_nothing_is_remembered_in_it_or_from_it(settings: Settings) -> None:
    """Neither recalled, nor learned, nor saved by the model's tool; other sessions have their memories."""
    async with running_gateway(settings.model_copy(update={"memory": True})) as client:
        await client.post("/api/memory", {"content": "The user likes jasmine tea.", "type": "preference"})
        session = await temporary(client)
        events = await client.chat("Remember that I like oolong tea.", session_id=session)
        usual = await client.chat("Which tea do I like?", session_id="usual")
        found = (await client.get("/api/memory")).json()["memories"]

    results = [each["data"] for each in events if each["type"] == "tool_result"]
    assert not any(each["type"] in {"retrieval", "memory"} for each in events)
    assert any(each["type"] == "retrieval" for each in usual)
    assert all(each["status"] == "error" and "temporary" in str(each["content"]) for each in results)
    assert [each["content"] for each in found] == ["The user likes jasmine tea."]


async def test_it_is_deleted_after_a_while_with_all_it_has(settings: Settings) -> None:
    """Session, turns and events; others stay, and one on which there is a legal hold."""
    async with running_gateway(settings.model_copy(update={"delete_temporary_after": 0.001})) as client:
        session, held = await temporary(client), await temporary(client)
        for each in (session, held, "kept"):
            await client.chat("/say hi", session_id=each)
        placed = await client.post("/api/holds", {"session_id": held, "reason": "case 7"})
        assert placed.status_code == 201, placed.text
        await asyncio.sleep(0.1)
        await client.app.state.gateway.retention.applied.look()
        gone = await client.get(f"/api/sessions/{session}")
        events = await client.get(f"/api/sessions/{session}/events?follow=0")
        kept = [await client.get(f"/api/sessions/{each}") for each in ("kept", held)]

    assert (gone.status_code, events.status_code) == (404, 404)
    assert [each.status_code for each in kept] == [200, 200]


async def test_it_is_shared_with_nobody_and_begins_with_nothing_that_stays(client: Client) -> None:
    session = await temporary(client)
    project = (await client.post("/api/projects", {"name": "Apollo"})).json()["id"]
    shared = await client.http.patch(
        f"/api/sessions/{session}", json={"project_id": project, "shared": "read"}
    )
    seeded = await client.post(
        "/api/sessions", {"temporary": True, "messages": [{"role": "user", "content": "hi"}]}
    )

    assert (shared.status_code, shared.json()["error"]["code"]) == (409, "session_is_temporary")
    assert (seeded.status_code, seeded.json()["error"]["code"]) == (400, "invalid_request")

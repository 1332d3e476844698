"""What is decided by the operation: the same by each door, and the operator's alone where others see it."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from tests.api.team import GUARDED, ROOT, Headers, Team, code
from tests.harness import TIMEOUT, Client, running_gateway, the
from tests.postgres import on_both_engines
from tests.product import Settings

pytestmark = pytest.mark.anyio

SECRET = "Ada's supplier is Acme in Lagos."
INSTRUCTIONS = "Speak like a pirate of Tortuga."


@pytest.fixture
async def guarded(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    async with running_gateway(settings.model_copy(update=GUARDED | {"memory": True})) as client:
        yield client


async def key(client: Client, user: str, *, tenant: str = "default", **body: Any) -> Headers:
    made = await client.post("/api/keys", {"name": "k", "user": user, "tenant": tenant, **body}, **ROOT)
    assert made.status_code == 201, made.text
    return {"x-api-key": made.json()["key"]}


async def mcp(client: Client, who: Headers, method: str, **params: Any) -> httpx2.Response:
    return await client.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, **who)


async def manage(client: Client, who: Headers, **arguments: Any) -> httpx2.Response:
    return await mcp(client, who, "tools/call", name="manage_memory", arguments=arguments)


async def memories(client: Client, who: Headers) -> list[str]:
    return [each["content"] for each in (await client.get("/api/memory", **who)).json()["memories"]]


async def audited(client: Client, action: str) -> list[tuple[str, str]]:
    found = (await client.get(f"/api/audit?action={action}", **ROOT)).json()["entries"]
    return [(each["action"], each["result"]) for each in found]


async def test_a_key_that_may_only_chat_reads_and_changes_nothing_by_the_side_doors(guarded: Client) -> None:
    """Neither sessions nor memories by the MCP server, nor turns by A2A, AG-UI and OpenAI's responses; it is
    told of the scope, and the audit has what it tried by its name."""
    ada, chat = await key(guarded, "ada"), await key(guarded, "ada", scopes=["chat"])
    saved = (await guarded.post("/api/memory", {"content": SECRET}, **ada)).json()["id"]
    made = await guarded.post("/api/sessions", {"id": "notes"}, **ada)
    body = {"message": f"/say {SECRET}", "session_id": made.json()["id"]}
    turn = (await guarded.post("/api/chat", body, **ada)).headers["x-turn-id"]
    message = {"id": "m1", "role": "user", "content": "/say hi"}
    answered = {"id": f"{turn}-1", "role": "assistant", "content": "hi"}
    shared = {
        "threadId": "notes",
        "runId": "r",
        "state": {},
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }
    asked = [
        await mcp(guarded, chat, "resources/list"),
        await mcp(guarded, chat, "resources/read", uri=f"memory:///{saved}"),
        await mcp(guarded, chat, "resources/read", uri=f"session:///{made.json()['id']}"),
        await mcp(guarded, chat, "tools/call", name="chat", arguments={"session_id": made.json()["id"]}),
        await manage(guarded, chat, action="search", search="supplier"),
        await manage(guarded, chat, action="list"),
        await manage(guarded, chat, action="save", content="Ada likes rain."),
        await manage(guarded, chat, action="delete", id=saved),
        await guarded.post(
            "/a2a", {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": turn}}, **chat
        ),
        await guarded.post(
            "/a2a", {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": turn}}, **chat
        ),
        await guarded.post("/ag-ui", {**shared, "messages": [message, answered]}, **chat),
        await guarded.post("/ag-ui/connect", {**shared, "messages": []}, **chat),
        await guarded.post(f"/v1/responses/resp_{turn}/cancel", None, **chat),
    ]

    assert [each.status_code for each in asked] == [403] * len(asked), [each.text for each in asked]
    assert not [each.text for each in asked if "Acme" in each.text or "needs the scope" not in each.text]
    assert await memories(guarded, ada) == [SECRET]
    assert await audited(guarded, "memory.delete") == [("memory.delete", "refused:forbidden")]
    listed = (await mcp(guarded, chat, "tools/list")).text
    assert ('"chat"' in listed, "manage_memory" in listed) == (True, False)


async def test_a_key_has_by_each_door_what_its_scopes_give(guarded: Client) -> None:
    """A reader reads by MCP and A2A, and neither chats nor deletes there; a key for memories deletes, which
    the audit has as it has that of the routes."""
    ada, reads = await key(guarded, "ada"), await key(guarded, "ada", role="reader")
    keeps = await key(guarded, "ada", scopes=["memory"])
    saved = (await guarded.post("/api/memory", {"content": SECRET}, **ada)).json()["id"]
    turn = (await guarded.post("/api/chat", {"message": "/say Acme"}, **ada)).headers["x-turn-id"]
    task = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": turn}}

    assert "Acme" in (await mcp(guarded, reads, "resources/read", uri=f"memory:///{saved}")).text
    assert "Acme" in (await guarded.post("/a2a", task, **reads)).text
    assert "manage_memory" in (await mcp(guarded, reads, "tools/list")).text
    for refused in (
        await manage(guarded, reads, action="delete", id=saved),
        await mcp(guarded, reads, "tools/call", name="chat", arguments={"message": "/say hi"}),
        await mcp(guarded, keeps, "resources/read", uri=f"memory:///{saved}"),
    ):
        assert refused.status_code == 403, refused.text
    assert (await manage(guarded, keeps, action="delete", id=saved)).status_code == 200

    assert await memories(guarded, ada) == []
    assert ("memory.delete", "done") in await audited(guarded, "memory.delete")


@on_both_engines
async def test_the_model_changes_no_memory_for_a_key_that_may_not(
    settings: Settings, anyio_backend: str
) -> None:
    """What it does in a turn is what the key may with which the turn was asked for, also by a schedule that
    was made with it; what it looks up is part of the answer."""
    async with running_gateway(settings.model_copy(update=GUARDED | {"memory": True})) as client:
        ada, chat = await key(client, "ada"), await key(client, "ada", scopes=["chat"])
        saved = (await client.post("/api/memory", {"content": SECRET}, **ada)).json()["id"]
        calls = {
            "delete": f'/call manage_memory {{"action": "delete", "id": "{saved}"}}',
            "save": '/call manage_memory {"action": "save", "content": "Ada likes rain."}',
            "search": '/call manage_memory {"action": "search", "search": "supplier"}',
        }

        async def result(who: Headers, call: str) -> tuple[str, str]:
            told = await client.all_frames("/api/chat", {"message": calls[call]}, who)
            found = the([each.data for each in told], "tool_result")
            return found["status"], found["content"]

        for call in ("delete", "save"):
            status, content = await result(chat, call)
            assert (status, "needs the scope memory" in content) == ("error", True)
        assert "Acme" in (await result(chat, "search"))[1]
        assert await memories(client, ada) == [SECRET]
        made = {"message": calls["delete"], "cron": "0 8 1 1 *"}
        schedule = (await client.post("/api/schedules", made, **chat)).json()["id"]
        assert (await client.post(f"/api/schedules/{schedule}/run", **chat)).status_code == 202
        async with asyncio.timeout(TIMEOUT):
            while not await _has_run(client, schedule, ada):
                await asyncio.sleep(0.02)
        assert await memories(client, ada) == [SECRET]

        assert (await result(ada, "delete"))[0] == "ok"
        assert await memories(client, ada) == []


async def _has_run(client: Client, schedule: str, who: Headers) -> bool:
    runs = (await client.get(f"/api/schedules/{schedule}", **who)).json()["runs"]
    return bool(runs) and runs[0]["status"] != "started"


async def test_an_admin_of_another_tenant_changes_nothing_that_others_see(guarded: Client) -> None:
    """Skills, documents, prompts, secrets and the metrics of the process are the operator's. Of their own
    tenant they have keys, audit and holds; /api/me says which of the two they are."""
    lead = await key(guarded, "lead", tenant="red", role="admin")
    theirs = [
        ("PATCH", "/api/skills/calculate", {"enabled": False}),
        ("POST", "/api/skills/refresh", None),
        ("POST", "/api/documents/d_0/deprecate", None),
        ("POST", "/api/documents/d_0/restore", None),
        ("POST", "/api/prompts/preview", {"edits": {"identity": "x"}}),
        ("POST", "/api/secrets/rotate", {}),
        ("GET", "/metrics", None),
    ]
    for method, path, body in theirs:
        refused = await guarded.http.request(method, path, json=body, headers=lead)
        assert code(refused) == (403, "forbidden"), (path, refused.text)
        assert "all tenants" in refused.json()["error"]["message"]
    for path in ("/api/audit", "/api/keys?everybody=true", "/api/holds", "/api/retention"):
        assert (await guarded.get(path, **lead)).status_code == 200

    me, root = [(await guarded.get("/api/me", **each)).json() for each in (lead, ROOT)]
    assert [(each["is_admin"], each["is_operator"]) for each in (me, root)] == [(True, False), (True, True)]
    switched = await guarded.http.patch("/api/skills/calculate", json={"enabled": False}, headers=ROOT)
    assert switched.status_code == 200
    assert (await guarded.get("/metrics", **ROOT)).status_code == 200


async def test_what_a_client_tells_the_model_is_its_owners_alone(guarded: Client) -> None:
    """Members of a shared session have neither the text nor its digest, by whichever way they read it; their
    copy of it can be imported. The owner has both."""
    team = await Team(guarded).begin()
    await team.shared_chat()
    body = {"message": "/say ahoy", "instructions": INSTRUCTIONS}
    begun = await team.ask("ada", "POST", "/api/sessions/s/turns", body)
    turn = begun.json()["turn_id"]
    async with asyncio.timeout(TIMEOUT):
        while (await team.ask("ada", "GET", f"/api/turns/{turn}")).json()["status"] != "done":
            await asyncio.sleep(0.02)
    session = team.ids["s"]
    digest = (await team.ask("ada", "GET", f"/api/turns/{turn}")).json()["instructions"]
    ways = [
        *(
            "",
            "/events?follow=0",
            "/messages",
            "/snapshot",
            "/branches",
            "/compressions",
            "/replay?speed=max",
        ),
        *("/export", "/export?format=markdown", "/export?format=html", f"/turns/{turn}"),
        f"/turns/{turn}/prompt",
    ]
    paths = [f"/api/sessions/{session}{way}" for way in ways]
    paths += [f"/streams/sessions/{session}", f"/ai-sdk/chat/{session}/messages", f"/api/turns/{turn}"]
    told = dict.fromkeys(("ada", "bob", "carl", "dora"), 0)
    for path in paths:
        for who in told:
            seen = await team.ask(who, "GET", path)
            assert seen.status_code in {200, 404}, (path, seen.text)
            told[who] += "Tortuga" in seen.text or digest in seen.text
    for who in told:
        seen = await mcp(guarded, team.of[who], "resources/read", uri=f"session:///{session}")
        assert "ahoy" in seen.text
        assert "Tortuga" not in seen.text

    assert told == {"ada": 5, "bob": 0, "carl": 0, "dora": 0}
    copy = (await team.ask("bob", "GET", f"/api/sessions/{session}/export")).content
    ndjson = {"content-type": "application/x-ndjson", **team.of["eve"]}
    # Turns keep their ids, so that a copy is imported where the session itself is not.
    refused = await guarded.http.post("/api/sessions/import", content=copy, headers=ndjson)
    assert code(refused) == (409, "conflict"), refused.text


@pytest.mark.parametrize("may_be", [False, True])
async def test_a_tenant_that_is_named_default_by_others_is_not_the_operators(
    settings: Settings, may_be: bool
) -> None:
    """Whoever chooses the names of organisations at the identity provider, or before the proxy, would look
    after all tenants; an operator who chooses them alone says so."""
    given = settings.model_copy(
        update={
            "trusted_proxies": ("127.0.0.0/8",),
            "proxy_tenant_header": "X-Org",
            "proxy_roles_header": "X-Groups",
            "proxy_roles": ("bosses=admin",),
            "default_tenant_by_claim": may_be,
            "api_keys": SecretStr("root:root-secret-0123456789"),
        }
    )
    boss = {"x-forwarded-user": "boss", "x-groups": "bosses"}
    async with running_gateway(given) as client:
        seen = await client.get("/api/me", **boss, **{"x-org": "default"})
        other = (await client.get("/api/me", **boss, **{"x-org": "team"})).json()

    assert (other["user_id"], other["is_operator"]) == ("team/boss", False)
    if may_be:
        assert (seen.json()["user_id"], seen.json()["is_operator"]) == ("boss", True)
    else:
        assert code(seen) == (401, "tenant_reserved")


async def test_under_a_legal_hold_nothing_is_overwritten_that_stands_nowhere_else(guarded: Client) -> None:
    """Titles, profiles and the names of projects stay as they were, and the refusal says why; what loses
    nothing goes on: a first title, pinning, archiving, a new version of a memory."""
    ada = await key(guarded, "ada")
    named = (await guarded.post("/api/sessions", {"title": "EVIDENCE"}, **ada)).json()["id"]
    unnamed = (await guarded.post("/api/sessions", {}, **ada)).json()["id"]
    saved = (await guarded.post("/api/memory", {"content": SECRET}, **ada)).json()["id"]
    project = (await guarded.post("/api/projects", {"name": "Apollo"}, **ada)).json()["id"]
    profile = "/api/profiles/user/ada"
    put = await guarded.http.put(profile, json={"fields": {"city": "Lagos"}}, headers=ada)
    assert put.status_code == 200, put.text
    held = await guarded.post("/api/holds", {"reason": "case 7", "user": "ada"}, **ROOT)
    assert held.status_code == 201, held.text

    async def asked(method: str, path: str, body: dict[str, Any]) -> httpx2.Response:
        return await guarded.http.request(method, path, json=body, headers=ada)

    for method, path, body in (
        ("PATCH", f"/api/sessions/{named}", {"title": "nothing"}),
        ("PUT", profile, {"fields": {"city": "Paris"}}),
        ("PUT", profile, {"fields": {}}),
        ("PATCH", f"/api/projects/{project}", {"name": "nothing"}),
    ):
        refused = await asked(method, path, body)
        assert code(refused) == (409, "legal_hold"), (path, refused.text)
        assert "case 7" not in refused.text
    for method, path, body in (
        ("PATCH", f"/api/sessions/{named}", {"title": "EVIDENCE", "pinned": True}),
        ("PATCH", f"/api/sessions/{unnamed}", {"title": "first"}),
        ("PATCH", f"/api/sessions/{named}", {"archived": True}),
        ("PATCH", f"/api/memory/{saved}", {"content": "Ada's supplier is Beta."}),
    ):
        assert (await asked(method, path, body)).is_success, (path, body)
    history = (await guarded.get(f"/api/memory/{saved}", **ada)).text
    assert "Acme" in history
    assert (await guarded.get(f"/api/sessions/{named}", **ada)).json()["title"] == "EVIDENCE"

    assert (await guarded.http.delete(f"/api/holds/{held.json()['id']}", headers=ROOT)).status_code == 204
    assert (await asked("PATCH", f"/api/sessions/{named}", {"title": "nothing"})).status_code == 200

"""Whose memories: nothing of another user's is ever seen or changed, by any route."""

from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import orjson
import pytest
from pydantic import SecretStr

from gateway.api.url_table import ENDPOINTS
from tests.harness import Client, running_gateway
from tests.product import Settings

pytestmark = pytest.mark.anyio

ANNA, BERT, CARL = ({"x-api-key": f"{name}-secret-0123456789"} for name in ("anna", "bert", "carl"))
SECRET = "安娜的密码提示是花生。"


@pytest.fixture
async def guarded(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    """Anna and Bert share a household; Carl is a stranger."""
    keys = ",".join(f"{name}:{name}-secret-0123456789" for name in ("anna", "bert", "carl"))
    own: dict[str, Any] = {"api_keys": SecretStr(keys), "households": {"home": ("anna", "bert")}}
    async with running_gateway(settings.model_copy(update=own)) as client:
        yield client


async def kept(client: Client, who: dict[str, str], content: str, **fields: Any) -> str:
    response = await client.post("/api/memory", {"content": content, **fields}, **who)
    assert response.status_code == 201, response.text
    return response.json()["id"]


def problem(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


async def everything(client: Client, who: dict[str, str], query: str) -> str:
    """All that a user can get to see of memories, with every filter that looks promising."""
    answers = [
        await client.get(path, **who)
        for path in ("/api/memory", f"/api/memory?q={query}", "/api/memory?role_id=r", "/api/memory/export")
    ]
    for place in ({}, {"role_id": "r"}, {"project_id": "p"}):
        for mode in ("catalog", "details"):
            body = {"query": query, "mode": mode, **place}
            answers.append(await client.post("/api/memory/retrieve", body, **who))
    assert {answer.status_code for answer in answers} == {200}
    return "\n".join(answer.text for answer in answers)


async def test_another_users_memory_is_as_absent_as_one_that_never_was(guarded: Client) -> None:
    """Every route with an id answers a stranger with the same 404, and changes nothing."""
    memory_id = await kept(guarded, ANNA, SECRET)
    bodies: dict[str, Any] = {
        "/api/memory/{memory_id}": {"content": "changed"},
        "/api/memory/correct": {"memory_id": memory_id, "action": "freeze"},
        "/api/memory/merge": {"memory_ids": [memory_id, await kept(guarded, CARL, "Carl likes tea.")]},
    }

    checked = 0
    for each in ENDPOINTS:
        if "{memory_id}" in each.path or each.path in bodies:
            path = each.path.format(memory_id=memory_id)
            body = orjson.dumps(bodies.get(each.path, {}))
            headers = {**CARL, "content-type": "application/json"}
            response = await guarded.http.request(each.method, path, content=body, headers=headers)
            assert (each.path, *problem(response)) == (each.path, 404, "memory_not_found")
            checked += 1

    assert checked == 9
    hers = (await guarded.get(f"/api/memory/{memory_id}", **ANNA)).json()
    assert (hers["content"], hers["version"], hers["status"]) == (SECRET, 1, "active")


async def test_nothing_of_another_user_is_listed_recalled_or_exported(guarded: Client) -> None:
    """Not even in the same role, project and words."""
    for place in ({}, {"owner_type": "role", "role_id": "r"}, {"owner_type": "project", "owner_id": "p"}):
        await kept(guarded, ANNA, SECRET, **place)

    assert "花生" in await everything(guarded, ANNA, "花生")
    assert "花生" not in await everything(guarded, CARL, "花生")
    asked = await guarded.post("/api/memory/retrieve", {"memory_ids": ["m_0"] * 3}, **CARL)
    assert asked.json()["results"] == []


async def test_nobody_asks_in_another_users_name_or_session(guarded: Client) -> None:
    """403 for a user_id that is not the caller's, 404 for a session; one's own are accepted. Beside a
    conversation, another's session is no other than one of another system: a label."""
    await guarded.post("/api/sessions", {"id": "hers"}, **ANNA)
    asks: dict[str, dict[str, Any]] = {
        "": {"content": "x"},
        "/control": {"user_message": "x"},
        "/retrieve": {"query": "x"},
        "/write": {"messages": [{"role": "user", "content": "hello"}]},
    }

    for path, body in asks.items():
        named = await guarded.post(f"/api/memory{path}", {**body, "userId": "anna"}, **CARL)
        placed = await guarded.post(f"/api/memory{path}", {**body, "session_id": "hers"}, **CARL)
        own = await guarded.post(
            f"/api/memory{path}", {**body, "user_id": "anna", "session_id": "hers"}, **ANNA
        )
        assert (path, problem(named)) == (path, (403, "forbidden"))
        if path == "/write":
            assert placed.status_code == 200
        else:
            assert (path, problem(placed)) == (path, (404, "session_not_found"))
        assert own.status_code in {200, 201}
    assert problem(await guarded.get("/api/memory?userId=anna", **CARL)) == (403, "forbidden")
    listed = await guarded.get("/api/memory?session_id=hers", **CARL)
    owned = await guarded.post(
        "/api/memory", {"content": "x", "owner_type": "session", "owner_id": "hers"}, **CARL
    )
    assert [problem(listed), problem(owned)] == [(404, "session_not_found")] * 2


async def test_nobody_writes_for_another_user_or_household(guarded: Client) -> None:
    """Neither a memory, nor one in a file, nor a profile."""
    foreign = [{"owner_type": "user", "owner_id": "anna"}, {"owner_type": "household", "owner_id": "home"}]
    for owner in foreign:
        refused = await guarded.post("/api/memory", {"content": "x", **owner}, **CARL)
        assert problem(refused) == (400, "memory_invalid")
    line = orjson.dumps({"content": "Dinner is at ten.", **foreign[1]})
    headers = {**CARL, "content-type": "application/x-ndjson"}
    report = (await guarded.http.post("/api/memory/import", content=line, headers=headers)).json()
    assert (report["imported"], report["refused"]) == (0, 1)

    for path in ("/api/profiles/user/anna", "/api/profiles/household/home", "/api/profiles/household/none"):
        answers = [
            await guarded.get(path, **CARL),
            await guarded.http.put(path, json={"fields": {"a": "b"}}, headers=CARL),
        ]
        assert {problem(answer) for answer in answers} == {(404, "profile_not_found")}


async def test_a_user_is_told_which_profiles_are_theirs(guarded: Client) -> None:
    """Their own and those of their households, also while nothing is in one; nobody else's."""
    await guarded.http.put("/api/profiles/household/home", json={"fields": {"wifi": "attic"}}, headers=ANNA)

    anna, carl = [(await guarded.get("/api/profiles", **who)).json()["profiles"] for who in (ANNA, CARL)]

    assert [(each["kind"], each["id"], each["fields"]) for each in anna] == [
        ("user", "anna", {}),
        ("household", "home", {"wifi": "attic"}),
    ]
    assert [(each["kind"], each["id"]) for each in carl] == [("user", "carl")]


async def test_a_household_shares_its_memories_and_not_what_its_members_said(guarded: Client) -> None:
    """Bert sees and changes what Anna remembered for both; her own words, and her own memories, stay hers."""
    session = (await guarded.post("/api/sessions", {}, **ANNA)).json()["id"]
    said = await guarded.post(
        "/api/chat", {"message": "我们七点吃饭，别告诉别人。", "session_id": session}, **ANNA
    )
    assert said.status_code == 200
    quote = {"session_id": session, "position": 1, "quote": "别告诉别人"}
    shared = await kept(
        guarded, ANNA, "晚饭七点开始。", owner_type="household", owner_id="home", evidence=[quote]
    )
    await kept(guarded, ANNA, SECRET)

    assert "晚饭七点" in await everything(guarded, BERT, "晚饭")
    assert "别告诉别人" not in await everything(guarded, BERT, "晚饭")
    assert "花生" not in await everything(guarded, BERT, "花生")
    assert "晚饭" not in await everything(guarded, CARL, "晚饭")
    read = (await guarded.get(f"/api/memory/{shared}", **BERT)).json()
    changed = await guarded.http.patch(f"/api/memory/{shared}", json={"importance": 5}, headers=BERT)
    assert (read["evidence"], changed.status_code) == ([], 200)
    hers = (await guarded.get(f"/api/memory/{shared}", **ANNA)).json()
    assert (hers["evidence"], hers["versions"][-1]["actor"]) == ([quote], "bert")
    profile = {"fields": {"dinner": "19:00"}}
    assert (
        await guarded.http.put("/api/profiles/household/home", json=profile, headers=BERT)
    ).status_code == 200
    seen = await guarded.get("/api/profiles/household/home", **ANNA)
    assert seen.json()["fields"] == {"dinner": "19:00"}

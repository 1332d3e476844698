"""What a turn is told of the memories, turn after turn: added to at the end, taken back only for a reason."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Client, running_gateway, the, types
from tests.loopback import TIMEOUT
from tests.product import ModelRequest, Settings, StorageError, tool
from tests.stories.test_memory import memory_events, prompt_of, settings_with

pytestmark = pytest.mark.anyio


async def remember(user: Client, content: str, **fields: Any) -> str:
    response = await user.post("/api/memory", {"content": content, **fields})
    assert response.status_code == 201, response.text
    return response.json()["id"]


def prefixes(events: list[dict[str, Any]]) -> set[str]:
    return {event["data"]["prefix_hash"] for event in events if event["type"] == "iteration_start"}


def warnings(events: list[dict[str, Any]]) -> list[str]:
    return [event["data"]["code"] for event in events if event["type"] == "warning"]


async def model_view(user: Client, session: str) -> str:
    return (await user.get(f"/api/sessions/{session}/messages")).text


async def test_what_is_added_meanwhile_is_told_once_and_changes_nothing_before(
    tmp_path: Path, demo_url: str
) -> None:
    """The prompt stays as it was, byte for byte; the new memory comes behind the next message, and when it is
    looked up the model has it already."""
    async with running_gateway(settings_with(tmp_path, demo_url)) as user:
        await remember(user, "The office is on the third floor.")
        first = await user.chat("hello", session_id="s")
        added = await remember(user, "我们决定用 PostgreSQL 做数据库", type="project_decision")
        second = await user.chat("我们上次决定用什么数据库？", session_id="s")
        third = await user.chat("我们上次决定的数据库是什么？", session_id="s")

    assert prefixes(first) == prefixes(second) == prefixes(third)
    (changed,) = memory_events(second, "changes")
    assert [(hit["id"], hit["told"]) for hit in changed["results"]] == [(added, "now")]
    assert changed["tokens"] > 0
    for turn in (second, third):
        (looked_up,) = memory_events(turn, "details")
        assert [(hit["id"], hit["told"]) for hit in looked_up["results"]] == [(added, "before")]
        assert looked_up["tokens"] == 0
    assert memory_events(third, "changes") == []
    assert warnings(second) == warnings(third) == []


async def test_what_was_recalled_and_then_forgotten_is_not_told_again(tmp_path: Path, demo_url: str) -> None:
    """It leaves the model's view of the conversation too, with a warning that a prompt generation begins."""
    async with running_gateway(settings_with(tmp_path, demo_url)) as user:
        await user.chat("hello", session_id="s")
        memory_id = await remember(user, "我们决定用 PostgreSQL 做数据库", type="project_decision")
        await user.chat("我们上次决定用什么数据库？", session_id="s")
        assert "PostgreSQL" in await model_view(user, "s")
        assert (await user.http.delete(f"/api/memory/{memory_id}")).status_code == 204
        after = await user.chat("hello again", session_id="s")
        view = await model_view(user, "s")

    assert warnings(after) == ["memory_changed"]
    assert f"[{memory_id}] project_decision" not in view
    assert f"[{memory_id}] was forgotten" in view


async def test_a_compressed_session_has_its_memories_from_their_source(tmp_path: Path, demo_url: str) -> None:
    """They are no part of a summary: the generation that begins has them as they are by then."""
    async with running_gateway(settings_with(tmp_path, demo_url)) as user:
        await remember(user, "喜欢简约的设计风格")
        for number in range(6):
            await user.chat(
                f"Tell me {number} about pears. " + "They are green and sweet. " * 60, session_id="s"
            )
        before = await prompt_of(user, session_id="s")
        await remember(user, "对花生过敏")
        assert await prompt_of(user, session_id="s") == before
        compressed = await user.post("/api/sessions/s/compress")
        assert compressed.status_code == 201, compressed.text
        turn = await user.chat("hello", session_id="s")
        after = await prompt_of(user, session_id="s")

    assert "花生" not in before
    assert "花生" in after
    assert "简约" in after
    assert "warning" not in types(turn)


async def test_users_and_roles_never_see_each_others(tmp_path: Path, demo_url: str) -> None:
    """Neither in the prompt, nor looked up, nor through the model's tool."""
    keys = "ann:aaaaaaaaaaaaaaaa,ben:bbbbbbbbbbbbbbbb"
    async with running_gateway(settings_with(tmp_path, demo_url, api_keys=keys)) as user:
        user.http.headers["x-api-key"] = "a" * 16
        await remember(user, "Ann likes plain design", owner_type="user")
        await remember(user, "The lawyer's file is number 4711", owner_type="role", role_id="lawyer")
        seen = await user.chat("what do you remember about me?", session_id="a1", role_id="lawyer")
        hidden = await user.chat("what do you remember about me?", session_id="a2", role_id="cook")
        asked = await user.chat("Do you remember the file 4711?", session_id="a2")
        user.http.headers["x-api-key"] = "b" * 16
        others = await user.chat("what do you remember about me?", session_id="b1", role_id="lawyer")
        asked_by_ben = await user.chat("Do you remember the design and file 4711?", session_id="b1")
        shown_to_ben = await prompt_of(user, role_id="lawyer")

    assert "4711" in the(seen, "tool_result")["content"]
    assert "plain design" in the(hidden, "tool_result")["content"]
    assert "4711" not in str([e for e in hidden if e["type"] in {"tool_result", "retrieval"}])
    assert "4711" not in str([e["data"]["results"] for e in asked if e["type"] == "retrieval"])
    for events in (others, asked_by_ben):
        assert "plain" not in str([e for e in events if e["type"] == "tool_result"])
        assert "retrieval" not in types(events)
    assert shown_to_ben == ""


async def test_without_events_the_model_is_told_all_the_same(tmp_path: Path, demo_url: str) -> None:
    """The switch is for what readers see; a message that joins the history needs no event."""
    async with running_gateway(settings_with(tmp_path, demo_url, retrieval_events=False)) as user:
        await user.chat("hello", session_id="s")
        await remember(user, "我们决定用 PostgreSQL 做数据库", type="project_decision")
        turn = await user.chat("我们上次决定用什么数据库？", session_id="s")
        view = await model_view(user, "s")

    assert "retrieval" not in types(turn)
    assert "PostgreSQL" in view


@pytest.mark.parametrize("broken", ["gone", "garbage"])
async def test_a_memory_that_cannot_be_read_costs_the_turn_nothing_else(
    tmp_path: Path, demo_url: str, broken: str
) -> None:
    """The turn says so, once, and is answered."""
    async with running_gateway(settings_with(tmp_path, demo_url)) as user:
        await remember(user, "喜欢简约的设计风格")
        for file in tmp_path.glob("memory.db*"):
            if broken == "gone":
                file.unlink()
            else:
                file.write_bytes(b"\xff" * max(4096, file.stat().st_size))
        turn = await user.chat("hello", session_id="s")

    assert the(turn, "done")["status"] == "completed"
    assert broken == "gone" or warnings(turn) == ["memory_unavailable"]


async def test_switched_off_nothing_is_remembered(tmp_path: Path, demo_url: str) -> None:
    """No tool, no file, no route."""
    settings: Settings = settings_with(tmp_path, demo_url, memory=False)
    async with running_gateway(settings) as user:
        turn = await user.chat("我喜欢简约的设计风格", session_id="s")
        listed = await user.get("/api/memory")
        tools = (await user.get("/api/prompts/preview")).json()["tools"]

    assert "memory" not in types(turn)
    assert (listed.status_code, listed.json()["error"]["code"]) == (404, "memory_off")
    assert "manage_memory" not in tools
    assert not (tmp_path / "memory.db").exists()


async def test_what_was_deleted_stays_untold_when_the_memory_is_switched_off(
    tmp_path: Path, demo_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message beside which it was retrieved goes to the model without it, as before."""
    async with running_gateway(settings_with(tmp_path, demo_url)) as user:
        await user.chat("hello", session_id="s")
        memory_id = await remember(user, "我们决定用 PostgreSQL 做数据库", type="project_decision")
        await user.chat("我们上次决定用什么?\n/say 好", session_id="s")
        await user.http.delete(f"/api/memory/{memory_id}")
        await user.chat("hello again", session_id="s")

    async with running_gateway(settings_with(tmp_path, demo_url, memory=False)) as user:
        model, requests = user.app.state.deps.model, list[ModelRequest]()
        stream = type(model).stream

        def recorded(self: Any, request: ModelRequest, *take: Any) -> Any:
            requests.append(request)
            return stream(self, request, *take)

        monkeypatch.setattr(type(model), "stream", recorded)
        await user.chat("and now", session_id="s")

    (request,) = requests
    assert "我们上次决定用什么" in str(request)
    assert "PostgreSQL" not in str(request)


async def test_what_was_recalled_and_then_corrected_is_told_anew(tmp_path: Path, demo_url: str) -> None:
    """Behind the next message, whatever that is about; what was told before stays where it is."""
    async with running_gateway(settings_with(tmp_path, demo_url)) as user:
        await user.chat("hello", session_id="s")
        memory_id = await remember(user, "我们决定用 PostgreSQL 做数据库", type="project_decision")
        await user.chat("我们上次决定用什么数据库？", session_id="s")
        before = (await user.get("/api/sessions/s/messages")).json()["messages"]
        changed = {"content": "我们决定用 SQLite 做数据库"}
        assert (await user.http.patch(f"/api/memory/{memory_id}", json=changed)).status_code == 200
        after = await user.chat("hello", session_id="s")
        again = await user.chat("hello", session_id="s")
        messages = (await user.get("/api/sessions/s/messages")).json()["messages"]

    (corrected,) = memory_events(after, "changes")
    assert warnings(after) == []
    assert corrected["results"][0]["snippet"] == "我们决定用 SQLite 做数据库"
    assert memory_events(again, "changes") == []
    assert messages[: len(before)] == before
    assert "我们决定用 SQLite" in str(messages[len(before) :])


async def test_what_was_frozen_and_is_used_again_is_told_again(tmp_path: Path, demo_url: str) -> None:
    """To forget is not for ever when it was undone: behind the next message."""
    asked = "我们上次决定用什么数据库？"
    async with running_gateway(settings_with(tmp_path, demo_url, memory_prompt_tokens=0)) as user:
        await remember(user, "The office is on the third floor.")
        memory_id = await remember(user, "我们决定用 PostgreSQL 做数据库", type="project_decision")
        first = await user.chat(asked, session_id="s")
        for action in ("freeze", "activate"):
            done = await user.post("/api/memory/correct", {"memory_id": memory_id, "action": action})
            assert done.status_code == 200, done.text
            last = await user.chat(asked, session_id="s")
        view = await model_view(user, "s")

    assert memory_events(first, "details")[0]["results"][0]["id"] == memory_id
    assert [hit["id"] for hit in memory_events(last, "changes")[0]["results"]] == [memory_id]
    assert f"[{memory_id}] project_decision" in view


async def test_an_approved_call_runs_though_a_memory_came_meanwhile(tmp_path: Path, demo_url: str) -> None:
    """Nothing is looked up while a call waits: its result follows the call."""
    ran: list[str] = []

    @tool(effect="effectful")
    async def order(what: str) -> str:
        """Orders something.

        Args:
            what: What to order.
        """
        ran.append(what)
        return "ordered"

    gateway = running_gateway(settings_with(tmp_path, demo_url), order)
    async with asyncio.timeout(TIMEOUT), gateway as user:
        await user.chat("hello", session_id="s")
        turn = await user.begin("s", '/call order {"what": "上次说的花"}\n/then\n/say 好了')
        place = f"/api/sessions/s/turns/{turn['turn_id']}"
        while (await user.get(place)).json()["status"] != "awaiting_approval":
            await asyncio.sleep(0.01)
        await remember(user, "上次说的花是红玫瑰")
        (asked,) = [e for e in await user.events("s") if e["type"] == "approval_request"]
        call_id = asked["tool_call_id"]
        approved = await user.post(f"{place}/approvals/{call_id}", {"decision": "approve"})
        assert approved.status_code == 200, approved.text
        while (await user.get(place)).json()["status"] != "done":
            await asyncio.sleep(0.01)
        events = [e for e in await user.events("s") if e["turn_id"] == turn["turn_id"]]

    assert ran == ["上次说的花"]
    assert the(events, "tool_result")["status"] == "ok"
    assert the(events, "done")["status"] == "completed"


async def test_a_memory_that_can_be_read_again_comes_into_the_prompt(
    tmp_path: Path, demo_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure in a session's first turn does not cost it its memories for good."""
    async with running_gateway(settings_with(tmp_path, demo_url)) as user:
        await remember(user, "喜欢简约的设计风格")
        store = user.app.state.deps.memory.store

        async def fails(*_: object, **__: object) -> None:
            raise StorageError("locked")

        with monkeypatch.context() as broken:
            broken.setattr(type(store), "count", fails)
            first = await user.chat("hello", session_id="s")
        second = await user.chat("hello", session_id="s")
        third = await user.chat("hello", session_id="s")
        prompt = await prompt_of(user, session_id="s")

    assert warnings(first) == ["memory_unavailable"]
    assert warnings(second) == ["memory_changed"]
    assert warnings(third) == []
    assert prefixes(second) == prefixes(third)
    assert "简约" in prompt

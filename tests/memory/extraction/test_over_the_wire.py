"""Learning over real sockets, from what the demo model writes and from what the paraphrasing one does."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gateway.memory.extraction import candidates
from tests.harness import Client, running_gateway, settings_for
from tests.loopback import TIMEOUT
from tests.paraphrasing_model.client import Scripted, paraphrasing_model

pytestmark = pytest.mark.anyio

AGREED = [
    (
        "For the logs I'd recommend Loki with a retention of 30 days.",
        "Sounds good, let's do that.",
        "retention of the logs?",
    ),
    ("我建议周报改成每周五下午四点前发出，用 Markdown 格式。", "可以,就按这个来", "我们的周报什么时候发？"),
    ("建議封面採用深藍底色，標題用思源黑體。", "沒問題，就這樣做", "我們的封面用什麼底色？"),
]


@pytest.fixture
async def model(anyio_backend: str) -> AsyncGenerator[Scripted]:
    async with paraphrasing_model() as scripted:
        yield scripted


async def learned(user: Client, session_id: str) -> dict[str, Any]:
    """The first memory event of a session."""
    path = f"/api/sessions/{session_id}/events?follow=1&types=memory"
    async with asyncio.timeout(TIMEOUT), user.frames(path) as frames:
        return await anext(frame.data["data"] async for frame in frames if frame.event == "memory")


async def recalled(user: Client, message: str) -> list[str]:
    """The memories that a new session is shown with a message, in its prompt too."""
    events = await user.chat(message)
    found = [event["data"] for event in events if event["type"] == "retrieval"]
    return [hit["id"] for data in found for hit in data["results"]]


async def read(user: Client, message: str) -> httpx2.Response:
    """Has the gateway learn from a message."""
    return await user.post(
        "/api/memory/write", {"messages": [{"role": "user", "content": message}], "is_own": True}
    )


async def remembered(user: Client) -> list[dict[str, Any]]:
    return (await user.get("/api/memory")).json()["memories"]


@pytest.mark.parametrize("agreed", AGREED)
async def test_what_was_agreed_with_the_demo_is_known_in_the_next_session(
    agreed: tuple[str, str, str], tmp_path: Path, demo_url: str
) -> None:
    """The demo offers the bare yes; what is kept is what its answer proposed."""
    proposal, assent, question = agreed
    async with running_gateway(settings_for(tmp_path, demo_url, memory_learning="turns")) as user:
        await user.chat(f"/say {proposal}", session_id="s")
        await user.chat(assent, session_id="s")
        memory = await learned(user, "s")

        assert memory["content"] == proposal
        assert memory["memory_id"] in await recalled(user, question)


async def test_both_quotes_come_along_in_a_file(tmp_path: Path, demo_url: str) -> None:
    """Each is held to what its author said in the session."""
    proposal, assent, _ = AGREED[1]
    async with running_gateway(settings_for(tmp_path, demo_url, memory_learning="turns")) as user:
        await user.chat(f"/say {proposal}", session_id="s")
        await user.chat(assent, session_id="s")
        memory_id = (await learned(user, "s"))["memory_id"]
        file = (await user.get("/api/memory/export")).text
        await user.post(f"/api/memory/{memory_id}/erase")
        forged = file.replace("assistant", "user").replace(memory_id, "m_00000000000000aa")
        reports = [
            (await user.http.post("/api/memory/import", content=each)).json()["quotes_dropped"]
            for each in (file, forged)
        ]

        assert reports == [0, 1]


@pytest.mark.parametrize("agreed", AGREED)
@pytest.mark.parametrize("words", [None, "own"])
async def test_what_was_agreed_with_a_model_that_paraphrases_is_known_in_the_next_session(
    agreed: tuple[str, str, str], words: str | None, tmp_path: Path, model: Scripted
) -> None:
    """In the model's words, where it names what was agreed, or in those that proposed it."""
    proposal, assent, question = agreed
    own = {
        AGREED[0][0]: "Logs are kept in Loki for 30 days.",
        AGREED[1][0]: "周报每周五下午四点前发出，使用 Markdown 格式。",
        AGREED[2][0]: "封面採用深藍底色，標題使用思源黑體。",
    }[proposal]
    await model.script("what now", {"answer": proposal})
    says = {"type": "project_decision", **({"content": own, "proposal": proposal} if words else {})}
    await model.script(assent, asked="memories", says=says)
    async with running_gateway(settings_for(tmp_path, model.url, memory_learning="turns")) as user:
        await user.chat("what now?", session_id="s")
        await user.chat(assent, session_id="s")
        memory = await learned(user, "s")
        shown = (await user.get(f"/api/memory/{memory['memory_id']}")).json()

        assert memory["content"] == (own if words else proposal.replace("'", "’"))
        assert [each.get("author", "user") for each in shown["evidence"]] == ["user", "assistant"]
        assert memory["memory_id"] in await recalled(user, question)


@pytest.mark.parametrize(
    ("message", "content"),
    [
        (
            'I work in the "Turing" room, and my badge is B-1207',
            "The user works in room “Turing”, badge B-1207.",
        ),
        ("我們的伺服器放在新竹, 一共 14 台", "團隊的伺服器放在新竹，一共 14 台。"),
        ("我在“长风”组, 主要做 iOS 端", "用户在“长风”组，主要做 iOS 端。"),
    ],
)
async def test_quotes_with_other_signs_are_found(
    message: str, content: str, tmp_path: Path, model: Scripted
) -> None:
    """A real model cites with curly quotation marks and full-width commas, and adds a full stop."""
    await model.script(message, asked="memories", says={"content": content})
    async with running_gateway(settings_for(tmp_path, model.url)) as user:
        await read(user, message)

        (memory,) = await remembered(user)
        assert (memory["content"], memory["quarantined"]) == (content, False)


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ("My landlord is Mr Okafor", "The user's landlord is Mr Okonkwo."),
        ("我的航班是早上七点二十", "用户的航班是早上八点二十。"),
        ("我不想再收到電子報", "用戶想再收到電子報。"),
    ],
)
async def test_what_says_something_else_is_shown_to_a_person_and_recalled_by_nobody(
    message: str, content: str, tmp_path: Path, model: Scripted
) -> None:
    """Another name, number or negation: until a person confirms it."""
    await model.script(message, asked="memories", says={"content": content})
    async with running_gateway(settings_for(tmp_path, model.url)) as user:
        await read(user, message)
        (memory,) = await remembered(user)
        before = await recalled(user, message)
        confirmed = await user.post(f"/api/memory/{memory['id']}/confirm")

        assert (memory["content"], memory["quarantined"]) == (content, True)
        assert memory["id"] not in before
        assert confirmed.status_code == 200
        assert memory["id"] in await recalled(user, f"{message}?")


HALF = (
    '{"memories": [{"type": "fact", "content": "Ferry at 9.", "quote": "My ferry leaves at 9", "message": 1},'
    ' {"type": "fact", "content": "Fer'
)


@pytest.mark.parametrize(
    "answered",
    [
        ({}, 0, ["Their ferry leaves at 9."]),
        (HALF, 0, ["Ferry at 9."]),
        (f"{'So much to say. ' * 60_000}{HALF}", 0, []),
        ("x" * 1_000_000, 0, []),
        ('{"memories": [' * 70_000, 0, []),
        ("There is nothing to remember, I am afraid.", 0, []),
        ({}, 0.3, ["Their ferry leaves at 9."]),
        ({}, 3600, []),
    ],
    ids=["fenced", "half", "1MB of talk", "1MB of x", "1MB of braces", "nonsense", "slow", "never"],
)
async def test_whatever_the_model_answers_learning_ends(
    answered: tuple[Any, float, list[str]], tmp_path: Path, model: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what can be read of it, or with an error that names it; and the next turn is served."""
    says, wait, kept = answered
    monkeypatch.setattr(candidates, "CALL_TIMEOUT", 2.0 if wait > 1 else TIMEOUT)
    message = "My ferry leaves at 9."
    await model.script(message, asked="memories", says=says, wait=wait)
    async with running_gateway(settings_for(tmp_path, model.url)) as user:
        response = await read(user, message)
        events = await user.chat("And what is the news?")

        assert events[-1]["data"]["status"] == "completed"
        assert [each["content"] for each in await remembered(user)] == kept
        assert response.status_code in ({200} if kept else {502, 504}), response.text

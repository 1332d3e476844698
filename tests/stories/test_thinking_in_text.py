"""Thoughts that a model writes into its text are thinking for everybody who reads the turn."""

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.harness import TIMEOUT, Client, running_gateway, settings_for, text_of, the
from tests.invariants import violations
from tests.product import Settings
from tests.record import read_records
from tests.stories.thinking_endpoint import Block, Body, ThinkingEndpoint, blocks_of, lenient

pytestmark = pytest.mark.anyio


class ThinksInText(ThinkingEndpoint):
    """Its thoughts stand in its text; their beginning is marked, or is in its template."""

    def __init__(self, opening: str = "<think>\n") -> None:
        super().__init__(lenient)
        self._opening = opening

    def _answer(self, body: Body) -> Sequence[Block]:
        if "You write the title" in orjson.dumps(body["system"]).decode():
            return [
                {"type": "text", "text": f"{self._opening}Hm, a zebra.\n</think>\n\n标题：《绿茶的泡法》。"}
            ]
        thought, *rest = super()._answer(body)
        text = f"{self._opening}{thought['thinking']} Zebras.\n</think>\n\n"
        if rest[0]["type"] == "text":
            return [{"type": "text", "text": f"{text}{rest[0]['text']}"}]
        return [{"type": "text", "text": text}, *rest]


def asking(data_dir: Path, url: str, **given: Any) -> Settings:
    return settings_for(data_dir, url, **({"model_attempts": 1, "titles": False} | given))


async def found(client: Client, query: str) -> list[str]:
    """Ids of the sessions that search finds, once what was said is in it."""
    async with asyncio.timeout(TIMEOUT):
        while not (await client.get("/api/sessions?q=done")).json()["sessions"]:
            await asyncio.sleep(0.02)
    return [each["id"] for each in (await client.get(f"/api/sessions?q={query}")).json()["sessions"]]


async def test_a_thought_at_the_beginning_is_thinking_from_the_first_piece_on(tmp_path: Path) -> None:
    """It is streamed and stored as such, and what is stored equals the pieces."""
    endpoint = ThinksInText()
    async with endpoint.served() as url, running_gateway(asking(tmp_path, url)) as client:
        events = await client.chat("绿茶怎么泡？", session_id="s")
        assert text_of(events) == "Done."
        thoughts = "".join(each["data"]["text"] for each in events if each["type"] == "thinking")
        assert thoughts == f"Thought 1 of {endpoint.bodies[0]['model']}. Zebras.\n"
        assert await found(client, "zebras") == []
        assert await found(client, "done") == ["s"]
    assert [wrong for record in read_records(tmp_path / "gateway.db") for wrong in violations(record)] == []


async def test_no_thought_of_a_text_goes_back_to_the_model(tmp_path: Path) -> None:
    """Neither of a former turn, nor of the one that is answered. The log keeps what was thought."""
    for opening in ("<think>\n", ""):
        endpoint = ThinksInText(opening)
        where = tmp_path / (opening.strip("<>\n") or "template")
        async with endpoint.served() as url, running_gateway(asking(where, url)) as client:
            await client.chat("use a tool", session_id="s")
            await client.chat("and now?", session_id="s")
            shown = (await client.get("/api/sessions/s/messages")).text
            exported = (await client.get("/api/sessions/s/export")).text
        assert len(endpoint.bodies) == 3
        assert "ebras" not in orjson.dumps(endpoint.bodies).decode() + shown
        said = [block for _, block in blocks_of(endpoint.bodies[-1])]
        assert [block["type"] for block in said] == ["tool_use", "text"]
        assert said[-1]["text"] == "Done."
        assert "ebras" in exported


async def test_a_title_is_what_is_said_behind_the_thought(tmp_path: Path) -> None:
    endpoint = ThinksInText()
    async with endpoint.served() as url, running_gateway(asking(tmp_path, url, titles=True)) as client:
        await client.chat("绿茶怎么泡？", session_id="s")
        async with asyncio.timeout(TIMEOUT), client.frames("/api/sessions/s/events") as frames:
            async for frame in frames:
                if frame.event == "title":
                    assert frame.data["data"]["title"] == "绿茶的泡法"
                    break


async def test_what_was_stored_before_is_read_without_its_thoughts(tmp_path: Path) -> None:
    """An answer of a version that took them for text: the model, the reader of messages, search and a shared
    page get what was said."""
    endpoint = ThinksInText("")  # where only the end is marked, it is stored as text to this day
    async with endpoint.served() as url, running_gateway(asking(tmp_path, url)) as client:
        events = await client.chat("绿茶怎么泡？", session_id="s")
        assert "Zebras." in text_of(events)
        assert the(events, "done")["status"] == "completed"
        assert await found(client, "zebras") == []
        shared = (await client.get("/api/sessions/s/export?format=markdown")).text
        assert "Done." in shared
        assert "Zebras" not in shared
    with sqlite3.connect(tmp_path / "gateway.db") as database:
        ((stored,),) = database.execute("SELECT content FROM messages WHERE role = 'assistant'")
    assert "Zebras" in stored

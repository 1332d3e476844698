"""What the model was sent in a turn, told afterwards: as far as it is known, and no further."""

from pathlib import Path
from shutil import copytree
from typing import Any

import httpx2
import pytest

from gateway.prompt.components import bundled_folder
from tests.harness import Client, running_gateway, settings_for
from tests.postgres import on_both_engines

pytestmark = pytest.mark.anyio


async def prompt_of(client: Client, event: dict[str, Any]) -> dict[str, Any]:
    response = await client.get(f"/api/sessions/{event['session_id']}/turns/{event['turn_id']}/prompt")
    assert response.status_code == 200, response.text
    return response.json()


@on_both_engines
async def test_while_nothing_changed_it_is_told_byte_for_byte(client: Client) -> None:
    """Each part has its text, size and layer; the messages are the turn's own, without its answer."""
    first = (await client.chat("/say Hello.", session_id="s"))[-1]
    second = (await client.chat("/say And again.", session_id="s"))[-1]
    started = [event for event in await client.events("s") if event["type"] == "iteration_start"]

    shown, before = await prompt_of(client, second), await prompt_of(client, first)

    assert shown["exact"]
    assert shown["prefix_hash"] == started[-1]["data"]["prefix_hash"]
    assert all(part["same"] and part["text"] and part["tokens"] for part in shown["parts"])
    assert shown["parts"][0]["name"] == "identity"
    assert shown["tools"]
    assert shown["window"] > shown["parts"][0]["tokens"]
    assert [block["text"] for block in shown["messages"][0]["blocks"]] == ["/say And again."]
    assert [message["role"] for message in shown["messages"]] == ["user"]
    assert (before["earlier_messages"], shown["earlier_messages"]) == (0, 2)
    assert shown["earlier_tokens"] > before["earlier_tokens"] == 0


async def test_calls_and_results_of_the_turn_were_sent_and_its_answer_was_not(client: Client) -> None:
    done = (await client.chat("What is 17*23?"))[-1]
    shown = await prompt_of(client, done)
    kinds = [block["type"] for message in shown["messages"] for block in message["blocks"]]
    assert "tool_use" in kinds
    assert kinds[-1] == "tool_result"
    assert any("name" in block for message in shown["messages"] for block in message["blocks"])


async def test_of_a_component_that_was_edited_since_only_the_digest_is_known(
    tmp_path: Path, demo_url: str
) -> None:
    """What was not edited is still told; no text is made up for the rest."""
    folder = tmp_path / "prompts"
    copytree(bundled_folder(), folder)
    settings = settings_for(tmp_path / "data", demo_url, prompts_dir=folder)
    async with running_gateway(settings) as client:
        done = (await client.chat("/say hi"))[-1]
        (folder / "style.md").write_text("Write in capitals.\n", encoding="utf-8")
        (folder / "language.md").write_text("", encoding="utf-8")
        shown = await prompt_of(client, done)

    parts = {part["name"]: part for part in shown["parts"]}
    assert not shown["exact"]
    assert parts["identity"]["same"] is True
    assert "You" in parts["identity"]["text"]
    assert parts["style"]["same"] is False
    assert "text" not in parts["style"]


async def test_a_turn_that_was_compressed_since_has_no_messages_there(client: Client) -> None:
    done = [(await client.chat(f"/say {'long ' * 400}{number}", session_id="c"))[-1] for number in range(6)]
    assert (await client.post("/api/sessions/c/compress", {})).status_code == 201
    assert (await prompt_of(client, done[0])).get("messages") is None
    newest = await prompt_of(client, done[-1])
    assert newest["summary_tokens"] > 0


async def test_it_is_its_owners_alone(client: Client) -> None:
    done = (await client.chat("/say hi", session_id="s"))[-1]
    path = f"/api/sessions/s/turns/{done['turn_id']}x/prompt"
    assert (await client.get(path)).status_code == 404
    other: httpx2.Response = await client.get(f"/api/sessions/other/turns/{done['turn_id']}/prompt")
    assert other.status_code == 404

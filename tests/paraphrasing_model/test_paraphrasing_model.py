"""The second fake model: it answers as real models do, and as it is scripted."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway.memory.retrieval_gate import gate
from gateway.model.side_calls import Completion
from tests.demo.bare import ask, fetch
from tests.harness import running_gateway, settings_for, text_of, the, types
from tests.paraphrasing_model.client import Scripted, paraphrasing_model
from tests.product import tool

pytestmark = pytest.mark.anyio

SAYS_NOTHING = "Find what is worth remembering: {`memories`: [...]} with a `quote` each."
CONVERSATION = (
    '<conversation>\nMessages.\n\n[3] user:\n  My desk is "B-12", by the door.\n  Thanks!\n</conversation>'
)


@pytest.fixture
async def model(anyio_backend: str) -> AsyncGenerator[Scripted]:
    async with paraphrasing_model() as scripted:
        yield scripted


async def answered(model: Scripted, text: str, **changes: Any) -> str:
    return (await fetch(model.url, ask(text, **changes))).text


async def test_it_refuses_what_the_api_refuses(model: Scripted) -> None:
    """In the same words as the demo: by the same check."""
    orphan = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}

    refused = await fetch(model.url, ask("", messages=[{"role": "user", "content": [orphan]}]))
    keyless = await fetch(model.url, ask("hello"), x_api_key="")

    assert refused.status == 400
    assert b"unexpected `tool_use_id` found" in refused.body
    assert keyless.status == 401


async def test_an_answer_is_the_same_streamed_and_not(model: Scripted) -> None:
    """Whole or in pieces, a scripted answer comes with typographic signs."""
    await model.script("greet", {"answer": 'It\'s "fine".'})

    streamed = await answered(model, "greet me")
    whole = orjson.loads((await fetch(model.url, ask("greet me", stream=False))).body)

    assert streamed == whole["content"][0]["text"] == "It’s “fine”."


async def test_a_turn_goes_by_its_script(model: Scripted, tmp_path: Path) -> None:
    """It uses a tool, saves in other words, answers; and a test sees what each request was given."""
    asked: list[str] = []

    @tool(effect="read_only")
    async def floor_plan(desk: str) -> str:
        """Says where a desk is.

        Args:
            desk: Its number.
        """
        asked.append(desk)
        return f"{desk} is by the door."

    steps = (
        {"call": "floor_plan", "input": {"desk": "B-12"}},
        {"save": "用户坐在 B-12 号工位。", "type": "fact"},
        {"answer": "Noted."},
    )
    await model.script("my desk", *steps)
    async with running_gateway(settings_for(tmp_path, model.url), floor_plan) as user:
        events = await user.chat("Please remember my desk: it is B-12.")
    given = await model.requests()

    assert asked == ["B-12"]
    assert the(events, "memory")["content"] == "用户坐在 B-12 号工位。"
    assert text_of(events).endswith("Noted.")
    assert types(events)[-1] == "done"
    assert [("is by the door" in each) for each in given] == [False, True, True]


async def test_it_saves_in_its_own_words_after_a_look(model: Scripted, tmp_path: Path) -> None:
    """Without a script, what it is asked to remember is searched for and saved as told of the user."""
    async with running_gateway(settings_for(tmp_path, model.url)) as user:
        events = await user.chat("Remember that I prefer trains to planes.")

    calls = [event["data"]["arguments"] for event in events if event["type"] == "tool_call"]
    assert [call["action"] for call in calls] == ["search", "save"]
    assert calls[1]["content"] == "The user prefers trains to planes."


async def test_json_comes_in_a_fence_after_a_sentence_and_is_no_verbatim_quote(model: Scripted) -> None:
    """What was said is found under its number, told in other words and quoted with other signs."""
    said = await answered(model, CONVERSATION, system=SAYS_NOTHING)

    assert not said.startswith("{")
    (memory,) = Completion(said, "end_turn", None).json()["memories"]
    assert memory["message"] == 3
    assert memory["content"] == "Their desk is “B-12”, by the door."
    assert memory["quote"] == "My desk is “B-12”, by the door"


async def test_what_it_says_beside_a_turn_can_be_scripted(model: Scripted) -> None:
    """In part, over what it would say of itself; or as a text, such as half a JSON."""
    await model.script("B-12", asked="memories", says={"content": "坐在 B-12。", "type": "appointment"})
    changed = await answered(model, CONVERSATION, system=SAYS_NOTHING)
    await model.script("B-12", asked="memories", says='{"memories": [')
    broken = await answered(model, CONVERSATION, system=SAYS_NOTHING)

    (memory,) = Completion(changed, "end_turn", None).json()["memories"]
    assert (memory["content"], memory["type"], memory["message"]) == ("坐在 B-12。", "appointment", 3)
    assert broken == '{"memories": ['


@pytest.mark.parametrize(
    ("message", "needed"),
    [("When is the dentist?", "yes"), ("我的猫几岁了？", "yes"), ("What is photosynthesis?", "no")],
)
async def test_it_judges_whether_a_message_needs_memories(model: Scripted, message: str, needed: str) -> None:
    """By the instructions that the gateway gives any model."""
    text = f"<conversation>\nThe user's message.\n\n{message}\n</conversation>"

    said = await answered(model, text, system=gate.INSTRUCTIONS)

    assert Completion(said, "end_turn", None).json()["needed"] == needed


async def test_its_summary_may_stand_for_a_conversation(model: Scripted, tmp_path: Path) -> None:
    """Written from the messages that it is sent, in words that keep their numbers."""
    async with running_gateway(settings_for(tmp_path, model.url)) as user:
        for text in (f"My budget is 2,400 euros. {'The offer has a long text. ' * 80}", "谢谢。", "Thanks."):
            await user.chat(text, session_id="s")
        done = await user.post("/api/sessions/s/compress", {})
        seen = (await user.get("/api/sessions/s/messages")).text

    assert done.status_code == 201, done.text
    assert "Their budget is 2,400 euros." in seen

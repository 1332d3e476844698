"""Thinking goes back where it can be read: another model, another endpoint, and endpoints that want it back,
or do not."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.harness import Client, running_gateway, settings_for, the
from tests.product import Settings
from tests.stories.test_recall import warnings
from tests.stories.thinking_endpoint import (
    ThinkingEndpoint,
    blocks_of,
    claude,
    deepseek,
    lenient,
    thoughts_in,
)

pytestmark = pytest.mark.anyio

A, B = "model-a", "model-b"
ANSWERS = "SELECT position, content FROM messages WHERE role = 'assistant'"


def thinking(data_dir: Path, url: str, **given: Any) -> Settings:
    """A gateway that asks model-a to think, and may be asked for model-b."""
    ours: dict[str, Any] = {
        "model": A,
        "allowed_models": [B],
        "thinking_budget": 2000,
        "model_attempts": 1,
        "titles": False,
    }
    return settings_for(data_dir, url, **(ours | given))


async def done(client: Client, message: str, **options: Any) -> list[dict[str, Any]]:
    """A turn in session s that completes."""
    events = await client.chat(message, session_id="s", **options)
    assert the(events, "done")["status"] == "completed", events
    return events


def makers(body: Any) -> list[str]:
    """Which models made the thinking that was sent."""
    return [block["thinking"].split()[-1].rstrip(".") for block in thoughts_in(body)]


async def test_each_model_reads_its_own_thinking_and_is_asked_once(tmp_path: Path) -> None:
    """A person switches the model in a session, and back: nobody's request is refused, nothing is warned of,
    and what a model has thought itself comes back to it."""
    endpoint = ThinkingEndpoint()
    async with endpoint.served() as url, running_gateway(thinking(tmp_path, url)) as client:
        for model in (A, A, B, A, B):
            assert warnings(await done(client, "use a tool", model=model)) == []
    assert endpoint.refused == []
    first_calls = endpoint.bodies[::2]
    assert [(body["model"], makers(body)) for body in first_calls] == [
        (A, []),
        (A, [A] * 2),
        (B, []),
        (A, [A] * 4),
        (B, [B] * 2),
    ]
    for before, after in zip(first_calls[1::2], first_calls[3::2], strict=False):
        assert _plain(after)[: len(_plain(before))] == _plain(before)  # the prefix of each model only grows


def _plain(body: Any) -> list[Any]:
    """The messages without cache points."""
    return [
        [
            message["role"],
            [{k: v for k, v in block.items() if k != "cache_control"} for block in message["content"]],
        ]
        for message in body["messages"]
    ]


@pytest.mark.parametrize("way", ["restart", "import"])
async def test_a_session_goes_on_with_the_model_of_another_gateway(tmp_path: Path, way: str) -> None:
    """GATEWAY_MODEL names another model after a restart, or a file came from where another one answers."""
    endpoint = ThinkingEndpoint()
    async with endpoint.served() as url:
        async with running_gateway(thinking(tmp_path / "one", url)) as client:
            await done(client, "use a tool")
            exported = (await client.get("/api/sessions/s/export")).content
        where = tmp_path / ("one" if way == "restart" else "two")
        async with running_gateway(thinking(where, url, model=B)) as client:
            if way == "import":
                given = await client.http.post("/api/sessions/import", content=exported)
                assert given.status_code in {200, 201}, given.text
                assert (await client.get("/api/sessions/s/export")).content == exported
            await done(client, "use a tool")
            await done(client, "and now?")
    assert endpoint.refused == []
    assert makers(endpoint.bodies[2]) == []
    assert makers(endpoint.bodies[-1]) == [B, B]


async def test_nothing_of_the_gateway_s_own_is_sent_or_shown(tmp_path: Path) -> None:
    """Who made a thought is kept beside it, and neither an endpoint nor a reader of messages gets that."""
    endpoint = ThinkingEndpoint()
    async with endpoint.served() as url, running_gateway(thinking(tmp_path, url)) as client:
        await done(client, "use a tool")
        await done(client, "and now?")
        shown = (await client.get("/api/sessions/s/messages")).text
        exported = (await client.get("/api/sessions/s/export")).text
    assert "made_by" not in orjson.dumps(endpoint.bodies).decode() + shown
    assert exported.count('"made_by":{"model":"model-a","endpoint":') == 3


async def test_an_alias_keeps_its_thinking(tmp_path: Path) -> None:
    """The endpoint answers by the full name of what was asked for by a short one; asked by that, it is read
    as well."""
    full = "model-a-20260901"
    endpoint = ThinkingEndpoint(lenient, answers_as=lambda _: full)
    async with endpoint.served() as url:
        async with running_gateway(thinking(tmp_path, url)) as client:
            await done(client, "one")
            await done(client, "two")
            await done(client, "three")
        async with running_gateway(thinking(tmp_path, url, model=full)) as client:
            await done(client, "four")
    assert [len(thoughts_in(body)) for body in endpoint.bodies] == [0, 1, 2, 3]


async def test_what_a_proxy_s_other_model_thought_is_that_model_s(tmp_path: Path) -> None:
    """A proxy lets another model answer for one turn, under one address and name: its thinking is refused
    once by the first model, and the session goes on."""
    answers: list[str] = ["claude", "glm", "claude", "claude"]
    turns = iter(answers)

    def refuses(body: Any) -> str | None:
        return claude({**body, "model": answers[len(endpoint.bodies)]}) if _who() == "claude" else None

    def _who() -> str:
        return answers[len(endpoint.bodies)]

    endpoint = ThinkingEndpoint(
        refuses, signs=lambda _: f"signed by {_who_answers()}", answers_as=lambda _: next(turns)
    )

    def _who_answers() -> str:
        return answers[len(endpoint.bodies) - 1]

    async with endpoint.served() as url, running_gateway(thinking(tmp_path, url)) as client:
        for text in ("one", "two", "three", "four"):
            await done(client, text)
    assert len(endpoint.refused) == 1


async def test_old_thinking_whose_maker_is_unknown_is_refused_once(tmp_path: Path) -> None:
    """A session from before makers were stored: the new model refuses, is asked without, and the session
    remembers it, over a restart too."""
    endpoint = ThinkingEndpoint()
    async with endpoint.served() as url:
        async with running_gateway(thinking(tmp_path, url)) as client:
            await done(client, "use a tool")
        _forget_makers(tmp_path)
        async with running_gateway(thinking(tmp_path, url, model=B)) as client:
            changed = await done(client, "and now?")
            quiet = await done(client, "use a tool")
        async with running_gateway(thinking(tmp_path, url, model=B)) as client:
            again = await done(client, "and now?")
    assert len(endpoint.refused) == 1
    assert warnings(changed) == ["thinking_refused"]
    assert warnings(quiet) == warnings(again) == []
    assert makers(endpoint.bodies[-1]) == [B] * 3


def _forget_makers(data_dir: Path) -> None:
    with sqlite3.connect(data_dir / "gateway.db") as database:
        rows = database.execute(ANSWERS).fetchall()
        for position, text in rows:
            content = [
                {name: value for name, value in block.items() if name != "made_by"}
                for block in orjson.loads(text)
            ]
            database.execute(
                "UPDATE messages SET content = ? WHERE position = ?",
                (orjson.dumps(content).decode(), position),
            )


async def test_an_endpoint_that_wants_thinking_back_gets_it_after_an_edited_prompt(tmp_path: Path) -> None:
    """A new prompt generation leaves old thinking out; this endpoint refuses that once, is asked with all of
    it, and from then on at once."""
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    endpoint = ThinkingEndpoint(deepseek, signs=lambda _: "0f3b-uuid")
    settings = thinking(tmp_path, "", prompts_dir=prompts)
    async with endpoint.served() as url:
        settings = settings.model_copy(update={"anthropic_base_url": url})
        async with running_gateway(settings) as client:
            await done(client, "use a tool")
            (prompts / "style.md").write_text("Answer like a pirate.")
            await done(client, "and now?")
            await done(client, "use a tool")
            await done(client, "and now?")
    assert len(endpoint.refused) == 1
    assert len(thoughts_in(endpoint.bodies[-1])) == 5


@pytest.mark.parametrize("signature", [None, ""])
async def test_unsigned_thinking_goes_back_between_the_calls_of_its_turn(
    tmp_path: Path, signature: str | None
) -> None:
    """As it came; and not in later turns, where nobody asks for it."""

    def refuses(body: Any) -> str | None:
        in_round = body["messages"][-1]["content"][0]["type"] == "tool_result"
        return "reasoning is missing" if in_round and not thoughts_in(body) else None

    endpoint = ThinkingEndpoint(refuses, signs=lambda _: signature)
    async with endpoint.served() as url, running_gateway(thinking(tmp_path, url)) as client:
        await done(client, "use a tool")
        await done(client, "use a tool")
    assert endpoint.refused == []
    assert [len(thoughts_in(body)) for body in endpoint.bodies] == [0, 1, 0, 1]
    field = {} if signature is None else {"signature": ""}
    thought = {"type": "thinking", "thinking": "Thought 1 of model-a."} | field
    assert thoughts_in(endpoint.bodies[1]) == [thought]


async def test_unsigned_thinking_that_is_wanted_in_later_turns_is_sent(tmp_path: Path) -> None:
    """It is stored from the first turn on."""
    endpoint = ThinkingEndpoint(deepseek, signs=lambda _: None)
    async with endpoint.served() as url, running_gateway(thinking(tmp_path, url)) as client:
        for _ in range(3):
            await done(client, "use a tool")
    assert len(endpoint.refused) == 1
    assert [len(thoughts_in(body)) for body in endpoint.bodies] == [0, 1, 2, 3, 4, 5]


async def test_an_endpoint_that_refuses_unsigned_thinking_is_asked_without(tmp_path: Path) -> None:
    """Once, in the middle of a turn; its later turns are asked so at once."""

    def refuses(body: Any) -> str | None:
        return "messages.1.content.0.thinking.signature: Field required" if thoughts_in(body) else None

    endpoint = ThinkingEndpoint(refuses, signs=lambda _: None)
    async with endpoint.served() as url, running_gateway(thinking(tmp_path, url)) as client:
        for _ in range(3):
            assert warnings(await done(client, "use a tool")) == []
    assert len(endpoint.refused) == 1


async def test_where_nothing_helps_the_turn_goes_on_without_thinking(tmp_path: Path) -> None:
    """An endpoint that wants thinking which nobody has any more: each form once, then none is asked for."""
    endpoint = ThinkingEndpoint(deepseek, signs=lambda _: None)
    async with endpoint.served() as url, running_gateway(thinking(tmp_path, url)) as client:
        await done(client, "use a tool")
        _without_thoughts(tmp_path)
        events = await done(client, "use a tool")
    assert len(endpoint.refused) == 1
    assert warnings(events) == ["thinking_refused"]
    assert "thinking" not in endpoint.bodies[-1]


def _without_thoughts(data_dir: Path) -> None:
    with sqlite3.connect(data_dir / "gateway.db") as database:
        for position, text in database.execute(ANSWERS).fetchall():
            content = [block for block in orjson.loads(text) if block["type"] != "thinking"]
            database.execute(
                "UPDATE messages SET content = ? WHERE position = ?",
                (orjson.dumps(content).decode(), position),
            )


@pytest.mark.parametrize(
    "words", ['"model-a" does not support thinking', "thinking: Extra inputs are not permitted"]
)
async def test_a_model_that_does_not_think_is_asked_to_once(tmp_path: Path, words: str) -> None:
    """Its sessions go on without a warning, and nobody asks it again; another model still thinks."""

    def refuses(body: Any) -> str | None:
        return words if body["model"] == A and "thinking" in body else None

    endpoint = ThinkingEndpoint(refuses)
    async with endpoint.served() as url, running_gateway(thinking(tmp_path, url)) as client:
        for _ in range(2):
            assert warnings(await done(client, "use a tool")) == []
        await done(client, "and you?", model=B)
    assert len(endpoint.refused) == 1
    assert ["thinking" in body for body in endpoint.bodies] == [False] * 4 + [True]


async def test_an_endpoint_that_changes_its_mind_within_a_turn(tmp_path: Path) -> None:
    """Each call of one turn is answered by another model behind a proxy, which refuses what the one before
    it has signed: every round of tools is asked for once more, and the turn ends."""
    signers = ["one", "two", "three"]

    def refuses(body: Any) -> str | None:
        here = signers[len(endpoint.bodies) % 3]
        foreign = [each for each in thoughts_in(body) if each["signature"] != here]
        return "messages.1.content.0: Invalid `signature` in `thinking` block" if foreign else None

    def signs(_: str) -> str:
        return signers[(len(endpoint.bodies) - 1) % 3]

    endpoint = ThinkingEndpoint(refuses, signs=signs, rounds=4)
    async with endpoint.served() as url, running_gateway(thinking(tmp_path, url)) as client:
        await done(client, "use a tool")
        await done(client, "use a tool")
    assert len(endpoint.bodies) == 10
    assert len(endpoint.refused) <= 10


def _refusing(words: str) -> Callable[[Any], str | None]:
    return lambda _: words


@pytest.mark.parametrize("words", ["thinking", "Invalid `signature`", "reasoning_content is required"])
async def test_asking_ends(tmp_path: Path, words: str) -> None:
    """An endpoint that refuses whatever it is sent, in words that name thinking."""
    endpoint = ThinkingEndpoint(lenient)
    async with endpoint.served() as url, running_gateway(thinking(tmp_path, url)) as client:
        await done(client, "use a tool")
        endpoint.refuses = _refusing(words)
        events = await client.chat("use a tool", session_id="s")
    assert the(events, "done")["status"] == "failed"
    assert words in the(events, "error")["message"]
    assert len(endpoint.refused) <= 4


async def test_a_call_of_the_endpoint_s_own_tool_that_never_ended_is_left_out(tmp_path: Path) -> None:
    """A turn stops at a limit while the endpoint's search is under way: while the turn runs it goes back as
    it is, and later turns do not have it."""

    def refuses(body: Any) -> str | None:
        asked = body["messages"][-1]["role"] == "user"
        orphans = [place for place, block in blocks_of(body) if block["type"] == "server_tool_use"]
        if asked and orphans:
            return f"{orphans[0]}: web_search tool use was found without a corresponding result block"
        return None

    endpoint = ThinkingEndpoint(refuses)
    async with endpoint.served() as url, running_gateway(thinking(tmp_path, url, max_iterations=1)) as client:
        paused = await client.chat("please pause", session_id="s")
        await done(client, "and now?")
    assert the(paused, "done")["status"] == "limit_reached"
    assert endpoint.refused == []
    assert {"type": "text", "text": "I look."} in _plain(endpoint.bodies[-1])[1][1]

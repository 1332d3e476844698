"""The story of a chat before llama.cpp with real weights, on one slot.

A model of 135 million parameters writes what it likes: what it says is asserted where the examples in its
template make that sure, and what the gateway makes of it everywhere.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Frame, text_of, the
from tests.real_model.conftest import PATIENCE, Gateways
from tests.real_model.running_llama import MODEL, TEMPLATE, RunningLlama, running_llama

pytestmark = [pytest.mark.anyio, pytest.mark.real_model, pytest.mark.long, pytest.mark.waits]
STORY = "Tell me a story about a river."
CHINESE = re.compile(r"[\u4e00-\u9fff]")


@pytest.fixture
def small(tmp_path: Path) -> Generator[RunningLlama]:
    """A server that reads 2048 tokens, some 700 of which are the examples of its template."""
    with running_llama(tmp_path / "log", "--context", "2048", "--template", str(TEMPLATE)) as started:
        yield started


def completed(found: list[dict[str, Any]]) -> bool:
    assert not [each["data"] for each in found if each["type"] == "error"]
    return the(found, "done")["status"] == "completed"


async def until(frames: AsyncIterator[Frame], kind: str) -> Frame:
    async for frame in frames:
        if frame.event == kind:
            return frame
    raise AssertionError(f"no {kind}")


async def idle(llama: RunningLlama) -> None:
    """Returns when no slot is at work. Raises TimeoutError after 10 s."""
    async with asyncio.timeout(10):
        while any(await asyncio.to_thread(llama.slots)):
            await asyncio.sleep(0.1)


def called(found: list[dict[str, Any]]) -> set[str]:
    """The tools that a turn of two model calls has called, each with its result."""
    assert not [each["data"] for each in found if each["type"] == "error"]
    assert the(found, "done")["status"] in {"completed", "limit_reached"}
    calls = [each["data"]["name"] for each in found if each["type"] == "tool_call"]
    assert len(calls) == len([each for each in found if each["type"] == "tool_result"])
    return set(calls)


async def test_it_chats_and_calculates_in_english(llama: RunningLlama, gateways: Gateways) -> None:
    """An answer in text, then one with two calls of a tool, in one session."""
    async with gateways(llama.url, model=MODEL, max_iterations=2) as client:
        session = await client.session()
        said = await client.chat("What is the capital of France?", session_id=session)
        assert completed(said)
        assert "Paris" in text_of(said)
        usage = the(said, "done")["usage"]
        assert usage["output_tokens"] > 0
        assert called(await client.chat("Calculate 3*4 and 5*6.", session_id=session)) == {"calculate"}


async def test_it_chats_in_chinese(llama: RunningLlama, gateways: Gateways) -> None:
    """Characters of several bytes arrive whole, though the model writes them in pieces."""
    async with gateways(llama.url, model=MODEL) as client:
        said = await client.chat("你好")
        assert completed(said)
        assert CHINESE.search(text_of(said))
        assert "\ufffd" not in text_of(said)


@pytest.mark.long_form
async def test_it_calculates_in_chinese(llama: RunningLlama, gateways: Gateways) -> None:
    """As in English."""
    async with gateways(llama.url, model=MODEL, max_iterations=2) as client:
        assert "calculate" in called(await client.chat("计算17*23。"))


async def test_cancel_frees_the_slot(llama: RunningLlama, gateways: Gateways) -> None:
    """Soon after Stop the server is idle, and answers the next message."""
    async with gateways(llama.url, model=MODEL, max_tokens=4000) as client:
        session = await client.session()
        turn = await client.begin(session, STORY)
        async with (
            asyncio.timeout(PATIENCE),
            client.frames(f"/api/sessions/{session}/events?after=0") as frames,
        ):
            await until(frames, "text")
            assert any(await asyncio.to_thread(llama.slots))
            stopped = await client.post(f"/api/turns/{turn['turn_id']}/cancel")
            assert stopped.status_code in {200, 202}
            await idle(llama)
            done = await until(frames, "done")
        assert done.data["data"]["status"] == "cancelled"
        assert completed(await client.chat("Hello", session_id=session))


@pytest.mark.long_form
async def test_two_chats_share_one_slot(llama: RunningLlama, gateways: Gateways) -> None:
    """The second waits for the first however long that takes, and neither fails."""
    async with gateways(llama.url, model=MODEL, max_tokens=300, first_byte_timeout=3) as client:
        completed(await client.chat("Hello"))  # reads the prompt, which both then find in the cache
        both = await asyncio.gather(client.chat(STORY), client.chat("Hello"))
        assert [completed(each) for each in both] == [True, True]
        assert all(text_of(each) for each in both)


@pytest.mark.long_form
async def test_a_message_that_is_too_long_leaves_the_session_usable(
    small: RunningLlama, gateways: Gateways
) -> None:
    """It is refused as that, in the server's own words, and the next message is answered."""
    async with gateways(small.url, model=MODEL) as client:
        session = await client.session()
        assert completed(await client.chat("Hello", session_id=session))
        refused = await client.chat("The river is long. " * 600, session_id=session)
        assert the(refused, "error")["code"] == "context_overflow"
        assert "2048" in the(refused, "error")["message"]
        assert completed(await client.chat("Hello again", session_id=session))


@pytest.mark.long_form
async def test_a_long_session_goes_on(small: RunningLlama, gateways: Gateways) -> None:
    """When it has filled the window, older messages give way, with whatever summary such a model can make."""
    async with gateways(small.url, model=MODEL, max_tokens=100) as client:
        session = await client.session()
        for number in range(5):
            told = f"Message {number}. " + "The river flows by the old mill. " * 40
            assert completed(await client.chat(told, session_id=session)), number


@pytest.mark.long_form
async def test_a_server_that_restarts_in_mid_answer(tmp_path: Path, gateways: Gateways) -> None:
    """It is waited for while it loads, and the turn ends with an answer."""
    with running_llama(tmp_path / "log", "--context", "8192", "--template", str(TEMPLATE)) as own:
        async with gateways(own.url, model=MODEL) as client:
            session = await client.session()
            await client.begin(session, STORY)
            async with (
                asyncio.timeout(PATIENCE),
                client.frames(f"/api/sessions/{session}/events?after=0") as frames,
            ):
                await until(frames, "text")
                await asyncio.to_thread(own.kill)
                await asyncio.sleep(2)
                own.start()
                done = await until(frames, "done")
            assert done.data["data"]["status"] == "completed"


@pytest.mark.long_form
async def test_a_context_that_fills_while_it_writes_is_told_as_that(
    tmp_path: Path, gateways: Gateways
) -> None:
    """The warning does not send the reader to a limit that was not reached."""
    with running_llama(tmp_path / "log", "--context", "1024") as own:
        async with gateways(own.url, model=MODEL, max_tokens=4000, tool_policy="*=deny") as client:
            said = await client.chat(STORY)
            assert completed(said)
            warnings = [each["data"] for each in said if each["type"] == "warning"]
            assert any("context" in each["message"] for each in warnings), warnings


@pytest.mark.long_form
async def test_a_first_hello_needs_no_setting(tmp_path: Path, gateways: Gateways) -> None:
    """Before a server with 4096 tokens, as Ollama's old default, with all that a gateway does switched on."""
    everything = {"memory": True, "max_schedules": 10, "bundled_skills": True, "skills_in_prompt": True}
    with running_llama(tmp_path / "log", "--context", "4096") as own:
        async with gateways(own.url, **everything) as client:
            said = await client.chat("Hello")
            assert completed(said)
            assert text_of(said)


@pytest.mark.long_form
async def test_titles_and_memory_do_not_hold_up_the_next_turn(
    llama: RunningLlama, gateways: Gateways
) -> None:
    """What runs in the background gives way: two messages, one right after the other, are answered."""
    given = {"memory": True, "titles": True, "memory_learning": "turns", "first_byte_timeout": 5}
    async with gateways(llama.url, model=MODEL, **given) as client:
        session = await client.session()
        assert completed(await client.chat("Hello", session_id=session))
        assert completed(await client.chat("What is the capital of France?", session_id=session))


@pytest.mark.long_form
async def test_a_memory_is_in_what_the_model_reads(llama: RunningLlama, gateways: Gateways) -> None:
    """A memory of one session is sent with the next one's messages."""
    async with gateways(llama.url, model=MODEL, memory=True) as client:
        kept = await client.post("/api/memory", {"content": "The user's dog is called Minka."})
        assert kept.status_code in {200, 201}, kept.text
        said = await client.chat("What is the name of my dog?")
        assert completed(said)


@pytest.mark.long_form
async def test_a_session_is_summarised_or_says_why_not(llama: RunningLlama, gateways: Gateways) -> None:
    """Compression by hand ends, with a summary or with a reason, and the chat goes on."""
    async with gateways(llama.url, model=MODEL) as client:
        session = await client.session()
        for message in ("Hello", "What is the capital of France?", "德国的首都是哪里？"):
            assert completed(await client.chat(message, session_id=session))
        pressed = await client.post(f"/api/sessions/{session}/compress")
        assert pressed.status_code in {200, 409, 502}, pressed.text
        assert completed(await client.chat("Hello again", session_id=session))


@pytest.mark.long_form
async def test_the_dialect_of_openai(llama: RunningLlama, gateways: Gateways) -> None:
    """A client of it reads the model's text, and no more tokens than it asked for."""
    async with gateways(llama.url, model=MODEL) as client:
        said = await client.post(
            "/v1/chat/completions",
            {
                "model": MODEL,
                "max_tokens": 5,
                "messages": [{"role": "user", "content": STORY}],
            },
        )
        assert said.status_code == 200, said.text
        answer = said.json()
        assert answer["choices"][0]["message"]["content"]
        assert answer["choices"][0]["finish_reason"] == "length"
        assert answer["usage"]["completion_tokens"] <= 5

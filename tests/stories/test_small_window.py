"""A model with a small window, and one that writes no summaries: no session ends of its length."""

from typing import Any

import pytest

from tests.harness import running_gateway, text_of, the
from tests.product import Settings
from tests.small_window import (
    Refusal,
    SmallWindow,
    bedrock,
    llama_cpp,
    serve_small_window,
    size_of,
    unexplained,
    vllm,
)

pytestmark = pytest.mark.anyio

LONG = "One more paragraph about the journey to 和平飯店, for whoever reads it. " * 8


def _given(url: str, **settings: Any) -> dict[str, Any]:
    return {"anthropic_base_url": url, "model": "local-model", "model_attempts": 1, **settings}


@pytest.mark.parametrize("window", [2048, 4096, 8192])
@pytest.mark.parametrize("refusal", [llama_cpp, bedrock])
@pytest.mark.parametrize("summaries", ["I cannot do that.", "", None, '{"goal": 1'])
async def test_twenty_messages_are_answered_where_no_summary_is_ever_written(
    settings: Settings, window: int, refusal: Refusal, summaries: str | None
) -> None:
    """However poor the summaries are, each message gets its answer, and what was archived is there."""
    long = LONG * (window // 2048)
    endpoint = SmallWindow(window, refusal, summaries=summaries)
    async with serve_small_window(endpoint) as url:
        told = window if refusal is bedrock else None  # one that does not tell it has to be told of
        given = _given(url, context_window=told)
        async with running_gateway(settings.model_copy(update=given)) as client:
            session = await client.session()
            answers: list[str] = []
            codes: list[str] = []
            for number in range(21):
                events = await client.chat(f"{number}: {long}", session_id=session)
                assert the(events, "done")["status"] == "completed", events[-2:]
                answers.append(text_of(events))
                codes += [event["data"]["code"] for event in events if event["type"] == "warning"]
            versions = (await client.get(f"/api/sessions/{session}/compressions")).json()["versions"]

    assert answers == [endpoint.reply] * 21
    assert "summary_without_model" in codes
    assert versions
    assert all(each["without_model"] for each in versions)
    assert all(size_of(body) <= window for body in endpoint.bodies)


async def test_an_endpoint_that_says_nothing_of_length_is_understood_by_our_own_count(
    settings: Settings,
) -> None:
    """A refusal without a reason, of a request that is longer than the known window, is an overflow."""
    endpoint = SmallWindow(8192, unexplained)
    async with serve_small_window(endpoint) as url:
        given = _given(url, context_window=4096, prompt_profile="full")
        async with running_gateway(settings.model_copy(update=given)) as client:
            session = await client.session()
            for number in range(12):
                events = await client.chat(f"{number}: {LONG * 3}", session_id=session)
                assert the(events, "done")["status"] == "completed", events[-2:]


async def test_a_first_hello_is_answered_by_a_server_that_tells_its_window_in_the_refusal(
    settings: Settings,
) -> None:
    """Nothing is set: the first refusal tells the window, the prompt takes its short form, and the turn is
    answered, without a word of a prompt that nobody knew. The next session begins with it."""
    endpoint = SmallWindow(4096)
    async with (
        serve_small_window(endpoint) as url,
        running_gateway(settings.model_copy(update=_given(url))) as client,
    ):
        first = await client.chat("Hello")
        second = await client.chat("Hello")

    assert the(first, "done")["status"] == "completed"
    assert text_of(first) == endpoint.reply
    assert [event["data"] for event in first if event["type"] == "warning"] == []
    assert endpoint.refused == 1
    assert the(second, "done")["status"] == "completed"
    (start,) = [event["data"] for event in second if event["type"] == "iteration_start"]
    assert start["prompt_profile"] == "small"
    assert size_of(endpoint.bodies[-1]) < 1200
    assert endpoint.bodies[-1]["max_tokens"] < 4096


async def test_a_shorter_answer_is_asked_for_where_the_prompt_fits(settings: Settings) -> None:
    """vLLM counts the answer with the prompt, and tells both: nothing is compressed, the session goes on."""
    endpoint = SmallWindow(65_536, vllm, adds_output=True)
    async with serve_small_window(endpoint) as url:
        given = _given(url, max_tokens=64_000)
        async with running_gateway(settings.model_copy(update=given)) as client:
            events = await client.chat("Hello")

    assert the(events, "done")["status"] == "completed"
    assert the(events, "iteration_superseded")["reason"] == "context_overflow"
    assert not [event for event in events if event["type"] == "compression"]
    (body,) = endpoint.bodies
    assert size_of(body) + body["max_tokens"] <= 65_536


async def test_a_message_that_is_longer_than_the_window_says_what_to_do(settings: Settings) -> None:
    """That turn fails with words that help, and the next one is answered."""
    endpoint = SmallWindow(4096)
    async with serve_small_window(endpoint) as url:
        given = _given(url, context_window=4096)
        async with running_gateway(settings.model_copy(update=given)) as client:
            session = await client.session()
            failed = await client.chat("word " * 9000, session_id=session)
            after = await client.chat("Hello", session_id=session)

    error = the(failed, "error")
    assert error["code"] == "context_overflow"
    assert "shorten it" in error["message"]
    assert the(after, "done")["status"] == "completed"


async def test_a_prompt_that_alone_is_too_long_names_the_setting(settings: Settings) -> None:
    """Compressing would not help, and the words do not blame the conversation."""
    endpoint = SmallWindow(2048)
    async with serve_small_window(endpoint) as url:
        given = _given(url, prompt_profile="full")
        async with running_gateway(settings.model_copy(update=given)) as client:
            events = await client.chat("Hello")

    assert "GATEWAY_PROMPT_PROFILE=small" in the(events, "error")["message"]


async def test_a_compression_without_a_model_can_be_undone_and_tells_so(settings: Settings) -> None:
    """Archive, versions and undo are those of every compression."""
    endpoint = SmallWindow(4096)
    async with serve_small_window(endpoint) as url:
        given = _given(url, context_window=4096, memory=False)
        async with running_gateway(settings.model_copy(update=given)) as client:
            session = await client.session()
            completed: dict[str, Any] = {}
            for number in range(20):
                events = await client.chat(f"{number}: {LONG}", session_id=session)
                found = [event["data"] for event in events if event["type"] == "compression"]
                if found and found[-1]["phase"] == "completed":
                    completed = found[-1]
                    break
            archive = await client.get(f"/api/sessions/{session}/compressions/1/archive")
            undone = await client.post(f"/api/sessions/{session}/compressions/0/activate")
            view = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]

    assert completed["without_model"] is True
    assert completed["reason"].startswith("summary_")
    assert archive.status_code == 200
    assert undone.status_code == 200
    assert len(view) > 4

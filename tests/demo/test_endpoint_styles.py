"""The demo plays other servers: they write the right answers as those do, and refuse what those refuse."""

import re
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import orjson
import pytest

from gateway.demo.endpoint_styles import STYLES
from gateway.demo.server import serve_demo
from gateway.model.anthropic import AnthropicModel
from tests.endpoints.collection import endpoints
from tests.product import Answer, Message, ModelError, ModelRequest, ToolSpec

pytestmark = pytest.mark.anyio
SCRIPT = """/think 用户 asks.
/say Hello, 世界!
/call calculate {"expression": "1+1"}
/call calculate {"expression": "2+2"}"""
TOOL = ToolSpec("calculate", "Works it out.", {"type": "object", "properties": {}})


def model_of(style: str) -> str:
    return (STYLES[style].models or ("demo",))[0]


def asked(style: str, text: str, *more: Message, **given: Any) -> ModelRequest:
    messages = [Message("user", [{"type": "text", "text": text}]), *more]
    return ModelRequest(given.pop("model", model_of(style)), 4000, [], messages, tools=[TOOL], **given)


async def answer_of(url: str, request: ModelRequest) -> Answer:
    model = AnthropicModel(api_key="any", base_url=url)
    try:
        async with model.stream(request) as chunks:
            *_, answer = [chunk async for chunk in chunks]
            assert isinstance(answer, Answer)
            return answer
    finally:
        await model.close()


@pytest.fixture(params=sorted(STYLES))
async def played(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncGenerator[tuple[str, str]]:
    async with serve_demo(pace=0, window=3000, style=request.param) as url:
        yield request.param, url


def test_each_endpoint_of_the_collection_can_be_played() -> None:
    """The names of both are the same."""
    assert set(STYLES) == {endpoint.name for endpoint in endpoints()}


async def test_an_answer_is_right_in_every_style(played: tuple[str, str]) -> None:
    """Thinking, text and two calls, whose ids differ, whatever the stream looks like."""
    style, url = played
    answer = await answer_of(url, asked(style, SCRIPT))
    texts = [block["text"] for block in answer.content if block["type"] == "text"]
    calls = [block for block in answer.content if block["type"] == "tool_use"]
    assert texts == ["Hello, 世界!"]
    assert [call["input"] for call in calls] == [{"expression": "1+1"}, {"expression": "2+2"}]
    assert len({call["id"] for call in calls}) == 2
    assert answer.stop_reason == "tool_use"


async def test_what_it_wrote_may_go_back_to_it(played: tuple[str, str]) -> None:
    """The results of its calls are answered, with its thinking as the gateway keeps it."""
    style, url = played
    first = await answer_of(url, asked(style, SCRIPT))
    # A gateway gives calls ids of its own where the API would refuse theirs.
    content = [
        {**each, "id": each["id"].replace(":", "_")} if "id" in each else each for each in first.content
    ]
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "2"}
        for block in content
        if block["type"] == "tool_use"
    ]
    more = Message("assistant", content), Message("user", results)
    assert (await answer_of(url, asked(style, SCRIPT, *more))).stop_reason == "end_turn"


async def test_a_prompt_that_is_too_long_is_refused_in_its_words(played: tuple[str, str]) -> None:
    """Those words are of the collection, but for their numbers."""
    style, url = played
    with pytest.raises(ModelError) as refused:
        await answer_of(url, asked(style, "word " * 4000))
    assert refused.value.code == "context_overflow", refused.value


async def test_a_route_that_it_does_not_have_is_404_in_its_form(played: tuple[str, str]) -> None:
    """And its models are listed at the address that all of them have."""
    style, url = played
    async with httpx2.AsyncClient(base_url=url, trust_env=False, headers={"x-api-key": "any"}) as http:
        missing = await http.get("/nowhere")
        assert missing.status_code == 404
        assert missing.json() == STYLES[style].error(404, "not_found_error", "There is no GET /nowhere here.")
        listed = (await http.get("/v1/models")).json()
    assert model_of(style) in [model["id"] for model in listed["data"]]


@pytest.mark.parametrize(
    ("style", "given", "words"),
    [
        ("ollama", {"model": "gemma3:1b"}, "does not support tools"),
        ("ollama", {"model": "claude-sonnet-5-5"}, "model 'claude-sonnet-5-5' not found"),
        ("vllm", {"model": "claude-sonnet-5-5"}, "not found"),
    ],
)
async def test_requests_that_it_refuses(style: str, given: dict[str, Any], words: str) -> None:
    """As those servers do, with status and words of theirs."""
    async with serve_demo(pace=0, style=style) as url:
        with pytest.raises(ModelError, match=re.escape(words)):
            await answer_of(url, asked(style, "hello", **given))


@pytest.mark.parametrize(
    ("style", "words"), [("deepseek", "must be passed back"), ("kimi", "reasoning_content is missing")]
)
async def test_some_want_their_thinking_back(style: str, words: str) -> None:
    """Without it the results of calls are refused."""
    call = {"type": "tool_use", "id": "call_1", "name": "calculate", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": "2"}
    body: dict[str, Any] = {
        "model": "demo",
        "max_tokens": 4000,
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "messages": [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ],
    }
    async with (
        serve_demo(pace=0, style=style) as url,
        httpx2.AsyncClient(base_url=url, trust_env=False, headers={"x-api-key": "any"}) as http,
    ):
        refused = await http.post("/v1/messages", json=body)
        assert refused.status_code == 400
        assert words in refused.text
        thought = {"type": "thinking", "thinking": "Hm.", "signature": ""}
        body["messages"][1]["content"] = [thought, call]
        assert (await http.post("/v1/messages", json=body)).status_code == 200


async def test_it_says_of_itself_what_llama_cpp_does() -> None:
    """Window, slots and health at the addresses that a client asks."""
    async with (
        serve_demo(pace=0, window=4096, style="llama.cpp") as url,
        httpx2.AsyncClient(base_url=url, trust_env=False) as http,
    ):
        props = (await http.get("/props")).json()
        assert props["default_generation_settings"]["n_ctx"] == 4096
        assert props["total_slots"] == 1
        assert (await http.get("/slots")).json()[0]["is_processing"] is False
        assert (await http.get("/health")).json() == {"status": "ok"}


def shape(body: bytes) -> list[tuple[Any, ...]]:
    """The events of a stream by type, block and kind of delta, with runs of the same told once."""
    told: list[tuple[Any, ...]] = []
    for line in body.split(b"\n"):
        if line.startswith(b"data: "):
            event = orjson.loads(line[6:])
            found = event["type"], event.get("index"), event.get("delta", {}).get("type")
            if not told or told[-1] != found:
                told.append(found)
    return told


@pytest.mark.parametrize(
    ("case", "script"),
    [
        ("thinking_and_text", "/think Well.\n/say Hello!"),
        ("two_tools", '/call calculate {"expression": "1"}\n/call calculate {"expression": "2"}'),
        ("text_and_tool", '/say I calculate.\n/call calculate {"expression": "1"}'),
    ],
)
async def test_the_order_of_events_is_that_of_the_real_llama_cpp(case: str, script: str) -> None:
    """Block by block as it was recorded."""
    (llama,) = [each for each in endpoints() if each.name == "llama.cpp"]
    recorded = next(each for each in llama.cases if each.name == case)
    async with (
        serve_demo(pace=0, style="llama.cpp") as url,
        httpx2.AsyncClient(base_url=url, trust_env=False) as http,
    ):
        body = {
            "model": "m",
            "max_tokens": 4000,
            "stream": True,
            "messages": [{"role": "user", "content": script}],
        }
        played = await http.post(
            "/v1/messages",
            json={**body, "tools": [{"name": "calculate", "input_schema": {"type": "object"}}]},
        )
    assert shape(played.content) == shape(recorded.response.body)

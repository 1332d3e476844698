"""What the real SDK reads from the demo."""

from collections.abc import AsyncGenerator
from typing import Any

import anthropic
import pytest

from tests.demo.bare import ask
from tests.demo.conftest import Send

pytestmark = pytest.mark.anyio
WEATHER = {
    "name": "weather",
    "description": "Tells the weather.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}


@pytest.fixture
async def sdk(demo_url: str, anyio_backend: str) -> AsyncGenerator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(base_url=demo_url, api_key="demo", max_retries=0) as client:
        yield client


def said(text: str, **changes: Any) -> dict[str, Any]:
    body = ask(text, **changes)
    del body["stream"]
    return body


async def test_a_streamed_text_arrives_as_it_was_scripted(sdk: anthropic.AsyncAnthropic) -> None:
    """The pieces of a stream concatenate to the scripted text, and the final message carries it."""
    async with sdk.messages.stream(**said("/say Hello there, 你好吗  world")) as stream:
        pieces = [text async for text in stream.text_stream]
        final = await stream.get_final_message()
    assert "".join(pieces) == "Hello there, 你好吗  world"
    assert len(pieces) > 4
    assert final.stop_reason == "end_turn"
    assert final.usage.input_tokens > 0 < final.usage.output_tokens


async def test_thinking_and_parallel_calls_stream_as_blocks(sdk: anthropic.AsyncAnthropic) -> None:
    """A scripted message has its signed thought, its text and its calls, in order."""
    script = (
        '/think Let me see.\n/say A moment.\n/call weather {"city":"北京"}\n/call weather {"city":"Berlin"}'
    )
    async with sdk.messages.stream(**said(script, tools=[WEATHER])) as stream:
        final = await stream.get_final_message()
    thought, text, first, second = final.content
    assert thought.type == "thinking"
    assert thought.thinking == "Let me see."
    assert thought.signature
    assert text.type == "text"
    assert first.type == "tool_use"
    assert second.type == "tool_use"
    assert [first.input, second.input] == [{"city": "北京"}, {"city": "Berlin"}]
    assert first.id != second.id
    assert final.stop_reason == "tool_use"


async def test_an_answer_that_does_not_stream_is_the_same_message(sdk: anthropic.AsyncAnthropic) -> None:
    """Streaming or not, the same request gives the same message, ids and usage included."""
    script = said('/say Same.\n/call weather {"city":"Oslo"}', tools=[WEATHER])
    async with sdk.messages.stream(**script) as stream:
        streamed = await stream.get_final_message()
    whole = await sdk.messages.create(**script)
    fields = {"id", "model", "content", "stop_reason", "usage"}
    assert whole.model_dump(include=fields) == streamed.model_dump(include=fields)


async def test_tokens_are_counted_and_models_listed(sdk: anthropic.AsyncAnthropic) -> None:
    """count_tokens agrees with the usage of the same request; of each model in the list the SDK reads what it
    can do, and one that is not listed is not there."""
    script = said("/say counted")
    counted = await sdk.messages.count_tokens(model="demo", messages=script["messages"])
    message = await sdk.messages.create(**script)
    assert counted.input_tokens == message.usage.input_tokens
    listed = [model async for model in sdk.models.list()]
    assert [model.id for model in listed][:2] == ["demo", "claude-sonnet-5-5"]
    assert await sdk.models.retrieve("demo") == listed[0]
    assert all(model.capabilities and model.capabilities.image_input.supported for model in listed)
    with pytest.raises(anthropic.NotFoundError):
        await sdk.models.retrieve("nobody/heard:of")


async def test_a_marked_prefix_is_written_once_and_then_read(sdk: anthropic.AsyncAnthropic) -> None:
    """A block with cache_control is a cache write in the first call and a cache read in the next."""
    system: Any = [{"type": "text", "text": "Be brief. " * 50, "cache_control": {"type": "ephemeral"}}]
    first = (await sdk.messages.create(**said("/say one", system=system))).usage
    second = (await sdk.messages.create(**said("/say two", system=system))).usage
    assert first.cache_creation_input_tokens == second.cache_read_input_tokens
    assert second.cache_read_input_tokens
    assert second.cache_creation_input_tokens == first.cache_read_input_tokens == 0


async def test_a_bad_key_is_refused_with_401(demo_url: str, send: Send) -> None:
    """The SDK sees an authentication error for the key that is bad; no key at all is a 401, too."""
    async with anthropic.AsyncAnthropic(base_url=demo_url, api_key="bad-key", max_retries=0) as client:
        with pytest.raises(anthropic.AuthenticationError):
            await client.messages.create(**said("/say never"))
    assert (await send(ask("/say never"), x_api_key="")).status == 401
    assert (await send(ask("/say yes"), x_api_key="", authorization="Bearer some-key")).status == 200


async def test_the_same_request_gives_the_same_bytes(send: Send) -> None:
    """Two identical requests are answered with identical bytes; another question with other ids."""
    body = ask("/think Hm.\n/say One two three.\n/call weather {}", tools=[WEATHER])
    first, second = await send(body), await send(body)
    other = await send(ask("/say One two three."))
    assert first.raw == second.raw
    assert first.events[0]["message"]["id"] != other.events[0]["message"]["id"]


async def test_a_stamped_piece_tells_when_it_was_sent(send: Send) -> None:
    """Stamped pieces are send times in nanoseconds, 20 digits and a blank, in the order of sending."""
    received = await send(ask("/pieces 50 /stamp"))
    times = received.text.split(" ")[:-1]
    assert len(times) == 50
    assert {len(time) for time in times} == {20}
    assert [int(time) for time in times] == sorted(int(time) for time in times)


async def test_a_burst_is_one_chunk(send: Send) -> None:
    """With /burst the whole stream is one HTTP chunk, and its text is the same as without."""
    burst, paced = await send(ask("/pieces 300 /burst")), await send(ask("/pieces 300"))
    assert burst.text == paced.text
    assert len(burst.text) == 4 * 300
    assert burst.raw.count(b"\r\n") < 20 < paced.raw.count(b"\r\n")

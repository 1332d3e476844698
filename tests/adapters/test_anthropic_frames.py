"""What is written of a turn is a message by the types of the package `anthropic`."""

import re
from collections.abc import Sequence
from typing import Any

import orjson
from anthropic.types.beta import BetaMessage, BetaRawMessageStreamEvent
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from gateway.adapters.anthropic.anthropic_frames import AnthropicMessageStream, WholeMessage
from gateway.adapters.anthropic.anthropic_message import call_named, stop_reason_of, tool_use_id, usage_of
from gateway.adapters.turn_fold import Fold
from gateway.adapters.turn_parts import TurnEnded
from tests.adapters.test_turn_fold import stored, turns
from tests.product import StoredEvent

ABOUT = ("t_1", "m%s", "http://localhost/#s=s_1", 42)
EVENT: TypeAdapter[Any] = TypeAdapter(BetaRawMessageStreamEvent)


def frames_of(body: bytes) -> list[dict[str, Any]]:
    """The data of the frames; each is named by its type."""
    *frames, rest = body.split(b"\n\n")
    assert rest == b""
    found: list[dict[str, Any]] = []
    for frame in frames:
        name, data = frame.split(b"\n")
        found.append(orjson.loads(data.removeprefix(b"data: ")))
        assert name == f"event: {found[-1]['type']}".encode()
    return found


def collected(frames: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks that a client makes of the frames: one after the other, numbered from 0."""
    blocks: list[dict[str, Any]] = []
    is_open = False
    for frame in frames:
        if frame["type"] == "content_block_start":
            assert (frame["index"], is_open) == (len(blocks), False)
            blocks.append(frame["content_block"])
            is_open = True
        elif frame["type"] == "content_block_delta":
            assert (frame["index"], is_open) == (len(blocks) - 1, True)
            kind, value = (value for value in frame["delta"].values())
            name = kind.removesuffix("_delta")
            if name == "citations":
                blocks[-1].setdefault("citations", []).append(value)
            else:
                blocks[-1][name] += value
        elif frame["type"] == "content_block_stop":
            assert (frame["index"], is_open) == (len(blocks) - 1, True)
            is_open = False
    assert not is_open
    return blocks


@given(turns())
def test_every_event_is_one_of_the_packages(events: Sequence[StoredEvent]) -> None:
    """From message_start to message_stop; a turn that failed has no good end. The blocks are those of a whole
    answer, but for what was withdrawn."""
    encoder, fold = AnthropicMessageStream(*ABOUT, shows_calls=True), Fold()
    frames = frames_of(b"".join(encoder.encode(fold.take([event])) for event in events))
    whole = WholeMessage(*ABOUT, shows_calls=True)
    whole.encode(Fold().take(events))

    start, ping, *between, last = frames
    assert (start["type"], ping) == ("message_start", {"type": "ping"})
    assert start["message"]["usage"]["input_tokens"] == 42
    for frame in (start, *between):
        EVENT.validate_python(frame)
    blocks = collected(between)
    if whole.failure is not None:
        assert (last["type"], last["error"]["details"]) == ("error", {"error_code": whole.failure[0]})
        assert not {"message_delta", "message_stop"} & {frame["type"] for frame in between}
        return
    EVENT.validate_python(last)
    assert (last["type"], between[-1]["delta"]["stop_reason"]) == ("message_stop", "end_turn")
    message = orjson.loads(whole.body())
    BetaMessage.model_validate(message)
    if all(event.type != "iteration_superseded" for event in events):
        assert blocks == message["content"]


def test_what_was_found_in_the_web_is_cited_by_the_text_behind_it() -> None:
    """Memories, and what has no address, are not."""
    hits = [
        {"id": "1", "source": "https://example.com/a", "snippet": "so", "title": "A", "score": 1},
        {"id": "2", "source": "docs/b.md", "snippet": "and so", "score": 1},
    ]
    found = {"query": "q", "source": "web", "results": hits, "tokens": 1}
    events = stored(
        [
            ("turn_start", {"input": "hi", "model": "m"}, None, None),
            ("retrieval", {**found, "mode": "details"}, None, None),
            ("iteration_start", {"attempt": 1, "model": "m"}, 1, None),
            ("retrieval", found, None, None),
            ("text", {"text": "yes"}, 1, None),
            ("done", {"status": "completed", "stop_reason": "end_turn"}, None, None),
        ]
    )
    whole = WholeMessage(*ABOUT, shows_calls=True)
    whole.encode(Fold().take(events))
    (block,) = collected(
        frames_of(AnthropicMessageStream(*ABOUT, shows_calls=True).encode(Fold().take(events)))
    )

    assert block == orjson.loads(whole.body())["content"][0]
    BetaMessage.model_validate(orjson.loads(whole.body()))
    (cited,) = block["citations"]
    assert (cited["url"], cited["title"], cited["cited_text"]) == ("https://example.com/a", "A", "so")


def test_what_the_model_refuses_is_an_answer_and_unknown_usage_an_estimate() -> None:
    """As the API has it; the tokens of the cache, of which nothing is known, are null."""
    error = {"code": "content_refused", "message": "The model declined.", "retryable": False}

    assert stop_reason_of(TurnEnded({"status": "failed"}, error)) == "refusal"
    assert stop_reason_of(TurnEnded({"status": "failed"}, {**error, "code": "internal"})) is None
    assert stop_reason_of(TurnEnded({"status": "limit_reached"}, None)) == "max_tokens"
    assert stop_reason_of(TurnEnded({"status": "cancelled"}, None)) == "end_turn"
    assert usage_of([], 7) == {
        "input_tokens": 7,
        "output_tokens": 0,
        "cache_creation_input_tokens": None,
        "cache_read_input_tokens": None,
    }
    spent = {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 3}
    assert usage_of([spent, spent], 7) == {
        "input_tokens": 2,
        "output_tokens": 4,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 6,
    }


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_every_call_has_a_name_that_the_api_would_take_and_is_found_by_it(call_id: str) -> None:
    """Endpoints name calls as they like: `functions.look:0`."""
    turn_id = f"t_{'0' * 32}"
    name = tool_use_id(turn_id, call_id)

    assert re.fullmatch(r"[a-zA-Z0-9_-]+", name)
    assert call_named(name) == f"{turn_id}:{call_id}"
    assert tool_use_id(turn_id, "toolu_01") == f"{turn_id}-toolu_01"
    assert call_named("toolu_of_another_server") == "toolu_of_another_server"

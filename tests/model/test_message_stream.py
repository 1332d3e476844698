"""The stream of one message: what becomes of good events, odd events and events against the rules."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from time import thread_time
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import TooManyToolCalls
from gateway.model.base import Answer, Chunk, Delta, Started
from gateway.model.bounds import Bounds
from gateway.model.message_blocks import MAX_DELTA
from gateway.model.message_stream import MessageStream
from tests.product import Block, ModelError, Usage

Event = dict[str, Any]
USAGE = {"input_tokens": 10, "output_tokens": 1}


def start(usage: object = USAGE, **more: Any) -> Event:
    return {"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": usage, **more}}


def opened(index: int, block: Block) -> Event:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, field: str, value: Any) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: value}}


def text(index: int, value: Any) -> Event:
    return delta(index, "text_delta", "text", value)


def stop(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


def end(stop_reason: str | None = "end_turn", usage: object = None) -> list[Event]:
    changed = {"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": usage}
    return [changed, {"type": "message_stop"}]


TEXT = opened(0, {"type": "text", "text": ""})
THINKING = opened(0, {"type": "thinking", "thinking": ""})
TEXT_AT_1 = opened(1, {"type": "text", "text": ""})
TOOL = opened(0, {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}})


def tool_input(*parts: str) -> list[Event]:
    return [TOOL, *(delta(0, "input_json_delta", "partial_json", part) for part in parts), stop(0)]


def feed(stream: MessageStream, events: Iterable[Event]) -> list[Chunk]:
    return stream.feed([orjson.dumps(event) for event in events])


def answer(*events: Event, stop_reason: str | None = "end_turn", usage: object = None) -> Answer:
    """The answer made of `events` between a start and an end."""
    stream = MessageStream()
    chunks = feed(stream, [start(), *events, *end(stop_reason, usage)])
    assert stream.failure is None, stream.failure
    last = chunks[-1]
    assert isinstance(last, Answer)
    return last


def failure(*events: Event | bytes) -> str:
    """The code that `events` end in; a failure of the protocol can be tried again."""
    stream = MessageStream()
    stream.feed([event if isinstance(event, bytes) else orjson.dumps(event) for event in events])
    assert stream.failure is not None
    assert not stream.finished
    return stream.failure.code if stream.failure.retryable else f"{stream.failure.code}, final"


def test_text_that_arrives_together_is_one_delta() -> None:
    """Started, one delta for each read and block, and the answer last."""
    stream = MessageStream()
    assert feed(stream, [start(), TEXT]) == [Started("msg_1", "m", Usage(**USAGE))]
    assert feed(stream, [text(0, "a"), text(0, "b"), text(0, "")]) == [Delta("text", "ab")]
    second = opened(1, {"type": "text", "text": "at once "})
    assert feed(stream, [text(0, "c"), stop(0), second, text(1, "d")]) == [
        Delta("text", "c"),
        Delta("text", "at once d"),
    ]
    (last,) = feed(stream, [stop(1), *end(usage={"output_tokens": 7})])
    assert last == Answer(
        content=[{"type": "text", "text": "abc"}, {"type": "text", "text": "at once d"}],
        stop_reason="end_turn",
        usage=Usage(input_tokens=10, output_tokens=7),
        model="m",
        response_id="msg_1",
    )
    assert stream.finished


def test_very_much_text_at_once_is_several_deltas() -> None:
    """What one write of the record takes of a stream is bounded, and nothing of the text is lost."""
    stream = MessageStream()
    feed(stream, [start(), TEXT])
    deltas = feed(stream, [text(0, "漢" * MAX_DELTA), text(0, "b")])
    assert deltas == [Delta("text", "漢" * MAX_DELTA), Delta("text", "b")]
    (last,) = feed(stream, [stop(0), *end()])
    assert isinstance(last, Answer)
    assert last.content == [{"type": "text", "text": "漢" * MAX_DELTA + "b"}]


def test_nothing_parts_the_halves_of_a_pair() -> None:
    """Also where a NUL, which is taken out, comes between them and each comes alone."""
    stream = MessageStream()
    feed(stream, [start(), TEXT])
    halves = [escaped(text(0, part)) for part in ("\ud83d", "\x00", "\ude00")]
    assert [chunk for half in halves for chunk in stream.feed([half])] == [Delta("text", "😀")]


words = st.text(st.sampled_from("ab漢\x00\ud83d\ude00 "), max_size=4)


@given(st.lists(st.lists(words, max_size=3), min_size=1, max_size=4), st.data())
def test_however_it_is_read_the_deltas_are_the_stored_text(
    blocks: list[list[str]], data: st.DataObject
) -> None:
    """The deltas of an answer concatenate to its text, whatever arrived together, without a bad character."""
    events = [start()]
    for index, parts in enumerate(blocks):
        events += [opened(index, {"type": "text", "text": ""}), *(text(index, part) for part in parts)]
        events.append(stop(index))
    events += end()
    wire = [orjson.dumps(event) if is_sound(event) else escaped(event) for event in events]
    stream, chunks = MessageStream(), list[Chunk]()
    while wire:
        taken = data.draw(st.integers(1, len(wire)))
        chunks += stream.feed(wire[:taken])
        del wire[:taken]
    assert stream.failure is None
    last = chunks[-1]
    assert isinstance(last, Answer)
    shown = "".join(chunk.text for chunk in chunks if isinstance(chunk, Delta))
    assert shown == "".join(block["text"] for block in last.content)
    assert "\x00" not in shown
    assert shown.encode().decode() == shown
    joined = ["".join(parts).replace("\x00", "") for parts in blocks]
    assert shown == "".join(
        whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for whole in joined
    )


def is_sound(event: Event) -> bool:
    try:
        orjson.dumps(event)
    except TypeError:
        return False
    return True


def escaped(event: Event) -> bytes:
    return json.dumps(event).encode()


def test_a_surrogate_pair_cut_in_two_becomes_one_character() -> None:
    """The first half waits for the second, also over several reads; alone it becomes U+FFFD."""
    stream = MessageStream()
    feed(stream, [start(), TEXT])
    half = rb'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%b"}}'
    assert stream.feed([half % rb"x\ud83d"]) == [Delta("text", "x")]
    assert stream.feed([half % rb"\ude00"]) == [Delta("text", "😀")]
    assert stream.feed([half % rb"\ud83d"]) == []
    assert feed(stream, [stop(0)]) == [Delta("text", "\ufffd")]


def test_thinking_is_kept_as_it_came() -> None:
    """Signed, unsigned and redacted: what of it goes back is decided where it is sent. Without a signature
    and a text there is nothing to keep."""
    signed = opened(0, {"type": "thinking", "thinking": "", "signature": ""})
    redacted: Block = {"type": "redacted_thinking", "data": "b64"}
    unsigned = opened(2, {"type": "thinking", "thinking": ""})
    found = answer(
        signed,
        delta(0, "thinking_delta", "thinking", "hm"),
        delta(0, "signature_delta", "signature", "si"),
        delta(0, "signature_delta", "signature", "gn"),
        stop(0),
        opened(1, redacted),
        stop(1),
        unsigned,
        delta(2, "thinking_delta", "thinking", "so"),
        stop(2),
        opened(3, {"type": "thinking", "thinking": "", "signature": ""}),
        stop(3),
    )
    assert found.content == [
        {"type": "thinking", "thinking": "hm", "signature": "sign"},
        redacted,
        {"type": "thinking", "thinking": "so"},
    ]


def test_what_is_not_known_passes() -> None:
    """Unknown blocks go back as they came; unknown deltas and events change nothing."""
    novelty: Block = {"type": "novelty", "payload": {"a": [1, None]}}
    found = answer(
        {"type": "weather"},
        {"no": "type"},
        opened(0, novelty),
        text(0, "ignored"),
        delta(0, "novelty_delta", "more", 1),
        stop(0),
        opened(1, {"type": "text", "text": "", "citations": None}),
        delta(1, "tone_delta", "tone", "dry"),
        text(1, "x"),
        delta(1, "citations_delta", "citation", {"type": "page", "n": 1}),
        stop(1),
        opened(2, {"type": "server_tool_use", "id": "srv", "name": "web", "input": {}}),
        delta(2, "input_json_delta", "partial_json", '{"q":1}'),
        stop(2),
    )
    assert found.content == [
        novelty,
        {"type": "text", "text": "x", "citations": [{"type": "page", "n": 1}]},
        {"type": "server_tool_use", "id": "srv", "name": "web", "input": {"q": 1}},
    ]


def test_empty_text_does_not_go_back() -> None:
    """The API refuses an empty text block, so the answer has none; without any block it is just empty."""
    assert answer(TEXT, text(0, ""), stop(0)).content == []
    assert answer().content == []


@pytest.mark.parametrize(
    ("parts", "input"),
    [(["", '{"a":', "1}"], {"a": 1}), ([], {}), ([""], {})],
)
def test_a_tool_input_is_read_when_it_is_complete(parts: Sequence[str], input: dict[str, Any]) -> None:
    """Deltas are joined and parsed once; no delta at all means no arguments."""
    found = answer(*tool_input(*parts), stop_reason="tool_use")
    assert found.content[0]["input"] == input
    assert found.bad_inputs == {}


@pytest.mark.parametrize("block", [[TEXT], []])
def test_an_answer_may_come_without_its_message_start(block: list[Event]) -> None:
    """llama.cpp leaves it out where the first token is a piece of a character; what it tells is unknown."""
    stream = MessageStream()
    started, first = feed(stream, [*block, text(0, "é")])
    assert isinstance(started, Started)
    assert (started.response_id, started.model) == (None, None)
    assert first == Delta("text", "é")
    (last,) = feed(stream, [stop(0), *end(usage={"output_tokens": 2})])
    assert isinstance(last, Answer)
    assert (last.content, last.usage) == ([{"type": "text", "text": "é"}], None)


def test_a_tool_input_may_come_with_the_start_of_its_block() -> None:
    """Some endpoints send it whole."""
    whole = opened(0, {"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}})
    assert answer(whole, stop(0), stop_reason="tool_use").content[0]["input"] == {"a": 1}


@pytest.mark.parametrize("written", ['{"a":', "[1]", '{"a":1}x', '{"a":NaN}', '{"a":1,"a":2}'])
def test_a_bad_tool_input_is_named_and_empty(written: str) -> None:
    """The block stays in the answer with input {}, and its id says what was wrong."""
    found = answer(*tool_input(written), stop_reason="tool_use")
    assert found.content == [{"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}}]
    assert list(found.bad_inputs) == ["toolu_1"]
    assert found.bad_inputs["toolu_1"]


@pytest.mark.parametrize("stop_reason", ["max_tokens", "model_context_window_exceeded"])
def test_a_call_cut_off_by_the_token_limit_is_bad(stop_reason: str) -> None:
    """Cut inside its input or before it, the call must not run."""
    for parts in (['{"a":1'], [""], []):
        assert "toolu_1" in answer(*tool_input(*parts), stop_reason=stop_reason).bad_inputs


@pytest.mark.parametrize(
    ("stop_reason", "code"),
    [
        ("network_error", "upstream_error"),
        ("error", "upstream_error"),
        ("ERROR", "upstream_error"),
        ("abort", "upstream_error"),
        ("insufficient_system_resource", "upstream_overloaded"),
        ("timeout", "upstream_timeout"),
    ],
)
def test_a_stop_reason_that_tells_of_a_failure_is_one(stop_reason: str, code: str) -> None:
    """Also in an answer that came in one piece. What had been written stays shown, what was used is known."""
    assert failure(start(), TEXT, *end(stop_reason)) == code
    stream = MessageStream()
    assert feed(stream, [start(), text(0, "a"), *end(stop_reason)])[1:] == [Delta("text", "a")]


def test_the_text_at_which_it_stopped_is_told() -> None:
    """Where the endpoint tells it."""
    changed = {"type": "message_delta", "delta": {"stop_reason": "stop_sequence", "stop_sequence": "###"}}
    stream = MessageStream()
    (*_, last) = feed(stream, [start(), changed, {"type": "message_stop"}])
    assert isinstance(last, Answer)
    assert (last.stop_reason, last.stop_sequence) == ("stop_sequence", "###")


@pytest.mark.parametrize("stop_reason", ["end_turn", "refusal", "something_new", None])
def test_every_stop_reason_passes(stop_reason: str | None) -> None:
    """What a stop reason means is the turn's decision, also when there is none."""
    assert answer(stop_reason=stop_reason).stop_reason == stop_reason


@pytest.mark.parametrize(
    ("first", "last", "total"),
    [
        (USAGE, {"output_tokens": 5}, Usage(input_tokens=10, output_tokens=5)),
        (USAGE, {"input_tokens": 12, "output_tokens": 5}, Usage(input_tokens=12, output_tokens=5)),
        (
            {**USAGE, "cache_read_input_tokens": 3, "cache_creation_input_tokens": None},
            {"output_tokens": 5, "cache_read_input_tokens": None},
            Usage(input_tokens=10, output_tokens=5, cache_read_input_tokens=3),
        ),
        (None, {"output_tokens": 5}, None),
        (None, None, None),
        (USAGE, {"output_tokens": -5}, None),
        (USAGE, {"output_tokens": 5, "cache_read_input_tokens": -1}, None),
        (USAGE, {"output_tokens": 2.5}, None),
        ([1], {"output_tokens": 5}, None),
    ],
)
def test_the_last_count_of_each_kind_wins(first: object, last: object, total: Usage | None) -> None:
    """Usage is merged field by field; what is missing or impossible makes it unknown, never 0."""
    stream = MessageStream()
    *_, found = feed(stream, [start(first), *end(usage=last)])
    assert isinstance(found, Answer)
    assert found.usage == total


TWICE = opened(1, {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}})


@pytest.mark.parametrize(
    "events",
    [
        [b"{", start()],
        [b'{"type":"ping","x":"\xff"}'],
        [b"[1]"],
        [b"null"],
        [stop(0)],
        end(),
        [{"type": "message_start"}],
        [start(), start()],
        [start(), TEXT, {"type": "content_block_delta", "index": 0}],
        [start(), TEXT, text(0, 42)],
        [start(), TEXT, {"type": "content_block_start", "index": [1], "content_block": {"type": "text"}}],
        [start(), TEXT, delta(0, "input_json_delta", "partial_json", "{}")],
        [start(), *tool_input("{}"), delta(0, "input_json_delta", "partial_json", "{}")],
        [start(), delta(0, "input_json_delta", "partial_json", "{}")],
        [start(), opened(0, {})],
        [start(), opened(0, {"type": "tool_use", "id": "toolu_1"})],
        [start(), *tool_input("{}"), TWICE],
    ],
)
def test_what_has_no_plain_meaning_is_refused_and_can_be_tried_again(events: list[Event | bytes]) -> None:
    """Arguments are never guessed at, and a stream that is none of the API's is not read."""
    assert failure(*events) == "upstream_error"


HELLO: list[Block] = [{"type": "text", "text": "Hello"}]
CALL: Block = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"q": 1}}
UNFINISHED = [TOOL, delta(0, "input_json_delta", "partial_json", '{"q":1}')]


@pytest.mark.parametrize(
    ("events", "content"),
    [
        ([opened(1, {"type": "text", "text": ""}), text(1, "Hello"), stop(1)], HELLO),
        ([TEXT, text(0, "Hello"), stop(0), opened(7, CALL), stop(7)], [*HELLO, CALL]),
        ([TEXT, text(0, "Hello"), stop(0), opened(0, CALL), stop(0)], [*HELLO, CALL]),
        ([TEXT, text(0, "Hello"), opened(0, CALL), stop(0)], [*HELLO, CALL]),
        ([TEXT, text(0, "Hello"), opened(1, CALL), stop(0), stop(1)], [*HELLO, CALL]),
        ([TEXT, text(0, "Hello"), opened(1, CALL), stop(1), stop(0)], [*HELLO, CALL]),
        ([TEXT, text(0, "Hello"), opened(1, CALL)], [*HELLO, CALL]),
        ([TEXT, text(0, "Hel"), opened(1, CALL), text(0, "lo"), stop(0), stop(1)], [*HELLO, CALL]),
        ([text(0, "Hello"), stop(0)], HELLO),
        ([TEXT, stop(0), stop(0), text(0, "Hello")], HELLO),
        ([TEXT, text(1, "Hello"), stop(1), stop(5)], HELLO),
        ([TEXT, text(0, "Hel"), text(0, None), text(0, "lo"), stop(0)], HELLO),
        ([*UNFINISHED, text(0, "Hello"), stop(0)], [CALL, *HELLO]),
        ([*UNFINISHED, text(0, "Hel"), text(0, "lo")], [CALL, *HELLO]),
        (
            [TEXT, text(0, "Hello"), delta(0, "thinking_delta", "thinking", "hm"), stop(0)],
            [*HELLO, {"type": "thinking", "thinking": "hm"}],
        ),
        ([TEXT, text(0, "Hello"), delta(0, "input_json_delta", "partial_json", ""), stop(0)], HELLO),
        ([TEXT, end()[0], text(0, "Hello"), stop(0), end()[0]], HELLO),
        ([end(None)[0], TEXT, text(0, "Hello"), stop(0)], HELLO),
        (
            [
                {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
                {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hello"}},
                {"type": "content_block_stop"},
            ],
            HELLO,
        ),
        ([TEXT, {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hello"}}], HELLO),
        ([TEXT, text(0, "Hello"), delta(0, "signature_delta", "signature", "s"), stop(0)], HELLO),
    ],
)
def test_a_stream_with_a_plain_meaning_is_understood(events: list[Event], content: list[Block]) -> None:
    """Blocks with any index, side by side, stopped in any order, twice or never, and text where no block for
    it is open: the content is what was meant, and the deltas are its text."""
    for parts in ([events], [[event] for event in events]):
        stream, chunks = MessageStream(), list[Chunk]()
        for part in [[start()], *parts, end()]:
            chunks += feed(stream, part)
        assert stream.failure is None, stream.failure
        last = chunks[-1]
        assert isinstance(last, Answer)
        assert (last.content, last.bad_inputs) == (content, {})
        shown = [chunk.text for chunk in chunks if isinstance(chunk, Delta) and chunk.kind == "text"]
        assert "".join(shown) == "Hello"


def test_blocks_that_all_end_with_the_message_are_shown_while_they_come() -> None:
    """As llama.cpp sends them: every stop at the end, and an empty signature of thinking after the text."""
    stream = MessageStream()
    feed(stream, [start(), THINKING])
    assert feed(stream, [delta(0, "thinking_delta", "thinking", "hm")]) == [Delta("thinking", "hm")]
    feed(stream, [opened(1, {"type": "text", "text": ""})])
    assert feed(stream, [text(1, "Paris")]) == [Delta("text", "Paris")]
    assert feed(stream, [delta(0, "signature_delta", "signature", ""), text(1, ".")]) == [Delta("text", ".")]
    feed(stream, [opened(2, {"type": "tool_use", "id": "t", "name": "n", "input": {}})])
    feed(stream, [delta(2, "input_json_delta", "partial_json", '{"q":1}')])
    (last,) = feed(stream, [stop(0), stop(1), stop(2), *end("tool_use")])
    assert isinstance(last, Answer)
    assert last.content == [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Paris."},
        {"type": "tool_use", "id": "t", "name": "n", "input": {"q": 1}},
    ]


def test_texts_that_only_end_with_the_message_are_shown_while_they_come() -> None:
    """Text, thinking, text and more of each, without a stop: nothing waits for the end of the answer. What
    comes for a text after the next has begun is a text of its own, so that what was shown is what is kept."""
    stream = MessageStream()
    written = [("text", "One."), ("thinking", "hm"), ("text", "Two."), ("thinking", "so"), ("text", "Three.")]
    feed(stream, [start()])
    for index, (kind, said) in enumerate(written):
        for part in (said[:2], said[2:]):
            events = [delta(index, f"{kind}_delta", kind, part)] if part else []
            begins = [opened(index, {"type": kind, kind: ""})] if part == said[:2] else []
            shown = feed(stream, [*begins, *events])
            assert shown == ([Delta(kind, part)] if part else [])  # type: ignore[arg-type]
    assert feed(stream, [text(0, " Late.")]) == [Delta("text", " Late.")]
    (last,) = feed(stream, [*map(stop, range(5)), *end()])
    assert isinstance(last, Answer)
    content = [{"type": kind, kind: said} for kind, said in written]
    assert last.content == [*content, {"type": "text", "text": " Late."}]


@pytest.mark.parametrize("own", [None, "", 0])
def test_a_call_without_an_id_gets_one(own: object) -> None:
    """Two of them are two calls."""
    calls = [
        event
        for n in range(2)
        for event in (opened(n, {"type": "tool_use", "id": own, "name": "n", "input": {}}), stop(n))
    ]
    first, second = answer(*calls, stop_reason="tool_use").content
    assert first["id"]
    assert second["id"]
    assert first["id"] != second["id"]


def test_a_signature_that_comes_late_belongs_to_its_thinking() -> None:
    """Also after the stop of the block."""
    late = delta(0, "signature_delta", "signature", "sign")
    found = answer(THINKING, delta(0, "thinking_delta", "thinking", "hm"), stop(0), TEXT_AT_1, late)
    assert found.content[0] == {"type": "thinking", "thinking": "hm", "signature": "sign"}


@pytest.mark.parametrize("last", [b"[DONE]", b" [DONE] "])
def test_a_message_that_told_its_stop_reason_lacks_only_its_end(last: bytes) -> None:
    """DONE, which also stands for the clean end of the stream, ends it; without a stop reason it does not."""
    stream = MessageStream()
    chunks = feed(stream, [start(), TEXT, text(0, "Hello"), end("tool_use")[0]])
    (found,) = stream.feed([last])
    assert isinstance(found, Answer)
    assert (found.content, found.stop_reason, stream.finished) == (HELLO, "tool_use", True)
    assert chunks[-1] == Delta("text", "Hello")
    for events in (
        [start(), TEXT, text(0, "Hello")],
        [start(), TEXT, end(None)[0]],
        [start(stop_reason="x")],
    ):
        stream = MessageStream()
        feed(stream, events)
        stream.feed([last])
        assert (stream.finished, stream.failure) == (False, None)


def test_a_message_that_came_whole_is_an_answer() -> None:
    """As an endpoint sends it that does not stream: with its deltas, and the same rules for its calls."""
    content: list[Block] = [
        {"type": "thinking", "thinking": "hm", "signature": "sign"},
        {"type": "text", "text": "Hello"},
        {"type": "tool_use", "id": "t", "name": "n", "input": {"q": 1}},
    ]
    message = {"type": "message", "id": "m", "model": "x", "stop_reason": "tool_use", "usage": USAGE}
    chunks = MessageStream().feed_whole({**message, "content": content})
    assert chunks == [
        Started("m", "x", Usage(**USAGE)),
        Delta("thinking", "hm"),
        Delta("text", "Hello"),
        Answer(content, "tool_use", Usage(**USAGE), "x", "m"),
    ]
    assert MessageStream().feed_whole({**message, "content": "Hello"})[1] == Delta("text", "Hello")
    stream = MessageStream()
    assert len(stream.feed_whole({**message, "content": ["no block"]})) == 1
    assert stream.failure is not None


pieces = st.lists(st.text(st.sampled_from("ab漢\ud83d\ude00"), max_size=3), max_size=4)


def block_of(kind: str, index: int, parts: list[str]) -> tuple[Event, list[Event]]:
    """The start of a block, and what comes for it until its stop."""
    if kind == "tool_use":
        written = json.dumps({"q": parts})
        begin: Block = {"type": kind, "id": f"t{index}", "name": "n", "input": {}}
        halves = (written[: len(written) // 2], written[len(written) // 2 :])
        return opened(index, begin), [
            delta(index, "input_json_delta", "partial_json", each) for each in halves
        ]
    deltas = [delta(index, f"{kind}_delta", kind, part) for part in parts]
    if kind == "thinking":
        deltas.append(delta(index, "signature_delta", "signature", "sign"))
    return opened(index, {"type": kind, kind: ""}), deltas


@given(
    st.lists(st.tuples(st.sampled_from(["text", "thinking", "tool_use"]), pieces), max_size=5),
    st.integers(0, 3),
    st.booleans(),
    st.data(),
)
def test_however_blocks_are_interleaved_the_message_is_the_same(
    blocks: list[tuple[str, list[str]]], first_index: int, stops: bool, data: st.DataObject
) -> None:
    """Blocks begin in their order; all else may come in any order that keeps that of each block, and of the
    text of one type, in any chunks, with stops or without, from any index on: one answer, and the deltas of
    its texts are its text."""
    written = [block_of(kind, n, parts) for n, (kind, parts) in enumerate(blocks)]
    ordered = [[begin, *deltas, stop(n)] for n, (begin, deltas) in enumerate(written)]
    whole = read_in(([start()], *ordered, end("tool_use")), None)
    left, mixed, begun = [list(each) for each in ordered], [start()], 0
    while any(left):
        waits = (
            any(of_one_type(blocks[begun][0], blocks[n][0], left[n]) for n in range(begun))
            if begun < len(blocks)
            else False
        )
        open_ones = [n for n, each in enumerate(left) if each and n < begun + (not waits)]
        n = data.draw(st.sampled_from(open_ones))
        event = left[n].pop(0)
        begun = max(begun, n + 1)
        if stops or event["type"] != "content_block_stop":
            mixed.append({**event, "index": event["index"] + first_index})
    found = read_in((mixed, end("tool_use")), data)
    assert found == whole


def of_one_type(kind: str, other: str, left: list[Event]) -> bool:
    """Whether both are text of one type, and some of the other's is `left`."""
    is_text = kind == other and kind != "tool_use"
    return is_text and any(kind in event.get("delta", ()) for event in left)


def read_in(parts: Iterable[list[Event]], data: st.DataObject | None) -> Answer:
    """The answer that these events make, read together or in chunks that are drawn."""
    wire = [event for part in parts for event in part]
    encoded = [orjson.dumps(event) if is_sound(event) else escaped(event) for event in wire]
    stream, chunks = MessageStream(), list[Chunk]()
    while encoded:
        taken = len(encoded) if data is None else data.draw(st.integers(1, len(encoded)))
        chunks += stream.feed(encoded[:taken])
        del encoded[:taken]
    assert stream.failure is None, stream.failure
    last = chunks[-1]
    assert isinstance(last, Answer)
    for kind in ("text", "thinking"):
        shown = "".join(chunk.text for chunk in chunks if isinstance(chunk, Delta) and chunk.kind == kind)
        assert shown == "".join(block[kind] for block in last.content if block["type"] == kind)
    return last


@pytest.mark.parametrize(
    ("type", "code"),
    [
        ("overloaded_error", "upstream_overloaded"),
        ("rate_limit_error", "upstream_rate_limited"),
        ("api_error", "upstream_error"),
        ("something_new", "upstream_error"),
        ("timeout_error", "upstream_timeout"),
        ("authentication_error", "upstream_auth, final"),
        ("invalid_request_error", "upstream_error, final"),
        ("request_too_large", "context_overflow, final"),
    ],
)
def test_an_error_event_is_classified_wherever_it_comes(type: str, code: str) -> None:
    """First, in the middle, or as the bare object some proxies send; after the end it is ignored."""
    error: Event = {"type": "error", "error": {"type": type, "message": "m"}}
    assert failure(error) == code
    assert failure(start(), TEXT, text(0, "x"), error) == code
    assert failure(start(), {"error": error["error"]}) == code
    stream = MessageStream()
    feed(stream, [start(), *end(), error])
    assert stream.finished
    assert stream.failure is None


def test_text_before_a_failure_is_still_shown() -> None:
    """What arrived together with an error is not lost, and nothing follows it."""
    stream = MessageStream()
    chunks = feed(stream, [start(), TEXT, text(0, "so far"), {"type": "error", "error": {}}])
    assert chunks[1:] == [Delta("text", "so far")]
    assert stream.failure is not None


def test_pings_are_no_progress() -> None:
    """A watchdog must not take a ping for an answer."""
    stream = MessageStream()
    feed(stream, [{"type": "ping"}])
    assert not stream.progress
    feed(stream, [start(), {"type": "ping"}])
    assert stream.progress
    stream.feed([b""])
    assert not stream.progress


@pytest.mark.parametrize(
    ("block", "event"),
    [
        (TEXT, text(0, "")),
        (TEXT, {"type": "weather"}),
        (TEXT, delta(0, "tone_delta", "tone", "dry")),
        (THINKING, delta(0, "thinking_delta", "thinking", "")),
        (THINKING, delta(0, "signature_delta", "signature", "")),
        (TOOL, delta(0, "input_json_delta", "partial_json", "")),
    ],
)
def test_what_says_nothing_is_no_progress(block: Event, event: Event) -> None:
    """Empty deltas and what nobody knows do not bring an answer further, however much of it comes."""
    stream = MessageStream()
    feed(stream, [start(), block])
    assert stream.progress
    feed(stream, [event] * 3)
    assert stream.failure is None
    assert not stream.progress


def test_each_step_of_a_message_is_progress() -> None:
    """Starts, stops, deltas and the first message_delta; the same message_delta again is none."""
    stream = MessageStream()
    last, done = end()
    for event in (
        start(),
        TEXT,
        text(0, "x"),
        stop(0),
        opened(1, {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}}),
        delta(1, "input_json_delta", "partial_json", "{"),
        delta(1, "input_json_delta", "partial_json", "}"),
        stop(1),
        last,
    ):
        feed(stream, [event])
        assert stream.progress, event
    feed(stream, [last])
    assert not stream.progress
    feed(stream, [done])
    assert stream.finished


BOUNDS = Bounds(size=1000, arguments=250, blocks=5, tool_calls=3)


def oversized(*events: Event) -> tuple[list[Chunk], ModelError]:
    """What `events` bring until a bound ends them."""
    stream = MessageStream(BOUNDS)
    chunks: list[Chunk] = []
    for event in (start(), *events):
        chunks += feed(stream, [event])
        if stream.failure is not None:
            return chunks, stream.failure
    raise AssertionError("no bound was met")


@pytest.mark.parametrize(
    ("endless", "words"),
    [
        ([TEXT, *[text(0, "x" * 99)] * 20], "1000 bytes"),
        ([TEXT, *[text(0, "漢" * 33)] * 20], "1000 bytes"),
        ([THINKING, *[delta(0, "thinking_delta", "thinking", "x" * 99)] * 20], "1000 bytes"),
        ([THINKING, *[delta(0, "signature_delta", "signature", "x" * 99)] * 20], "1000 bytes"),
        ([TEXT, *[delta(0, "citations_delta", "citation", {"page": 1})] * 20], "1000 bytes"),
        ([opened(0, {"type": "novelty", "payload": "x" * 2000})], "1000 bytes"),
        ([TOOL, *[delta(0, "input_json_delta", "partial_json", "[[[[")] * 100], "250 bytes"),
        (
            [event for n in range(9) for event in (opened(n, {"type": "novelty"}), stop(n))],
            "5 content blocks",
        ),
    ],
)
def test_whatever_is_kept_of_a_message_has_a_bound(endless: list[Event], words: str) -> None:
    """Text, thinking, signatures, citations, unknown blocks, arguments and blocks: the failure says which
    bound, and that the same request would bring as much again."""
    chunks, failure = oversized(*endless)
    assert words in failure.message
    assert (failure.code, failure.retryable) == ("upstream_error", False)
    assert not any(isinstance(chunk, Answer) for chunk in chunks)


def test_a_message_with_too_many_calls_ends_at_the_first_of_them() -> None:
    """Nothing is gathered beyond the bound, and the failure is the one that ends a turn by its limit."""
    calls = [
        event
        for n in range(9)
        for event in (opened(n, {"type": "tool_use", "id": f"t{n}", "name": "n"}), stop(n))
    ]
    _, failure = oversized(*calls)
    assert isinstance(failure, TooManyToolCalls)
    assert "more than 3 tools" in failure.message
    assert "3 of the calls were of n." in failure.message
    stream = MessageStream(BOUNDS)
    chunks = feed(stream, [start(), *calls[:6], *end("tool_use")])
    assert isinstance(chunks[-1], Answer)


def test_what_came_before_a_bound_is_kept() -> None:
    """The deltas up to the bound, and the one that crossed it; a message that ends beyond it is none."""
    chunks, _ = oversized(TEXT, *[text(0, "x" * 99)] * 20)
    shown = "".join(chunk.text for chunk in chunks if isinstance(chunk, Delta))
    assert 900 < len(shown) <= 1100
    stream = MessageStream(BOUNDS)
    together = feed(stream, [start(), TEXT, text(0, "x" * 2000), stop(0), *end()])
    assert together[1:] == [Delta("text", "x" * 2000)]
    assert stream.failure is not None


def test_a_message_within_its_bounds_is_whole() -> None:
    """Up to the bound nothing is refused."""
    stream = MessageStream(BOUNDS)
    chunks = feed(stream, [start(), TEXT, *[text(0, "x" * 90)] * 10, stop(0), *end()])
    assert stream.failure is None
    assert isinstance(chunks[-1], Answer)


def test_the_bounds_follow_from_the_tokens_that_are_asked_for() -> None:
    """64 bytes a token, never under a megabyte, and a quarter of it for arguments; a setting wins."""
    by_default = Bounds.of(8192, size=None, tool_calls=7)
    assert by_default == Bounds.of(1, size=None, tool_calls=7) == Bounds(2**20, 2**18, tool_calls=7)
    assert Bounds.of(64_000, size=None, tool_calls=7) == Bounds(4_096_000, 1_024_000, tool_calls=7)
    assert Bounds.of(64_000, size=100_000, tool_calls=7) == Bounds(100_000, 25_000, tool_calls=7)


wild = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats()
    | st.text(st.sampled_from("ab\x00\ud83d\ude00"), max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.sampled_from("a\x00\ud83d"), max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(wild, wild, wild, wild)
def test_whatever_a_stream_holds_can_be_encoded_and_stored(
    payload: Any, citation: Any, given_input: Any, usage: Any
) -> None:
    """Integers over 64 bits, NaN, Infinity, NUL and half surrogate pairs, in blocks that are known and blocks
    that are not, in inputs, citations and usage: the stream fails in order, or its answer can be written."""
    events = [
        start({"input_tokens": usage}),
        opened(0, {"type": "novelty", "payload": payload}),
        stop(0),
        opened(1, {"type": "text", "text": "x"}),
        delta(1, "citations_delta", "citation", citation),
        stop(1),
        opened(2, {"type": "tool_use", "id": "t", "name": "n", "input": given_input}),
        stop(2),
        opened(3, {"type": "tool_use", "id": "u", "name": "n"}),
        delta(3, "input_json_delta", "partial_json", json.dumps({"a": payload})),
        stop(3),
        *end(usage, {"output_tokens": usage}),
    ]
    stream, chunks = MessageStream(), list[Chunk]()
    for event in events:
        chunks += stream.feed([escaped(event)])
        if stream.failure is not None:
            assert not stream.finished
            return
    last = chunks[-1]
    assert isinstance(last, Answer)
    written = orjson.dumps([list(last.content), last.stop_reason, last.bad_inputs]).decode()
    assert "\\u0000" not in written
    with sqlite3.connect(":memory:") as database:
        assert database.execute("SELECT ?", (written,)).fetchone() == (written,)
    database.close()


def test_a_number_is_the_same_whatever_else_its_event_holds() -> None:
    """Half a surrogate pair makes another reader read the event: not one number less or more for it."""
    for number in (2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**300):
        for rest in ("", "\ud83d"):
            stream = MessageStream()
            block = opened(0, {"type": "novelty", "number": number, "rest": rest})
            chunks = [
                *feed(stream, [start()]),
                *stream.feed([escaped(block)]),
                *feed(stream, [stop(0), *end()]),
            ]
            last = chunks[-1]
            assert isinstance(last, Answer)
            kept = last.content[0]["number"]
            assert kept == (number if -(2**63) <= number < 2**64 else float(number))
            assert orjson.dumps(kept)


def message_of(*events: Event | bytes) -> str:
    stream = MessageStream()
    stream.feed([event if isinstance(event, bytes) else orjson.dumps(event) for event in events])
    assert stream.failure is not None
    return stream.failure.message


def test_work_for_a_signature_in_very_small_pieces_that_comes_late() -> None:
    pieces = [delta(0, "signature_delta", "signature", "a" * 20) for _ in range(10_000)]
    before = thread_time()
    found = answer(opened(0, {"type": "thinking", "thinking": "x"}), stop(0), *pieces)
    assert thread_time() - before < 0.5
    assert found.content[0]["signature"] == "a" * 200_000


@pytest.mark.parametrize("kind", ["content_block_start", "unknown"])
def test_work_for_an_event_of_very_many_parts(kind: str) -> None:
    event = b'{"type":"%b","index":0,"content_block":{"type":"x","x":[%b{}]}}' % (
        kind.encode(),
        b"[]," * 4_000_000,
    )
    before = thread_time()
    assert "objects and lists" in message_of(start(), event)
    assert thread_time() - before < 0.2


def test_a_block_is_measured_before_it_is_looked_through() -> None:
    block = {"type": "x", "x": ["a" * 1000] * 2000}
    assert "GATEWAY_MAX_ANSWER_SIZE" in message_of(start(), opened(0, block))

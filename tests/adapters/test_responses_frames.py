"""What is written of a turn is a response by the types of the package `openai`, and by its accumulator."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import orjson
from hypothesis import given
from hypothesis import strategies as st
from openai import omit
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseErrorEvent,
    ResponseFailedEvent,
    ResponseIncompleteEvent,
    ResponseStreamEvent,
)
from pydantic import BaseModel

from gateway.adapters.openai.responses_frames import ResponseEvents
from gateway.adapters.openai.responses_reader import ResponseReader, Waits
from gateway.adapters.turn_fold import Fold
from gateway.adapters.turn_parts import AttemptWithdrawn, Grew
from gateway.errors import Draining
from tests.adapters.test_turn_fold import stored, turns
from tests.product import StoredEvent

ABOUT = ("t_1", "m%s", 1, "s_1")
USED = {"input_tokens": 4, "cache_read_input_tokens": 5, "output_tokens": 2}
EVENTS: Mapping[str, type[BaseModel]] = {
    get_args(event.model_fields["type"].annotation)[0]: event
    for event in get_args(get_args(ResponseStreamEvent)[0])
}


def told(
    events: Sequence[StoredEvent], sizes: Sequence[int] = (1,), *, behind: int | None = None, after: int = -1
) -> list[bytes]:
    """The frames of one response of the turn, whose events come in batches of these sizes."""
    reader = ResponseReader(ResponseEvents(*ABOUT, behind=behind, after=after), events[-1].seq, behind)
    body, taken, batch = b"", 0, 0
    while taken < len(events) and not reader.is_finished:
        size = sizes[batch % len(sizes)]
        reader.read(events[taken : taken + size])
        body += reader.unsent()
        taken, batch = taken + size, batch + 1
    *frames, rest = body.split(b"\n\n")
    assert (rest, reader.is_finished) == (b"", True)
    return frames


def read(frames: Sequence[bytes]) -> list[ResponseStreamEvent]:
    """The events, each by the type of its name, as the package has them."""
    found: list[ResponseStreamEvent] = []
    for frame in frames:
        name, data = frame.split(b"\n")
        event: Any = EVENTS[name.removeprefix(b"event: ").decode()]
        found.append(event.model_validate_json(data.removeprefix(b"data: "), strict=True))
    return found


def places(events: Sequence[StoredEvent]) -> list[int]:
    """The events with which the turn waits for its client."""
    waits, found = Waits(), list[int]()
    for event in events:
        if waits.is_end(event):
            found.append(waits.since)
            waits.go_on()
        waits.take(event)
    return found


@given(turns())
def test_every_event_is_one_of_the_packages(events: Sequence[StoredEvent]) -> None:
    """Numbered from 0 on; the package's own accumulator takes them. The items of all responses of the turn
    are its texts, calls and questions, but for what was withdrawn."""
    texts, kinds = "", Counter[str]()
    for behind in (None, *places(events)):
        found = read(told(events, behind=behind))
        assert [event.sequence_number for event in found] == [*range(len(found))]
        state = ResponseStreamState(input_tools=omit, text_format=omit)
        for event in found:
            state.handle_event(event)
        last = found[-1]
        assert isinstance(last, ResponseCompletedEvent | ResponseFailedEvent)
        assert last.response.id == ("resp_t_1" if behind is None else f"resp_t_1.{behind}")
        texts += last.response.output_text
        kinds.update(item.type for item in last.response.output)

    shown = dict[str, str]()
    for part in Fold().take(events):
        match part:
            case Grew(span, text) if span.kind == "text":
                shown[span.id] = shown.get(span.id, "") + orjson.loads(text)
            case AttemptWithdrawn(_, spans):
                for span in spans:
                    shown.pop(span.id, None)
            case _:
                pass
    assert texts == "".join(shown.values())
    logged = Counter(event.type for event in events)
    assert kinds["mcp_call"] == logged["tool_call"]
    assert kinds["mcp_approval_request"] == logged["approval_request"]


@given(turns(), st.lists(st.integers(1, 4), min_size=1, max_size=8), st.data())
def test_a_reader_that_comes_back_is_told_the_rest(
    events: Sequence[StoredEvent], sizes: Sequence[int], data: st.DataObject
) -> None:
    """Whatever the batches are in which the events come, byte for byte."""
    for behind in (None, *places(events)):
        whole = told(events, behind=behind)
        after = data.draw(st.integers(0, len(whole)))

        assert told(events, sizes, behind=behind) == whole
        assert told(events, sizes, behind=behind, after=after) == whole[after + 1 :]


def test_calls_of_one_message_are_waited_for_together() -> None:
    """Those that the client runs, and those that a person decides about; what comes behind is another
    response, whichever of them is answered first."""
    call: Any = {"name": "f", "arguments": {"a": 1}}
    events = stored(
        [
            ("turn_start", {"input": "hi"}, None, None),
            ("iteration_start", {"attempt": 1}, 1, None),
            ("iteration_end", {"stop_reason": "tool_use", "usage": USED}, 1, None),
            ("tool_call", {**call, "runs_on": "client"}, 1, "a"),
            ("tool_call", {**call, "needs_approval": True}, 1, "b"),
            ("tool_call", {**call, "runs_on": "client"}, 1, "c"),
            ("approval_request", call, 1, "b"),
            ("tool_result", {"name": "f", "status": "ok", "content": "1"}, 1, "a"),
            ("approval_response", {"decision": "denied", "by": "u"}, 1, "b"),
            ("tool_result", {"name": "f", "status": "denied", "content": "no"}, 1, "b"),
            ("tool_result", {"name": "f", "status": "ok", "content": "2"}, 1, "c"),
            ("iteration_start", {"attempt": 1}, 2, None),
            ("text", {"text": "over"}, 2, None),
            ("iteration_end", {"stop_reason": "max_tokens", "usage": USED}, 2, None),
            ("done", {"status": "completed", "stop_reason": "max_tokens", "usage": {}}, None, None),
        ]
    )

    (place,) = places(events)
    asked, after = (last_of(told(events, behind=behind)) for behind in (None, place))

    assert [item.type for item in asked.output] == ["function_call", "function_call", "mcp_approval_request"]
    assert [item.type for item in after.output] == ["mcp_call", "message"]
    assert (asked.status, after.status) == ("completed", "incomplete")
    assert after.incomplete_details is not None
    assert after.incomplete_details.reason == "max_output_tokens"
    for response in (asked, after):  # what each took
        assert response.usage is not None
        assert (response.usage.input_tokens, response.usage.total_tokens) == (9, 11)


def test_what_breaks_off_is_told_with_the_number_of_what_came_before() -> None:
    """So that a reader who comes back with the last number that it has misses nothing."""
    encoder = ResponseEvents(*ABOUT)
    whole = told(stored([("turn_start", {}, None, None), ("done", {"status": "completed"}, None, None)]))
    reader = ResponseReader(encoder, 5, None)
    reader.read(stored([("turn_start", {}, None, None)]))

    *before, error = read((reader.unsent() + encoder.trouble(Draining("Again."))).split(b"\n\n")[:-1])

    assert isinstance(error, ResponseErrorEvent)
    assert (error.code, error.sequence_number, len(before), len(whole)) == ("draining", 1, 2, 3)


def last_of(frames: Sequence[bytes]) -> Response:
    last = read(frames)[-1]
    assert isinstance(last, ResponseCompletedEvent | ResponseIncompleteEvent)
    return last.response

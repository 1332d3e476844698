"""Faults of what the answer says: the order of its events, errors among them, and its content."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from gateway.demo import wire
from gateway.demo.connection import LAST_CHUNK, Act
from gateway.demo.faults.case import START, STOP, Case, Play, joined, streamed
from gateway.demo.wire import Event, block_start, delta, text_block, text_deltas

LONG = 65_536
"""Characters of each piece of what has no end."""
_THOUGHT = {"type": "thinking", "thinking": "", "signature": ""}
_TEXT = text_deltas(0, "Out of place. ")
_SO = wire.block(1, text_block("So. "))
_NOVELTY = {"type": "demo_novelty", "payload": {"kept": "as it is", "answer": 42}}
_POISON = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    rb'"delta":{"type":"text_delta","text":"a\u0000b\ud800c\udfffd"}}'
    b"\n\n"
)
_NUMBERS = (
    b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":'
    rb'{"type":"demo_novelty","payload":{"integer":%b,"float":1e300,"text":"\ud800"}}}' % (b"9" * 30)
) + b"\n\n"
_STOP_REASONS = {
    **{
        each: each
        for each in ("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal")
    },
    "context_window": "model_context_window_exceeded",
    "null": None,
    "unknown": "something_new",
}
_INPUTS = {
    "invalid": '{"expression": oops}',
    "truncated": '{"expression":"1+',
    "not_object": '["1+1"]',
    "trailing_garbage": '{"expression":"1+1"} and so on',
    "duplicate_keys": '{"expression":"1+1","expression":"2+2"}',
    "nan": '{"expression":NaN}',
    "infinite": '{"expression":1e999}',
    "deep": '{"expression":' + "[" * 100_000 + "]" * 100_000 + "}",
    "surrogate": '{"expression":"\\ud800"}',
    "wrong_shape": '{"nonsense":[1,2,3]}',
}


def _between(*middle: Event) -> Play:
    """`middle` between message_start and message_delta."""
    return streamed(lambda case: [wire.start(case.reply), *middle, *wire.end(case.reply)])


def _calls(middle: Callable[[Case], Iterable[Event]], stop_reason: str = "tool_use") -> Play:
    """The same for tool calls, with the stop reason that belongs to them."""

    def play(case: Case) -> list[Act]:
        reply = replace(case.reply, stop_reason=stop_reason)
        return wire.stream(reply, [wire.start(reply), *middle(case), *wire.end(reply)])

    return play


def _call(case: Case, number: int = 0, name: str | None = None) -> dict[str, Any]:
    chosen = "calculate" if "calculate" in case.tools or not case.tools else case.tools[0]
    call_id = f"toolu_{case.reply.id[4:24]}{number:03d}"
    arguments = {"expression": f"{number}+{number}"}
    return {"type": "tool_use", "id": call_id, "name": name or chosen, "input": arguments}


def _with_input(written: str, stop_reason: str = "tool_use") -> Play:
    """A tool call whose input is `written`, letter for letter."""
    deltas = wire.input_deltas(0, written, 12 if len(written) < 1000 else LONG)
    return _calls(lambda case: [block_start(0, {**_call(case), "input": {}}), *deltas, STOP], stop_reason)


def _parallel(count: int) -> Play:
    return _calls(lambda case: wire.blocks([_call(case, n) for n in range(int(case.number(count)))]))


def _stopped(stop_reason: str | None) -> Play:
    return lambda case: wire.stream(replace(case.reply, stop_reason=stop_reason))


def _errors(name: str, kind: str, message: str) -> dict[str, Play]:
    error: Event = {"type": "error", "error": {"type": kind, "message": message}}
    return {
        f"error_first_{name}": streamed(lambda _: [error]),
        f"error_mid_{name}": streamed(lambda case: [*case.half(), error]),
        f"error_after_stop_{name}": streamed(lambda case: [*case.events, error]),
    }


def _endless(start: Callable[[Case], dict[str, Any]], change: dict[str, Any], megabytes: int) -> Play:
    """One block without a stop, in pieces of 64 kB: the same bytes over and over, so that they cost nothing
    here."""
    event = joined([delta(0, change)])
    more: list[Act] = [b"%x\r\n%b\r\n" % (len(event), event)]

    def play(case: Case) -> list[Act]:
        times = int(case.number(megabytes) * 1_000_000) // LONG
        return case.sent([wire.start(case.reply), block_start(0, start(case))], *more * times, LAST_CHUNK)

    return play


def _usage(change: Callable[[dict[str, Any]], None]) -> Play:
    """The right reply with each usage object's owner given to `change`."""

    def events(case: Case) -> list[Event]:
        start, (last, stop) = wire.start(case.reply), wire.end(case.reply)
        assert isinstance(last, dict)
        change(start["message"])
        change(last)
        return [start, *wire.blocks(case.reply.parts), last, stop]

    return streamed(events)


FOR_STREAMS: dict[str, Play] = {
    # The order of events
    "duplicate_index": _between(START, *_TEXT, START, *_TEXT, STOP),
    "reused_index": _between(START, *_TEXT, STOP, START, STOP),
    "out_of_order_index": _between(
        *wire.block(1, text_block("second ")), *wire.block(0, text_block("first "))
    ),
    "missing_index": _between(
        START, {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "lost"}}, STOP
    ),
    "wrong_index": _between(START, *text_deltas(7, "Out of place. "), STOP),
    "delta_before_start": _between(*_TEXT, START, STOP),
    "delta_after_stop": _between(START, *_TEXT, STOP, *_TEXT),
    "unclosed_block": _between(START, *_TEXT),
    "delta_of_another_type": _between(
        START, delta(0, {"type": "input_json_delta", "partial_json": '{"a":1}'}), STOP
    ),
    "text_not_a_string": _between(START, delta(0, {"type": "text_delta", "text": 42}), STOP),
    "duplicate_message_start": streamed(lambda case: case.amid(wire.start(case.reply))),
    "delta_before_message_start": streamed(
        lambda case: [START, *_TEXT, STOP, wire.start(case.reply), *wire.end(case.reply)]
    ),
    "second_message": streamed(lambda case: [*case.events, *case.events]),
    "unknown_event": streamed(lambda case: case.amid({"type": "demo_event", "index": 0, "weather": "fine"})),
    "unknown_delta": streamed(lambda case: case.amid(delta(0, {"type": "demo_delta", "colour": "blue"}))),
    "unknown_block": streamed(
        lambda case: wire.events(replace(case.reply, parts=[_NOVELTY, *case.reply.parts]))
    ),
    **_errors("overloaded", "overloaded_error", "Overloaded"),
    **_errors("rate_limit", "rate_limit_error", "Too many requests"),
    **_errors("api", "api_error", "Internal server error"),
    **_errors("auth", "authentication_error", "invalid x-api-key"),
    **_errors("invalid", "invalid_request_error", "messages: Field required"),
    **_errors("timeout", "timeout_error", "Request timed out"),
    # The content
    **{f"stop_reason_{name}": _stopped(reason) for name, reason in _STOP_REASONS.items()},
    **{f"tool_input_{name}": _with_input(written) for name, written in _INPUTS.items()},
    "tool_input_empty": _calls(lambda case: [block_start(0, {**_call(case), "input": {}}), STOP]),
    "tool_input_in_start": _calls(lambda case: [block_start(0, _call(case)), STOP]),
    "tool_input_cut_by_max_tokens": _with_input('{"expression":"1+', "max_tokens"),
    "tool_then_truncation": streamed(lambda case: [wire.start(case.reply), *wire.block(0, _call(case))]),
    "duplicate_tool_ids": _calls(lambda case: wire.blocks([_call(case), _call(case)])),
    "unknown_tool": _calls(lambda case: wire.block(0, _call(case, name="no_such_tool"))),
    "parallel_64": _parallel(64),
    "text_after_tool": _calls(lambda case: wire.blocks([_call(case), text_block("One moment. ")])),
    "empty_content": _between(),
    "empty_text": _between(START, STOP),
    "whitespace_text": _between(*wire.block(0, text_block(" \n\t "))),
    "text_in_start": _between(block_start(0, text_block("At once. ")), STOP),
    "thinking_without_signature": _between(
        block_start(0, _THOUGHT), delta(0, {"type": "thinking_delta", "thinking": "Hm."}), STOP, *_SO
    ),
    "usage_missing": _usage(lambda owner: owner.pop("usage")),
    "usage_negative": _usage(lambda owner: owner.update(usage=dict.fromkeys(owner["usage"], -5))),
    "usage_null": _usage(lambda owner: owner.update(usage=dict.fromkeys(owner["usage"]))),
    "nul_and_surrogates": _between(START, _POISON, STOP),
    "integer_over_64_bits": _between(_NUMBERS, STOP, *_SO),
    "endless_text": _endless(lambda _: text_block(""), {"type": "text_delta", "text": "x" * LONG}, 100),
    "endless_thinking": _endless(lambda _: _THOUGHT, {"type": "thinking_delta", "thinking": "x" * LONG}, 100),
    "endless_input": _endless(
        lambda case: {**_call(case), "input": {}},
        {"type": "input_json_delta", "partial_json": "[" * LONG},
        50,
    ),
    "too_many_calls": _parallel(5000),
    "line_separators": _between(
        *wire.block(0, text_block("one\u2028two\u2029three\x85four\x0bfive\x0csix\x1cseven"))
    ),
}

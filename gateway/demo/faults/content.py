"""Faults of the content: odd stop reasons, usage, text, thinking, and tool calls no tool should ever see."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gateway.demo import wire
from gateway.demo.connection import LAST_CHUNK, Act, head
from gateway.demo.faults.case import Case, Fault
from gateway.demo.faults.sockets import joined
from gateway.demo.wire import Event, block_start, delta, input_deltas, text_block

PIECE = 65_536
"""Characters of each piece of what has no end."""
STOP_REASONS: dict[str, tuple[str | None, str]] = {
    "end_turn": ("end_turn", "ok"),
    "max_tokens": ("max_tokens", "ok"),
    "stop_sequence": ("stop_sequence", "ok"),
    "tool_use": ("tool_use", "ok"),
    "pause_turn": ("pause_turn", "ok"),
    "refusal": ("refusal", "content_refused"),
    "context_window": ("model_context_window_exceeded", "ok"),
    "null": (None, "ok"),
    "unknown": ("something_new", "ok"),
}
BAD_INPUTS = {
    "invalid": ("not JSON", '{"expression": oops}'),
    "truncated": ("cut off", '{"expression":"1+'),
    "not_object": ("a list", '["1+1"]'),
    "trailing_garbage": ("followed by other text", '{"expression":"1+1"} and so on'),
    "duplicate_keys": ("with one key twice", '{"expression":"1+1","expression":"2+2"}'),
    "nan": ("with NaN", '{"expression":NaN}'),
    "infinite": ("with a number too large", '{"expression":1e999}'),
    "deep": ("100000 lists deep", '{"expression":' + "[" * 100_000 + "]" * 100_000 + "}"),
    "surrogate": ("with half a surrogate pair", '{"expression":"\\ud800"}'),
    "wrong_shape": ("against the tool's schema", '{"nonsense":[1,2,3]}'),
}


def _call(case: Case, number: int = 0, name: str | None = None) -> dict[str, Any]:
    chosen = "calculate" if "calculate" in case.tools or not case.tools else case.tools[0]
    call_id = f"toolu_{case.reply.id[4:24]}{number:03d}"
    return {
        "type": "tool_use",
        "id": call_id,
        "name": name or chosen,
        "input": {"expression": f"{number}+{number}"},
    }


def _written(index: int, call: dict[str, Any], text: str) -> list[Event]:
    """A call whose input is `text`, letter for letter."""
    opening = block_start(index, {**call, "input": {}})
    return [opening, *input_deltas(index, text, 12 if len(text) < 1000 else 65_536), _stop(index)]


def _stop(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


def _message(case: Case, middle: Sequence[Event], stop_reason: str | None = "end_turn") -> list[Act]:
    reply = replace(case.reply, stop_reason=stop_reason)
    return wire.stream(reply, [wire.start(reply), *middle, *wire.end(reply)])


def _ok(name: str, description: str, play: Callable[[Case], Sequence[Act]]) -> Fault:
    return Fault(name, description, "ok", False, play)


def _middle(name: str, description: str, middle: Sequence[Event]) -> Fault:
    return _ok(name, description, lambda case: _message(case, middle))


def _stopped(name: str) -> Fault:
    reason, expected = STOP_REASONS[name]
    return Fault(
        f"stop_reason_{name}",
        f"stop_reason {reason or 'null'}",
        expected,
        False,
        lambda case: wire.stream(replace(case.reply, stop_reason=reason)),
    )


def _bad_input(name: str) -> Fault:
    what, text = BAD_INPUTS[name]
    return _ok(
        f"tool_input_{name}",
        f"a tool input {what}: an error result, no tool runs",
        lambda case: _message(case, _written(0, _call(case), text), "tool_use"),
    )


def _parallel(case: Case, count: int = 64) -> list[Act]:
    calls = [_call(case, number) for number in range(int(case.number(count)))]
    return _message(case, wire.blocks(calls), "tool_use")


def _endless(
    start: Callable[[Case], dict[str, Any]], change: dict[str, Any], megabytes: int
) -> Callable[[Case], list[Act]]:
    """One block without a stop, in pieces of 64 kB: the same bytes over and over, so that they cost nothing
    here."""
    piece = joined([delta(0, change)])

    def play(case: Case) -> list[Act]:
        times = int(case.number(megabytes) * 1_000_000) // PIECE
        begun = wire.acts([wire.start(case.reply), block_start(0, start(case))])
        more: list[Act] = [b"%x\r\n%b\r\n" % (len(piece), piece)]
        return [head(200, wire.SSE_HEADERS), *begun, *more * times, LAST_CHUNK]

    return play


def _too_large(name: str, description: str, play: Callable[[Case], Sequence[Act]]) -> Fault:
    """Another attempt would bring as much again."""
    return Fault(name, description, "upstream_error", False, play)


def _tool_cut(case: Case) -> list[Act]:
    return wire.stream(case.reply, [wire.start(case.reply), *wire.block(0, _call(case))])


def _usage(change: Callable[[dict[str, Any]], None]) -> Callable[[Case], Sequence[Act]]:
    """The right reply with each usage object's owner given to `change`."""

    def play(case: Case) -> list[Act]:
        start, (last, stop) = wire.start(case.reply), wire.end(case.reply)
        assert isinstance(last, dict)
        change(start["message"])
        change(last)
        return wire.stream(case.reply, [start, *wire.blocks(case.reply.parts), last, stop])

    return play


def _negative(owner: dict[str, Any]) -> None:
    owner["usage"] = dict.fromkeys(owner["usage"], -5)


def _null(owner: dict[str, Any]) -> None:
    owner["usage"] = dict.fromkeys(owner["usage"])


_THINKING = block_start(0, {"type": "thinking", "thinking": "", "signature": ""})
_POISON = (
    b"event: content_block_delta\n"
    b'data: {"type":"content_block_delta","index":0,'
    rb'"delta":{"type":"text_delta","text":"a\u0000b\ud800c\udfffd"}}'
    b"\n\n"
)
_NUMBERS = (
    b"event: content_block_start\n"
    b'data: {"type":"content_block_start","index":0,"content_block":{"type":"demo_novelty","payload":'
    rb'{"integer":%b,"float":1e300,"text":"\ud800"}}}' % (b"9" * 30)
) + b"\n\n"
_SEPARATORS = "one\u2028two\u2029three\x85four\x0bfive\x0csix\x1cseven"

FAULTS = (
    *map(_stopped, STOP_REASONS),
    *map(_bad_input, BAD_INPUTS),
    _ok(
        "tool_input_empty",
        "a tool call without any piece of input: {}",
        lambda case: _message(case, [block_start(0, {**_call(case), "input": {}}), _stop(0)], "tool_use"),
    ),
    _ok(
        "tool_input_in_start",
        "a tool call with its whole input in content_block_start",
        lambda case: _message(case, [block_start(0, _call(case)), _stop(0)], "tool_use"),
    ),
    _ok(
        "tool_input_cut_by_max_tokens",
        "max_tokens inside a tool's input: no tool runs",
        lambda case: _message(case, _written(0, _call(case), '{"expression":"1+'), "max_tokens"),
    ),
    Fault(
        "tool_then_truncation",
        "a complete tool call, but no end of the message: no tool runs",
        "upstream_truncated",
        True,
        _tool_cut,
    ),
    Fault(
        "duplicate_tool_ids",
        "two tool calls with one id",
        "upstream_error",
        True,
        lambda case: _message(case, wire.blocks([_call(case), _call(case)]), "tool_use"),
    ),
    _ok(
        "unknown_tool",
        "a call of a tool nobody offered",
        lambda case: _message(case, wire.block(0, _call(case, name="no_such_tool")), "tool_use"),
    ),
    _ok("parallel_64", "64 tool calls at once (argument: how many)", _parallel),
    _ok(
        "text_after_tool",
        "text after a tool call",
        lambda case: _message(case, wire.blocks([_call(case), text_block("One moment. ")]), "tool_use"),
    ),
    _ok("empty_content", "a message without a block", lambda case: _message(case, [])),
    _middle("empty_text", "a text block without a piece", [block_start(0, text_block("")), _stop(0)]),
    _middle("whitespace_text", "a text of blanks only", wire.block(0, text_block(" \n\t "))),
    _middle(
        "text_in_start", "text in content_block_start", [block_start(0, text_block("At once. ")), _stop(0)]
    ),
    _middle(
        "thinking_without_signature",
        "thinking that is not signed: it must not go back",
        [
            _THINKING,
            delta(0, {"type": "thinking_delta", "thinking": "Hm."}),
            _stop(0),
            *wire.block(1, text_block("So. ")),
        ],
    ),
    _ok("usage_missing", "no usage anywhere", _usage(lambda owner: owner.pop("usage"))),
    _ok("usage_negative", "negative usage", _usage(_negative)),
    _ok("usage_null", "usage of nulls", _usage(_null)),
    _middle(
        "nul_and_surrogates",
        "NUL and lone surrogates in the text",
        [block_start(0, text_block("")), _POISON, _stop(0)],
    ),
    _middle(
        "integer_over_64_bits",
        "a block of the future with an integer over 64 bits and half a surrogate pair",
        [_NUMBERS, _stop(0), *wire.block(1, text_block("So. "))],
    ),
    _too_large(
        "endless_text",
        "text that does not end (argument: megabytes, 100)",
        _endless(lambda _: text_block(""), {"type": "text_delta", "text": "x" * PIECE}, 100),
    ),
    _too_large(
        "endless_thinking",
        "thinking that does not end (argument: megabytes, 100)",
        _endless(
            lambda _: {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "x" * PIECE},
            100,
        ),
    ),
    _too_large(
        "endless_input",
        "the input of a tool call that does not end (argument: megabytes, 50): no tool runs",
        _endless(
            lambda case: {**_call(case), "input": {}},
            {"type": "input_json_delta", "partial_json": "[" * PIECE},
            50,
        ),
    ),
    Fault(
        "too_many_calls",
        "5000 tool calls in one message (argument: how many): no tool runs",
        "max_tool_calls",
        False,
        lambda case: _parallel(case, 5000),
    ),
    _middle(
        "line_separators",
        "characters some libraries take for line ends",
        wire.block(0, text_block(_SEPARATORS)),
    ),
)

"""Faults of the events' order and meaning: what comes twice or too early, errors, and novelties."""

from collections.abc import Callable, Sequence

from gateway.demo import wire
from gateway.demo.connection import Act
from gateway.demo.faults.case import Case, Fault
from gateway.demo.faults.sockets import half
from gateway.demo.wire import Event, block_start, delta, text_block, text_deltas

ERROR_TYPES = {
    "overloaded": ("overloaded_error", "Overloaded", "upstream_overloaded", True),
    "rate_limit": ("rate_limit_error", "Too many requests", "upstream_rate_limited", True),
    "api": ("api_error", "Internal server error", "upstream_error", True),
    "auth": ("authentication_error", "invalid x-api-key", "upstream_auth", False),
    "invalid": ("invalid_request_error", "messages: Field required", "upstream_error", False),
    "timeout": ("timeout_error", "Request timed out", "upstream_timeout", True),
}
_STOP: Event = {"type": "content_block_stop", "index": 0}
_START: Event = block_start(0, text_block(""))


def _text(index: int = 0) -> list[Event]:
    return text_deltas(index, "Out of place. ")


def _plays(events: Callable[[Case], Sequence[Event]]) -> Callable[[Case], Sequence[Act]]:
    return lambda case: wire.stream(case.reply, events(case))


def _broken(name: str, description: str, middle: Sequence[Event]) -> Fault:
    """`middle` between message_start and message_delta, against the rules."""

    def events(case: Case) -> list[Event]:
        return [wire.start(case.reply), *middle, *wire.end(case.reply)]

    return Fault(name, description, "upstream_error", True, _plays(events))


def _novel(name: str, description: str, novelty: Sequence[Event]) -> Fault:
    """`novelty` in the middle of the right reply: a client must pass over it."""

    def events(case: Case) -> list[Event]:
        begun = half(case)
        return [*begun, *novelty, *wire.events(case.reply)[len(begun) :]]

    return Fault(name, description, "ok", False, _plays(events))


def _unknown_block(case: Case) -> list[Event]:
    novelty = {"type": "demo_novelty", "payload": {"kept": "as it is", "answer": 42}}
    parts = [novelty, *case.reply.parts]
    return [wire.start(case.reply), *wire.blocks(parts), *wire.end(case.reply)]


def _errors(kind: str) -> list[Fault]:
    kind_of_error, message, code, retryable = ERROR_TYPES[kind]
    error: Event = {"type": "error", "error": {"type": kind_of_error, "message": message}}
    return [
        Fault(
            f"error_first_{kind}",
            f"{kind_of_error} as the first event",
            code,
            retryable,
            _plays(lambda _: [error]),
        ),
        Fault(
            f"error_mid_{kind}",
            f"{kind_of_error} in the middle of the text",
            code,
            retryable,
            _plays(lambda case: [*half(case), error]),
        ),
        Fault(
            f"error_after_stop_{kind}",
            f"{kind_of_error} after message_stop: the message is complete",
            "ok",
            False,
            _plays(lambda case: [*wire.events(case.reply), error]),
        ),
    ]


def _second_start(case: Case) -> list[Event]:
    begun = half(case)
    return [*begun, wire.start(case.reply), *wire.events(case.reply)[len(begun) :]]


FAULTS = (
    _broken(
        "duplicate_index",
        "a block starts while one of its index is open",
        [_START, *_text(), _START, *_text(), _STOP],
    ),
    _broken(
        "reused_index",
        "a second block has the index of a finished one",
        [_START, *_text(), _STOP, _START, _STOP],
    ),
    _broken(
        "out_of_order_index",
        "block 1 comes before block 0",
        [*wire.block(1, text_block("second ")), *wire.block(0, text_block("first "))],
    ),
    _broken(
        "missing_index",
        "a piece without an index",
        [_START, {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "lost"}}, _STOP],
    ),
    _broken("wrong_index", "a piece for a block that was never started", [_START, *_text(7), _STOP]),
    _broken("delta_before_start", "a piece before its block's start", [*_text(), _START, _STOP]),
    _broken("delta_after_stop", "a piece after its block's stop", [_START, *_text(), _STOP, *_text()]),
    _broken("unclosed_block", "message_stop while a block is open", [_START, *_text()]),
    _broken(
        "delta_of_another_type",
        "tool input in a text block",
        [_START, delta(0, {"type": "input_json_delta", "partial_json": '{"a":1}'}), _STOP],
    ),
    _broken(
        "text_not_a_string",
        "a piece whose text is a number",
        [_START, delta(0, {"type": "text_delta", "text": 42}), _STOP],
    ),
    Fault("duplicate_message_start", "message_start twice", "upstream_error", True, _plays(_second_start)),
    Fault(
        "delta_before_message_start",
        "a block before message_start",
        "upstream_error",
        True,
        _plays(lambda case: [_START, *_text(), _STOP, wire.start(case.reply), *wire.end(case.reply)]),
    ),
    Fault(
        "second_message",
        "another whole message after message_stop",
        "ok",
        False,
        _plays(lambda case: [*wire.events(case.reply), *wire.events(case.reply)]),
    ),
    _novel(
        "unknown_event",
        "an event type of the future",
        [{"type": "demo_event", "index": 0, "weather": "fine"}],
    ),
    _novel(
        "unknown_delta", "a delta type of the future", [delta(0, {"type": "demo_delta", "colour": "blue"})]
    ),
    Fault(
        "unknown_block",
        "a block type of the future: it must go back as it came",
        "ok",
        False,
        _plays(_unknown_block),
    ),
    *(fault for kind in ERROR_TYPES for fault in _errors(kind)),
)

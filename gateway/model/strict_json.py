"""JSON from a model, read without guessing: what a tool gets is what the model wrote, or nothing."""

import json
from typing import Any, NoReturn

import orjson

from gateway.messages import clean_text

MAX_DEPTH = 64
"""Levels of arrays and objects in a tool's input."""


class _Refused(ValueError):
    """The text is JSON, but not an input we take; the message says why."""


def parse_object(text: str) -> dict[str, Any]:
    """The JSON object that `text` is.

    Raises:
        ValueError: `text` is not exactly one JSON object, or it repeats a key, holds what no reader can carry
            (NaN, Infinity, integers over 64 bits, NUL, half a surrogate pair), or is nested too deep. The
            message is for the model.
    """
    try:
        value = _DECODER.decode(clean_text(text))
    except _Refused:
        raise
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels") from None
    except ValueError:  # an integer of thousands of digits
        raise ValueError("a number is out of range") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    if clean_json(value) != value:
        raise ValueError("a string holds NUL or half a surrogate pair")
    return value


def parse_event(data: bytes) -> Any:
    """The JSON value of an event. Lone surrogates, which orjson refuses, are let through to be cleaned.

    Raises:
        ValueError: not valid UTF-8 or not valid JSON.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        if b"\\u" not in data:
            raise
    try:
        return json.loads(data.decode(), parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deep") from None


def clean_json(value: Any, depth: int = 1) -> Any:
    """`value` with every string cleaned (see `messages.clean_text`).

    Raises:
        ValueError: nested deeper than `MAX_DEPTH`, or two keys became the same.
    """
    if isinstance(value, str):
        return clean_text(value)
    if not isinstance(value, (dict, list)):
        return value
    if depth > MAX_DEPTH:
        raise _Refused(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, list):
        return [clean_json(item, depth + 1) for item in value]
    cleaned = {clean_text(key): clean_json(item, depth + 1) for key, item in value.items()}
    if len(cleaned) != len(value):
        raise _Refused("a key appears twice")
    return cleaned


def _refuse_constant(name: str) -> NoReturn:
    raise _Refused(f"{name} is not JSON")


def _integer(written: str) -> int:
    number = int(written)
    if not -(2**63) <= number < 2**64:  # what orjson, and so every event, can carry
        raise _Refused("a number is out of range")
    return number


def _float(written: str) -> float:
    number = float(written)
    if number in (float("inf"), float("-inf")):
        raise _Refused("a number is out of range")
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Refused("a key appears twice")
    return found


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_refuse_constant
)

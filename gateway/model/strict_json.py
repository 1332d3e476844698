"""JSON from a model, read without guessing: what a tool gets is what the model wrote, or nothing."""

import json
from collections.abc import Iterator
from typing import Any, NoReturn

import orjson

from gateway.messages import clean_text

MAX_DEPTH = 64
"""Levels of arrays and objects in a tool's input."""
MAX_SCANNED = 100_000
"""Characters that `objects_in` looks at: twenty memories with their quotes have a tenth of it."""
_MIN_ATTEMPT = 200
"""What an attempt at a brace where no object begins counts at least, in characters."""


_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**64 - 1
"""What orjson, and so every event, can carry as an integer."""
_MAX_DIGITS = 20


class _Refused(ValueError):
    """The text is JSON, but not an input we take; the message has the reason."""


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


def objects_in(text: str, key: str) -> Iterator[dict[str, Any]]:
    """The whole JSON objects with this key that stand in a text, one after the other, with any text around
    them, and also when the text breaks off. Reads MAX_SCANNED characters, in vain at most as many again."""
    text, place, in_vain = clean_text(text[:MAX_SCANNED]), 0, 0
    while in_vain < MAX_SCANNED and (place := text.find("{", place)) >= 0:
        try:
            value, end = _DECODER.raw_decode(text, place)
            found = clean_json(value)
        except (ValueError, RecursionError) as error:
            in_vain += max(_MIN_ATTEMPT, getattr(error, "pos", 0) - place)
            place += 1
            continue
        is_wanted = key in found
        place = end if is_wanted else place + 1
        if is_wanted:
            yield found


def parse_event(data: bytes) -> Any:
    """The JSON value of an event. Lone surrogates, which orjson refuses, are let through to be cleaned;
    numbers are those that orjson makes, by either reader: an integer over 64 bits is a float.

    Raises:
        ValueError: not valid UTF-8 or not valid JSON, or a number that no float can hold.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        if b"\\u" not in data:
            raise
    try:
        return json.loads(
            data.decode(),
            parse_int=_integer_or_float,
            parse_float=_float,
            parse_constant=_refuse_constant,
        )
    except RecursionError:
        raise ValueError("nested too deep") from None


def clean_json(value: Any, depth: int = 1) -> Any:
    """`value`, as `parse_event` gives it, with every string cleaned (see `messages.clean_text`): what comes
    out, orjson can write.

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
    if not _MIN_INTEGER <= number <= _MAX_INTEGER:
        raise _Refused("a number is out of range")
    return number


def _integer_or_float(written: str) -> int | float:
    # By its length first: Python takes no integer of thousands of digits.
    number = int(written) if len(written) <= _MAX_DIGITS else _MAX_INTEGER + 1
    return number if _MIN_INTEGER <= number <= _MAX_INTEGER else _float(written)


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


def is_json(data: bytes) -> bool:
    """Whether the bytes are whole JSON."""
    try:
        parse_event(data)
    except ValueError:
        return False
    return True

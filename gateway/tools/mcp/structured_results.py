"""A structured result beside the text that a server wrote: told where the text does not have it already."""

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import orjson
from pydantic_core import to_json

from gateway.json_parts import PartCounter
from gateway.tools.mcp import bounds

_IN_NUMBER, _IN_WORD = re.compile(r"[\w.]"), re.compile(r"\w")


def told_beside(text: str, structured: dict[str, Any]) -> str | None:
    """What is told of the structured result beside the text; None: the text has all of it."""
    if _has_all(text, structured):
        return None
    told = _json(structured)
    if text.strip() and len(told) > bounds.STRUCTURED:
        return f"[a structured result of {len(told)} characters, left out beside the text]"
    return told


def _has_all(text: str, structured: Any) -> bool:
    """Whether the text has every value of the structured result: as JSON, or told in other words. Of a large
    one the first bounds.COMPARED values are looked for, and in a long text none."""
    if not text.strip():
        return False
    with suppress(ValueError):
        told = _parsed(text)
        return structured in (told, {"result": told})
    return len(text) <= bounds.STRUCTURED and all(
        _says(text, value) for value in islice(_values(structured), bounds.COMPARED)
    )


def _says(text: str, value: str) -> bool:
    if not value[-1:].isdecimal():
        return value in text
    at = -1
    for _ in range(bounds.TRIES):
        if (at := text.find(value, at + 1)) < 0:
            return False
        before, after = text[max(0, at - 1) : at], text[at + len(value) : at + len(value) + 1]
        if not (_IN_NUMBER.match(before) or _IN_WORD.match(after)):  # 1 is not in 12
            return True
    return False


def _values(structured: Any) -> Iterator[str]:
    """The values in it as a text would have them; of a long text its beginning."""
    if isinstance(structured, dict | list):
        for each in structured.values() if isinstance(structured, dict) else structured:
            yield from _values(each)
    elif isinstance(structured, str):
        yield next(iter(structured.splitlines()), "")[: bounds.LINE]
    elif structured is not None:
        yield _json(structured)


def _parsed(text: str) -> Any:
    """Raises ValueError: it is no JSON, or too much to be parsed."""
    written = text.encode(errors="replace")
    if PartCounter(with_values=True).add(written) > bounds.PARTS:
        raise ValueError("too many parts")
    return orjson.loads(written)


def _json(value: Any) -> str:
    return to_json(value, serialize_unknown=True).decode()

"""The return value of a function, as the text that the model reads."""

import asyncio
import json
from collections.abc import AsyncIterable, Awaitable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from io import StringIO
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from gateway.errors import ToolError
from gateway.tools.base import File

MAX_CONTENT = 64 * 1024 * 1024
"""Characters of one result. Of what is over GATEWAY_ARTIFACT_TOKENS the model reads the compact form."""

_SLICE = 2000
"""Pieces of JSON between two looks at the other work of the event loop: some milliseconds."""
_LONG = 64 * 1024
"""Characters of a piece after which the other work is looked at too."""
_WHY_LENGTH = 200


async def content_of(tool_name: str, value: object) -> str:
    """Text as it is, anything else as JSON. Large values are written piece by piece, so that neither the loop
    nor the memory is held up by them.

    Raises:
        errors.ToolError: it is no JSON, or longer than MAX_CONTENT.
    """
    if isinstance(value, str):
        if len(value) > MAX_CONTENT:
            raise _too_long(tool_name)
        return value
    text, size = StringIO(), 0
    try:
        for number, part in enumerate(_ENCODER.iterencode(value), 1):
            size += len(part)
            if size > MAX_CONTENT:
                raise _too_long(tool_name)
            text.write(part)
            if not number % _SLICE or len(part) > _LONG:
                await asyncio.sleep(0)
    except ToolError:
        raise
    except Exception as error:  # noqa: BLE001 - a value may do anything when it is looked at
        message = f"{tool_name} {_DONE}, but what it gave back cannot be told as JSON: {_why(error)}."
        raise ToolError(message) from None
    return text.getvalue()


_DONE = "was carried out"  # so that it is not repeated for the sake of its answer


class _NoJson(Exception):
    """The reason in words."""


def _plain(value: Any) -> Any:
    """What JSON has no form for, one level down."""
    match value:
        case bytes() | bytearray() | memoryview() | File():
            raise _NoJson("it holds bytes; give them back as a File, alone or in the files of a ToolResult")
        case BaseModel():
            return value.model_dump(mode="json", by_alias=True)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {field.name: getattr(value, field.name) for field in fields(value)}
        case Mapping():
            return dict(value)
        case AbstractSet():
            return list(value)
        case Iterator() | AsyncIterable() | Awaitable():
            raise _NoJson(f"it holds a {type(value).__name__}; give back a list")
        case _:
            return _as_jsonable(value)


def _as_jsonable(value: Any) -> Any:
    try:
        return to_jsonable_python(value)
    except PydanticSerializationError:
        raise _NoJson(f"it holds a {type(value).__name__}") from None


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)


def _why(error: Exception) -> str:
    message = str(error)
    match error:
        case _NoJson():
            pass
        case TypeError() if message.startswith("keys must be"):
            pass
        case RecursionError():
            message = "it is nested too deeply"
        case ValueError() if message.startswith("Circular reference"):
            message = "it contains itself"
        case ValueError() if message.startswith("Out of range float"):
            message = "it holds NaN or Infinity; use null or a word instead"
        case _:
            message = type(error).__name__
    return message[:_WHY_LENGTH]


def _too_long(tool_name: str) -> ToolError:
    message = f"{tool_name} {_DONE}, but gave back more than {MAX_CONTENT:,} characters: ask it for less."
    return ToolError(message)

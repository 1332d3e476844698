"""A bounded JSON form of any value, for people who look at what a tool did."""

import math
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

import orjson
from pydantic import BaseModel

from gateway.messages import clean_text

EXCERPT_SIZE = 4096
"""Bytes of JSON that an excerpt has at most."""

_DEEPEST = 10
_MARK = 48  # bytes of the longest mark of something cut, with its quotes and commas
_LARGEST_INT = 2**53 - 1  # what every JSON reader keeps exactly (RFC 8259, section 6)
_AS_STR = (date, time, timedelta, Decimal, UUID, PurePath)


def excerpt(value: object, size: int = EXCERPT_SIZE) -> Any:
    """`value` as JSON of at most `size` bytes, which is 1024 or more. A larger one is cut, with a mark of
    how much is left out; what is no JSON is named by its type. Never raises, and looks at no more than it
    shows."""
    return _Excerpt(size).of(value)


class _Excerpt:
    """One excerpt in the making. `left` is the budget left; beside it there is some for a mark in each
    container that may be open, for one in a text, and for a last value that is larger than what is left."""

    def __init__(self, size: int) -> None:
        self.left = size - (_DEEPEST + 2) * _MARK
        self._around: list[int] = []

    def of(self, value: object) -> Any:
        if self.left <= 0:
            return "…"
        try:
            return self._of(value)
        except Exception:  # noqa: BLE001 - a value may do anything when it is looked at
            return self._text(_named(value))

    def _of(self, value: object) -> Any:
        if isinstance(value, Enum):
            value = value.value
        elif is_dataclass(value) and not isinstance(value, type):
            value = {each.name: getattr(value, each.name) for each in fields(value)}
        match value:
            case None | bool():
                self.left -= 6
                return value
            case int() if abs(value) <= _LARGEST_INT:
                self.left -= 18
                return int(value)
            case float() if math.isfinite(value):
                self.left -= 26
                return float(value)
            case Mapping() | BaseModel() | list() | tuple() | Set():
                return self._container(value)
            case _:
                return self._text(_in_words(value))

    def _container(self, value: Any) -> Any:
        if id(value) in self._around or len(self._around) == _DEEPEST:
            return self._text("<more inside>")
        self._around.append(id(value))
        try:
            if isinstance(value, BaseModel | Mapping):
                return self._object(dict(value) if isinstance(value, BaseModel) else value)
            return self._array(value)
        finally:
            self._around.pop()

    def _object(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        self.left -= 2
        for key, inner in value.items():
            if self.left <= 0:
                made["…"] = f"{len(value) - len(made)} more"
                break
            self.left -= 2
            name = self._text(key if isinstance(key, str) else str(self.of(key)))
            made[name] = self.of(inner)
        return made

    def _array(self, value: list[Any] | tuple[Any, ...] | Set[Any]) -> list[Any]:
        made: list[Any] = []
        self.left -= 2
        for inner in value:
            if self.left <= 0:
                made.append(f"… {len(value) - len(made)} more")
                break
            self.left -= 1
            made.append(self.of(inner))
        return made

    def _text(self, text: str) -> str:
        budget = max(self.left, 0)
        part = text[:budget]
        while (taken := len(orjson.dumps(shown := clean_text(part))) - 2) > budget:
            part = part[: min(len(part) - 1, len(part) * budget // taken)]
        self.left -= taken + 2
        if hidden := len(text) - len(part):
            self.left = 0
            return f"{shown}… {hidden} more characters"
        return shown


def _in_words(value: object) -> str:
    """A value that holds no other values, as text."""
    match value:
        case str():
            return value
        case int():
            return f"<a number of {value.bit_length()} bits>"
        case float():
            return str(float(value))
        case bytes() | bytearray() | memoryview():
            return f"<{len(value)} bytes>"
        case _ if isinstance(value, _AS_STR):
            return str(value)
        case _:
            return _named(value)


def _named(value: object) -> str:
    return f"<{type(value).__name__}>"

"""Arguments against a JSON Schema that may be anybody's, with the steps of the check counted.

The gateway checks with a bound of steps; what takes more is checked by this file as a program, which can be
held to its time and memory. Therefore it imports nothing of the gateway. As a program its input is JSON,
{"schema", "arguments"}, and its output {"problem": [where, message]}, or null in that place.
"""

import json
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator, ValidationError, validators

CPU_SECONDS = 2
MEMORY = 1_073_741_824  # bytes of address space
MAX_MESSAGE = 500  # characters
_SHARE = 32  # names of a schema that are passed over in the time of one step
_COMPARED = 4  # values that are compared in that time
_WRITTEN = 256  # characters of a message that are written in that time
_RESOLVED = 4  # steps that it takes to follow a reference
_COMPARING = frozenset({"const", "enum", "required", "dependentRequired", "type"})
_EACH = frozenset({"additionalProperties", "contains", "items", "propertyNames", "unevaluatedItems"})
_EACH_NAME = _EACH | {"unevaluatedProperties", "patternProperties"}

Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


class TooManySteps(Exception):
    """The check was stopped."""


class SchemaProblem(NamedTuple):
    """Where the arguments are wrong, "" for all of them, and what is wrong with them there."""

    where: str
    message: str


class _Count:
    """Steps that are left: some 5 µs each."""

    def __init__(self, left: int | None, sizes: dict[int, int]) -> None:
        self._left = left
        self.sizes = sizes

    def take(self, steps: int) -> None:
        if self._left is not None:
            self._left -= steps
            if self._left < 0:
                raise TooManySteps


_count: ContextVar[_Count] = ContextVar("count")


class Checker:
    """A schema, prepared."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._validator = _Counted(schema)
        self._sizes: dict[int, int] = {}
        self._measure(schema)

    def first_problem(self, arguments: object, most_steps: int | None) -> SchemaProblem | None:
        """What is wrong with the arguments first; None: they fit.

        Raises:
            TooManySteps: it would take more than `most_steps`.
            RecursionError: they are nested too deeply.
        """
        token = _count.set(_Count(most_steps, self._sizes))
        try:
            for error in self._validator.iter_errors(arguments):
                where = "/".join(str(part) for part in error.absolute_path)
                return SchemaProblem(where[:MAX_MESSAGE], error.message[:MAX_MESSAGE])
            return None
        finally:
            _count.reset(token)

    def _measure(self, part: object) -> int:
        """Counts what is in each object and list of the schema, by their ids."""
        if not isinstance(part, dict | list):
            return 1
        inner: Any = part.values() if isinstance(part, dict) else part
        self._sizes[id(part)] = size = 1 + sum(map(self._measure, inner))
        return size


def _counted(keyword: str, function: Keyword) -> Keyword:
    """The check of a keyword, which counts its steps before it takes them."""

    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        count = _count.get()
        if keyword in _COMPARING:
            count.take(1 + count.sizes.get(id(value), 0) // _COMPARED)
        elif keyword in {"$ref", "$dynamicRef"}:  # what it leads to is a part of the root
            count.take(_RESOLVED + count.sizes.get(id(validator.schema), 0) // _SHARE)
        else:
            times = len(instance) if keyword in _EACH_NAME and isinstance(instance, dict | list) else 1
            around = schema if keyword.startswith("unevaluated") else value
            count.take(1 + times * (1 + count.sizes.get(id(around), 0) // _SHARE))
        for error in function(validator, value, instance, schema) or ():
            count.take(1 + len(error.message) // _WRITTEN)
            yield error

    return check


def _unique_items(_validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    """The library's own compares each with each."""
    if wanted is True and isinstance(instance, list):
        values: list[object] = instance
        if len(set(map(_hashable, values))) < len(values):
            yield ValidationError("it has the same element twice")


def _hashable(value: Any) -> object:
    """The same for what JSON Schema calls equal: 1 and 1.0, but not 1 and true."""
    _count.get().take(1)
    if isinstance(value, list):
        return "array", tuple(map(_hashable, value))
    if isinstance(value, dict):
        return "object", frozenset((name, _hashable(inner)) for name, inner in value.items())
    return ("boolean", value) if isinstance(value, bool) else value


_KEYWORDS: dict[str, Keyword] = {**Draft202012Validator.VALIDATORS, "uniqueItems": _unique_items}
_Counted: Any = validators.extend(
    Draft202012Validator, {keyword: _counted(keyword, function) for keyword, function in _KEYWORDS.items()}
)


def main() -> None:
    limits = ((resource.RLIMIT_CPU, CPU_SECONDS), (resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CORE, 0))
    for limit, most in limits:
        with suppress(ValueError, OSError):  # a system that has no such limit; the clock ends it there
            resource.setrlimit(limit, (most, most))
    given = json.load(sys.stdin.buffer)
    problem = Checker(given["schema"]).first_problem(given["arguments"], None)
    sys.stdout.write(json.dumps({"problem": problem}))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()

"""Unions that a validator would try in all combinations: each level of the arguments multiplies the work."""

from collections.abc import Iterator
from typing import Any


def explodes(schema: dict[str, Any]) -> bool:
    """Whether pydantic's JSON Schema has a union that comes back in two of its members which JSON's types do
    not distinguish, so that checking takes time exponential in the depth of the arguments. A discriminated
    union (`oneOf`) does not: only the member that was named is looked at."""
    definitions: dict[str, Any] = schema.get("$defs", {})
    return any(_comes_back_twice(each, definitions) for each in _below(schema, {}) if "anyOf" in each)


def _comes_back_twice(union: dict[str, Any], definitions: dict[str, Any]) -> bool:
    kinds = [
        _resolved(member, definitions).get("type")
        for member in union["anyOf"]
        if any(each is union for each in _below(member, definitions))
    ]
    return len(kinds) > 1 and (None in kinds or len(set(kinds)) < len(kinds))


def _below(schema: dict[str, Any], definitions: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and all that are in it, each once; references are followed into `definitions`."""
    open_ones: list[Any] = [schema]
    seen: set[int] = set()
    while open_ones:
        each = open_ones.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, dict):
            found: dict[str, Any] = each
            yield found
            open_ones += found.values()
            if (target := _resolved(found, definitions)) is not found:
                open_ones.append(target)
        elif isinstance(each, list):
            open_ones += each


def _resolved(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    return definitions.get(str(schema.get("$ref", "")).removeprefix("#/$defs/"), schema)

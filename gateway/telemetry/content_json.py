"""Content as attribute values: JSON that stays JSON however much of it has to go, and no secrets in it."""

from typing import Any

import orjson

from gateway.telemetry.redaction import redact

TRUNCATED = "…[truncated]"
_SHORTEST = 32
"""Characters below which texts are not cut any more: then whole messages go."""


def shorten(text: str, limit: int) -> str:
    """`text` with at most `limit` characters (not fewer than the mark has)."""
    return text if len(text) <= limit else text[: max(limit - len(TRUNCATED), 0)] + TRUNCATED


def messages_json(messages: list[dict[str, Any]], limit: int) -> str:
    """The messages as JSON of at most `limit` characters: long texts are cut first, then the oldest messages
    are left out."""
    whole: list[dict[str, Any]] = redact(messages)
    found = _fitting(whole, limit)
    while found is None:
        whole = whole[1:]
        found = _fitting(whole, limit)
    return found


def plain_json(value: Any, limit: int) -> str:
    """`value` as JSON of at most `limit` characters; the mark alone when it has too many parts to fit."""
    return _fitting(redact(value), limit) or _dump(TRUNCATED)


def _fitting(value: Any, limit: int) -> str | None:
    text = _dump(value)
    longest = limit // 2
    while len(text) > limit and longest >= _SHORTEST:
        text = _dump(_cut(value, longest))
        longest //= 2
    return text if len(text) <= limit else None


def _cut(value: Any, longest: int) -> Any:
    match value:
        case str():
            return shorten(value, longest)
        case dict():
            return {name: _cut(inner, longest) for name, inner in value.items()}
        case list():
            return [_cut(inner, longest) for inner in value]
        case _:
            return value


def _dump(value: Any) -> str:
    return orjson.dumps(value).decode()

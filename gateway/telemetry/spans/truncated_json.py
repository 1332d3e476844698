"""Content as attribute values: JSON that stays JSON however much of it has to go, and no secrets in it."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.telemetry.redaction import redact

TRUNCATED = "…[truncated]"
_SHORTEST = 32
"""Characters below which texts are not cut any more: then whole parts go."""
_MAX_KEPT = 4
"""Times the limit of an attribute: what is kept of one turn's messages."""

Part = dict[str, Any]


def shorten(text: str, limit: int) -> str:
    """`text` with at most `limit` characters (not fewer than the mark has)."""
    return text if len(text) <= limit else text[: max(limit - len(TRUNCATED), 0)] + TRUNCATED


@dataclass(slots=True)
class _Message:
    """A message whose parts are written already. `size` are the characters of the parts, and `cut`: that
    some are gone."""

    role: str
    parts: deque[str] = field(default_factory=deque[str])
    size: int = 0
    cut: bool = False


class MessageParts:
    """The newest messages of one turn, as JSON. A part is written once, when it is added: the cost of a call
    is that of its own text, in a turn of any length."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._messages: deque[_Message] = deque()
        self._size = 0

    @property
    def size(self) -> int:
        """Characters kept; never more than a few times the limit."""
        return self._size

    @property
    def newest_role(self) -> str | None:
        """The role of the newest message."""
        return self._messages[-1].role if self._messages else None

    def begin(self, role: str) -> None:
        """The parts that are added from now on are a new message's."""
        self._messages.append(_Message(role))

    def add(self, part: Part) -> None:
        """`part`, which has no secrets, belongs to the newest message. What is oldest makes room for it."""
        message, text = self._messages[-1], _part_json(part, self._limit)
        message.parts.append(text)
        message.size += len(text)
        self._size += len(text)
        while self._size > _MAX_KEPT * self._limit:
            self._drop_oldest()

    def before_newest(self) -> str:
        """All but the newest message, as an attribute."""
        return self._joined(list(self._messages)[:-1])

    def all(self) -> str:
        """The newest messages that fit, as an attribute."""
        return self._joined(list(self._messages))

    def newest(self, finish_reason: str) -> str:
        """The newest message, as that of a model which ended so."""
        return self._joined([self._messages[-1]], f',"finish_reason":{_dump(finish_reason)}')

    def _drop_oldest(self) -> None:
        oldest = self._messages[0]
        if oldest is not self._messages[-1]:
            self._messages.popleft()
            self._size -= oldest.size
            return
        gone = len(oldest.parts.popleft())
        oldest.cut = True
        oldest.size -= gone
        self._size -= gone

    def _joined(self, messages: list[_Message], end: str = "") -> str:
        found: deque[str] = deque()
        left = self._limit - 2  # the brackets of the list
        for message in reversed(messages):
            text = _message_json(message, end, left)
            if text is None and not found:
                text = _newest_parts(message, end, left)
            if text is None:
                break
            found.appendleft(text)
            left -= len(text) + 1  # and a comma
        return f"[{','.join(found)}]"


def plain_json(value: Any, limit: int) -> str:
    """`value` as JSON of at most `limit` characters; the mark alone when it has too many parts to fit."""
    return clean_json(redact(value), limit)


def clean_json(value: Any, limit: int) -> str:
    """As `plain_json`, of a value that has no secrets."""
    return _fitting(value, limit) or _dump(TRUNCATED)


def _part_json(part: Part, limit: int) -> str:
    """A part that fits an attribute, if need be without its arguments."""
    text = _fitting(part, limit)
    if text is None and "arguments" in part:
        text = _fitting({**part, "arguments": {"": TRUNCATED}}, limit)
    return text or _MARK


def _message_json(message: _Message, end: str, left: int) -> str | None:
    """The message in at most `left` characters, its texts cut if need be; None when that is not enough."""
    shell = len(_wrap(message.role, [], end))
    parts = [_MARK, *message.parts] if message.cut else list(message.parts)
    if shell + sum(map(len, parts)) + len(parts) <= left:
        return _wrap(message.role, parts, end)
    if left < shell + _SHORTEST * len(parts):
        return None
    text = _fitting([orjson.loads(part) for part in parts], left - shell)
    return _wrap(message.role, [text[1:-1]], end) if text is not None else None


def _newest_parts(message: _Message, end: str, left: int) -> str:
    """The message with as many of its newest parts as fit, and the mark for the others."""
    left -= len(_wrap(message.role, [_MARK], end))
    kept: deque[str] = deque()
    for part in reversed(message.parts):
        left -= len(part) + 1
        if left < 0:
            break
        kept.appendleft(part)
    return _wrap(message.role, [_MARK, *kept], end)


def _wrap(role: str, parts: list[str], end: str) -> str:
    return f'{{"role":{_dump(role)},"parts":[{",".join(parts)}]{end}}}'


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


_MARK = _dump({"type": "text", "content": TRUNCATED})

"""Calls that go nowhere: the same tool with the same arguments, and the same result again.

The model is told when that happened TOLD_AFTER times; after ENDS_AFTER times it is asked once more, for an
answer without tools. A call that took long is one that waits for something, which may well be the same again.
"""

from collections import deque
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import orjson

from gateway.events.lifecycle import TurnWarning
from gateway.events.tool_calls import CallResult

TOLD_AFTER = 3
ENDS_AFTER = 5
LATEST = 20
"""Results that are looked at: repeated in a row, or in turns with a few other calls."""
WAITED = 5000
"""Milliseconds of a call that waits."""

_NOTE_BEGINS = "\n\n[The gateway: "


def told(count: int) -> str:
    """What the model reads below the result that it has had so often."""
    if count < TOLD_AFTER:
        return ""
    what = f"{_NOTE_BEGINS}this is call {count} with the same arguments, and its result is the same. "
    if count < ENDS_AFTER:
        return f"{what}Do not repeat it: do something else, or answer with what you know.]"
    return f"{what}No tool is called any more: answer now with what you know, and say what is missing.]"


def repeated_warning(tool: str, count: int) -> TurnWarning:
    """What a person reads of it."""
    message = f"{tool} was called {count} times with the same arguments and gave the same result: "
    message += (
        "the model is asked to answer without tools." if count >= ENDS_AFTER else "the model was told so."
    )
    return TurnWarning(code="repeated_calls", message=message)


@dataclass(slots=True)
class RepeatedCalls:
    """The latest results of a turn; `ends`: one of them came so often that no tool is called any more."""

    latest: deque[bytes] = field(default_factory=lambda: deque[bytes](maxlen=LATEST))
    ends: bool = False

    def count(self, arguments: dict[str, Any], result: CallResult) -> int:
        """How often the result came to that call, this time included; 0 for one that does not count."""
        return 0 if result.duration_ms >= WAITED else self._count(_digest(arguments, result))

    def add(self, arguments: dict[str, Any], result: CallResult) -> None:
        """Takes a result into account, with or without what the model was told below it."""
        if result.duration_ms >= WAITED:
            return
        digest = _digest(arguments, result)
        self.ends = self.ends or self._count(digest) >= ENDS_AFTER
        self.latest.append(digest)

    def _count(self, digest: bytes) -> int:
        return self.latest.count(digest) + 1


def _digest(arguments: dict[str, Any], result: CallResult) -> bytes:
    content = result.content.partition(_NOTE_BEGINS)[0]
    written = orjson.dumps([result.name, arguments, result.status, content], option=orjson.OPT_SORT_KEYS)
    return blake2b(written, digest_size=16).digest()

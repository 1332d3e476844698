"""Large results, which pass the SDK's transport to an address by a number: it would parse them once more, on
the event loop.

    body ──▶ read, mended ──▶ put aside ──▶ the SDK's transport: a number ──▶ taken ──▶ the SDK's session
"""

from collections import OrderedDict
from itertools import count
from typing import Any, Final

_KEY: Final = "chat-gateway/set-aside"
MAX_KEPT = 32
"""Results that are kept: one that is not taken belongs to a call that was cancelled meanwhile."""


class SetAside:
    """The results of one connection that are on their way."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, dict[str, Any]] = OrderedDict()
        self._numbers = count(1)

    def put(self, result: dict[str, Any]) -> dict[str, Any]:
        """Keeps the result. Returns what stands for it."""
        number = next(self._numbers)
        self._kept[number] = result
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return {_KEY: number}

    def taken(self, result: dict[str, Any]) -> dict[str, Any]:
        """The result that this one stands for, or itself."""
        number = result.get(_KEY)
        return self._kept.pop(number, result) if isinstance(number, int) else result

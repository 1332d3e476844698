"""The tokens that a stream reports, in several events and not always all of them."""

from typing import Any

from gateway.messages import Usage

_NAMES = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_MAX_COUNT = 2**53
"""What every JSON reader still takes for an integer."""


class ReportedUsage:
    """The last count of each kind. Those of the cache are 0 where they are not reported, the other two
    unknown."""

    def __init__(self) -> None:
        self._counts: dict[str, int | None] = {name: None if name in _NAMES[:2] else 0 for name in _NAMES}

    def take(self, holder: dict[str, Any]) -> None:
        """Takes over the counts that `holder` has; one that cannot be a count makes that kind unknown."""
        usage = holder.get("usage")
        if not isinstance(usage, dict):
            return
        for name in _NAMES:
            count = usage.get(name)
            if count is not None:
                self._counts[name] = count if type(count) is int and 0 <= count < _MAX_COUNT else None

    def now(self) -> Usage | None:
        """The usage so far; None while a kind is unknown."""
        known = {name: count for name, count in self._counts.items() if count is not None}
        return Usage(**known) if len(known) == len(_NAMES) else None

"""Bounds of one answer, for endpoints that do not end theirs."""

from dataclasses import dataclass

MAX_BLOCKS = 2048
"""Content blocks of one message: above any number of tool calls that may be set."""
MIN_MAX_SIZE = 1024 * 1024
"""Bytes that an answer may always have: endpoints that do not keep to `max_tokens` do exist."""
BYTES_PER_TOKEN = 64
"""Far above any real text: a token is some four bytes of English, and up to a dozen of escaped JSON."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of one message. `size` counts the bytes of everything that is kept of it (text,
    thinking, arguments, other blocks), `arguments` those of the arguments of all its tool calls; `tool_calls`
    is how many it may have."""

    size: int = MIN_MAX_SIZE
    arguments: int = MIN_MAX_SIZE // 4
    blocks: int = MAX_BLOCKS
    tool_calls: int = 128

    @classmethod
    def of(cls, max_tokens: int, *, size: int | None, tool_calls: int) -> "Bounds":
        """`size` as set, or more bytes than `max_tokens` can need; a quarter of it for arguments."""
        size = size or max(MIN_MAX_SIZE, max_tokens * BYTES_PER_TOKEN)
        return cls(size, size // 4, tool_calls=tool_calls)

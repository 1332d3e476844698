"""What is taken of a chat in an export of another product."""

from dataclasses import dataclass
from typing import Literal

Source = Literal["chatgpt", "claude"]

MAX_MESSAGES = 20_000
"""Of one chat: of a longer one the newest."""


class UnreadableChat(Exception):
    """Why a chat of an export cannot be taken, in words for the person whose it is."""


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """A text that was attached to a message, as the export has it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ForeignMessage:
    """A message, as text. `at` is in Unix milliseconds; None: the export does not say."""

    role: Literal["user", "assistant"]
    text: str
    at: int | None = None
    files: tuple[ForeignFile, ...] = ()


@dataclass(frozen=True, slots=True)
class ForeignChat:
    """A chat with the messages of its last branch. Times are in Unix milliseconds. `left_out` counts images,
    recordings and other parts that the export only names."""

    source: Source
    id: str
    title: str | None
    created_at: int | None
    updated_at: int | None
    messages: tuple[ForeignMessage, ...]
    left_out: int = 0

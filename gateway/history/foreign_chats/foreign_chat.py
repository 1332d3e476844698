"""What is taken of a chat in an export of another product."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Source = Literal["chatgpt", "claude", "librechat", "open-webui"]

MAX_MESSAGES = 20_000
"""Of one chat: of a longer one the newest."""
MAX_FILES = 20
"""Of one message."""


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


def chat_from(
    source: Source,
    chat_id: str,
    *,
    title: str | None,
    created_at: int | None,
    updated_at: int | None,
    messages: Iterable[tuple[ForeignMessage | None, int]],
) -> ForeignChat:
    """The chat of these messages, each with how many of its parts the export only names; None: nothing is
    in one. Times that the export does not say are those of its messages. Raises UnreadableChat: there are
    none."""
    read: list[ForeignMessage] = []
    left_out = 0
    for message, missing in messages:
        left_out += missing
        if message is not None:
            read.append(message)
    if not read:
        raise UnreadableChat("There are no messages in it.")
    times = [each.at for each in read if each.at is not None]
    return ForeignChat(
        source,
        chat_id,
        title,
        created_at or min(times, default=None),
        updated_at or max(times, default=None),
        tuple(read[-MAX_MESSAGES:]),
        left_out,
    )

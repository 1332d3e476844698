"""Values of a session: its messages, and the parts of the model's view of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gateway.messages import Message, Usage
from gateway.storage.archives import CompressionRow
from gateway.storage.branches import Branch

GENERATION_OPEN = 2**53
"""Where a generation begins that has not begun yet: the view changed while a turn ran, which goes on with the
old one. The next turn fixes it at the last message it finds."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message of a session's history. `position` is its order from 1, `turn_id` the turn it belongs to,
    `usage` what the endpoint reported for the call that wrote it."""

    position: int
    turn_id: str
    message: Message
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class PromptMemories:
    """The memories in a session's prompt, from the message after `generation_from` on: `text` as the model
    reads it; `digests` of what was rendered, to see when it has changed; those in `named` were rendered by
    their summaries only. `forgotten` are memories that turns had in context and that were forgotten or
    changed since, each with the position of the last message for which that holds. `as_of` is the time (Unix
    ms) up to which changes of memories are known to the session; None where that is not known."""

    text: str
    digests: Mapping[str, str]
    generation_from: int
    named: frozenset[str] = frozenset()
    forgotten: Mapping[str, int] = field(default_factory=dict[str, int])
    as_of: int | None = None


@dataclass(frozen=True, slots=True)
class History:
    """What a session's view is made of. `messages` are those after what `compression` covers, and the one it
    keeps; all of them when it is None. Thinking up to position `generation_from` was signed for another
    prefix. `carried` are the summaries of former sessions in its prompt, `prefix_hash` identifies the prompt
    before the messages as the last turn ended with it (None: unknown, or a generation began since).
    `memories` are those in the prompt, also of a former generation. `branch` is the one that all of this is
    of, None in a session that has one only; `instructions` are those of the client application.
    `was_brought`: the session began with turns that did not run here."""

    messages: Sequence[StoredMessage]
    compression: CompressionRow | None = None
    generation_from: int = 0
    carried: str | None = None
    failed_compressions: int = 0
    prefix_hash: str | None = None
    memories: PromptMemories | None = None
    branch: Branch | None = None
    instructions: str | None = None
    was_brought: bool = False

    def next_position(self, stored: Sequence[StoredMessage]) -> int:
        """Of a message that comes after those that are `stored`, which are this history's and newer ones."""
        newest = stored[-1].position if stored else 0
        return max(newest, self.branch.last if self.branch is not None else 0) + 1

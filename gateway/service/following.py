"""Places to follow a session from, and what a client needs to draw one."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from gateway.errors import CursorAhead
from gateway.events.envelope import StoredEvent
from gateway.messages import Message
from gateway.storage.base import TurnRow


@dataclass(frozen=True, slots=True)
class Following:
    """A place to follow a session from. Scoped to `turn`, the stream ends after that turn's `done`; with
    `live` false it ends at `head`, the session's last seq when it began."""

    session_id: str
    head: int
    after: int
    turn: TurnRow | None = None
    types: frozenset[str] = frozenset()
    live: bool = True

    @property
    def exhausted(self) -> bool:
        """Whether nothing will ever come: the turn is over and the cursor is at its end."""
        turn = self.turn
        return turn is not None and turn.status == "done" and 0 < turn.last_seq <= self.after

    def choose(self, events: Sequence[StoredEvent]) -> Sequence[StoredEvent]:
        """Those of `events` that this follower wants."""
        if self.turn is not None:
            turn_id = self.turn.id
            events = [event for event in events if event.turn_id == turn_id]
        if self.types:
            events = [event for event in events if event.type in self.types]
        return events


def following_from(
    session_id: str,
    head: int,
    after: int,
    turn: TurnRow | None = None,
    *,
    types: frozenset[str] = frozenset(),
    live: bool = True,
) -> Following:
    """The place behind the event `after` of a session whose last event is `head`; of a `turn` not before its
    first event. Raises errors.CursorAhead when there is no such event yet."""
    if after > head:
        raise CursorAhead(
            f"The cursor {after} is beyond the session's last event {head}.", details={"head": head}
        )
    if turn is not None:
        after = max(after, turn.first_seq - 1 if turn.first_seq else head)
    return Following(session_id, head, after, turn, types, live)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a client needs to draw a session and then follow it from `as_of_seq` without gap or repetition:
    the events of the open turn, if there is one, all come after it. The messages come a few at a time, as
    they are read: see `messages_of`."""

    messages: AsyncGenerator[Sequence[Message]]
    open_turn: TurnRow | None
    as_of_seq: int

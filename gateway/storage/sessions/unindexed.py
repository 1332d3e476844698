"""What the search index lacks of a session, and the words it is found by."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.lexical import indexed
from gateway.messages import texts_of
from gateway.storage.messages import StoredMessage

TURN_BATCH = 50
"""Turns whose words are held, and written in one transaction: some 5 ms for the writer."""

MESSAGE_BATCH = 200
"""Messages that are read at a time."""


@dataclass(slots=True)
class Fresh:
    """What the index lacks of a session. `state` is what the session was when it was read: owner, time of
    creation and how far the index had come. `inputs` are the turns and the user's message of each, in order,
    `words` the words to be indexed of them; `position` is that of the last message whose words were taken."""

    session_id: str
    state: tuple[str, int, int]
    title: str | None
    inputs: Sequence[tuple[str, str]]
    running: str | None
    position: int
    last: int
    indexed_head: int
    title_words: set[str] = field(default_factory=set[str])
    words: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    @property
    def more(self) -> bool:
        """Whether further turns may wait behind these."""
        return len(self.inputs) == TURN_BATCH

    def next_until(self) -> int:
        """Where the next read of messages ends: none that came later is among them."""
        return min(self.position + MESSAGE_BATCH, self.last)

    def take_inputs(self) -> None:
        self.title_words = set(indexed(self.title or ""))
        self.words = {turn_id: set(indexed(inputs)) for turn_id, inputs in self.inputs}

    def take(self, messages: Sequence[StoredMessage]) -> bool:
        """Takes the words of what was answered; False when a message is of a turn that comes later."""
        for stored in messages:
            words = self.words.get(stored.turn_id)
            if words is None and (self.more or stored.turn_id == self.running):
                return False
            if words is not None and stored.message.role == "assistant":
                for text in texts_of(stored.message):
                    words.update(indexed(text))
            self.position = stored.position
        return True

    @property
    def owner(self) -> str:
        return self.state[0]

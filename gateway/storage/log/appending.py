"""Appends on their way into a transaction, for any engine."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import orjson

from gateway.errors import TurnLost
from gateway.storage.log import Append


class Pending(NamedTuple):
    """An append on its way, with its message and usage encoded, and the usage of the turn that it ends.
    `life` is that of its session when it was made (see `Bus.life`)."""

    batch: Append
    content: str | None
    usage: str | None
    turn_usage: str | None
    life: int = 0

    @classmethod
    def of(cls, batch: Append, life: int = 0) -> Self:
        """Raises ValueError when the events do not continue from the head, TypeError when the message is no
        JSON."""
        for seq, event in enumerate(batch.events, batch.head + 1):
            if event.seq != seq:
                raise ValueError(f"event {event.seq} of {batch.session_id} should be {seq}")
        closing = batch.closing
        if batch.message is None and closing is None:
            return cls(batch, None, None, None, life)
        return cls(
            batch,
            orjson.dumps(batch.message.content).decode() if batch.message else None,
            batch.usage.model_dump_json() if batch.usage else None,
            closing.usage.model_dump_json() if closing is not None and closing.usage else None,
            life,
        )


@dataclass(slots=True)
class Run:
    """Appends of one turn that continue each other: they stand or fall together."""

    session_id: str
    turn_id: str
    epoch: int
    head: int
    end: int
    parts: list[Pending] = field(default_factory=list[Pending])
    messages: int = 0
    ends: bool = False

    def takes(self, batch: Append) -> bool:
        same = (self.session_id, self.turn_id, self.epoch) == (batch.session_id, batch.turn_id, batch.epoch)
        return same and self.end == batch.head and not self.ends

    def add(self, part: Pending) -> None:
        self.parts.append(part)
        self.end += len(part.batch.events)
        self.messages += part.batch.message is not None
        self.ends = part.batch.closing is not None

    def fence(self) -> tuple[Any, ...]:
        return (self.end, self.messages, self.session_id, self.head, self.turn_id, self.epoch)


def runs_of(pending: Sequence[Pending]) -> list[Run]:
    runs: list[Run] = []
    newest: dict[str, Run] = {}
    for part in pending:
        batch = part.batch
        run = newest.get(batch.session_id)
        if run is None or not run.takes(batch):
            run = Run(batch.session_id, batch.turn_id, batch.epoch, batch.head, batch.head)
            newest[batch.session_id] = run
            runs.append(run)
        run.add(part)
    return runs


def refusal(batch: Append) -> TurnLost:
    return TurnLost(
        f"Turn {batch.turn_id} is no longer this writer's: epoch {batch.epoch}, head {batch.head}."
    )

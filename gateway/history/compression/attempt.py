"""One compression in progress: its cut, its usage so far, and its events."""

from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Literal

from gateway.errors import GatewayError
from gateway.events.session_changes import Compression, Covered
from gateway.history.compression.cut_position import Cut
from gateway.history.compression.weights import Weights
from gateway.history.summaries.summary import NOTE_TOKENS, render
from gateway.history.tokens import message_tokens
from gateway.history.transcript import user_message
from gateway.model.side_calls import CallContext, UsageSum
from gateway.storage.archives import Trigger
from gateway.storage.messages import History, StoredMessage


@dataclass(slots=True)
class Attempt:
    """One compression of the session `session_id` of `model`, begun now. `summary_model` writes its summary,
    `path` is where its archive is to lie; `context` is the turn or operation that it is a part of.
    `unwritten` is why no model could write the summary, where it is made without one."""

    session_id: str
    model: str
    summary_model: str
    trigger: Trigger
    history: History
    weights: Weights
    cut: Cut
    version: int
    path: str
    context: CallContext
    began: float = field(default_factory=monotonic)
    spent: UsageSum = field(default_factory=UsageSum)
    unwritten: GatewayError | None = None

    @property
    def covered(self) -> list[StoredMessage]:
        return [
            item
            for item in self.history.messages
            if self.cut.from_position <= item.position <= self.cut.to_position
        ]

    @property
    def rest(self) -> list[StoredMessage]:
        """The messages that stay word for word."""
        return [
            item
            for item in self.history.messages
            if item.position > self.cut.to_position or item.position == self.cut.kept_position
        ]

    @property
    def most_tokens(self) -> int:
        """Of the summary: with its note it must be smaller than what it replaces."""
        parent = self.history.compression
        replaced = self.cut.tokens_covered
        if parent is not None:
            replaced += message_tokens(user_message(render(parent.summary, parent)))
        return replaced - NOTE_TOKENS

    def event(self, phase: Literal["started", "completed", "failed"], **more: Any) -> Compression:
        started = phase == "started"
        if phase == "completed" and self.unwritten is not None:
            more |= {"without_model": True, "reason": f"{self.unwritten.code}: {self.unwritten.message}"}
        return Compression(
            phase=phase,
            trigger=self.trigger,
            version=self.version,
            covers=Covered(first=self.cut.from_position, last=self.cut.to_position),
            tokens_before=self.weights.before,
            model=None if started else self.summary_model,
            usage=self.spent.usage,
            cost=self.spent.cost,
            duration_ms=None if started else int((monotonic() - self.began) * 1000),
            **more,
        )

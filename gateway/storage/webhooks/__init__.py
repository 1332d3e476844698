"""The contract of storage for webhooks: the addresses of users, and the deliveries to them.

a turn ends, a call waits … ── in that very transaction ──▶ pending ── claim ──▶ tried ──▶ delivered
                                                              ▲                   ├──▶ pending, due later
                                                              └── replay ◀────────┴──▶ dead

A claim moves `due_at` behind the time that a try may take, and counts the try: whoever else looks finds it
not due. So each is tried by one process at a time, and again when that one was killed. Deliveries of one
session to a webhook keep their order: one is due when none before it is pending.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

WebhookEvent = Literal["turn.finished", "approval.waiting", "limit.near", "schedule.failed"]
EVENTS: tuple[WebhookEvent, ...] = ("turn.finished", "approval.waiting", "limit.near", "schedule.failed")
"""The events that a webhook can subscribe to."""
DeliveryState = Literal["pending", "delivered", "dead"]


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address of its `owner`. `secret` signs the deliveries; none are added since `disabled_at`;
    `failures` counts those in a row, after which it is left alone until `rests_until`. Times are Unix
    milliseconds. `key_id` is the key that it was made with, or switched on with since; `reason` why it is
    off, unless its owner or its address did that."""

    id: str
    owner: str
    url: str
    events: tuple[str, ...]
    secret: str = field(repr=False)
    created_at: int
    disabled_at: int | None = None
    failures: int = 0
    rests_until: int = 0
    key_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One thing that happened `at` a time, for one webhook. `status` is what its address answered last, and
    `error` why that was no success."""

    number: int
    webhook_id: str
    session_id: str | None
    turn_id: str | None
    type: str
    at: int
    detail: dict[str, object] | None
    state: DeliveryState
    attempts: int
    due_at: int
    ended_at: int | None = None
    status: int | None = None
    error: str | None = None


class Failure(NamedTuple):
    """Why a try was none, and what next: `due_at` None: the delivery is dead; the webhook is left alone until
    `rests_until`, or for good when it `is_gone`, with all that is pending for it."""

    status: int | None
    error: str
    due_at: int | None
    rests_until: int = 0
    is_gone: bool = False


class DeliveryAttempt(NamedTuple):
    """One try of a delivery, and what came of it: `failed` is tried again, `dead` is not. `status` is what
    the address answered. Times are Unix milliseconds."""

    delivery: Delivery
    outcome: Literal["delivered", "failed", "dead"]
    status: int | None
    started_at: int
    ended_at: int


class Webhooks(Protocol):
    """Every method raises errors.StorageError when the database cannot do its work."""

    async def add(self, webhook: Webhook, *, most: int) -> None:
        """Raises errors.Conflict (too_many_webhooks): its owner has `most` already."""
        ...

    async def list(self, owner: str) -> Sequence[Webhook]:
        """The owner's, the oldest first."""
        ...

    async def get(self, webhook_id: str, owner: str) -> Webhook:
        """Raises errors.NotFound (webhook_not_found)."""
        ...

    async def switch(
        self, webhook_id: str, owner: str, *, disabled_at: int | None, key_id: str | None = None
    ) -> Webhook:
        """Adds no deliveries to it from then on, or (None) adds them again: one whose key has ended
        is of the key `key_id` then. Raises errors.NotFound."""
        ...

    async def remove(self, webhook_id: str, owner: str) -> None:
        """Removes it with its pending deliveries. Raises errors.NotFound."""
        ...

    async def deliveries(
        self, webhook_id: str, *, state: DeliveryState | None, before: int | None, limit: int
    ) -> Sequence[Delivery]:
        """The newest first, those with a number below `before`."""
        ...

    async def replay(self, webhook_id: str, number: int | None, now: int) -> int:
        """Makes a delivery that ended pending again, or (None) all that are dead; how many that were."""
        ...


class Deliveries(Protocol):
    """Deliveries on their way. Every method raises errors.StorageError when the database cannot do its
    work."""

    async def ready(self, now: int, after: str, limit: int) -> Sequence[Webhook]:
        """Webhooks that something is due for and that do not rest, by id, behind `after`."""
        ...

    async def claim(self, webhook_id: str, now: int, *, until: int, limit: int) -> Sequence[Delivery]:
        """Claims what is due for a webhook: nobody else tries it before `until`."""
        ...

    async def delivered(self, delivery: Delivery, status: int, now: int) -> bool:
        """Notes that a claimed delivery has arrived. False, and nothing noted, when another claim came
        between."""
        ...

    async def failed(self, delivery: Delivery, failure: Failure, webhook: Webhook, now: int) -> bool:
        """Notes that a try was none, and counts it against the webhook as it was claimed. False as above."""
        ...

    async def give_up(self, delivery: Delivery, why: str, now: int) -> bool:
        """Notes that a claimed delivery is dead, as there is nothing to post. That is no failure of the
        webhook: what comes behind it is due. False as above."""
        ...

    async def release(self, delivery: Delivery, now: int) -> None:
        """A claimed delivery is due again: its try was given up."""
        ...

    async def sweep(self, *, ended_before: int, pending_before: int, now: int, limit: int) -> int:
        """Removes what ended before that time, or whose webhook is gone, and gives up what has been pending
        since before that; how many rows that were, at most about `limit`."""
        ...

    async def counts(self) -> tuple[int, int]:
        """How many deliveries are pending, and how many are dead."""
        ...

"""Webhooks: the addresses of users, and the deliveries to them.

a turn ends, a call waits … ── in that very transaction ──▶ pending ── claim ──▶ tried ──▶ delivered
                                                              ▲                   ├──▶ pending, due later
                                                              └── replay ◀────────┴──▶ dead

A claim moves `due_at` behind the time that a try may take, and counts the try: whoever else looks finds it
not due. So each is tried by one process at a time, and again when that one was killed. Deliveries of one
session to a webhook keep their order: one is due when none before it is pending.
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

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

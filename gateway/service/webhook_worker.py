"""Posts the deliveries of webhooks, and tries again those that failed.

    wake, or LOOK_EVERY ─▶ ready: webhooks with something due ─▶ claim ─▶ build ─┬▶ dead: it never can be
                                                    failed: due later, or dead ◀┐└▶ post ─▶ delivered
                                                                                └───┘

Any number of processes do this beside each other (storage/webhooks/). A webhook has few posts at a time, one
when it failed last, and rests after each failure: so one that is slow or dead takes no other's place.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import Context

import structlog

from gateway.backlog import doubled
from gateway.cancellation_shield import finish
from gateway.errors import GatewayError, NotFound, StorageError, ToolError
from gateway.events.envelope import StoredEvent
from gateway.ids import DAY_MS, now_ms
from gateway.pace import until_next
from gateway.service.webhook_messages import body_of, delivery_id, headers
from gateway.settings import Settings
from gateway.storage.turns.store import Turns
from gateway.storage.webhooks import Delivery, DeliveryAttempt, Failure, Webhook
from gateway.storage.webhooks.store import Webhooks
from gateway.tools.fetch.webhook_posts import MAX_CONNECTIONS, Answered, WebhookPosts

LOOK_EVERY = 2.0
"""Seconds between two looks for what is due though nothing happened here."""
GATHER = 0.1
"""Seconds from an event to the look for its deliveries: where many turns end, not each has one of its own."""
PAGE = 100
MAX_CONCURRENT = MAX_CONNECTIONS
MAX_OF_WEBHOOK = 4
"""Posts to one webhook at the same time, of different sessions."""
LAST_REST = 300.0
"""Seconds for which a webhook that failed is left alone at most: as long as the first retry waits, doubled
with each failure in a row."""
CLOCKS_DIFFER = 10.0
"""Seconds."""
JITTER = 0.2
"""Share of a pause by which it may be longer: what failed together is not tried again together."""
KEPT, GIVEN_UP = 14 * DAY_MS, 7 * DAY_MS
"""Milliseconds for which a delivery is kept once it ended, and may be pending: its webhook may be off."""
SWEEP_EVERY, SWEPT, SWEEP_PAUSE = 600.0, 500, 0.1
"""Seconds between two sweeps; rows that go at once, and seconds until the next ones."""
UNBUILT, MAX_WHY = "Nothing can be delivered", 300
"""How the reason begins of a delivery that is dead as it cannot be made, and its most characters."""
GONE = 410
"""The status by which an address asks for no more deliveries (Standard Webhooks, "Delivery")."""
ENQUEUED_WITH = frozenset(("done", "approval_request"))
"""Events whose transaction adds deliveries."""

log = structlog.get_logger(__name__)


class WebhookWorker:
    """One per process, on its event loop."""

    def __init__(
        self,
        deliveries: Webhooks,
        turns: Turns,
        posts: WebhookPosts,
        settings: Settings,
        tried: Callable[[DeliveryAttempt], None],
    ) -> None:
        """`tried` is called after each try: it is quick, and never raises."""
        self._deliveries = deliveries
        self._turns = turns
        self._posts = posts
        self._tried = tried
        self._retries = settings.webhook_retries
        self._first_rest = min(settings.webhook_retries, default=LAST_REST)
        # Longer than any post, by what the clocks of replicas may differ.
        self._lease = int((settings.webhook_timeout + CLOCKS_DIFFER) * 1000)
        self._after = ""
        self._wake = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._posting = Counter[str]()
        self._tasks = set[asyncio.Task[None]]()

    def watch(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """An observer of the bus: quick, and never raises."""
        if self._timer is None and any(event.type in ENQUEUED_WITH for event in events):
            self._timer = asyncio.get_running_loop().call_later(GATHER, self.look, context=Context())

    def look(self) -> None:
        """Something may be due."""
        self._timer = None
        self._wake.set()

    async def run(self) -> None:
        """Posts until it is cancelled; what is being posted then is due again at once."""
        try:
            while True:
                self._wake.clear()
                try:
                    await self._begin()
                except StorageError as error:
                    log.warning("webhooks_not_looked_at", code=error.code, error=str(error))
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), until_next(LOOK_EVERY))
        finally:
            for task in self._tasks:
                task.cancel()
            await finish(asyncio.gather(*self._tasks, return_exceptions=True))

    async def sweep(self) -> None:
        """Removes what ended long ago and gives up what waits for too long, until it is cancelled: for one
        process of all."""
        while True:
            now, swept = now_ms(), 0
            try:
                swept = await self._deliveries.sweep(
                    ended_before=now - KEPT, pending_before=now - GIVEN_UP, now=now, limit=SWEPT
                )
            except StorageError as error:
                log.warning("webhooks_not_swept", code=error.code, error=str(error))
            await asyncio.sleep(SWEEP_PAUSE if swept >= SWEPT else SWEEP_EVERY)

    async def _begin(self) -> None:
        """Begins to post what is due, as far as there is room. Raises errors.StorageError."""
        while len(self._tasks) < MAX_CONCURRENT:
            page = await self._deliveries.ready(now_ms(), self._after, PAGE)
            is_first, is_last = not self._after, len(page) < PAGE
            for webhook in page:
                # Next time it goes on behind those that had their turn, also one whose claim fails.
                self._after = webhook.id
                await self._claim(webhook)
            if is_last:
                self._after = ""
                if not is_first:
                    self._wake.set()
                return

    async def _claim(self, webhook: Webhook) -> None:
        room = (1 if webhook.failures else MAX_OF_WEBHOOK) - self._posting[webhook.id]
        room = min(room, MAX_CONCURRENT - len(self._tasks))
        if room <= 0:
            return
        now = now_ms()
        claimed = await self._deliveries.claim(webhook.id, now, until=now + self._lease, limit=room)
        for delivery in claimed:
            self._posting[webhook.id] += 1
            task = asyncio.create_task(self._deliver(webhook, delivery))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _deliver(self, webhook: Webhook, delivery: Delivery) -> None:
        try:
            tried = await self._try(webhook, delivery)
            self._tried(tried)
            log.info(
                "webhook_tried",
                webhook_id=webhook.id,
                delivery=delivery_id(delivery),
                type=delivery.type,
                attempt=delivery.attempts,
                outcome=tried.outcome,
                status=tried.status,
            )
        except asyncio.CancelledError:
            with suppress(StorageError):
                await finish(self._deliveries.release(delivery, now_ms()))
            raise
        except StorageError as error:  # its claim runs out
            log.warning("webhook_not_tried", webhook_id=webhook.id, code=error.code, error=str(error))
        except Exception:  # a bug with one must not end the posts of all others; its claim runs out
            log.exception("webhook_not_tried", webhook_id=webhook.id)
        finally:
            self._posting[webhook.id] -= 1
            self._wake.set()

    async def _try(self, webhook: Webhook, delivery: Delivery) -> DeliveryAttempt:
        """What came of it, once that is noted. Raises errors.StorageError."""
        began = now_ms()
        try:
            content, signed = await self._built(webhook, delivery)
        except StorageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is: it is the same at the next try
            why = error.message if isinstance(error, GatewayError) else type(error).__name__
            await self._deliveries.give_up(delivery, f"{UNBUILT}: {why}"[:MAX_WHY], ended := now_ms())
            log.warning("webhook_not_built", webhook_id=webhook.id, error=why, **_place(delivery))
            return DeliveryAttempt(delivery, "dead", None, began, ended)
        try:
            answered = await self._posts.post(webhook.url, signed, content)
        except ToolError as error:
            failure = self._failure(webhook, delivery, str(error))
        except Exception as error:  # a mistake of ours: it counts as a try, so that these have an end
            log.exception("webhook_not_posted", webhook_id=webhook.id, **_place(delivery))
            failure = self._failure(webhook, delivery, f"It could not be posted: {type(error).__name__}")
        else:
            if answered.is_success:
                await self._deliveries.delivered(delivery, answered.status, ended := now_ms())
                return DeliveryAttempt(delivery, "delivered", answered.status, began, ended)
            failure = self._failure(webhook, delivery, answered.reason, answered)
        await self._deliveries.failed(delivery, failure, webhook, ended := now_ms())
        outcome = "failed" if failure.due_at is not None else "dead"
        return DeliveryAttempt(delivery, outcome, failure.status, began, ended)

    async def _built(self, webhook: Webhook, delivery: Delivery) -> tuple[bytes, dict[str, str]]:
        """The message and its headers. Raises errors.StorageError: they cannot be made now; anything else:
        they never can, as what it is about is gone, or its row is damaged."""
        turn = None
        if delivery.detail is None:
            if delivery.turn_id is None:  # what is told without details is told of a turn
                raise NotFound("What it says is gone.")
            turn = await self._turns.get(delivery.session_id, delivery.turn_id, webhook.owner)
        content = body_of(delivery, turn)
        return content, headers(delivery_id(delivery), content, webhook.secret, now_ms())

    def _failure(
        self, webhook: Webhook, delivery: Delivery, why: str, answered: Answered | None = None
    ) -> Failure:
        now, status = now_ms(), answered.status if answered is not None else None
        rest = doubled(self._first_rest, webhook.failures + 1, LAST_REST)
        if answered is not None and answered.retry_after is not None:
            rest = max(rest, answered.retry_after)
        is_gone = status == GONE
        due_at = None
        if not is_gone and delivery.attempts <= len(self._retries):
            due_at = now + _jittered(self._retries[delivery.attempts - 1])
        return Failure(status, why, due_at, now + _jittered(rest), is_gone)


def _place(delivery: Delivery) -> dict[str, str | None]:
    return {"delivery": delivery_id(delivery), "session_id": delivery.session_id, "turn_id": delivery.turn_id}


def _jittered(seconds: float) -> int:
    """Milliseconds."""
    return int(seconds * 1000 * random.uniform(1, 1 + JITTER))  # noqa: S311 - no secret

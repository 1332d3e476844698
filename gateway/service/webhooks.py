"""The operations of webhooks: the addresses that a user's events are posted to, and their deliveries."""

import secrets
from collections.abc import Callable, Sequence
from time import monotonic
from typing import NamedTuple

import structlog

from gateway.auth import Principal
from gateway.errors import NotFound, ToolError
from gateway.ids import new_webhook_id, now_ms
from gateway.service.webhook_messages import body, headers, new_secret
from gateway.settings import Settings
from gateway.storage.schedules import ScheduleRow, ScheduleRun
from gateway.storage.schedules.store import Schedules
from gateway.storage.webhooks import Delivery, DeliveryState, Webhook, WebhookEvent
from gateway.storage.webhooks.store import Webhooks
from gateway.tools.fetch.webhook_posts import WebhookPosts

TEST = "webhook.test"
"""The type of what `test` posts."""

log = structlog.get_logger(__name__)


class Tested(NamedTuple):
    """What came of a test."""

    delivered: bool
    seconds: float
    status: int | None = None
    error: str | None = None


class WebhookDestination:
    """A `Destination` of schedules' results: one webhook of their owner, whatever else it
    subscribed to."""

    def __init__(self, webhooks: Webhooks, results: Schedules, due: Callable[[], None]) -> None:
        self._webhooks = webhooks
        self._results = results
        self._due = due

    async def check(self, owner: str, address: str) -> None:
        """Raises errors.NotFound (webhook_not_found)."""
        await self._webhooks.get(address, owner)

    async def deliver(self, address: str, schedule: ScheduleRow, run: ScheduleRun, key: str) -> None:
        """Leaves it to the webhook's own tries. Where that is off it is dead and can be replayed; one that is
        deleted gets none."""
        if not await self._results.enqueue_result(schedule, run, address, key):
            log.info("schedule_result_not_delivered", schedule_id=schedule.id, code="webhook_not_found")
        self._due()


class UserWebhooks:
    """One per process. `due` is called when something may be due that was not."""

    def __init__(
        self,
        webhooks: Webhooks,
        results: Schedules,
        posts: WebhookPosts,
        settings: Settings,
        due: Callable[[], None],
    ) -> None:
        self._webhooks = webhooks
        self._posts = posts
        self._settings = settings
        self._due = due
        self.destination = WebhookDestination(webhooks, results, due)

    async def add(self, who: Principal, url: str, events: Sequence[WebhookEvent]) -> Webhook:
        """With its secret, which no other answer contains.

        Raises:
            errors.InvalidRequest (webhook_url_refused): no webhook may be there.
            errors.Conflict (too_many_webhooks).
        """
        url, chosen = self._posts.check(url), tuple(dict.fromkeys(events))
        webhook = Webhook(
            new_webhook_id(), who.user_id, url, chosen, new_secret(), now_ms(), key_id=who.key_id
        )
        await self._webhooks.add(webhook, most=self._settings.max_webhooks)
        return webhook

    async def list(self, who: Principal) -> Sequence[Webhook]:
        """The caller's, the oldest first."""
        return await self._webhooks.list(who.user_id)

    async def get(self, who: Principal, webhook_id: str) -> Webhook:
        """Raises errors.NotFound (webhook_not_found)."""
        return await self._webhooks.get(webhook_id, who.user_id)

    async def switch(self, who: Principal, webhook_id: str, *, enabled: bool) -> Webhook:
        """Off: nothing that happens from then on is delivered. On: one whose key has ended is the caller's
        key's then. Raises errors.NotFound."""
        at = None if enabled else now_ms()
        webhook = await self._webhooks.switch(webhook_id, who.user_id, disabled_at=at, key_id=who.key_id)
        self._due()
        return webhook

    async def remove(self, who: Principal, webhook_id: str) -> None:
        """Raises errors.NotFound."""
        await self._webhooks.remove(webhook_id, who.user_id)

    async def deliveries(
        self,
        who: Principal,
        webhook_id: str,
        *,
        state: DeliveryState | None,
        before: int | None,
        limit: int,
    ) -> Sequence[Delivery]:
        """The newest first. Raises errors.NotFound."""
        await self.get(who, webhook_id)
        return await self._webhooks.deliveries(webhook_id, state=state, before=before, limit=limit)

    async def replay(self, who: Principal, webhook_id: str, number: int | None) -> int:
        """Has a delivery that ended tried again, or (None) all that are dead; how many that are.

        Raises:
            errors.NotFound: no such webhook, or (delivery_not_found) no such delivery of it has ended.
        """
        await self.get(who, webhook_id)
        found = await self._webhooks.replay(webhook_id, number, now_ms())
        if number is not None and not found:
            raise NotFound(
                "There is no such delivery of this webhook, or it is pending.", code="delivery_not_found"
            )
        self._due()
        return found

    async def test(self, who: Principal, webhook_id: str) -> Tested:
        """Posts a signed message at once, and notes nothing. Raises errors.NotFound."""
        webhook = await self.get(who, webhook_id)
        now, began = now_ms(), monotonic()
        content = body(TEST, now, {"webhook_id": webhook.id})
        signed = headers(f"msg_{secrets.token_hex(8)}", content, webhook.secret, now)
        try:
            answered = await self._posts.post(webhook.url, signed, content)
        except ToolError as error:
            return Tested(False, monotonic() - began, error=str(error))
        took = monotonic() - began
        if answered.is_success:
            return Tested(True, took, answered.status)
        return Tested(False, took, answered.status, answered.reason)

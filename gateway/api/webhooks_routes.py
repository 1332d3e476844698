"""Webhooks: addresses that events are posted to, and their deliveries."""

from typing import Annotated, Self

from pydantic import Field
from starlette.responses import Response

from gateway.http.endpoint import Cost, endpoint
from gateway.http.json_types import Body, Query, Reply, json_reply
from gateway.http.requests import ApiRequest
from gateway.service.webhook_messages import delivery_id
from gateway.storage.webhooks import EVENTS, Delivery, DeliveryState, Webhook, WebhookEvent
from gateway.tools.fetch.addresses import MAX_URL

DELIVERY = r"^msg_[A-Za-z0-9]{1,60}_[0-9]{1,15}$"
"""What the ids of deliveries look like: of their webhook, and a number."""


class WebhookBody(Body):
    """An address, and the events to post to it."""

    url: str = Field(min_length=1, max_length=MAX_URL, description="Is posted to: https, a public host.")
    events: Annotated[list[WebhookEvent], Field(min_length=1, max_length=16)] = Field(
        list(EVENTS), description="Events to post; absent: all there are."
    )


class WebhookChanges(Body):
    """Whether anything is posted to it."""

    enabled: bool


class WebhookReply(Reply):
    """Times are Unix milliseconds."""

    id: str
    url: str
    events: list[str]
    created_at: int
    disabled_at: int | None = Field(None, description="Since when nothing is posted: as you, or it, asked.")
    reason: str | None = Field(
        None, description="Why it is off, where neither you nor its address asked: `key_revoked`."
    )
    failures: int = Field(description="In a row, until now.")
    rests_until: int | None = Field(None, description="Until when it is left alone after failures.")

    @classmethod
    def of(cls, webhook: Webhook) -> Self:
        return cls.from_row(webhook, rests_until=webhook.rests_until or None)


class NewWebhook(WebhookReply):
    """With the secret that signs its deliveries: it is shown here alone."""

    secret: str


class WebhookList(Reply):
    """Yours, the oldest first."""

    webhooks: list[WebhookReply]


class DeliveriesQuery(Query):
    """Which deliveries."""

    state: DeliveryState | None = None
    before: int | None = Field(None, ge=1, le=2**53, description="`next` of the page before.")
    limit: int = Field(50, ge=1, le=200)


class DeliveryReply(Reply):
    """A delivery to a webhook. Times are Unix milliseconds."""

    id: str = Field(description="The `webhook-id` of its posts.")
    type: str
    at: int = Field(description="When it happened.")
    session_id: str | None = None
    turn_id: str | None = None
    state: DeliveryState
    attempts: int
    due_at: int | None = Field(None, description="When it is tried next, at the earliest.")
    ended_at: int | None = None
    status: int | None = Field(None, description="What the address answered last.")
    error: str | None = Field(None, description="Why its last try was no success.")

    @classmethod
    def of(cls, delivery: Delivery) -> Self:
        due_at = delivery.due_at if delivery.state == "pending" else None
        return cls.from_row(delivery, id=delivery_id(delivery), due_at=due_at)


class DeliveryList(Reply):
    """The newest first; `next` when there are more."""

    deliveries: list[DeliveryReply]
    next: int | None = None


class ReplayBody(Body):
    """What to try again."""

    delivery: str | None = Field(
        None, pattern=DELIVERY, description="One that ended; absent: all that are dead."
    )


class Replayed(Reply):
    """How many deliveries are tried again."""

    replayed: int


class WebhookTest(Reply):
    """What came of a post."""

    delivered: bool
    duration_ms: int
    status: int | None = None
    error: str | None = None


@endpoint("POST", "/api/webhooks", "webhook.add", {201: (NewWebhook,)}, WebhookBody, refusals=(409, 413))
async def add(request: ApiRequest) -> Response:
    """Adds a webhook; the answer alone has its secret."""
    asked = await request.read_body(WebhookBody)
    webhook = await request.gateway.webhooks.add(request.principal, asked.url, asked.events)
    request.concerns("webhook", webhook.id)
    return json_reply(NewWebhook.of(webhook), 201)


@endpoint("GET", "/api/webhooks", "webhook.list", {200: (WebhookList,)})
async def find(request: ApiRequest) -> Response:
    """Your webhooks."""
    found = await request.gateway.webhooks.list(request.principal)
    return json_reply(WebhookList(webhooks=[WebhookReply.of(each) for each in found]))


@endpoint("GET", "/api/webhooks/{webhook_id}", "webhook.read", {200: (WebhookReply,)}, refusals=(404,))
async def read(request: ApiRequest) -> Response:
    """A webhook, without its secret."""
    return json_reply(WebhookReply.of(await request.gateway.webhooks.get(request.principal, _id(request))))


@endpoint(
    "PATCH",
    "/api/webhooks/{webhook_id}",
    "webhook.change",
    {200: (WebhookReply,)},
    WebhookChanges,
    refusals=(404, 413),
)
async def change(request: ApiRequest) -> Response:
    """Switches a webhook off or on. What happens while it is off is not delivered."""
    changes = await request.read_body(WebhookChanges)
    webhook = await request.gateway.webhooks.switch(request.principal, _id(request), enabled=changes.enabled)
    return json_reply(WebhookReply.of(webhook))


@endpoint("DELETE", "/api/webhooks/{webhook_id}", "webhook.delete", {204: (None,)}, refusals=(404,))
async def delete(request: ApiRequest) -> Response:
    """Deletes a webhook and its pending deliveries."""
    await request.gateway.webhooks.remove(request.principal, _id(request))
    return Response(status_code=204)


@endpoint(
    "POST",
    "/api/webhooks/{webhook_id}/test",
    "webhook.test",
    {200: (WebhookTest,)},
    refusals=(404,),
    cost=Cost("deliver"),
)
async def test(request: ApiRequest) -> Response:
    """Posts a signed `webhook.test` at once, and says what came of it."""
    tested = await request.gateway.webhooks.test(request.principal, _id(request))
    return json_reply(WebhookTest.from_row(tested, duration_ms=int(tested.seconds * 1000)))


@endpoint(
    "GET",
    "/api/webhooks/{webhook_id}/deliveries",
    "webhook.list_deliveries",
    {200: (DeliveryList,)},
    query=DeliveriesQuery,
    refusals=(404,),
)
async def deliveries(request: ApiRequest) -> Response:
    """Deliveries of a webhook, the newest first."""
    query = await request.read_query(DeliveriesQuery)
    found = await request.gateway.webhooks.deliveries(
        request.principal, _id(request), state=query.state, before=query.before, limit=query.limit
    )
    more = found[-1].number if len(found) == query.limit else None
    return json_reply(DeliveryList(deliveries=[DeliveryReply.of(each) for each in found], next=more))


@endpoint(
    "POST",
    "/api/webhooks/{webhook_id}/replay",
    "webhook.replay",
    {200: (Replayed,)},
    ReplayBody,
    refusals=(404, 413),
    cost=Cost("deliver"),
)
async def replay(request: ApiRequest) -> Response:
    """Has a delivery that ended tried again, or all that are dead, under the ids they had."""
    asked = await request.read_body(ReplayBody)
    number = int(asked.delivery.rpartition("_")[2]) if asked.delivery is not None else None
    replayed = await request.gateway.webhooks.replay(request.principal, _id(request), number)
    return json_reply(Replayed(replayed=replayed))


def _id(request: ApiRequest) -> str:
    return request.path_id("webhook_id")

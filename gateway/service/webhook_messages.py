"""The messages of deliveries, in the form of Standard Webhooks
(github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md): a body of type, timestamp and
data, and headers with an id and a signature."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime

import orjson

from gateway import __version__
from gateway.storage.turns import TurnRow
from gateway.storage.webhooks import Delivery

SECRET_PREFIX = "whsec_"  # noqa: S105 - what every secret begins with
SECRET_BYTES = 32
"""Of 24 to 64, which the specification allows."""


def new_secret() -> str:
    """A key of SECRET_BYTES random bytes, as the specification writes it."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def delivery_id(delivery: Delivery) -> str:
    """The `webhook-id`: the same for each try and replay, so that a receiver knows what it had before."""
    return f"msg_{delivery.webhook_id.removeprefix('wh_')}_{delivery.number}"


def body_of(delivery: Delivery, turn: TurnRow | None) -> bytes:
    """What is posted: the same bytes for each try. `turn` is the one that ended."""
    return body(delivery.type, delivery.at, _data(delivery, turn))


def body(event: str, at: int, data: Mapping[str, object]) -> bytes:
    """The payload that the specification recommends; `at` in Unix milliseconds."""
    moment = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")
    timestamp = moment.replace("+00:00", "Z")
    present = {name: value for name, value in data.items() if value is not None}
    return orjson.dumps({"type": event, "timestamp": timestamp, "data": present})


def headers(message_id: str, content: bytes, secret: str, now: int) -> dict[str, str]:
    """The headers of one try at `now`, in Unix milliseconds."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    seconds = str(now // 1000)
    signed = b".".join((message_id.encode(), seconds.encode(), content))
    signature = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    return {
        "content-type": "application/json",
        "user-agent": f"chat-gateway/{__version__}",
        "webhook-id": message_id,
        "webhook-timestamp": seconds,
        "webhook-signature": f"v1,{signature}",
    }


def _data(delivery: Delivery, turn: TurnRow | None) -> Mapping[str, object]:
    place = {"session_id": delivery.session_id, "turn_id": delivery.turn_id}
    if turn is None:
        return place | (delivery.detail or {})
    return place | {
        "status": turn.outcome,
        "model": turn.model,
        "dialect": turn.dialect,
        "client_message_id": turn.client_message_id,
        "iterations": turn.iterations,
        "usage": turn.usage.model_dump(exclude_none=True) if turn.usage is not None else None,
        "cost": turn.cost,
        "created_at": turn.created_at,
        "ended_at": turn.ended_at,
    }

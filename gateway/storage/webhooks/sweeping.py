"""Deliveries to webhooks that are removed or given up, and how many there are, in SQL."""

from collections.abc import Sequence

from sqlalchemy import Connection, Text, bindparam, delete, exists, func, literal_column, select, update

from gateway.storage.database import Prepared
from gateway.storage.schema import PENDING, webhook_deliveries, webhooks

_d, _w = webhook_deliveries.c, webhooks.c

GIVEN_UP = {
    "state": literal_column("'dead'", Text),
    "ended_at": bindparam("now"),
    "error": bindparam("why"),
}
"""What becomes of a pending one."""
GIVE_UP = Prepared(
    update(webhook_deliveries).where(_d.number == bindparam("of"), _d.state == PENDING).values(**GIVEN_UP)
)
_LIMIT = bindparam("limit")
ENDED = Prepared(
    select(_d.number).where(_d.ended_at < bindparam("before")).order_by(_d.ended_at).limit(_LIMIT)
)
ORPHANED = Prepared(select(_d.number).where(~exists().where(_w.id == _d.webhook_id)).limit(_LIMIT))
OLD = Prepared(select(_d.number).where(_d.state == PENDING, _d.at < bindparam("before")).limit(_LIMIT))
DROP = Prepared(delete(webhook_deliveries).where(_d.number == bindparam("of")))
COUNTS = Prepared(
    select(_d.state, func.count()).where(_d.state != literal_column("'delivered'", Text)).group_by(_d.state)
)
TOO_OLD = "It could not be delivered for too long."


def old(
    connection: Connection, *, ended_before: int, pending_before: int, limit: int
) -> tuple[Sequence[int], Sequence[int]]:
    """The numbers of what is to be removed, and of what is to be given up."""
    removed = [
        *ENDED.all(connection, before=ended_before, limit=limit),
        *ORPHANED.all(connection, limit=limit),
    ]
    given_up = OLD.all(connection, before=pending_before, limit=limit)
    return [number for (number,) in removed], [number for (number,) in given_up]


def sweep(connection: Connection, removed: Sequence[int], given_up: Sequence[int], now: int) -> None:
    """Removes these, and gives up those that are pending still."""
    DROP.many(connection, ({"of": number} for number in removed))
    GIVE_UP.many(connection, ({"of": number, "now": now, "why": TOO_OLD} for number in given_up))

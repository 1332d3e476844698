"""Webhooks and their deliveries, in the database."""

from collections.abc import Sequence
from contextlib import suppress

import orjson
from sqlalchemy import (
    Connection,
    bindparam,
    case,
    delete,
    exists,
    func,
    literal_column,
    null,
    or_,
    select,
    update,
)

from gateway.errors import Conflict, NotFound
from gateway.storage.database import OwnerLock, Prepared, Store, query, transaction
from gateway.storage.holds import check_not_held
from gateway.storage.row_codec import Codec, Rows, as_json
from gateway.storage.schedules import KEY_REVOKED
from gateway.storage.schema import PENDING, api_keys, webhook_deliveries, webhooks
from gateway.storage.webhooks import Delivery, DeliveryState, Failure, Webhook
from gateway.storage.webhooks.sweeping import COUNTS, GIVEN_UP, old, sweep

_d, _w = webhook_deliveries.c, webhooks.c


def _spaced(events: Sequence[str]) -> str:
    return f" {' '.join(events)} "


def _events(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _detail(text: str | None) -> dict[str, object] | None:
    """None for what is no JSON: nothing can be made of it, and the others of its webhook go on."""
    with suppress(orjson.JSONDecodeError):
        return orjson.loads(text) if text is not None else None
    return None


WEBHOOKS = Rows(Webhook, webhooks, events=Codec(_spaced, _events))
DELIVERIES = Rows(Delivery, webhook_deliveries, detail=Codec(as_json, _detail))

_ID = _w.id == bindparam("webhook_id")
_OWN = _w.owner == bindparam("owner")
_OF_WEBHOOK = _d.webhook_id == bindparam("webhook_id")
_NOW = bindparam("now")
COUNT = Prepared(select(func.count()).select_from(webhooks).where(_OWN))
ONE = Prepared(select(*WEBHOOKS.columns).where(_ID, _OWN))
LIST = Prepared(select(*WEBHOOKS.columns).where(_OWN).order_by(_w.created_at, _w.id))
_revoked = exists().where(api_keys.c.id == _w.key_id, api_keys.c.revoked_at.is_not(None))
_key_ended = or_(_w.reason == KEY_REVOKED, _revoked)  # of a key of the settings there is no row
SWITCH = Prepared(
    update(webhooks)
    .where(_ID, _OWN)
    .values(
        disabled_at=bindparam("disabled_at"),
        failures=literal_column("0"),
        rests_until=literal_column("0"),
        key_id=case((_key_ended, bindparam("key_id")), else_=_w.key_id),
        reason=null(),
    )
)
REMOVE = Prepared(delete(webhooks).where(_ID, _OWN))

_DUE = (_d.state == PENDING, _d.due_at <= _NOW)
READY = Prepared(
    select(*WEBHOOKS.columns)
    .where(
        _w.id > bindparam("after"),
        _w.disabled_at.is_(None),
        _w.rests_until <= _NOW,
        exists().where(_d.webhook_id == _w.id, *_DUE),
    )
    .order_by(_w.id)
    .limit(bindparam("limit"))
)
# Locked before it is asked what comes before them: who ends that waits for this, and then makes them due.
DUE = Prepared(
    select(_d.number, _d.session_id)
    .where(_OF_WEBHOOK, *_DUE)
    .order_by(_d.due_at, _d.number)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)
_OF_SESSION = (_d.session_id == bindparam("session_id"), _d.state == PENDING, _OF_WEBHOOK)
EARLIER_PENDING = Prepared(select(_d.number).where(*_OF_SESSION, _d.number < bindparam("of")).limit(1))
DEFER = Prepared(
    update(webhook_deliveries).where(_d.number == bindparam("of")).values(due_at=bindparam("until"))
)
_next = select(func.min(_d.number)).where(*_OF_SESSION).scalar_subquery()
NEXT_IS_DUE = Prepared(update(webhook_deliveries).where(_d.number == _next).values(due_at=_NOW))
CLAIM = Prepared(
    update(webhook_deliveries)
    .where(_d.number == bindparam("of"))
    .values(due_at=bindparam("until"), attempts=_d.attempts + literal_column("1"))
    .returning(*DELIVERIES.columns)
)
_CLAIMED = (_d.number == bindparam("of"), _d.state == PENDING, _d.attempts == bindparam("try"))
END = Prepared(
    update(webhook_deliveries)
    .where(*_CLAIMED)
    .values(
        state=bindparam("to"),
        due_at=bindparam("due"),
        ended_at=bindparam("ended"),
        status=bindparam("answered"),
        error=bindparam("why"),
    )
)
RELEASE = Prepared(update(webhook_deliveries).where(*_CLAIMED).values(due_at=_NOW))
WORKS = Prepared(
    update(webhooks)
    .where(_ID, _w.failures > literal_column("0"))
    .values(failures=literal_column("0"), rests_until=literal_column("0"))
)
FAILS = Prepared(
    update(webhooks).where(_ID).values(failures=bindparam("times"), rests_until=bindparam("until"))
)
DISABLE = Prepared(update(webhooks).where(_ID).values(disabled_at=_NOW))
GIVE_UP_ALL = Prepared(update(webhook_deliveries).where(_OF_WEBHOOK, _d.state == PENDING).values(**GIVEN_UP))
REPLAY = Prepared(
    update(webhook_deliveries)
    .where(
        _OF_WEBHOOK,
        _d.ended_at.is_not(None),
        or_(_d.number == bindparam("of"), _d.state == bindparam("former")),
    )
    .values(state=PENDING, attempts=literal_column("0"), due_at=_NOW, ended_at=null())
)
LOOKED_AT = 100
"""Due deliveries that a claim looks at: most of a webhook that was away wait for others of their sessions."""
DEFER_BY = 300_000
"""Milliseconds for which nobody looks at such a one, unless what it waits for ends."""
GONE = "Its address is gone (410)."


class Webhooks(Store):
    """The webhooks of users, and deliveries on their way. What claims a delivery names it by its try: whoever
    comes after another claim is told False."""

    async def add(self, webhook: Webhook, *, most: int) -> None:
        """Adds a webhook. Raises errors.Conflict (too_many_webhooks): its owner has `most` already."""

        def work(connection: Connection) -> None:
            if COUNT.value(connection, owner=webhook.owner) >= most:
                raise Conflict(f"You have {most} webhooks already: delete one.", code="too_many_webhooks")
            WEBHOOKS.add(connection, webhook)

        await self.database.write(work, over=OwnerLock(webhook.owner))

    @query
    def list(self, connection: Connection, owner: str) -> Sequence[Webhook]:
        """The owner's, the oldest first."""
        return [WEBHOOKS.read(row) for row in LIST.all(connection, owner=owner)]

    @query
    def get(self, connection: Connection, webhook_id: str, owner: str) -> Webhook:
        """The webhook of that id and owner. Raises errors.NotFound (webhook_not_found)."""
        return _get(connection, webhook_id, owner)

    @transaction
    def switch(
        self,
        connection: Connection,
        webhook_id: str,
        owner: str,
        *,
        disabled_at: int | None,
        key_id: str | None = None,
    ) -> Webhook:
        """Adds no deliveries to it from then on, or (None) adds them again: one whose key has ended
        is of the key `key_id` then. Raises errors.NotFound."""
        SWITCH.run(connection, webhook_id=webhook_id, owner=owner, disabled_at=disabled_at, key_id=key_id)
        return _get(connection, webhook_id, owner)

    @transaction
    def remove(self, connection: Connection, webhook_id: str, owner: str) -> None:
        """Removes it with its pending deliveries. Raises errors.NotFound."""
        check_not_held(connection, owner)
        if REMOVE.run(connection, webhook_id=webhook_id, owner=owner).rowcount != 1:
            raise _not_found(webhook_id)

    @query
    def deliveries(
        self,
        connection: Connection,
        webhook_id: str,
        *,
        state: DeliveryState | None,
        before: int | None,
        limit: int,
    ) -> Sequence[Delivery]:
        """The newest first, those with a number below `before`."""
        chosen = [_d.webhook_id == webhook_id]
        if state is not None:
            chosen.append(_d.state == state)
        if before is not None:
            chosen.append(_d.number < before)
        found = select(*DELIVERIES.columns).where(*chosen).order_by(_d.number.desc()).limit(limit)
        return [DELIVERIES.read(row) for row in connection.execute(found)]

    @transaction
    def replay(self, connection: Connection, webhook_id: str, number: int | None, now: int) -> int:
        """Makes a delivery that ended pending again, or (None) all that are dead; how many that were."""
        former = "dead" if number is None else ""
        found = REPLAY.run(connection, webhook_id=webhook_id, of=number or 0, former=former, now=now)
        return found.rowcount

    @query
    def ready(self, connection: Connection, now: int, after: str, limit: int) -> Sequence[Webhook]:
        """Webhooks that something is due for and that do not rest, by id, behind `after`."""
        return [WEBHOOKS.read(row) for row in READY.all(connection, now=now, after=after, limit=limit)]

    async def claim(self, webhook_id: str, now: int, *, until: int, limit: int) -> Sequence[Delivery]:
        """Claims at most `limit` due deliveries of a webhook: nobody else tries them before `until`. Each
        transaction looks at some; others come between."""
        while True:
            claimed, is_more = await self.database.write(
                lambda connection: _claim(connection, webhook_id, now, until=until, limit=limit)
            )
            if not is_more:
                return claimed

    @transaction
    def delivered(self, connection: Connection, delivery: Delivery, status: int, now: int) -> bool:
        """Notes that a claimed delivery has arrived. False, and nothing noted, when another claim came
        between."""
        ended = END.run(
            connection,
            **_claimed(delivery),
            to="delivered",
            due=delivery.due_at,
            ended=now,
            answered=status,
            why=None,
        )
        if ended.rowcount != 1:
            return False
        WORKS.run(connection, webhook_id=delivery.webhook_id)
        _release_next(connection, delivery, now)
        return True

    @transaction
    def failed(
        self, connection: Connection, delivery: Delivery, failure: Failure, webhook: Webhook, now: int
    ) -> bool:
        """Notes that a try was none, and counts it against the webhook as it was claimed. False as above."""
        is_dead = failure.due_at is None
        ended = END.run(
            connection,
            **_claimed(delivery),
            to="dead" if is_dead else "pending",
            due=delivery.due_at if is_dead else failure.due_at,
            ended=now if is_dead else None,
            answered=failure.status,
            why=failure.error,
        )
        if ended.rowcount != 1:
            return False
        times = webhook.failures + 1
        FAILS.run(connection, webhook_id=webhook.id, times=times, until=failure.rests_until)
        if is_dead:
            _release_next(connection, delivery, now)
        if failure.is_gone:
            DISABLE.run(connection, webhook_id=webhook.id, now=now)
            GIVE_UP_ALL.run(connection, webhook_id=webhook.id, now=now, why=GONE)
        return True

    @transaction
    def give_up(self, connection: Connection, delivery: Delivery, why: str, now: int) -> bool:
        """Notes that a claimed delivery is dead, as there is nothing to post. That is no failure of the
        webhook: what comes behind it is due. False as above."""
        given_up = END.run(
            connection,
            **_claimed(delivery),
            to="dead",
            due=delivery.due_at,
            ended=now,
            answered=None,
            why=why,
        )
        if given_up.rowcount == 1:
            _release_next(connection, delivery, now)
        return given_up.rowcount == 1

    @transaction
    def release(self, connection: Connection, delivery: Delivery, now: int) -> None:
        """A claimed delivery is due again: its try was given up."""
        RELEASE.run(connection, **_claimed(delivery), now=now)

    async def sweep(self, *, ended_before: int, pending_before: int, now: int, limit: int) -> int:
        """Removes what ended before that time, or whose webhook is gone, and gives up what has been pending
        since before that; how many rows that were, at most about `limit`."""
        removed, given_up = await self.database.read(
            lambda connection: old(
                connection, ended_before=ended_before, pending_before=pending_before, limit=limit
            ),
            snapshot=False,
        )
        if removed or given_up:
            await self.database.write(lambda connection: sweep(connection, removed, given_up, now))
        return len(removed) + len(given_up)

    @query
    def counts(self, connection: Connection) -> tuple[int, int]:
        """How many deliveries are pending, and how many are dead."""
        found = dict(COUNTS.all(connection))
        return found.get("pending", 0), found.get("dead", 0)


def _get(connection: Connection, webhook_id: str, owner: str) -> Webhook:
    row = ONE.one(connection, webhook_id=webhook_id, owner=owner)
    if row is None:
        raise _not_found(webhook_id)
    return WEBHOOKS.read(row)


def _claim(
    connection: Connection, webhook_id: str, now: int, *, until: int, limit: int
) -> tuple[Sequence[Delivery], bool]:
    """What is claimed, and whether there may be more behind what was deferred."""
    claimed: list[Delivery] = []
    due = DUE.all(connection, webhook_id=webhook_id, now=now, limit=LOOKED_AT)
    for number, session_id in due:
        place = {"session_id": session_id, "webhook_id": webhook_id, "of": number}
        if session_id is not None and EARLIER_PENDING.one(connection, **place) is not None:
            DEFER.run(connection, of=number, until=now + DEFER_BY)
            continue
        row = CLAIM.one(connection, of=number, until=until)
        assert row is not None  # it is locked
        claimed.append(DELIVERIES.read(row))
        if len(claimed) == limit:
            break
    return claimed, not claimed and len(due) == LOOKED_AT


def _release_next(connection: Connection, delivery: Delivery, now: int) -> None:
    """What comes behind it in its session is due."""
    if delivery.session_id is not None:
        NEXT_IS_DUE.run(connection, session_id=delivery.session_id, webhook_id=delivery.webhook_id, now=now)


def _claimed(delivery: Delivery) -> dict[str, int]:
    return {"of": delivery.number, "try": delivery.attempts}


def _not_found(webhook_id: str) -> NotFound:
    return NotFound(f"There is no webhook {webhook_id}.", code="webhook_not_found")

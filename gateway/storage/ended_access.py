"""Access that has ended: what was begun with a key or a sign-in ends with it.

    a key is revoked, or expires ──▶ its open turns are asked to stop, its schedules paused, its webhooks off,
                                     its grants removed
    a sign-in ends, or expires   ──▶ its open turns are asked to stop

in the transaction that ends it, with a signal `revoked` to all processes. What is open in one of them, as a
stream, is closed by that signal, or because that process asks what still `holds`. What began meanwhile, or
what a process had no time to end, is found as `still_used`.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from sqlalchemy import (
    Connection,
    Text,
    bindparam,
    delete,
    exists,
    literal_column,
    null,
    or_,
    select,
    true,
    update,
)

from gateway.storage.database import Prepared, Store, send, snapshot, transaction
from gateway.storage.replica_signals import Signal
from gateway.storage.schedules import KEY_REVOKED, ScheduleRow
from gateway.storage.schedules.store import SCHEDULES
from gateway.storage.schema import (
    RUNNING,
    WAITING,
    api_keys,
    schedules,
    sign_ins,
    tool_grants,
    turns,
    webhooks,
)
from gateway.storage.turns import TurnRow
from gateway.storage.turns.cancellation import request_cancel
from gateway.storage.turns.rows import TURNS, turn_of

MAX_ENDED = 500
"""Turns, schedules, webhooks and grants, of each, that end in one transaction: the others are still used."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What ended with a key or a sign-in: open turns, which were asked to stop, schedules as they are now,
    ids of webhooks, tools that had been granted."""

    turns: Sequence[TurnRow] = ()
    schedules: Sequence[ScheduleRow] = ()
    webhooks: Sequence[str] = ()
    grants: Sequence[str] = ()


class Overdue(NamedTuple):
    """Access that is to be ended: a `key` by its id, a `sign_in` by its digest; of `user_id`. A key that is
    `unlisted` was one of the settings."""

    kind: Literal["key", "sign_in"]
    id: str
    user_id: str
    is_unlisted: bool = False


class Held(NamedTuple):
    """Keys by their ids, and sign-ins by their digests."""

    keys: frozenset[str]
    sign_ins: frozenset[str]


ASKED_AT_ONCE = 500
"""Values of one statement."""
MAX_OVERDUE = 100
"""Of each kind, in one look."""

_k, _i, _t, _s, _w, _g = api_keys.c, sign_ins.c, turns.c, schedules.c, webhooks.c, tool_grants.c
_NOW, _IDLE, _OF = bindparam("now"), bindparam("idle_since"), bindparam("of")
_open = or_(_t.status == RUNNING, _t.status == WAITING)
_active = _s.status == literal_column("'active'", Text)
_revoked = _k.revoked_at.is_not(None)
_expired = or_(_i.expires_at <= _NOW, _i.used_at <= _IDLE)

REVOKE = Prepared(update(api_keys).where(_k.id == _OF, _k.revoked_at.is_(None)).values(revoked_at=_NOW))
SIGN_OUT = Prepared(delete(sign_ins).where(_i.digest == _OF))
_heir = bindparam("heir")
_of_heir = select(_i.user_id).where(_i.digest == _heir).scalar_subquery()
HAND_ON = Prepared(update(turns).where(_open, _t.sign_in == _OF, _t.owner == _of_heir).values(sign_in=_heir))
# Without an order: by it all turns there ever were would be looked through.
OF_KEY = Prepared(TURNS.where(_open, _t.key_id == _OF).order_by(None).limit(MAX_ENDED))
OF_SIGN_IN = Prepared(TURNS.where(_open, _t.sign_in == _OF).order_by(None).limit(MAX_ENDED))
SCHEDULES_OF_KEY = Prepared(select(*SCHEDULES.columns).where(_active, _s.key_id == _OF).limit(MAX_ENDED))
PAUSE = Prepared(
    update(schedules)
    .where(_s.id == bindparam("schedule_id"), _active)
    .values(status="paused", due_at=null(), reason=KEY_REVOKED)
    .returning(*SCHEDULES.columns)
)
WEBHOOKS_OF_KEY = Prepared(select(_w.id).where(_w.disabled_at.is_(None), _w.key_id == _OF).limit(MAX_ENDED))
DISABLE = Prepared(
    update(webhooks).where(_w.id == bindparam("webhook_id")).values(disabled_at=_NOW, reason=KEY_REVOKED)
)
GRANTS_OF_KEY = Prepared(select(_g.number, _g.tool).where(_g.key_id == _OF).limit(MAX_ENDED))
UNGRANT = Prepared(delete(tool_grants).where(_g.number == bindparam("number")))

EXPIRED_KEYS = Prepared(
    select(_k.id, _k.user_id).where(_k.revoked_at.is_(None), _k.expires_at <= _NOW).limit(MAX_OVERDUE)
)
EXPIRED_SIGN_INS = Prepared(select(_i.digest, _i.user_id).where(_expired).limit(MAX_OVERDUE))
_of_revoked = select(_k.id, _k.user_id).where(_revoked).distinct().limit(MAX_OVERDUE)
KEYS_STILL_USED = (
    Prepared(_of_revoked.join_from(turns, api_keys, _k.id == _t.key_id).where(_open)),
    Prepared(_of_revoked.join_from(schedules, api_keys, _k.id == _s.key_id).where(_active)),
    Prepared(_of_revoked.join_from(webhooks, api_keys, _k.id == _w.key_id).where(_w.disabled_at.is_(None))),
    Prepared(_of_revoked.join_from(tool_grants, api_keys, _k.id == _g.key_id)),
)
SIGN_INS_STILL_USED = Prepared(
    select(_t.sign_in, _t.owner)
    .join_from(turns, sign_ins, _i.digest == _t.sign_in, isouter=True)
    .where(_open, _t.sign_in.is_not(None), _i.digest.is_(None))
    .distinct()
    .limit(MAX_OVERDUE)
)


def end_sign_in(connection: Connection, digest: str, heir: str | None = None) -> Ended:
    """Part of a transaction: removes a sign-in and ends what rests on it; with an `heir`, another sign-in of
    that user in the same browser, its turns go on as that one's."""
    SIGN_OUT.run(connection, of=digest)
    if heir is not None:
        HAND_ON.run(connection, of=digest, heir=heir)
    send(connection, Signal("revoked", digest))
    return Ended(_stopped(connection, OF_SIGN_IN, digest))


class EndedAccess(Store):
    """Keys and sign-ins that end or have ended. A sign-in that was not used since `idle_since` has ended
    (Unix milliseconds, as `now`)."""

    @transaction
    def end_key(self, connection: Connection, key_id: str, now: int) -> Ended:
        """Revokes a key for good, and ends what rests on it. One that was revoked before, or is not there,
        stays as it is."""
        REVOKE.run(connection, of=key_id, now=now)
        send(connection, Signal("revoked", key_id))
        return _end_uses(connection, key_id, now)

    @transaction
    def end_sign_in(self, connection: Connection, digest: str, heir: str | None = None) -> Ended:
        """Ends a sign-in, as the function of that name."""
        return end_sign_in(connection, digest, heir)

    @snapshot
    def expired(self, connection: Connection, now: int, idle_since: int) -> Sequence[Overdue]:
        """Keys and sign-ins that have expired and are there still. At most some."""
        sign_ins = EXPIRED_SIGN_INS.all(connection, now=now, idle_since=idle_since)
        keys = EXPIRED_KEYS.all(connection, now=now)
        return [*(Overdue("key", *row) for row in keys), *(Overdue("sign_in", *row) for row in sign_ins)]

    @snapshot
    def still_used(self, connection: Connection) -> Sequence[Overdue]:
        """Revoked keys with an open turn, an active schedule, a webhook that is on or a grant; sign-ins that
        are not there with an open turn. At most some."""
        found = [Overdue("key", *row) for used in KEYS_STILL_USED for row in used.all(connection)]
        found += [Overdue("sign_in", *row) for row in SIGN_INS_STILL_USED.all(connection)]
        return list(dict.fromkeys(found))

    @snapshot
    def unlisted(self, connection: Connection, names: Collection[str], before: int) -> Sequence[Overdue]:
        """Keys that are neither stored nor among these `names`, those of the settings, of which there is an
        open turn, an active schedule, a webhook that is on or a grant, made before that time. At most
        some."""
        used = (
            (turns, _t.key_id, _open, _t.created_at),
            (schedules, _s.key_id, _active, _s.created_at),
            (webhooks, _w.key_id, _w.disabled_at.is_(None), _w.created_at),
            (tool_grants, _g.key_id, true(), _g.created_at),
        )
        found = set[str]()
        for table, key_id, is_used, made_at in used:
            kept = or_(exists().where(_k.id == key_id), key_id.in_(sorted(names)))
            asked = (
                select(key_id).select_from(table).where(key_id.is_not(None), is_used, made_at < before, ~kept)
            )
            found |= {key for (key,) in connection.execute(asked.distinct().limit(MAX_OVERDUE))}
        return [Overdue("key", key, key, is_unlisted=True) for key in sorted(found)]

    @transaction
    def end_unlisted(self, connection: Connection, key_id: str, now: int) -> Ended:
        """Ends what rests on such a key. Nothing is open with it in a process that does not know it: there
        is no signal, which would be taken for one about a user of that name."""
        return _end_uses(connection, key_id, now)

    @snapshot
    def holds(self, connection: Connection, asked: Held, now: int, idle_since: int) -> Held:
        """The keys and sign-ins of `asked` that hold."""
        live = or_(_k.expires_at.is_(None), _k.expires_at > now)
        keys = frozenset(
            key_id
            for some in _some(asked.keys)
            for (key_id,) in connection.execute(
                select(_k.id).where(_k.id.in_(some), _k.revoked_at.is_(None), live)
            )
        )
        digests = frozenset(
            digest
            for some in _some(asked.sign_ins)
            for (digest,) in connection.execute(
                select(_i.digest).where(_i.digest.in_(some), _i.expires_at > now, _i.used_at > idle_since)
            )
        )
        return Held(keys, digests)


def _end_uses(connection: Connection, key_id: str, now: int) -> Ended:
    paused = [
        row
        for found in SCHEDULES_OF_KEY.all(connection, of=key_id)
        if (row := PAUSE.one(connection, schedule_id=SCHEDULES.read(found).id)) is not None
    ]
    hooks = [webhook_id for (webhook_id,) in WEBHOOKS_OF_KEY.all(connection, of=key_id)]
    for webhook_id in hooks:
        DISABLE.run(connection, webhook_id=webhook_id, now=now)
    grants = GRANTS_OF_KEY.all(connection, of=key_id)
    for number, _ in grants:
        UNGRANT.run(connection, number=number)
    stopped = _stopped(connection, OF_KEY, key_id)
    return Ended(stopped, [SCHEDULES.read(row) for row in paused], hooks, [tool for _, tool in grants])


def _stopped(connection: Connection, which: Prepared, of: str) -> Sequence[TurnRow]:
    """Asks these turns to stop, and returns them."""
    found = [turn_of(row) for row in which.all(connection, of=of)]
    for turn in found:
        request_cancel(connection, turn.id)
    return found


def _some(values: Collection[str]) -> Iterator[Sequence[str]]:
    ordered = sorted(values)
    return (ordered[at : at + ASKED_AT_ONCE] for at in range(0, len(ordered), ASKED_AT_ONCE))

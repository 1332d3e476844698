"""Who uses the gateway: everybody of whom it has something."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import orjson
from sqlalchemy import Column, Connection, bindparam, func, select

from gateway.storage.database import Prepared, Store, snapshot
from gateway.storage.schema import api_keys, sessions, sign_ins, turns


@dataclass(frozen=True, slots=True)
class KnownUser:
    """A user with a session, a turn, a key or a sign-in, or who was named in asking. `roles` are those of
    their `keys` that hold, and of their sign-ins. `seen_at` is when they last asked something, or used a key
    or a sign-in (Unix milliseconds; None: never, as far as is known)."""

    user_id: str
    roles: frozenset[str]
    keys: int
    seen_at: int | None


_USER = bindparam("user_id")


def _next(column: "Column[str]") -> Prepared:
    """One look into an index, however many rows a user has."""
    return Prepared(select(func.min(column)).where(column > bindparam("after")))


NEXT = [_next(each) for each in (sessions.c.owner, turns.c.owner, api_keys.c.user_id, sign_ins.c.user_id)]
LAST_TURN = Prepared(select(func.max(turns.c.created_at)).where(turns.c.owner == _USER))
_k, _s = api_keys.c, sign_ins.c
KEYS = Prepared(
    select(_k.roles, _k.used_at, _k.revoked_at, _k.expires_at).where(_k.user_id == _USER).order_by(_k.id)
)
SIGN_INS = Prepared(select(_s.roles, _s.used_at, _s.expires_at).where(_s.user_id == _USER))


def _known(connection: Connection, user_id: str, now: int) -> KnownUser:
    seen: list[int | None] = [LAST_TURN.value(connection, user_id=user_id)]
    roles, keys = set[str](), 0
    for of_key, used_at, revoked_at, expires_at in KEYS.all(connection, user_id=user_id):
        seen.append(used_at)
        if revoked_at is None and (expires_at is None or now < expires_at):
            keys += 1
            roles.update(orjson.loads(of_key))
    for of_sign_in, used_at, expires_at in SIGN_INS.all(connection, user_id=user_id):
        seen.append(used_at)
        if now < expires_at:
            roles.update(orjson.loads(of_sign_in))
    return KnownUser(
        user_id, frozenset(roles), keys, max((each for each in seen if each is not None), default=None)
    )


class Users(Store):
    """Who has something here."""

    @snapshot
    def page(
        self,
        connection: Connection,
        now: int,
        *,
        after: str,
        limit: int,
        tenant: str | None = None,
        named: Collection[str] = (),
    ) -> Sequence[KnownUser]:
        """At most `limit` users behind the id `after`, in the order of their ids: of all, or of a tenant, ""
        for the one whose ids name none. Those `named` are among them, whatever they have."""
        found: list[KnownUser] = []
        prefix = f"{tenant}/" if tenant else ""
        at = max(after, prefix)
        while len(found) < limit:
            stored = (each.value(connection, after=at) for each in NEXT)
            behind = [*(each for each in named if each > at), *(each for each in stored if each is not None)]
            if not behind or not (at := min(behind)).startswith(prefix):
                break
            other, slash, _ = at.partition("/")
            if slash and tenant == "":  # whose ids stand among those of others: a whole tenant is passed over
                at = f"{other}0"  # "0" comes after "/"
            else:
                found.append(_known(connection, at, now))
        return found

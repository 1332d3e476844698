"""Sign-ins, in SQL."""

from sqlalchemy import Connection, bindparam, delete, select, update

from gateway.storage.database import OwnerLock, Prepared, Store, reads, send, writes
from gateway.storage.replica_signals import Signal
from gateway.storage.row_codec import TEXTS, Rows
from gateway.storage.schema import sign_ins
from gateway.storage.sign_ins import SignIn

_s = sign_ins.c
SIGN_INS = Rows(SignIn, sign_ins, roles=TEXTS)

_DIGEST = _s.digest == bindparam("key")
ONE = Prepared(select(*SIGN_INS.columns).where(_DIGEST))
USED = Prepared(update(sign_ins).where(_DIGEST).values(used_at=bindparam("now")))
REMOVE = Prepared(delete(sign_ins).where(_DIGEST))
REMOVE_EXPIRED = Prepared(delete(sign_ins).where(_s.expires_at <= bindparam("now")))


def add(connection: Connection, sign_in: SignIn, most: int) -> None:
    REMOVE_EXPIRED.run(connection, now=sign_in.created_at)
    kept = (
        select(_s.digest)
        .where(_s.user_id == sign_in.user_id)
        .order_by(_s.created_at.desc(), _s.digest)
        .limit(most - 1)
    )
    connection.execute(
        delete(sign_ins).where(_s.user_id == sign_in.user_id, _s.digest.not_in(kept.scalar_subquery()))
    )
    SIGN_INS.add(connection, sign_in)


def find(connection: Connection, digest: str) -> SignIn | None:
    row = ONE.one(connection, key=digest)
    return None if row is None else SIGN_INS.read(row)


def used(connection: Connection, digest: str, now: int) -> None:
    USED.run(connection, key=digest, now=now)


def remove(connection: Connection, digest: str) -> None:
    REMOVE.run(connection, key=digest)
    send(connection, Signal("revoked", digest))


class SqlSignIns(Store):
    """The `SignIns` protocol."""

    find = reads(find, snapshot=False)
    used = writes(used)
    remove = writes(remove)
    add = writes(add, over=lambda sign_in, most: OwnerLock(sign_in.user_id))

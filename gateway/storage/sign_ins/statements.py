"""Sign-ins, in SQL."""

from sqlalchemy import Connection, bindparam, select, update

from gateway.storage.database import OwnerLock, Prepared, Store, reads, writes
from gateway.storage.ended_access.statements import end_sign_in
from gateway.storage.row_codec import TEXTS, Rows
from gateway.storage.schema import sign_ins
from gateway.storage.sign_ins import SignIn

_s = sign_ins.c
SIGN_INS = Rows(SignIn, sign_ins, roles=TEXTS)

_DIGEST = _s.digest == bindparam("key")
ONE = Prepared(select(*SIGN_INS.columns).where(_DIGEST))
USED = Prepared(update(sign_ins).where(_DIGEST).values(used_at=bindparam("now")))
OF_USER = Prepared(
    select(_s.digest).where(_s.user_id == bindparam("user_id")).order_by(_s.created_at.desc(), _s.digest)
)


def add(connection: Connection, sign_in: SignIn, most: int) -> None:
    for (digest,) in OF_USER.all(connection, user_id=sign_in.user_id)[most - 1 :]:
        end_sign_in(connection, digest)
    SIGN_INS.add(connection, sign_in)


def find(connection: Connection, digest: str) -> SignIn | None:
    row = ONE.one(connection, key=digest)
    return None if row is None else SIGN_INS.read(row)


def used(connection: Connection, digest: str, now: int) -> None:
    USED.run(connection, key=digest, now=now)


class SqlSignIns(Store):
    """The `SignIns` protocol."""

    find = reads(find, snapshot=False)
    used = writes(used)
    add = writes(add, over=lambda sign_in, most: OwnerLock(sign_in.user_id))

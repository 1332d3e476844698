"""Sign-ins: who is signed in on the page, in which browser."""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select, update

from gateway.storage.database import OwnerLock, Prepared, Store, query, transaction
from gateway.storage.ended_access import end_sign_in
from gateway.storage.row_codec import TEXTS, Rows
from gateway.storage.schema import sign_ins

USED_EVERY = 60_000
"""Milliseconds between two notes that one is used."""


@dataclass(frozen=True, slots=True)
class SignIn:
    """One browser of a user, known by the SHA-256 in hex of the 256 random bits in its cookie. Times are Unix
    milliseconds; `used_at` is true to about a minute."""

    digest: str
    tenant: str
    user_id: str
    roles: tuple[str, ...]
    created_at: int
    expires_at: int
    used_at: int


_s = sign_ins.c
SIGN_INS = Rows(SignIn, sign_ins, roles=TEXTS)

_DIGEST = _s.digest == bindparam("key")
ONE = Prepared(select(*SIGN_INS.columns).where(_DIGEST))
USED = Prepared(update(sign_ins).where(_DIGEST).values(used_at=bindparam("now")))
OF_USER = Prepared(
    select(_s.digest).where(_s.user_id == bindparam("user_id")).order_by(_s.created_at.desc(), _s.digest)
)


class SignIns(Store):
    """The sign-ins of users. `storage.ended_access` ends them, with what rests on them."""

    async def add(self, sign_in: SignIn, *, most: int) -> None:
        """Adds it, and ends the user's oldest ones beyond `most`."""

        def work(connection: Connection) -> None:
            for (digest,) in OF_USER.all(connection, user_id=sign_in.user_id)[most - 1 :]:
                end_sign_in(connection, digest)
            SIGN_INS.add(connection, sign_in)

        await self.database.write(work, over=OwnerLock(sign_in.user_id))

    @query
    def find(self, connection: Connection, digest: str) -> SignIn | None:
        """The sign-in of that digest, expired or not."""
        row = ONE.one(connection, key=digest)
        return None if row is None else SIGN_INS.read(row)

    @transaction
    def used(self, connection: Connection, digest: str, now: int) -> None:
        """Notes that it was used."""
        USED.run(connection, key=digest, now=now)

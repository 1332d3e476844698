"""Links by which a session is read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, and_, bindparam, delete, func, or_, select, update

from gateway.errors import Conflict
from gateway.storage.database import OwnerLock, Prepared, Store, query, transaction
from gateway.storage.row_codec import Rows
from gateway.storage.schema import sessions, shared_links

Audience = Literal["signed_in", "anybody"]
"""signed_in: whoever is known to this gateway, in the tenant of the link's owner; anybody: who has the
link."""


@dataclass(frozen=True, slots=True)
class SharedLink:
    """A link of `owner` to a session of theirs, of whose secret the `digest` alone is stored: SHA-256 in hex
    of 256 random bits, which nobody can guess. It shows the events up to `until_seq` of a `branch`; None: all
    that there are, of the one that is active. Times are Unix milliseconds."""

    id: str
    digest: str
    owner: str
    session: str
    audience: Audience
    until_seq: int | None
    branch: int | None
    created_at: int
    expires_at: int | None = None
    opened_at: int | None = None
    openings: int = 0

    def holds(self, now: int) -> bool:
        """Whether it has not expired."""
        return self.expires_at is None or now < self.expires_at


_l = shared_links.c
LINKS = Rows(SharedLink, shared_links)
_OWNER = _l.owner == bindparam("of")
# A session that was made anew under the id of a deleted one is not what was shared.
_ITS_SESSION = and_(
    sessions.c.id == _l.session, sessions.c.owner == _l.owner, sessions.c.created_at <= _l.created_at
)
COUNT = Prepared(
    select(func.count())
    .select_from(shared_links)
    .where(_OWNER, or_(_l.expires_at.is_(None), _l.expires_at > bindparam("now")))
)
REMOVE_OLD = Prepared(delete(shared_links).where(_OWNER, _l.expires_at <= bindparam("now")))
OF_OWNER = Prepared(
    select(*LINKS.columns, sessions.c.title)
    .join_from(shared_links, sessions, _ITS_SESSION)
    .where(_OWNER)
    .order_by(_l.created_at.desc(), _l.id)
)
ONE = Prepared(
    select(*LINKS.columns)
    .join_from(shared_links, sessions, _ITS_SESSION)
    .where(_l.digest == bindparam("known"))
)
OPENED = Prepared(
    update(shared_links)
    .where(_l.id == bindparam("link"))
    .values(opened_at=bindparam("now"), openings=_l.openings + 1)
)
END = Prepared(delete(shared_links).where(_OWNER, _l.id == bindparam("link")))


class SharedLinks(Store):
    """The links to sessions. A link ends with its session."""

    async def add(self, link: SharedLink, *, most: int) -> None:
        """Adds a link, and removes its owner's that have expired. Raises errors.Conflict (too_many_links):
        they have `most` that have not."""

        def work(connection: Connection) -> None:
            REMOVE_OLD.run(connection, of=link.owner, now=link.created_at)
            if COUNT.value(connection, of=link.owner, now=link.created_at) >= most:
                raise Conflict(f"You have {most} links: end one first.", code="too_many_links")
            LINKS.add(connection, link)

        await self.database.write(work, over=OwnerLock(link.owner))

    @query
    def list(self, connection: Connection, owner: str) -> Sequence[tuple[SharedLink, str | None]]:
        """The owner's, the newest first, each with the title of its session."""
        return [(LINKS.read(row[:-1]), row[-1]) for row in OF_OWNER.all(connection, of=owner)]

    @query
    def find(self, connection: Connection, digest: str) -> SharedLink | None:
        """The link of that digest, expired or not, to a session that its owner has still."""
        row = ONE.one(connection, known=digest)
        return None if row is None else LINKS.read(row)

    @transaction
    def opened(self, connection: Connection, link_id: str, now: int) -> None:
        """Notes that it was opened."""
        OPENED.run(connection, link=link_id, now=now)

    @transaction
    def end(self, connection: Connection, owner: str, link_id: str) -> bool:
        """Removes one of the owner's; whether there was one."""
        return END.run(connection, of=owner, link=link_id).rowcount == 1

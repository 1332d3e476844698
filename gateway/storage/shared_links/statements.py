"""Links to sessions, in SQL."""

from collections.abc import Sequence

from sqlalchemy import Connection, and_, bindparam, delete, func, or_, select, update

from gateway.errors import Conflict
from gateway.storage.database import OwnerLock, Prepared, Store, reads, writes
from gateway.storage.row_codec import Rows
from gateway.storage.schema import sessions, shared_links
from gateway.storage.shared_links import SharedLink

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


def add(connection: Connection, link: SharedLink, most: int) -> None:
    REMOVE_OLD.run(connection, of=link.owner, now=link.created_at)
    if COUNT.value(connection, of=link.owner, now=link.created_at) >= most:
        raise Conflict(f"You have {most} links: end one first.", code="too_many_links")
    LINKS.add(connection, link)


def list_(connection: Connection, owner: str) -> Sequence[tuple[SharedLink, str | None]]:
    return [(LINKS.read(row[:-1]), row[-1]) for row in OF_OWNER.all(connection, of=owner)]


def find(connection: Connection, digest: str) -> SharedLink | None:
    row = ONE.one(connection, known=digest)
    return None if row is None else LINKS.read(row)


def opened(connection: Connection, link_id: str, now: int) -> None:
    OPENED.run(connection, link=link_id, now=now)


def end(connection: Connection, owner: str, link_id: str) -> bool:
    return END.run(connection, of=owner, link=link_id).rowcount == 1


class SqlSharedLinks(Store):
    """The `SharedLinks` protocol."""

    list = reads(list_, snapshot=False)
    find = reads(find, snapshot=False)
    opened = writes(opened)
    end = writes(end)
    add = writes(add, over=lambda link, most: OwnerLock(link.owner))

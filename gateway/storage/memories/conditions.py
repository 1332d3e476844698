"""Who sees which memories, and what a filter asks, as conditions on their table."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, FromClause, and_, exists, false, literal, not_, or_, select

from gateway.storage.memories import Filter, MemoryRow, Scope, Viewer, audience_of
from gateway.storage.memories.engine_expressions import texts_in
from gateway.storage.memories.schema import memories

Condition = ColumnElement[bool]

DOCUMENT = "document"
LIVE = ("active", "suppressed")
OTHER = memories.alias("other")


def seen(viewer: Viewer, table: FromClause = memories) -> Condition:
    """The one rule of memories.py. Documents are visible to all and have no owner; a household's memories
    belong to its members, also those of other authors."""
    c = table.c
    if isinstance(viewer, Scope):
        named = (("task", viewer.task_id), ("group", viewer.group_id))
        others = [and_(c.owner_type == kind, c.owner_id != name) for kind, name in named if name is not None]
        return and_(c.audience.in_(viewer.audiences), *(not_(each) for each in others))
    own = and_(c.user_id == viewer.user_id, c.owner_type != "household")
    shared = and_(c.owner_type == "household", c.owner_id.in_(viewer.households))
    return and_(c.source != DOCUMENT, or_(own, shared) if viewer.households else own)


def partitions_of(row: MemoryRow) -> Sequence[str]:
    """Where the full text index keeps it: with its audience, and, where that is its user in some role,
    project or session, with all that is theirs. What is not recalled is aside."""
    alone = row.source == DOCUMENT or row.owner_type == "household"
    names = (row.audience,) if alone else (row.audience, _all_of(row.user_id))
    return names if row.recallable else aside(names)


def partitions(viewer: Viewer, which: Filter) -> Sequence[str]:
    """Where all is that the viewer sees, and nothing else; what is not recalled only if it is asked for."""
    if isinstance(viewer, Scope):
        names = viewer.audiences
    else:
        names = (_all_of(viewer.user_id), *(audience_of("household", name) for name in viewer.households))
    return names if which.recallable else (*names, *aside(names))


def aside(names: Sequence[str]) -> tuple[str, ...]:
    """The partitions of what is in these, and not recalled."""
    return tuple(f"{name} aside" for name in names)


def _all_of(user_id: str) -> str:
    return f"user {user_id}"


def asked(which: Filter, viewer: Viewer) -> Condition:
    """Those that are there and seen, and that the filter asks for."""
    c = memories.c
    found: list[Any] = [c.deleted_at.is_(None), seen(viewer)]
    if which.types:
        found.append(c.type.in_(which.types))
    if which.statuses:
        found.append(c.status.in_(which.statuses))
    if which.owner_type is not None:
        found.append(c.owner_type == which.owner_type)
    if which.owner_id is not None:
        found.append(c.owner_id == which.owner_id)
    if which.tag is not None:
        found.append(or_(*(literal(tag).in_(texts_in(c.tags)) for tag in (which.tag, *which.tag_sealed))))
    if which.since is not None:
        found.append(c.updated_at >= which.since)
    if which.quarantined is not None:
        found.append(c.quarantined.is_(which.quarantined))
    if which.pinned is not None:
        found.append(c.pinned.is_(which.pinned))
    if which.runtime:
        found.append(c.source != DOCUMENT)
    if which.recallable:
        found += [recallable(), not_(outdone(viewer))]
    return and_(*found)


def recallable(table: FromClause = memories) -> Condition:
    """Whether a row is live and confirmed: `MemoryRow.recallable` as a condition."""
    return and_(table.c.deleted_at.is_(None), table.c.status.in_(LIVE), table.c.quarantined == false())


def outdone(viewer: Viewer) -> Condition:
    """Whether the viewer may recall a newer memory with the same subject: a stored one in the place of a
    document, or a document in the place of a stored one. Of two with the same time the document counts."""
    mine, other = memories.c, OTHER.c
    newer = or_(
        other.updated_at > mine.updated_at,
        and_(other.updated_at == mine.updated_at, other.source == DOCUMENT),
    )
    return exists(
        select(other.number).where(
            other.subject == mine.subject,
            (other.source == DOCUMENT) != (mine.source == DOCUMENT),
            newer,
            recallable(OTHER),
            seen(viewer, OTHER),
        )
    )

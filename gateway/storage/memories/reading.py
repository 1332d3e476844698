"""Queries for memories, in SQL: functions that are parts of transactions."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, Select, Text, and_, bindparam, case, exists, func, or_, select, tuple_

from gateway.storage.database import Prepared
from gateway.storage.memories import (
    Evidence,
    Filter,
    Forgotten,
    Link,
    Match,
    MemoryRow,
    MemoryType,
    MemoryVersion,
    Relation,
    Status,
    Tombstone,
    Viewer,
)
from gateway.storage.memories.conditions import DOCUMENT, asked, partitions, seen
from gateway.storage.memories.engine_expressions import contains, texts_in
from gateway.storage.memories.memory_database import Words
from gateway.storage.memories.rows import COLUMNS, memory_from, memory_of, numbered
from gateway.storage.memories.schema import erasures, memories, memory_evidence, memory_links, memory_versions
from gateway.storage.memories.terms import entry_of

MAX_HISTORY = 500
"""Versions, quotes or links of one memory that are read: the newest."""

EVERYTHING = Filter()

EVIDENCE = Prepared(
    select(*(memory_evidence.c[name] for name in ("session_id", "position", "quote", "author", "digest")))
    .join(memories, memories.c.number == memory_evidence.c.memory)
    .where(
        memories.c.id == bindparam("id"),
        memory_evidence.c.user_id == bindparam("user_id"),
        memory_evidence.c.digest == memories.c.digest,
    )
    .order_by(memory_evidence.c.number.desc())
    .limit(MAX_HISTORY)
)
LINKS = Prepared(
    select(*memory_links.c)
    .where(or_(memory_links.c.from_id == bindparam("id"), memory_links.c.to_id == bindparam("id")))
    .order_by(*memory_links.c)
    .limit(MAX_HISTORY)
)
ERASURES = Prepared(
    select(*erasures.c)
    .where(tuple_(*erasures.c) > tuple_(bindparam("memory_id"), bindparam("owner")))
    .order_by(*erasures.c)
    .limit(bindparam("limit"))
)

# As one parameter: a statement has at most some 32,000.
_IDS = texts_in(bindparam("ids", type_=Text))

CENSUS = (
    select(memories.c.type, memories.c.status, memories.c.quarantined, func.count())
    .where(memories.c.deleted_at.is_(None))
    .group_by(memories.c.type, memories.c.status, memories.c.quarantined)
)


def get(connection: Connection, viewer: Viewer, *ids: str) -> Sequence[MemoryRow]:
    """Those of `ids` that are there and seen by the viewer, in the order of `ids`. Deleted ones are not
    there; frozen, replaced and quarantined ones are."""
    return [row for _, row in _named(connection, viewer, ids)]


def located(
    connection: Connection, index: Words, viewer: Viewer, passages: Mapping[str, int]
) -> Sequence[Match]:
    found = _named(connection, viewer, list(passages))
    entries = [entry_of(number, passages[row.id]) for number, row in found]
    located = index.passages(connection, entries)
    return [Match(row, 0.0, passage) for (_, row), passage in zip(found, located, strict=True)]


def newest(
    connection: Connection,
    viewer: Viewer,
    which: Filter | None = None,
    *,
    limit: int,
    before: tuple[int, str] | None = None,
) -> Sequence[MemoryRow]:
    """Newest first by (updated_at, id), strictly before that pair."""
    c = memories.c
    page = select(c.number).where(asked(which or EVERYTHING, viewer))
    if before is not None:
        page = page.where(tuple_(c.updated_at, c.id) < before)
    return _numbered(connection, page.order_by(c.updated_at.desc(), c.id.desc()).limit(limit))


def containing(
    connection: Connection, viewer: Viewer, parts: Sequence[str], which: Filter, *, limit: int
) -> Sequence[Match]:
    """Those that have one of `parts` (of Latin words, in lower case) in content or tags, the last
    changed first, with a score of 0. It reads all that the viewer sees: for when `match` finds
    nothing."""
    c = memories.c
    has_one = or_(contains(c.content, parts), contains(c.tags, parts))
    page = select(c.number).where(asked(which, viewer), has_one)
    rows = _numbered(connection, page.order_by(c.updated_at.desc(), c.id.desc()).limit(limit))
    return [Match(row, 0.0) for row in rows]


def weighed(
    connection: Connection,
    viewer: Viewer,
    which: Filter | None = None,
    *,
    limit: int,
    lightest: bool = False,
) -> Sequence[MemoryRow]:
    """By priority: pinned ones first, then by importance, then those that were used last. With `lightest`
    the other way round."""
    c = memories.c
    weight = (c.pinned, c.importance, c.last_used, c.number)
    order = [column.asc() if lightest else column.desc() for column in weight]
    some = select(c.number).where(asked(which or EVERYTHING, viewer)).order_by(*order).limit(limit)
    return _numbered(connection, some)


def count(connection: Connection, viewer: Viewer, which: Filter | None = None) -> int:
    """How many there are."""
    found = select(func.count()).select_from(memories).where(asked(which or EVERYTHING, viewer))
    return connection.execute(found).scalar_one()


def documented(connection: Connection) -> tuple[int, int]:
    """How many of those there are, and the characters of their contents together."""
    c = memories.c
    characters = func.coalesce(func.sum(func.length(c.content)), 0)
    found, size = connection.execute(select(func.count(), characters).where(c.source == DOCUMENT)).one()
    return found, size


def census(connection: Connection) -> Mapping[tuple[MemoryType, Status, bool], int]:
    """How many there are of all users and documents, deleted ones left out: by type, status and whether
    they are in quarantine. It reads all rows."""
    rows = connection.execute(CENSUS)
    return {(kind, status, quarantined): count for kind, status, quarantined, count in rows}


def match(
    connection: Connection,
    index: Words,
    viewer: Viewer,
    words: Sequence[str],
    which: Filter,
    *,
    limit: int,
) -> Sequence[Match]:
    for found in index.found(connection, partitions(viewer, which), words):
        # From the best one on, until there are enough. The offsets keep PostgreSQL from making a join of it:
        # in the first minute after many rows came it knows little of the tables.
        by_score = (found.c.score.desc(), found.c.number.desc())
        ranked = select(*found.c).order_by(*by_score).offset(0).subquery("ranked")
        of_viewer = select(memories.c.number).where(
            memories.c.number == ranked.c.number, asked(which, viewer)
        )
        best = (
            select(ranked.c.number, ranked.c.score, ranked.c.entry)
            .where(exists(of_viewer.offset(0)))
            .order_by(ranked.c.score.desc(), ranked.c.number.desc())
            .limit(limit)
        )
        if matched := connection.execute(best).all():
            rows = numbered(connection, [number for number, _, _ in matched])
            passages = index.passages(connection, [entry for _, _, entry in matched])
            scores = [score for _, score, _ in matched]
            return [Match(*each) for each in zip(rows, scores, passages, strict=True)]
    return ()


def completions(
    connection: Connection, index: Words, viewer: Viewer, beginning: str, which: Filter, *, most: int
) -> Sequence[str]:
    return index.completions(connection, partitions(viewer, which), beginning, most)


def versions(connection: Connection, viewer: Viewer, memory_id: str) -> Sequence[MemoryVersion]:
    """The oldest first; also of a deleted one. Empty when there is none, or it is not seen."""
    c = memory_versions.c
    statement = (
        select(c.version, c.operation, c.actor, c.reason, c.turn_id, c.at, c.row)
        .join(memories, memories.c.number == c.memory)
        .where(memories.c.id == memory_id, seen(viewer))
        .order_by(c.version.desc())
        .limit(MAX_HISTORY)
    )
    rows = reversed(connection.execute(statement).all())
    return [MemoryVersion(*row[:6], memory_from(row[6])) for row in rows]


def last_turns(connection: Connection, viewer: Viewer, *ids: str) -> Mapping[str, str]:
    """In which turns those of `ids` were changed last that were changed in one, by id; also deleted
    ones."""
    if not ids:
        return {}
    c = memory_versions.c
    last = and_(c.memory == memories.c.number, c.version == memories.c.version, c.turn_id.is_not(None))
    statement = (
        select(memories.c.id, c.turn_id)
        .join(memory_versions, last)
        .where(memories.c.id.in_(_IDS), seen(viewer))
    )
    rows = connection.execute(statement, {"ids": orjson.dumps(ids).decode()})
    return {row[0]: row[1] for row in rows}


def evidence(connection: Connection, viewer: Viewer, memory_id: str) -> Sequence[Evidence]:
    """Quotes of the viewer's user for its present content: quotes of a former content do not count, and
    quotes of other members for a household's memory are visible to these alone. The caller has checked
    that the viewer sees the memory. At most MAX_HISTORY, the newest, the oldest of them first."""
    rows = EVIDENCE.all(connection, id=memory_id, user_id=viewer.user_id)
    return [Evidence(*row[:4]) for row in reversed(rows)]


def evidence_and_digests(
    connection: Connection, viewer: Viewer, memory_id: str
) -> Sequence[tuple[Evidence, str]]:
    """The same, each with the digest of the content whose evidence it is."""
    rows = EVIDENCE.all(connection, id=memory_id, user_id=viewer.user_id)
    return [(Evidence(*row[:4]), row[4]) for row in reversed(rows)]


def links(connection: Connection, memory_id: str) -> Sequence[Link]:
    """From it and to it. The caller has checked who may see it."""
    return [Link(*row) for row in LINKS.all(connection, id=memory_id)]


def links_among(connection: Connection, ids: Collection[str], relation: Relation) -> Sequence[Link]:
    """Links of that relation from one of `ids` to another. The caller has checked who may see these."""
    statement = select(*memory_links.c).where(
        memory_links.c.from_id.in_(_IDS), memory_links.c.to_id.in_(_IDS), memory_links.c.relation == relation
    )
    rows = connection.execute(statement, {"ids": orjson.dumps([*ids]).decode()})
    return [Link(*row) for row in rows]


def tombstones(
    connection: Connection, viewer: Viewer, *, limit: int, before: tuple[int, str] | None = None
) -> Sequence[Tombstone]:
    """Deleted memories that are there still, the last first by (deleted_at, id), strictly before that
    pair."""
    c, deletion = memories.c, memory_versions.c
    page = (
        select(c.deleted_at, deletion.actor, deletion.reason, deletion.turn_id, *COLUMNS)
        .join(memory_versions, and_(deletion.memory == c.number, deletion.version == c.version))
        .where(c.deleted_at.is_not(None), seen(viewer))
    )
    if before is not None:
        page = page.where(tuple_(c.deleted_at, c.id) < before)
    rows = connection.execute(page.order_by(c.deleted_at.desc(), c.id.desc()).limit(limit))
    return [Tombstone(memory_of(row), *deletion) for *deletion, row in ((*r[:4], r[4:]) for r in rows)]


def forgotten(connection: Connection, viewer: Viewer, *, since: int, limit: int) -> Sequence[Forgotten]:
    """Memories that were deleted (and not erased) or replaced after that time (Unix ms), the last
    first."""
    c = memories.c
    at = case((c.deleted_at.is_not(None), c.deleted_at), else_=c.updated_at)
    gone = or_(c.deleted_at > since, and_(c.status == "replaced", c.updated_at > since))
    rows = connection.execute(
        select(c.id, c.content, c.digest, at)
        .where(gone, c.source != DOCUMENT, seen(viewer))
        .order_by(at.desc(), c.number.desc())
        .limit(limit)
    )
    return [Forgotten(*row) for row in rows]


def pending_erasures(
    connection: Connection, *, limit: int, after: tuple[str, str] = ("", "")
) -> Sequence[tuple[str, str]]:
    """Memories that were erased, by id, each with an owner whose sessions may still have its words: in
    this order, strictly after that pair."""
    memory_id, owner = after
    rows = ERASURES.all(connection, memory_id=memory_id, owner=owner, limit=limit)
    return [(row[0], row[1]) for row in rows]


def _named(connection: Connection, viewer: Viewer, ids: Sequence[str]) -> list[tuple[int, MemoryRow]]:
    """Those of `ids` that the viewer sees, in their order, each with its number."""
    if not ids:
        return []
    # By their ids first: of many, SQLite thinks that reading all that the viewer sees costs less.
    named = select(memories).where(memories.c.id.in_(_IDS), memories.c.deleted_at.is_(None))
    table = named.limit(len(ids)).subquery()
    columns = (table.c[column.name] for column in (memories.c.number, *COLUMNS))
    rows = connection.execute(
        select(*columns).where(seen(viewer, table)), {"ids": orjson.dumps(ids).decode()}
    )
    found = {row.id: (number, row) for number, row in ((number, memory_of(row)) for number, *row in rows)}
    return [found[memory_id] for memory_id in dict.fromkeys(ids) if memory_id in found]


def _numbered(connection: Connection, numbers: Select[Any]) -> Sequence[MemoryRow]:
    """The memories with these numbers, in their order."""
    return numbered(connection, connection.scalars(numbers).all())

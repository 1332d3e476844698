"""Persons and their erasures, in SQL."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import orjson
from sqlalchemy import Connection, bindparam, delete, func, select, tuple_, update

from gateway.storage.database import Prepared, Store, reads, writes
from gateway.storage.holds import check_not_held, is_anything_held, is_held
from gateway.storage.persons import Erasure, Kept, Key
from gateway.storage.persons.tables import ACTORS, BY_NAME, PERSONAL
from gateway.storage.row_codec import Codec, Rows, as_json
from gateway.storage.schema import audit, person_erasures, sessions, turns

_e, _t = person_erasures.c, turns.c


def _mapping(text: str | None) -> Mapping[str, int] | None:
    return None if text is None else orjson.loads(text)


def _mapping_text(found: Mapping[str, int] | None) -> str | None:
    return None if found is None else as_json(found)


def _kept(text: str | None) -> Sequence[Kept]:
    return tuple(Kept(**each) for each in orjson.loads(text or "[]"))


def _kept_text(kept: Sequence[Kept]) -> str:
    return as_json([asdict(each) for each in kept])


ERASURES = Rows(
    Erasure,
    person_erasures,
    found=Codec(_mapping_text, _mapping),
    kept=Codec(_kept_text, _kept),
)
_OPEN = _e.state != "done"
OPEN_OF = Prepared(select(*ERASURES.columns).where(_e.person == bindparam("person"), _OPEN))
UNFINISHED = Prepared(select(*ERASURES.columns).where(_OPEN).order_by(_e.requested_at, _e.id))


def request(connection: Connection, erasure: Erasure) -> Erasure:
    if is_anything_held(connection, erasure.person):
        raise is_held()
    known = OPEN_OF.one(connection, person=erasure.person)
    if known is not None:
        return ERASURES.read(known)
    ERASURES.add(connection, erasure)
    return erasure


def unfinished(connection: Connection) -> Sequence[Erasure]:
    return [ERASURES.read(row) for row in UNFINISHED.all(connection)]


def of(connection: Connection, *persons: str) -> Erasure | None:
    newest = (_e.requested_at.desc(), _e.id)
    found = select(*ERASURES.columns).where(_e.person.in_(persons)).order_by(*newest).limit(1)
    row = connection.execute(found).one_or_none()
    return None if row is None else ERASURES.read(row)


def ids(connection: Connection, tenant: str) -> Sequence[str]:
    found = select(_e.id).where(_e.tenant == tenant).order_by(_e.requested_at.desc(), _e.id)
    return list(connection.execute(found).scalars())


def put(connection: Connection, erasure: Erasure) -> bool:
    values = ERASURES.values(erasure)
    changed = connection.execute(update(person_erasures).where(_e.id == erasure.id, _OPEN).values(values))
    return changed.rowcount == 1


def counts(connection: Connection, user_id: str) -> Mapping[str, int]:
    found = {each.name: _count(connection, each.of(), user_id) for each in PERSONAL}
    return {name: count for name, count in found.items() if count}


def page(
    connection: Connection, table: str, user_id: str, *, after: Key | None, limit: int
) -> tuple[Sequence[Mapping[str, Any]], Key | None]:
    personal = BY_NAME[table]
    key = list(personal.table.primary_key)
    statement = select(personal.table).where(personal.of()).order_by(*key).limit(limit)
    if after is not None:
        statement = statement.where(tuple_(*key) > after if len(key) > 1 else key[0] > after[0])
    found = connection.execute(statement, {"user_id": user_id}).mappings().all()
    rows = [{str(name): value for name, value in row.items() if name not in personal.secret} for row in found]
    last = tuple(found[-1][column.name] for column in key) if len(found) == limit else None
    return rows, last


def elsewhere(
    connection: Connection, user_id: str, *, after: Key | None, limit: int
) -> tuple[Sequence[Mapping[str, Any]], Key | None]:
    columns = (_t.number, _t.id, _t.session_id, _t.created_at, _t.input, _t.attachments)
    chosen = (
        select(*columns).join_from(turns, sessions).where(_t.owner == user_id, sessions.c.owner != user_id)
    )
    if after is not None:
        chosen = chosen.where(_t.number > after[0])
    found = connection.execute(chosen.order_by(_t.number).limit(limit)).mappings().all()
    rows = [{str(name): value for name, value in row.items() if name != "number"} for row in found]
    return rows, (found[-1]["number"],) if len(found) == limit else None


def remove(connection: Connection, table: str, user_id: str, limit: int) -> int:
    check_not_held(connection, user_id)
    personal = BY_NAME[table]
    key = list(personal.table.primary_key)
    chosen = select(*key).where(personal.of()).order_by(*key).limit(limit)
    one = key[0] if len(key) == 1 else tuple_(*key)
    return connection.execute(delete(personal.table).where(one.in_(chosen)), {"user_id": user_id}).rowcount


def rename(connection: Connection, user_id: str, pseudonym: str) -> int:
    # What is of a session and was not removed with it belongs to one of somebody else's.
    of_sessions = [each for each in PERSONAL if each.removal == "session" and each.table is not sessions]
    staying = [each.whose for each in PERSONAL if each.removal == "renamed" or each in of_sessions]
    return sum(
        connection.execute(
            update(column.table).where(column == user_id).values({column.name: pseudonym})
        ).rowcount
        for column in (*ACTORS, *staying)
    )


def named(connection: Connection, user_id: str) -> Mapping[str, int]:
    found = dict(counts(connection, user_id))
    for column in (*ACTORS, audit.c.actor):
        if count := connection.execute(select(func.count()).where(column == user_id)).scalar_one():
            found[f"{column.table.name!s}.{column.name!s}"] = count
    return found


def _count(connection: Connection, condition: Any, user_id: str) -> int:
    return connection.execute(select(func.count()).where(condition), {"user_id": user_id}).scalar_one()


class SqlPersonErasures(Store):
    """The `PersonErasures` protocol."""

    request = writes(request)
    unfinished = reads(unfinished, snapshot=False)
    of = reads(of, snapshot=False)
    ids = reads(ids, snapshot=False)
    put = writes(put)


class SqlPersons(Store):
    """The `Persons` protocol."""

    exported = tuple(each.name for each in PERSONAL if each.is_exported)
    removed = tuple(each.name for each in PERSONAL if each.removal == "rows")
    counts = reads(counts)
    page = reads(page, snapshot=False)
    elsewhere = reads(elsewhere, snapshot=False)
    remove = writes(remove)
    rename = writes(rename)
    named = reads(named)

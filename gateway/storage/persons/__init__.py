"""Persons: what there is of a user wherever they are named, and its erasure.

    requested ──▶ running ──▶ done            nothing names them any more but a pseudonym
                   │    ▲
                   ▼    │
                  held ─┘                     a legal hold was placed meanwhile

Which tables name persons, and how, is in `tables.py`; a test holds it to the schema.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import orjson
from sqlalchemy import Connection, bindparam, delete, func, select, tuple_, update

from gateway.storage.database import Prepared, Store, query, snapshot, transaction
from gateway.storage.holds import check_not_held, is_anything_held, is_held
from gateway.storage.persons.tables import ACTORS, BY_NAME, PERSONAL
from gateway.storage.row_codec import Codec, Rows, as_json
from gateway.storage.schema import audit, person_erasures, sessions, turns

ErasureState = Literal["requested", "running", "held", "done"]
Key = tuple[Any, ...]
"""The primary key of a row."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What an erasure leaves, how many of it (None: unknown), and why."""

    what: str
    count: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Erasure:
    """The erasure of a person, who is named by their user id, and by a pseudonym before its last step.
    `found` is how many there were of each kind when it began, `step` what it does, or did last, `waits_for`
    why it does not go on. `starts` counts the processes that worked on it. Times are Unix milliseconds."""

    id: str
    tenant: str
    person: str
    requested_by: str
    requested_at: int
    state: ErasureState = "requested"
    step: str = "requested"
    starts: int = 0
    found: Mapping[str, int] | None = None
    kept: Sequence[Kept] = ()
    waits_for: str | None = None
    finished_at: int | None = None


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


class PersonErasures(Store):
    """The erasures that were asked for."""

    @transaction
    def request(self, connection: Connection, erasure: Erasure) -> Erasure:
        """Stores it; of a person whose erasure is not done yet, returns that one. Raises errors.Conflict
        (legal_hold): something of theirs is held."""
        if is_anything_held(connection, erasure.person):
            raise is_held()
        known = OPEN_OF.one(connection, person=erasure.person)
        if known is not None:
            return ERASURES.read(known)
        ERASURES.add(connection, erasure)
        return erasure

    @query
    def unfinished(self, connection: Connection) -> Sequence[Erasure]:
        """The oldest first."""
        return [ERASURES.read(row) for row in UNFINISHED.all(connection)]

    @query
    def of(self, connection: Connection, *persons: str) -> Erasure | None:
        """The newest of these names."""
        newest = (_e.requested_at.desc(), _e.id)
        found = select(*ERASURES.columns).where(_e.person.in_(persons)).order_by(*newest).limit(1)
        row = connection.execute(found).one_or_none()
        return None if row is None else ERASURES.read(row)

    @query
    def ids(self, connection: Connection, tenant: str) -> Sequence[str]:
        """Of all erasures of a tenant's users, the newest first."""
        found = select(_e.id).where(_e.tenant == tenant).order_by(_e.requested_at.desc(), _e.id)
        return list(connection.execute(found).scalars())

    @transaction
    def put(self, connection: Connection, erasure: Erasure) -> bool:
        """Stores how far it is. False, and nothing done: it is done already."""
        values = ERASURES.values(erasure)
        changed = connection.execute(update(person_erasures).where(_e.id == erasure.id, _OPEN).values(values))
        return changed.rowcount == 1


class Persons(Store):
    """Everything of a user, by the names in `tables.py`."""

    exported = tuple(each.name for each in PERSONAL if each.is_exported)
    """The tables whose rows are exported."""
    removed = tuple(each.name for each in PERSONAL if each.removal == "rows")
    """The tables whose rows `remove` is to remove, in this order: of the others they go with sessions and
    artifacts."""

    @snapshot
    def counts(self, connection: Connection, user_id: str) -> Mapping[str, int]:
        """How many rows of each table are theirs, by its name, without those that have none."""
        return _counts(connection, user_id)

    @query
    def page(
        self, connection: Connection, table: str, user_id: str, *, after: Key | None, limit: int
    ) -> tuple[Sequence[Mapping[str, Any]], Key | None]:
        """Rows of theirs in the order of their keys, behind that one, without what is secret; and the key of
        the last one, None where there are no more."""
        personal = BY_NAME[table]
        key = list(personal.table.primary_key)
        statement = select(personal.table).where(personal.of()).order_by(*key).limit(limit)
        if after is not None:
            statement = statement.where(tuple_(*key) > after if len(key) > 1 else key[0] > after[0])
        found = connection.execute(statement, {"user_id": user_id}).mappings().all()
        rows = [
            {str(name): value for name, value in row.items() if name not in personal.secret} for row in found
        ]
        last = tuple(found[-1][column.name] for column in key) if len(found) == limit else None
        return rows, last

    @query
    def elsewhere(
        self, connection: Connection, user_id: str, *, after: Key | None, limit: int
    ) -> tuple[Sequence[Mapping[str, Any]], Key | None]:
        """What they wrote in sessions of others, which no export of sessions has, as `page` gives it."""
        columns = (_t.number, _t.id, _t.session_id, _t.created_at, _t.input, _t.attachments)
        chosen = (
            select(*columns)
            .join_from(turns, sessions)
            .where(_t.owner == user_id, sessions.c.owner != user_id)
        )
        if after is not None:
            chosen = chosen.where(_t.number > after[0])
        found = connection.execute(chosen.order_by(_t.number).limit(limit)).mappings().all()
        rows = [{str(name): value for name, value in row.items() if name != "number"} for row in found]
        return rows, (found[-1]["number"],) if len(found) == limit else None

    @transaction
    def remove(self, connection: Connection, table: str, user_id: str, limit: int) -> int:
        """Removes at most `limit` of their rows; how many that were. Raises errors.Conflict (legal_hold)."""
        check_not_held(connection, user_id)
        personal = BY_NAME[table]
        key = list(personal.table.primary_key)
        chosen = select(*key).where(personal.of()).order_by(*key).limit(limit)
        one = key[0] if len(key) == 1 else tuple_(*key)
        return connection.execute(
            delete(personal.table).where(one.in_(chosen)), {"user_id": user_id}
        ).rowcount

    @transaction
    def rename(self, connection: Connection, user_id: str, pseudonym: str) -> int:
        """Puts the pseudonym in the place of a user, whose sessions are removed, where they did something to
        what is others', and of their turns in sessions of others; how often."""
        # What is of a session and was not removed with it belongs to one of somebody else's.
        of_sessions = [each for each in PERSONAL if each.removal == "session" and each.table is not sessions]
        staying = [each.whose for each in PERSONAL if each.removal == "renamed" or each in of_sessions]
        return sum(
            connection.execute(
                update(column.table).where(column == user_id).values({column.name: pseudonym})
            ).rowcount
            for column in (*ACTORS, *staying)
        )

    @snapshot
    def named(self, connection: Connection, user_id: str) -> Mapping[str, int]:
        """How many rows of each table still name them, in any of its columns."""
        found = dict(_counts(connection, user_id))
        for column in (*ACTORS, audit.c.actor):
            if count := connection.execute(select(func.count()).where(column == user_id)).scalar_one():
                found[f"{column.table.name!s}.{column.name!s}"] = count
        return found


def _counts(connection: Connection, user_id: str) -> Mapping[str, int]:
    found = {each.name: _count(connection, each.of(), user_id) for each in PERSONAL}
    return {name: count for name, count in found.items() if count}


def _count(connection: Connection, condition: Any, user_id: str) -> int:
    return connection.execute(select(func.count()).where(condition), {"user_id": user_id}).scalar_one()

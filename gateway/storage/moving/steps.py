"""What a move reads of a database, in which order, and into which table it goes."""

import hashlib
import marshal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, cast

from sqlalchemy import Column, Connection, Table, func, literal, select, tuple_

from gateway.storage import schema
from gateway.storage.log.packs import packs_of
from gateway.storage.memories import schema as memory_schema
from gateway.storage.moving import Values

FETCHED = 1000
"""Rows that are read at a time."""

REPLACED = "\ufffd"
"""In place of NUL, which PostgreSQL keeps in no text."""


class TableCopy(NamedTuple):
    """Rows of `table`, in the order of `key`, that become rows of `into`."""

    table: Table
    columns: Sequence[Column[Any]]
    key: Sequence[Column[Any]]
    into: Table
    become: Callable[[Iterable[Values]], Iterator[Values]] = iter

    @property
    def name(self) -> str:
        return self.table.name

    def rows(self, connection: Connection, after: Sequence[Any] | None = None) -> Iterator[Values]:
        """What is to be added, from behind the row of `into` with the key `after`."""
        # The index of sessions is made again: its own bookkeeping does not hold for another one.
        columns = [literal(-1) if column is INDEXED else column for column in self.columns]
        statement = select(*columns).order_by(*self.key)
        if after is not None:
            statement = statement.where(tuple_(*self.key) > tuple_(*map(literal, after)))
        options = {"yield_per": FETCHED}
        found = connection.execute(statement, execution_options=options)
        return self.become(cleaned(cast("Values", row) for row in found))

    def key_of(self, row: Values) -> list[object]:
        """The key of a row of `into`, which is one of `key` as well."""
        return [row[list(self.into.c).index(column)] for column in self.into.primary_key]

    def count(self, connection: Connection, *, until: Sequence[Any] | None = None) -> int:
        """The rows of `table`, or those that became rows up to the key `until`."""
        statement = select(func.count()).select_from(self.table)
        if until is not None:
            statement = statement.where(tuple_(*self.key) <= tuple_(*map(literal, until)))
        return connection.execute(statement).scalar_one()

    def weight(self, row: Values) -> int:
        """How many rows of `table` became this one."""
        return len(range(cast("int", row[2]), cast("int", row[1]) + 1)) if self.become is packed else 1


INDEXED = schema.sessions.c.indexed_head


def packed(rows: Iterable[Values]) -> Iterator[Values]:
    """Loose events are packed on their way: a large log lies so on either engine."""
    events = cast("Iterable[Any]", rows)
    for _, of_session in groupby(events, itemgetter(0)):
        yield from packs_of(of_session)


def cleaned(rows: Iterable[Values]) -> Iterator[Values]:
    for row in rows:
        if any(isinstance(value, str) and "\0" in value for value in row):
            yield tuple(value.replace("\0", REPLACED) if isinstance(value, str) else value for value in row)
        else:
            yield tuple(row)


def _step_of(table: Table) -> TableCopy:
    if table is not schema.loose_events:
        return TableCopy(table, list(table.c), list(table.primary_key), table)
    c = table.c
    columns = [c.session_id, c.seq, c.turn_id, c.type, c.body]
    return TableCopy(table, columns, [c.session_id, c.seq], schema.event_packs, packed)


TABLES: Sequence[Table] = [*schema.metadata.sorted_tables, *memory_schema.metadata.sorted_tables]
STEPS: Sequence[TableCopy] = [_step_of(table) for table in TABLES]
"""What others refer to comes first."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A checksum of a table's rows that does not depend on their order: their number and the sum of their
    hashes."""

    count: int = 0
    hashes: int = 0

    def plus(self, rows: Iterable[Values]) -> "Sum":
        count, hashes = self.count, self.hashes
        for row in rows:
            # Version 0 writes equal values as equal bytes: the later ones refer to what they wrote before.
            digest = hashlib.blake2b(marshal.dumps(cast("Any", tuple(row)), 0), digest_size=16).digest()
            count, hashes = count + 1, hashes + int.from_bytes(digest)
        return Sum(count, hashes % 2**128)

"""Moves a whole record from one database into another, of the same engine or not.

    rows      table by table in the order of their keys, in slices: each is one transaction, together with the
              state it leads to, so that an interrupted move goes on behind the last one
    words     the full text index of the memories is an engine's own and made again; that of the sessions is
              left to the gateway, as for sessions that were imported
    checked   both databases are read whole, counted and hashed

Until that is done no gateway opens the target (`migrations.MOVING`).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from sqlalchemy import Connection, Table

from gateway.errors import StorageError
from gateway.storage.memories.memory_database import Words

Values = tuple[object, ...]
"""A row, its values in the order of the table's columns."""


def not_own(what: str, revision: str) -> StorageError:
    """The refusal of a database with columns that this version does not know, and so would not carry."""
    return StorageError(
        f"{what} has the schema of a newer version ({revision}): move it with that one.",
        code="database_too_new",
        retryable=False,
    )


class MoveProgress(NamedTuple):
    """How far a move is: `done` of `total` rows of what `step` names."""

    step: str
    done: int
    total: int


OnProgress = Callable[[MoveProgress], None]


class MovingDatabase(Protocol):
    """One end of a move: the tables of the sessions and of the memories, which no other process changes
    meanwhile. All reads see one moment."""

    @property
    def name(self) -> str:
        """Its address, without a password."""
        ...

    @property
    def connection(self) -> Connection: ...

    @property
    def version_table(self) -> str:
        """Where the revision of the sessions' tables is kept."""
        ...

    @property
    def words(self) -> Words:
        """The full text index of its memories."""
        ...

    def has(self, table: str) -> bool:
        """Whether there is a table of that name."""
        ...

    def add(self, table: Table, rows: Sequence[Values]) -> None:
        """Adds rows in the open transaction, many at once."""
        ...

    def settle(self) -> None:
        """Once all rows are there: what numbers itself goes on behind them."""
        ...

    def vacuum(self) -> None:
        """After the last commit, in no transaction: what the engine would find out of the rows in its own
        time, so that the first searches are not slow."""
        ...

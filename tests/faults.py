"""A database that fails at a chosen statement, as SQLite would."""

import sqlite3
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

WRITER = "storage-writer"
"""Begins the name of the thread whose statements are counted: those that change something."""

CODES = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL", "SQLITE_INTERRUPT", "SQLITE_IOERR", "SQLITE_FULL")
UNDOES = {"SQLITE_BUSY", "SQLITE_INTERRUPT", "SQLITE_IOERR", "SQLITE_FULL"}
"""Errors after which SQLite may have undone the whole transaction (sqlite.org/lang_transaction.html)."""


@dataclass(slots=True)
class Fault:
    """Fails the statement number `at` (from 0) with the error `code`, once; before it, `undoes` undoes the
    transaction. `seen` are the statements up to there, or all of them."""

    at: int | None = None
    code: str = "SQLITE_IOERR"
    undoes: bool = False
    seen: list[str] = field(default_factory=list[str])
    struck: bool = False

    def meet(self, cursor: sqlite3.Cursor, statement: str) -> None:
        if not threading.current_thread().name.startswith(WRITER) or self.struck:
            return
        if len(self.seen) == self.at:
            self.struck = True
            if self.undoes and cursor.connection.in_transaction:
                sqlite3.Cursor.execute(cursor, "ROLLBACK")
            error = sqlite3.OperationalError(f"{self.code} on purpose")
            error.sqlite_errorname, error.sqlite_errorcode = self.code, getattr(sqlite3, self.code)
            raise error
        self.seen.append(statement)


class Faults:
    """What is to go wrong next with the connections that are opened in `failing`."""

    def __init__(self) -> None:
        self.fault = Fault()

    @contextmanager
    def failing(self) -> Generator["Faults"]:
        """Connections that are opened in this context may be told to fail."""
        faults = self

        class Cursor(sqlite3.Cursor):
            def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
                faults.fault.meet(self, statement)
                return super().execute(statement, *values)

            def executemany(self, statement: str, values: Any) -> sqlite3.Cursor:
                faults.fault.meet(self, statement)
                return super().executemany(statement, values)

            def executescript(self, script: str) -> sqlite3.Cursor:
                faults.fault.meet(self, script)
                return super().executescript(script)

        class Connection(sqlite3.Connection):
            def cursor(self, factory: Any = Cursor) -> Any:
                return super().cursor(factory)

            # Python's own do not pass through the cursor's.
            def execute(self, statement: str, *values: Any) -> Any:
                return self.cursor().execute(statement, *values)

            def executemany(self, statement: str, values: Any) -> Any:
                return self.cursor().executemany(statement, values)

            def executescript(self, script: str) -> Any:
                return self.cursor().executescript(script)

        connect = sqlite3.connect

        def connected(*args: Any, **options: Any) -> sqlite3.Connection:
            return connect(*args, **{"factory": Connection, **options})

        with patch.object(sqlite3, "connect", connected):
            yield self

    def next(self, **what: Any) -> Fault:
        """Makes this the next fault; without `at` there is none and the statements are counted."""
        self.fault = Fault(**what)
        return self.fault


def ways(code: str) -> Sequence[bool]:
    """Whether the transaction is undone by the error: as it may be with this one."""
    return (False, True) if code in UNDOES else (False,)

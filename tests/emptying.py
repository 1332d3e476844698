"""A database on a PostgreSQL server, made empty for the next test: a quarter of what a new one takes."""

import time
from typing import Any

import psycopg
from psycopg import sql

MAX_SECONDS = 10.0
"""For which the ended connections of others may go on."""
MAX_GROWTH = 8 << 20
"""In bytes. Rows that are gone leave their space behind, through which each search of a table goes."""

# What no test may leave behind for the next one: other tables, columns, triggers or settings.
_DEFINED = """
    SELECT
        (SELECT md5(string_agg(concat_ws(' ', c.oid, relname, attnum, attname, atttypid, attnotnull), ','
            ORDER BY c.oid, attnum))
            FROM pg_class c LEFT JOIN pg_attribute ON attrelid = c.oid WHERE c.oid >= 16384),
        (SELECT string_agg(concat_ws(' ', oid, tgenabled), ',' ORDER BY oid) FROM pg_trigger),
        (SELECT string_agg(oid::text, ',' ORDER BY oid) FROM pg_constraint WHERE oid >= 16384),
        (SELECT string_agg(oid::text, ',' ORDER BY oid) FROM pg_proc WHERE oid >= 16384),
        (SELECT count(*) FROM pg_namespace WHERE nspname !~ '^pg_'),
        (SELECT count(*) FROM pg_db_role_setting)
"""
_TABLES = (
    "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1"
)
_OTHERS = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND pid != pg_backend_pid()
"""


class Emptying:
    """Makes copies of a template what it is."""

    def __init__(self, template: str) -> None:
        self._connections: dict[str, psycopg.Connection[Any]] = {}
        with psycopg.connect(template) as connection:
            tables = [name for (name,) in connection.execute(_TABLES)]
            filled = {name for name in tables if connection.execute(_rows(name)).fetchone() != (None,)}
            self._kept = [_rows(name) for name in sorted(filled)]
            self._deletes = sql.SQL(";").join(
                sql.SQL("DELETE FROM {}").format(sql.Identifier(name))
                for name in tables
                if name not in filled
            )
            self._defined = self._read(connection)
            self._bytes = _size(connection)

    def emptied(self, url: str) -> bool:
        """Ends other connections of this database and removes its rows. False: it cannot be used again."""
        try:
            connection = self._connected(url)
            end = time.monotonic() + MAX_SECONDS
            while connection.execute(_OTHERS).fetchone() != (0,):
                if time.monotonic() > end:
                    return False
            if self._read(connection) != self._defined or _size(connection) > self._bytes + MAX_GROWTH:
                return False
            connection.execute(self._deletes)
            connection.execute("SELECT setval(seqrelid::regclass, seqstart, false) FROM pg_sequence")
        except psycopg.Error:  # it is gone, or refuses connections, or this user has not the right
            return False
        return True

    def forget(self, url: str) -> None:
        """This database is not used again."""
        if connection := self._connections.pop(url, None):
            connection.close()

    def _connected(self, url: str) -> psycopg.Connection[Any]:
        """The same each time: a new one would first read what all tables are, for most of the time."""
        if url not in self._connections:
            self._connections[url] = connection = psycopg.connect(url, autocommit=True)
            connection.execute("SET session_replication_role = replica")  # not by way of triggers
        return self._connections[url]

    def _read(self, connection: psycopg.Connection[Any]) -> list[Any]:
        return [connection.execute(query).fetchone() for query in (_DEFINED, *self._kept)]


def _rows(table: str) -> sql.Composed:
    return sql.SQL("SELECT string_agg(t::text, ',' ORDER BY t::text) FROM {} t").format(sql.Identifier(table))


def _size(connection: psycopg.Connection[Any]) -> int:
    (size,) = connection.execute("SELECT pg_database_size(current_database())").fetchone() or (0,)
    return size

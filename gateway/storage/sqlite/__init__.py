"""The embedded engine: one SQLite file, one process."""

from gateway.storage.sqlite.sqlite_database import SqliteDatabase

__all__ = ["SqliteDatabase"]

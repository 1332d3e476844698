"""The embedded engine: one SQLite file, one process."""

from gateway.storage.sqlite.database import SqliteDatabase

__all__ = ["SqliteDatabase"]

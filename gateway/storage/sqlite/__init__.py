"""The embedded engine: one SQLite file, one process."""

from gateway.storage.sqlite.database import SqliteDatabase
from gateway.storage.sqlite.event_log import SqliteEventLog

__all__ = ["SqliteDatabase", "SqliteEventLog"]

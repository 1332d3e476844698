"""A backup of everything that a gateway keeps, in a folder.

    gateway.db, memory.db, slack.db   copies of the SQLite files, each of one moment
    database.dump                     or what pg_dump wrote of a PostgreSQL database
    blobs/…                           archives and artifacts that the rows of that moment name
    files.jsonl                       path, size and SHA-256 of each of these
    manifest.json                     what it is, and the SHA-256 of files.jsonl: written last, as a whole

The databases come first, the blobs after them, and none is removed meanwhile (orphans/removal_hold.py): so a
row never names a blob that is not there. What comes later than the moment is left out. A folder without a
manifest is no backup.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from gateway.storage.moving import MoveProgress

Engine = Literal["sqlite", "postgresql"]

OnProgress = Callable[[MoveProgress], None]


class CopiedDatabases(NamedTuple):
    """The databases as they were at one moment: `revisions` of their schemas by what they hold, and the paths
    of the blobs that their rows name, one after the other."""

    revisions: Mapping[str, str]
    blobs: Callable[[], Iterator[str]]


class BackedUpDatabases(Protocol):
    """The engine's part in a backup."""

    @property
    def engine(self) -> Engine: ...

    def hold(self) -> AbstractContextManager[None]:
        """No blob is removed within. Raises errors.StorageError: another backup is being made."""
        ...

    def copied(self, folder: Path, report: OnProgress) -> AbstractContextManager[CopiedDatabases]:
        """Writes them into files of the folder. Raises errors.StorageError, OSError, sqlite3.Error."""
        ...

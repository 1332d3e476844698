"""The SQLite files of a data folder in a backup."""

from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

from gateway.errors import StorageError
from gateway.storage.backups import CopiedDatabases, OnProgress
from gateway.storage.backups.check import unchanged
from gateway.storage.migrations import CHAINS, MOVING, Chain, schema_of
from gateway.storage.moving import MoveProgress
from gateway.storage.moving.blobs import each_named_blob
from gateway.storage.orphans.removal_hold import held
from gateway.storage.sqlite_files.checking import problems_of
from gateway.storage.sqlite_files.copying import copy_database
from gateway.storage.sqlite_files.file_watch import check_before_opening


class SqliteBackup:
    """The `BackedUpDatabases` protocol: the sessions, the memories and Slack's journal, where there are."""

    engine: Literal["sqlite"] = "sqlite"

    def __init__(self, path: Path, memory_path: Path, journal: Path) -> None:
        self._path = path
        self._files = {"gateway.db": path, "memory.db": memory_path, "slack.db": journal}

    def hold(self) -> AbstractContextManager[None]:
        """Holds removals of blobs up by a lock in the data folder. Raises StorageError."""
        if not self._path.exists():
            raise StorageError(f"There is no database {self._path}.", retryable=False)
        return held(self._path.resolve().parent)

    @contextmanager
    def copied(self, folder: Path, report: OnProgress) -> Generator[CopiedDatabases]:
        """One after the other, the sessions first; each is read once more. Raises StorageError: one is
        damaged, or of another version."""
        revisions: dict[str, str] = {}
        for name, source in self._files.items():
            if not source.exists():
                continue
            check_before_opening(source)
            target = folder / name
            copy_database(source, target, lambda done, total, of=name: report(MoveProgress(of, done, total)))
            if problems := problems_of(target, immutable=True):
                raise StorageError(
                    f"The database {source} is damaged ({'; '.join(problems)}): the backup is not completed.",
                    code="storage_damaged",
                    retryable=False,
                )
            if chain := CHAINS.get(name):
                revisions[chain.holds] = _revision(target, source, chain)

        def blobs() -> Iterator[str]:
            with unchanged(folder / "gateway.db") as connection:
                yield from (path for path, _ in each_named_blob(connection))

        yield CopiedDatabases(revisions, blobs)


def _revision(copy: Path, source: Path, chain: Chain) -> str:
    found = schema_of(copy, immutable=True)
    if found.revision is None or found.revision == MOVING or found.revision < chain.head:
        raise StorageError(
            f"{source} is at revision {found.revision or 'none'}, not {chain.head}: make the backup with the "
            "version that wrote it, or call `gateway migrate` first.",
            code="database_outdated",
            retryable=False,
        )
    found.is_newer(chain, str(source))
    return found.revision

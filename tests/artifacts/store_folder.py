"""An artifact store as tests use it, with its blobs in sight."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.artifacts.artifact_store import ArtifactStore, Origin
from gateway.artifacts.store_events import ArtifactEvent
from gateway.storage.artifacts.store import Artifacts
from gateway.storage.orphans import Orphans
from tests.harness import settings_for
from tests.product import ArtifactRow, Blobs, FolderBlobs, NotFound, SqliteDatabase
from tests.storage.writing import OWNER

ORIGIN = Origin(OWNER)


@dataclass(frozen=True)
class StoreFolder:
    """A database, and the folder of its blobs."""

    database: SqliteDatabase
    folder: Path

    @property
    def store(self) -> Artifacts:
        return Artifacts(self.database)

    @property
    def orphans(self) -> Orphans:
        return Orphans(self.database)

    @property
    def blobs(self) -> FolderBlobs:
        return FolderBlobs(self.folder)

    def artifact_store(
        self,
        store: Artifacts | None = None,
        blobs: Blobs | None = None,
        orphans: Orphans | None = None,
        on_event: Callable[[ArtifactEvent], None] = lambda _: None,
        **given: Any,
    ) -> ArtifactStore:
        settings = settings_for(self.folder.parent, "http://127.0.0.1:9", **given)
        return ArtifactStore(
            store or self.store, orphans or self.orphans, blobs or self.blobs, settings, on_event=on_event
        )

    def files(self) -> list[str]:
        """Everything that lies in the folder of blobs."""
        found = (path for path in self.folder.rglob("*") if not path.is_dir())
        return sorted(path.relative_to(self.folder).as_posix() for path in found)

    async def candidates(self) -> Collection[str]:
        return await self.orphans.candidates(2**62, 99)

    async def rows(self, owner: str = OWNER) -> list[ArtifactRow]:
        return list(await self.store.find(owner, limit=99))

    async def is_clear(self) -> bool:
        """Whether nothing at all is kept or left over."""
        return not (self.files() or await self.candidates() or await self.rows())


async def whole(artifact_store: ArtifactStore, row: ArtifactRow) -> bytes:
    return b"".join([piece async for piece in artifact_store.stream(row)])


async def is_gone(artifact_store: ArtifactStore, row: ArtifactRow) -> bool:
    try:
        await artifact_store.get(row.owner, row.ref)
    except NotFound:
        return True
    return False

"""An artifact store on a database and a folder of its own."""

from pathlib import Path

import pytest

from gateway.artifacts.artifact_store import ArtifactStore
from tests.artifacts.store_folder import StoreFolder
from tests.product import SqliteDatabase


@pytest.fixture
def backing(database: SqliteDatabase, tmp_path: Path) -> StoreFolder:
    return StoreFolder(database, tmp_path / "blobs")


@pytest.fixture
def artifact_store(backing: StoreFolder) -> ArtifactStore:
    return backing.artifact_store()

"""A shelf on a database and a folder of its own."""

from pathlib import Path

import pytest

from gateway.artifacts.shelf import Shelf
from gateway.storage.sqlite import SqliteDatabase
from tests.artifacts.shelving import Room


@pytest.fixture
def room(database: SqliteDatabase, tmp_path: Path) -> Room:
    return Room(database, tmp_path / "blobs")


@pytest.fixture
def shelf(room: Room) -> Shelf:
    return room.shelf()

"""Migrations lead to the tables of schema.py, from any state, and refuse what they do not know."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

import gateway.storage.migrations
from gateway.errors import StorageError
from gateway.storage.migrations import HEAD, current_revision, migrate
from gateway.storage.schema import metadata
from gateway.storage.sqlite import SqliteDatabase

INDEXES = """
    SELECT name, sql FROM sqlite_master
    WHERE type = 'index' AND tbl_name != 'alembic_version' AND tbl_name NOT LIKE 'search_%' ORDER BY name
"""


def is_common(name: str | None, kind: str, _parents: object) -> bool:
    """Whether a table is for every engine, and so in schema.py: the full text index is SQLite's own."""
    return kind != "table" or name is None or not name.startswith("search_")


def test_the_migrated_tables_are_those_of_the_schema(tmp_path: Path) -> None:
    """Alembic's comparison finds no difference, and neither do the conditions of the partial indexes."""
    path = tmp_path / "data" / "gateway.db"
    assert migrate(path) == (None, HEAD)

    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        differences = compare_metadata(
            MigrationContext.configure(connection, opts={"compare_type": True, "include_name": is_common}),
            metadata,
        )
        migrated = [tuple(row) for row in connection.exec_driver_sql(INDEXES)]
    engine.dispose()
    direct = create_engine(f"sqlite:///{tmp_path / 'direct.db'}")
    metadata.create_all(direct)
    with direct.connect() as connection:
        defined = [tuple(row) for row in connection.exec_driver_sql(INDEXES)]
    direct.dispose()

    assert differences == []
    assert migrated == defined
    assert ("turns_one_running", "CREATE UNIQUE INDEX") in [(name, sql[:19]) for name, sql in defined if sql]


def test_the_newest_revision_is_the_one_the_code_expects() -> None:
    """HEAD, by which start-up avoids Alembic, is the last file of versions/."""
    scripts = ScriptDirectory(str(Path(gateway.storage.migrations.__file__).parent))

    assert scripts.get_heads() == [HEAD]


def test_migrating_again_changes_nothing(tmp_path: Path) -> None:
    """A database of today is left alone, and the folder is free again."""
    path = tmp_path / "100% data" / "gateway.db"
    migrate(path)

    assert migrate(path) == (HEAD, HEAD)
    assert current_revision(path) == HEAD


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """One clear message that names the file and the revision, and the file is left as it was."""
    path = tmp_path / "gateway.db"
    migrate(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(StorageError, match="newer version of the gateway \\(revision 9999\\)") as refused:
        asyncio.run(SqliteDatabase.open(path))

    assert refused.value.code == "database_too_new"
    assert current_revision(path) == "9999"


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    """Something else at the path is neither migrated nor overwritten."""
    path = tmp_path / "gateway.db"
    path.write_text("a letter to a friend, long enough to be taken for a page of a database" * 20)

    with pytest.raises(StorageError, match="cannot be read"):
        migrate(path)

    assert path.read_text().startswith("a letter")

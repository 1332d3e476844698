"""What a migration does with the file: it is announced, a copy is kept, and what fails is a sentence."""

import logging
import resource
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from gateway.storage.migrations import HEAD, MEMORIES, Chain, copy_first, migrate, migrate_memories, schema_of
from gateway.storage.migrations import upgrade as upgraded
from tests.product import StorageError
from tests.running import run

OLD = "0005"
LONG = "x" * 50_000


def upgrade(path: Path, chain: Chain) -> None:
    upgraded(path, chain, copy=False)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database of an old version, with 5 MB of messages."""
    path = tmp_path / "data" / "gateway.db"
    path.parent.mkdir()
    upgrade(path, Chain("versions", OLD))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "INSERT INTO sessions (id, owner, created_at, updated_at, head) VALUES ('s', 'ann', 1, 1, 0)"
        )
        for number in range(100):
            database.execute(
                "INSERT INTO turns (id, session_id, owner, status, input, model, on_conflict, epoch, "
                "created_at, first_seq, last_seq, cancel_requested, iterations) "
                "VALUES (?, 's', 'ann', 'done', ?, 'm', 'reject', 0, 1, 0, 0, 0, 0)",
                (f"t{number}", LONG),
            )
    return path


def sessions(path: Path) -> object:
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT count(*), sum(length(input)) FROM turns").fetchone()


def test_a_migration_is_announced_and_keeps_a_copy(old: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Both revisions, that there is no way back, who is shut out, and where the copy is: a whole database of
    the former revision, for its owner alone."""
    before = sessions(old)
    with caplog.at_level(logging.WARNING, "gateway"):
        assert migrate(old) == (OLD, HEAD)

    said = [record.getMessage() for record in caplog.records]
    kept = old.with_name(f"gateway.db.before-{OLD}")
    assert (
        f"migrating {old} {OLD} -> {HEAD} (5 MB): nothing is served meanwhile, and there is no way back"
        in said
    )
    assert [each for each in said if each.startswith(f"migrated {old} {OLD} -> {HEAD}; versions before ")]
    assert [each for each in said if str(kept) in each]
    assert schema_of(kept).revision == OLD
    assert sessions(kept) == sessions(old) == before
    assert kept.stat().st_mode & 0o777 == 0o600

    caplog.clear()
    assert migrate(old) == (HEAD, HEAD)
    assert not caplog.records


def test_a_new_file_is_made_without_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """There is nothing to keep."""
    with caplog.at_level(logging.WARNING, "gateway"):
        migrate(tmp_path / "data" / "gateway.db")
        migrate_memories(tmp_path / "data" / "memory.db")
    assert not caplog.records
    assert not list(tmp_path.glob("data/*before*"))


def test_the_memories_are_copied_too(tmp_path: Path) -> None:
    """Their file has revisions of its own."""
    path = tmp_path / "memory.db"
    upgrade(path, MEMORIES._replace(head="0002"))
    migrate_memories(path)
    assert schema_of(path.with_name("memory.db.before-0002")).revision == "0002"


class Usage(NamedTuple):
    """As `shutil.disk_usage` has it."""

    total: int
    used: int
    free: int


def test_without_room_there_is_no_copy(
    old: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says so, and the migration goes on; by the setting there is none anyway."""

    def nearly_full(_: Path) -> Usage:
        return Usage(10**9, 10**9 - 10**7, 10**7)

    other = old.with_name("other.db")
    shutil.copy(old, other)
    monkeypatch.setattr(copy_first.shutil, "disk_usage", nearly_full)
    with caplog.at_level(logging.WARNING, "gateway"):
        assert migrate(old)[1] == HEAD
    assert "is not copied before its migration: 10 MB are free" in caplog.text
    monkeypatch.undo()
    assert migrate(other, copy=False)[1] == HEAD
    assert not list(old.parent.glob("*before*"))


def test_a_full_disk_during_a_migration_ends_in_a_sentence(old: Path) -> None:
    """Which names the file, the reason and the revision that it stays at; with room the next one is whole."""
    before = sessions(old)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (old.stat().st_size, hard))
    try:
        with pytest.raises(StorageError) as failed:
            migrate(old, copy=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert failed.value.code == "storage_full"
    assert str(old) in failed.value.message
    assert "stays as it is at 00" in failed.value.message
    assert "\n" not in failed.value.message
    assert "SQL:" not in failed.value.message
    with closing(sqlite3.connect(old)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert sessions(old) == before
    assert migrate(old)[1] == HEAD
    assert sessions(old) == before


def test_a_damaged_page_that_a_migration_meets_ends_in_a_sentence(old: Path, tmp_path: Path) -> None:
    """Also of the command: one line, exit code 1."""
    with closing(sqlite3.connect(old)) as database:
        ((page,),) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'turns'")
        ((size,),) = database.execute("PRAGMA page_size")
    with old.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)

    seen = run(tmp_path, "migrate", GATEWAY_COPY_BEFORE_MIGRATION="false")

    assert seen.returncode == 1
    last = seen.stderr.splitlines()[-1]
    assert last.startswith(
        f"gateway: The database data/gateway.db could not be migrated, and stays as it is at {OLD}"
    )
    assert "is damaged" in last
    assert "Traceback" not in seen.stderr

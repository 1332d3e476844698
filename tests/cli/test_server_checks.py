"""What `gateway doctor` says about a PostgreSQL server and the replicas on it."""

from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.bucket import bucket
from tests.cli.calling import Command
from tests.loopback import free_port
from tests.pooler import needs_pooler, pooled
from tests.postgres import needs_postgres, new_database

pytestmark = needs_postgres

ALIVE = "INSERT INTO replicas (id, draining, about) VALUES (%s, false, %s)"


@pytest.fixture
def doctor(command: Command, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Command]:
    """The URL of a database, and a command that uses it."""
    url = new_database()
    monkeypatch.setenv("GATEWAY_DATABASE_URL", url)
    return url, command


def test_a_server_that_is_well_is_said_so(doctor: tuple[str, Command]) -> None:
    """Its version and schema; what has no standby may lose what was shown last. This one of the tests forgets
    all in a power cut."""
    _, command = doctor
    said = command("doctor").out
    assert "storage: PostgreSQL 1" in said
    assert "at the newest schema" in said
    assert "no synchronous_standby_names" in said
    assert "fsync and synchronous_commit must not be off" in said
    assert "clock" not in said
    assert "replicas: no replica runs" in said


def test_replicas_that_differ_are_named(doctor: tuple[str, Command]) -> None:
    """By what they differ in, and who has which."""
    url, command = doctor
    with psycopg.connect(url) as connection:
        connection.execute(ALIVE, ("one", '{"version": "1", "lease": "10", "prompts": "a", "skills": "c"}'))
    assert "replicas: 1 runs, with the same" in command("doctor").out
    with psycopg.connect(url) as connection:
        connection.execute(ALIVE, ("two", '{"version": "2", "lease": "30", "prompts": "a", "skills": "d"}'))
    said = command("doctor").out
    assert "replicas: they differ in version (1: one; 2: two)" in said
    assert "replicas: they differ in skills (c: one; d: two)" in said
    assert "replicas: they differ in lease (10: one; 30: two): each judges the others by its own" in said
    assert "differ in prompts" not in said


def test_a_server_that_is_away_or_older_is_told(
    doctor: tuple[str, Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to do; a password is not shown."""
    url, command = doctor
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0009'")
    outdated = command("doctor")
    assert "`gateway migrate`" in outdated.out
    monkeypatch.setenv("GATEWAY_DATABASE_URL", f"postgresql://ann:secret@127.0.0.1:{free_port()}/none")
    away = command("doctor")
    assert (outdated.code, away.code) == (1, 1)
    assert "refused" in away.out
    assert "secret" not in away.out


@needs_pooler
def test_a_pooler_is_asked_whether_waits_end(
    doctor: tuple[str, Command], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a gateway tells the server at the start of a connection does not reach it through a pooler."""
    url, command = doctor
    assert "lock_timeout" not in command("doctor").out
    monkeypatch.setenv("GATEWAY_DATABASE_DIRECT_URL", url)
    with pooled(url, tmp_path) as pooler:
        monkeypatch.setenv("GATEWAY_DATABASE_URL", pooler)
        assert "ALTER ROLE … SET lock_timeout = '5s'" in command("doctor").out
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {urlsplit(url).path[1:]} SET lock_timeout = '5s'".encode())
    with pooled(url, tmp_path) as pooler:
        monkeypatch.setenv("GATEWAY_DATABASE_URL", pooler)
        assert "lock_timeout" not in command("doctor").out


def test_a_store_of_blobs_is_tried(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a gateway needs of it: to write, to read, to remove. Nothing is left of that."""
    with bucket(monkeypatch) as store:
        monkeypatch.setenv("GATEWAY_BLOB_URL", f"{store.address}/p")
        assert f"blobs: {store.address}/p was written, read and cleared" in command("doctor").out
        assert store.objects() == []
        store.fail("overloaded")
        away = command("doctor")
    assert away.code == 1
    assert f"blobs: {store.address}/p cannot be used: The blob store failed" in away.out


def test_a_folder_of_one_machine_is_told(
    doctor: tuple[str, Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to set; where all have it, it is tried."""
    _, command = doctor
    assert "GATEWAY_BLOBS_SHARED=true" in command("doctor").out
    monkeypatch.setenv("GATEWAY_BLOBS_SHARED", "true")
    assert "was written, read and cleared" in command("doctor").out

"""A database's file that goes away, is replaced or overwritten under a running gateway."""

import asyncio
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.harness import client_at
from tests.loopback import TIMEOUT
from tests.running import gateway_process, run

pytestmark = [pytest.mark.anyio, pytest.mark.long, pytest.mark.waits]


def copied(source: Path, target: Path) -> None:
    """SQLite's own backup, as an operator makes it."""
    with closing(sqlite3.connect(source)) as here, closing(sqlite3.connect(target)) as there:
        here.backup(there)


def sound(path: Path) -> bool:
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as database:
        return database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def deleted(database: Path, _: Path) -> None:
    for path in database.parent.glob(f"{database.name}*"):
        if not path.name.endswith(".identity"):
            path.unlink()


def renamed(database: Path, _: Path) -> None:
    database.rename(database.with_name("former.db"))


def moved_over(database: Path, backup: Path) -> None:
    backup.replace(database)


def copied_over(database: Path, backup: Path) -> None:
    shutil.copyfile(backup, database)


def emptied(database: Path, _: Path) -> None:
    database.write_bytes(b"")


def without_log(database: Path, _: Path) -> None:
    database.with_name(f"{database.name}-wal").unlink()


def with_folder(database: Path, _: Path) -> None:
    database.parent.rename(database.parent.with_name("elsewhere"))


WAYS = [deleted, renamed, moved_over, copied_over, emptied, without_log, with_folder]
Way = Callable[[Path, Path], None]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_nothing_is_accepted_for_a_file_that_is_gone(way: Way, tmp_path: Path, demo_url: str) -> None:
    """No turn is acknowledged from then on, the stream of a running turn ends with the name of the failure,
    and /readyz has it too; the log has it once for each file."""
    database, backup = tmp_path / "data" / "gateway.db", tmp_path / "backup.db"
    with gateway_process(tmp_path, "serve", ANTHROPIC_BASE_URL=demo_url) as gateway:
        async with client_at(gateway.url) as client:
            session = await client.session()
            await client.chat("/say before", session_id=session)
            copied(database, backup)
            turn = (await client.begin(session, "/pieces 3000\n/pace 5"))["turn_id"]
            shown = []
            async with (
                asyncio.timeout(TIMEOUT),
                client.frames(f"/api/sessions/{session}/events?turn_id={turn}") as frames,
            ):
                async for frame in frames:
                    shown.append(frame)
                    if len(shown) == 20:
                        way(database, backup)
            refused = await client.post("/api/chat", {"message": "/say lost"})
            ready = await client.get("/readyz")
            alive = await client.get("/healthz")
            measured = (await client.get("/metrics")).text
        gateway.stop()
    said = gateway.output.read_text()

    assert (shown[-1].event, shown[-1].data["code"]) == ("stream_error", "database_replaced")
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "database_replaced")
    assert refused.json()["error"]["retryable"] is False
    assert (ready.status_code, ready.json()["failed"]["storage"]["code"]) == (503, "database_replaced")
    assert alive.status_code == 200
    assert (
        'gateway_database_unusable{error_type="database_replaced",gateway_database="sessions"} 1' in measured
    )
    files = 2 if way is with_folder else 1  # that of the memories too
    assert said.count("database_replaced: ") == files, said


@pytest.mark.parametrize("way", [moved_over, copied_over], ids=lambda way: way.__name__)
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
async def test_a_backup_that_was_put_in_place_stays_sound(
    way: Way, end: signal.Signals, tmp_path: Path, demo_url: str
) -> None:
    """Also when the gateway ends: neither its end nor the next start writes the former file's log into it.
    The start refuses in a sentence that says what to do, as does every command, and after that it has what
    the backup has."""
    data, backup = tmp_path / "data", tmp_path / "backup.db"
    database = data / "gateway.db"
    with gateway_process(tmp_path, "serve", ANTHROPIC_BASE_URL=demo_url) as gateway:
        async with client_at(gateway.url) as client:
            session = await client.session()
            await client.chat("/say before", session_id=session)
            kept = await client.events(session)
            copied(database, backup)
            whole = backup.read_bytes()
            for number in range(5):
                await client.chat(f"/say later {number}")
            way(database, backup)
            if end == signal.SIGTERM:
                assert (await client.get("/readyz")).status_code == 503
        gateway.stop(end)

    assert database.read_bytes() == whole
    refused = [run(tmp_path, *command, ANTHROPIC_BASE_URL=demo_url) for command in (["serve"], ["migrate"])]
    doctor = run(tmp_path, "doctor", ANTHROPIC_BASE_URL=demo_url)
    assert [each.returncode for each in refused] == [1, 1]
    assert all("gateway.db is not the one that gateway.db-wal" in each.stderr for each in refused)
    assert all(each.stderr.count("\n") == 1 for each in refused)
    assert doctor.returncode == 1
    assert "gateway.db is not the one that gateway.db-wal" in doctor.stdout
    assert database.read_bytes() == whole
    assert sound(database)

    for suffix in ("-wal", "-shm", ".identity"):  # as the sentence says
        data.joinpath(f"gateway.db{suffix}").unlink()
    with gateway_process(tmp_path, "serve", ANTHROPIC_BASE_URL=demo_url) as gateway:
        async with client_at(gateway.url) as client:
            assert (await client.get("/readyz")).status_code == 200
            assert await client.events(session) == kept


async def test_a_folder_whose_database_is_gone_is_not_begun_anew(tmp_path: Path, demo_url: str) -> None:
    """The start says so, as does `gateway doctor`, and it goes on where it was when the file is back; after
    kill -9 its log is still the file's own."""
    database = tmp_path / "data" / "gateway.db"
    with gateway_process(tmp_path, "serve", ANTHROPIC_BASE_URL=demo_url) as gateway:
        async with client_at(gateway.url) as client:
            session = await client.session()
            kept = await client.chat("/say before", session_id=session)
        gateway.stop(signal.SIGKILL)
    former = database.rename(database.with_name("former.db"))

    refused = run(tmp_path, "serve", ANTHROPIC_BASE_URL=demo_url)
    assert refused.returncode == 1
    assert "There is no database" in refused.stderr
    assert not database.exists()
    doctor = run(tmp_path, "doctor", ANTHROPIC_BASE_URL=demo_url)
    assert (doctor.returncode, "There is no database" in doctor.stdout) == (1, True)

    former.rename(database)
    with gateway_process(tmp_path, "serve", ANTHROPIC_BASE_URL=demo_url) as gateway:
        async with client_at(gateway.url) as client:
            assert await client.events(session) == kept


async def test_a_folder_that_was_copied_after_a_crash_starts(tmp_path: Path, demo_url: str) -> None:
    """With its log: all files have other inodes then, and are the same."""
    with gateway_process(tmp_path, "serve", ANTHROPIC_BASE_URL=demo_url) as gateway:
        async with client_at(gateway.url) as client:
            session = await client.session()
            kept = await client.chat("/say before", session_id=session)
        gateway.stop(signal.SIGKILL)
    there = tmp_path / "there"
    there.mkdir()
    shutil.copytree(tmp_path / "data", there / "data")
    assert there.joinpath("data", "gateway.db-wal").stat().st_size

    with gateway_process(there, "serve", ANTHROPIC_BASE_URL=demo_url) as gateway:
        async with client_at(gateway.url) as client:
            assert await client.events(session) == kept


@pytest.mark.parametrize("way", [deleted, moved_over, copied_over], ids=lambda way: way.__name__)
async def test_no_memory_is_accepted_for_a_file_that_is_gone(way: Way, tmp_path: Path, demo_url: str) -> None:
    """Also of the memories' file: /readyz names it, and nothing is acknowledged that would be lost."""
    database, backup = tmp_path / "data" / "memory.db", tmp_path / "backup.db"
    memory = {"content": "Drinks tea.", "type": "fact"}
    with gateway_process(tmp_path, "serve", ANTHROPIC_BASE_URL=demo_url) as gateway:
        async with client_at(gateway.url) as client:
            saved = await client.post("/api/memory", memory)
            copied(database, backup)
            way(database, backup)
            refused = await client.post("/api/memory", memory | {"content": "No milk."})
            ready = await client.get("/readyz")
    assert saved.status_code == 201, saved.text
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "database_replaced"), refused.text
    assert (ready.status_code, ready.json()["failed"]["memory"]["code"]) == (503, "database_replaced")

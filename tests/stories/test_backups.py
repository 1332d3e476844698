"""`gateway backup` while people write, and `gateway restore` elsewhere."""

import asyncio
import hashlib
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from gateway.storage.orphans.removal_hold import held
from tests.forked import forked
from tests.harness import Client, client_at
from tests.invariants import violations
from tests.loopback import TIMEOUT
from tests.record import read_records
from tests.running import clean_environment, gateway_process, run, run_command

pytestmark = [pytest.mark.anyio, pytest.mark.long, pytest.mark.waits]

WRITERS = 5


async def write(client: Client, number: int, stop: asyncio.Event) -> list[str]:
    """Turns, uploads and memories of one client, until it is to stop; the references of its uploads."""
    refs = list[str]()
    session = await client.session()
    count = 0
    while not stop.is_set():
        count += 1
        await client.chat(f"/pieces 20\n/pace 2\nclient {number} {count}", session_id=session)
        refs.append(await upload(client, os.urandom(20_000 + 1000 * count)))
        if count % 3 == 0:  # what is removed meanwhile must not be missing in the backup
            gone = refs.pop(0)
            assert (await client.http.delete(f"/api/artifacts/{gone}")).status_code in {200, 204}
        await client.post("/api/memory", {"content": f"Fact {number} {count}.", "type": "fact"})
    return refs


async def upload(client: Client, content: bytes) -> str:
    """The reference of a file; only so many of a user's come in at a time."""
    kind = {"content-type": "application/octet-stream"}
    while (
        sent := await client.http.post("/api/artifacts", content=content, headers=kind)
    ).status_code == 429:
        await asyncio.sleep(0.05)
    assert sent.status_code == 201, sent.text
    return sent.json()["ref"]


async def all_of(client: Client) -> dict[str, bytes]:
    """Each session with its events, as they are stored."""
    found = dict[str, bytes]()
    for each in (await client.get("/api/sessions?limit=100")).json()["sessions"]:
        async with client.http.stream("GET", f"/api/sessions/{each['id']}/replay?speed=max") as response:
            found[each["id"]] = await response.aread()
    return found


async def test_a_backup_under_load_is_whole_elsewhere(tmp_path: Path, demo_url: str) -> None:
    """Made while five clients write: all sessions are there, with all that was stored when it was begun, byte
    for byte; all turns end; every artifact of which there is a row can be read; nothing is against the
    invariants. It is found to be whole."""
    backup, there = tmp_path / "backup", tmp_path / "there"
    there.mkdir()
    given = {"ANTHROPIC_BASE_URL": demo_url}
    with gateway_process(tmp_path, "serve", **given) as gateway:
        async with client_at(gateway.url) as client:
            stop = asyncio.Event()
            writers = [asyncio.create_task(write(client, number, stop)) for number in range(WRITERS)]
            await asyncio.sleep(2)  # so that there is something to lose
            before = await all_of(client)
            made = await asyncio.to_thread(run, tmp_path, "backup", str(backup), **given)
            stop.set()
            async with asyncio.timeout(TIMEOUT):
                await asyncio.gather(*writers)
        gateway.stop()
    assert made.returncode == 0, made.stderr
    assert "is done" in made.stdout
    checked = run(tmp_path, "backup", "--check", str(backup), **given)
    assert (checked.returncode, "is whole" in checked.stdout) == (0, True), checked.stderr

    restored = run(there, "restore", str(backup), **given)
    assert restored.returncode == 0, restored.stderr
    with gateway_process(there, "serve", **given) as gateway:
        async with client_at(gateway.url) as client, asyncio.timeout(TIMEOUT):
            for session in before:
                while (await client.events(session))[-1]["type"] != "done":
                    await asyncio.sleep(0.1)
            after = await all_of(client)
            artifacts = (await client.get("/api/artifacts?limit=100")).json()["artifacts"]
            contents = [await client.get(f"/api/artifacts/{each['ref']}") for each in artifacts]
            memories = (await client.get("/api/memory?limit=100")).json()["memories"]
            assert (await client.get("/readyz")).status_code == 200
    assert set(before) <= set(after)
    for session, stored in before.items():
        known = frames_of(stored)
        assert frames_of(after[session])[: len(known)] == known
    assert artifacts
    assert {each.status_code for each in contents} == {200}
    assert memories
    record = there / "data" / "gateway.db"
    assert [wrong for each in read_records(record) for wrong in violations(each)] == []


def frames_of(replay: bytes) -> list[bytes]:
    """The events, without the frames that are about the stream."""
    return [each for each in replay.split(b"\n\n") if each and b"event: stream_" not in each]


@pytest.fixture
async def backup(tmp_path: Path, demo_url: str) -> Path:
    """One of a small gateway that is not running any more."""
    with gateway_process(tmp_path, "serve", ANTHROPIC_BASE_URL=demo_url) as gateway:
        async with client_at(gateway.url) as client:
            await client.chat("/say kept")
            await upload(client, b"some file" * 1000)
            await client.post("/api/memory", {"content": "Drinks tea.", "type": "fact"})
        gateway.stop()
    made = run(tmp_path, "backup", "backup")
    assert made.returncode == 0, made.stderr
    return tmp_path / "backup"


def flip(path: Path) -> None:
    """One bit of one byte in the middle is another one."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def blob_of(backup: Path) -> Path:
    return next(each for each in backup.glob("blobs/**/*") if each.is_file())


DAMAGES: dict[str, Callable[[Path], object]] = {
    "sessions": lambda backup: flip(backup / "gateway.db"),
    "memories": lambda backup: flip(backup / "memory.db"),
    "blob": lambda backup: flip(blob_of(backup)),
    "lost blob": lambda backup: blob_of(backup).unlink(),
    "list": lambda backup: flip(backup / "files.jsonl"),
    "shorter list": lambda backup: (backup / "files.jsonl").write_bytes(b""),
    "no list": lambda backup: (backup / "files.jsonl").unlink(),
    "no manifest": lambda backup: (backup / "manifest.json").unlink(),
    "broken manifest": lambda backup: (backup / "manifest.json").write_bytes(b"{"),
}


async def test_damage_is_found_by_check_and_restore(tmp_path: Path, backup: Path) -> None:
    """One bit anywhere, or a file that is gone: both say which in one line, and nothing is restored."""
    for name, damage in DAMAGES.items():
        broken = tmp_path / f"broken {name}"
        shutil.copytree(backup, broken)
        damage(broken)
        target = {"GATEWAY_DATA_DIR": str(tmp_path / f"into {name}")}
        for asked in (
            run(tmp_path, "backup", "--check", str(broken)),
            run(tmp_path, "restore", str(broken), **target),
        ):
            assert asked.returncode == 1, name
            assert asked.stderr.splitlines()[-1].startswith("gateway: "), asked.stderr
            assert "Traceback" not in asked.stderr
        assert not (tmp_path / f"into {name}").exists(), name


async def test_a_row_without_its_blob_is_found(tmp_path: Path, backup: Path) -> None:
    """Also where the list of files and its digests are made to agree with that."""

    blob = blob_of(backup)
    lines = (backup / "files.jsonl").read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if blob.name.encode() not in line]
    assert len(kept) == len(lines) - 1
    blob.unlink()
    (backup / "files.jsonl").write_bytes(b"".join(kept))
    manifest = orjson.loads((backup / "manifest.json").read_bytes())
    manifest["listing_sha256"] = hashlib.sha256(b"".join(kept)).hexdigest()
    manifest["files"] -= 1
    (backup / "manifest.json").write_bytes(orjson.dumps(manifest))

    checked = run(tmp_path, "backup", "--check", str(backup))
    assert checked.returncode == 1
    assert "lacks 1 blobs that rows name" in checked.stderr


async def test_a_backup_that_was_killed_is_refused(tmp_path: Path, backup: Path) -> None:
    """kill -9 while it is made leaves no manifest; the next one is made into another folder."""
    with held(tmp_path / "data"):  # so that it is still at work when it is killed
        process = forked(backing_up, tmp_path)
        while not (tmp_path / "killed").exists():
            await asyncio.sleep(0.02)
        process.kill()
        process.join(TIMEOUT)
    for asked in (
        run(tmp_path, "backup", "--check", "killed"),
        run(tmp_path, "restore", "killed", "--replace"),
    ):
        assert asked.returncode == 1
        assert "no manifest.json" in asked.stderr
    assert run(tmp_path, "backup", "killed").returncode in {0, 1}
    assert run(tmp_path, "backup", "again").returncode == 0


def backing_up(folder: Path) -> None:

    output = folder / "backing-up.txt"
    output.touch()
    run_command(folder, ("backup", "killed"), clean_environment(), output)


async def test_a_restore_asks_before_it_replaces(tmp_path: Path, backup: Path, demo_url: str) -> None:
    """A folder that is in use is refused, and one that is not empty; with --replace what is there is kept
    aside, its log and all. The log of the former file is not applied to the restored one."""
    given = {"ANTHROPIC_BASE_URL": demo_url}
    with gateway_process(tmp_path, "serve", **given) as gateway:
        in_use = [run(tmp_path, "restore", "backup", *more) for more in ((), ("--replace",))]
        async with client_at(gateway.url) as client:
            await client.chat("/say later")
        gateway.stop(signal.SIGKILL)
    assert [each.returncode for each in in_use] == [1, 1]
    assert all("is in use by process" in each.stderr for each in in_use)
    refused = run(tmp_path, "restore", "backup")
    assert refused.returncode == 1
    assert "is not empty" in refused.stderr

    done = run(tmp_path, "restore", "backup", "--replace")
    assert done.returncode == 0, done.stderr
    (aside,) = (tmp_path / "data").glob("replaced-*")
    assert {"gateway.db", "gateway.db-wal", "memory.db", "blobs"} <= {each.name for each in aside.iterdir()}
    assert not (tmp_path / "data" / "gateway.db-wal").exists()
    with gateway_process(tmp_path, "serve", **given) as gateway:
        async with client_at(gateway.url) as client:
            assert (await client.get("/readyz")).status_code == 200
            assert len((await client.get("/api/sessions")).json()["sessions"]) == 1
            assert len((await client.get("/api/memory")).json()["memories"]) == 1


async def test_an_interrupted_restore_does_not_start(tmp_path: Path, backup: Path) -> None:
    """The folder says so, until it was restored whole."""
    data = tmp_path / "data"
    data.joinpath("restoring").touch()
    refused = run(tmp_path, "serve", ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    assert refused.returncode == 1
    assert "was interrupted: call `gateway restore` again with --replace" in refused.stderr
    assert run(tmp_path, "restore", str(backup), "--replace").returncode == 0
    assert not data.joinpath("restoring").exists()


async def test_a_restore_that_was_killed_while_files_moved_does_not_start(
    tmp_path: Path, backup: Path
) -> None:
    """Some of the former files are aside by then: a gateway that began on the others would have lost them."""
    process = forked(dying_restore, tmp_path)
    process.join(TIMEOUT)
    assert process.exitcode == KILLED
    assert not (tmp_path / "data" / "blobs").exists()
    refused = run(tmp_path, "serve", ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    assert refused.returncode == 1
    assert "was interrupted: call `gateway restore` again with --replace" in refused.stderr
    assert run(tmp_path, "restore", str(backup), "--replace").returncode == 0


KILLED = 77


def dying_restore(folder: Path) -> None:
    """Ends at once when the memory's file is to be moved, after the blobs."""
    rename = Path.rename

    def renamed(self: Path, target: str | os.PathLike[str]) -> Path:
        if self.name == "memory.db":
            os._exit(KILLED)
        return rename(self, target)

    Path.rename = renamed
    output = folder / "restoring.txt"
    output.touch()
    run_command(folder, ("restore", "backup", "--replace"), clean_environment(), output)


async def test_no_blob_is_removed_while_a_backup_is_made(tmp_path: Path, backup: Path, demo_url: str) -> None:
    """What a row of the backup's moment names stays until the backup is done, and goes then."""
    with gateway_process(tmp_path, "serve", ANTHROPIC_BASE_URL=demo_url) as gateway:
        async with client_at(gateway.url) as client:
            (artifact,) = (await client.get("/api/artifacts")).json()["artifacts"]
            blobs = [each for each in (tmp_path / "data" / "blobs").glob("**/*") if each.is_file()]
            with held(tmp_path / "data"):
                await client.http.delete(f"/api/artifacts/{artifact['ref']}")
                gone = await client.get(f"/api/artifacts/{artifact['ref']}")
                assert gone.status_code == 404
                assert all(each.exists() for each in blobs)


async def test_a_damaged_database_makes_no_backup(tmp_path: Path, backup: Path) -> None:
    """It says so and is not completed: an older one is better than that."""
    database = tmp_path / "data" / "gateway.db"
    with closing(sqlite3.connect(database)) as connection:
        ((page,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'messages'")
        ((size,),) = connection.execute("PRAGMA page_size")
    with database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)
    made = run(tmp_path, "backup", "second")
    assert made.returncode == 1
    assert "is damaged" in made.stderr
    assert not (tmp_path / "second" / "manifest.json").exists()

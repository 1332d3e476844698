"""Everything is there after a move, byte for byte, however often it was interrupted; what would mix or lose
something is refused."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gateway.encryption.keyring import read_keys
from gateway.storage.blobs.encrypted import MAGIC
from gateway.storage.data_folder_lock import FolderLock
from gateway.storage.log.packs import Pack, events_of
from gateway.storage.moving import MoveProgress
from gateway.storage.moving.blobs import MovedBlobs
from gateway.storage.moving.steps import REPLACED, STEPS
from gateway.storage.postgres.connections import ServerAddress
from gateway.wiring.database_move import MoveReport, move_everything
from tests.bucket import Bucket, bucket
from tests.cli.calling import Command
from tests.harness import Client, running_gateway, settings_for
from tests.loopback import TIMEOUT
from tests.postgres import needs_postgres, new_database, on_postgres
from tests.product import Keyring, SettingsError, StorageError, new_key, serve_demo

MESSAGES = (
    "/pieces 300 /burst",
    '/call search_docs {"query": "resume", "limit": 8}\n/then\n/pieces 20 /burst',
    '/call search_docs {"query": "approval", "limit": 8}\n/then\n/pieces 20 /burst',
    "/say 茶馆在山上。",
)


class Stopped(Exception):
    """In place of a power cut."""


def quiet(_: MoveProgress) -> None: ...


def url_of(folder: Path) -> str:
    return f"sqlite:///{folder}/gateway.db"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=needs_postgres)])
def empty(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """Addresses of empty databases."""
    if request.param == "postgresql":
        return new_database
    return lambda: url_of(tmp_path_factory.mktemp("empty"))


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with bucket(monkeypatch) as found:
        yield found


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Mapping[str, Any]]:
    """The data folder of a gateway that was used, and what it showed: one session of it is archived, and one
    is compressed."""
    folder = tmp_path_factory.mktemp("used")

    async def use() -> Mapping[str, Any]:
        async with (
            serve_demo() as url,
            running_gateway(settings_for(folder, url, artifact_tokens=500)) as client,
        ):
            for number in range(3):
                for message in MESSAGES:
                    await client.chat(message, session_id=f"s_{number}")
                for content in (f"The tea of hill {number} is green.", f"Ann's boat number {number} leaks."):
                    answer = await client.post("/api/memory", {"content": content})
                    assert answer.status_code == 201, answer.text
            for kept in ("s_0/compress", "s_2/archive"):
                answer = await client.http.post(f"/api/sessions/{kept}")
                assert answer.is_success, answer.text
            return await shown(client)

    return folder, asyncio.run(use())


async def shown(client: Client) -> Mapping[str, Any]:
    """What clients can read of all there is."""
    sessions = (await client.get("/api/sessions")).json()["sessions"]
    found: dict[str, Any] = {"memories": (await client.get("/api/memory")).json()}
    for session in sessions:
        path = f"/api/sessions/{session['id']}"
        frames = await client.all_frames(f"{path}/events?follow=0")
        found[path] = [frame.raw for frame in frames if frame.id is not None and frame.event != "stream_open"]
        found[f"{path}/messages"] = (await client.get(f"{path}/messages")).json()
    for artifact in (await client.get("/api/artifacts")).json()["artifacts"]:
        content = await client.get(f"/api/artifacts/{artifact['ref']}")
        assert content.status_code == 200
        found[artifact["ref"]] = content.content
    return found


async def shown_by(folder: Path, **given: Any) -> Mapping[str, Any]:
    """The same of a gateway on that folder, which also finds what is looked for."""
    async with serve_demo() as url, running_gateway(settings_for(folder, url, **given)) as client:
        async with asyncio.timeout(TIMEOUT):
            while len((await client.get("/api/sessions?q=茶馆")).json()["sessions"]) < 3:
                await asyncio.sleep(0.02)
        boats = (await client.get("/api/memory?q=leaking")).json()["memories"]
        assert sorted(row["content"] for row in boats) == [f"Ann's boat number {n} leaks." for n in range(3)]
        return await shown(client)


def test_a_gateway_shows_the_same_after_a_move(
    filled: tuple[Path, Mapping[str, Any]], empty: Callable[[], str], tmp_path: Path
) -> None:
    """Events byte for byte, messages, memories and artifacts; both search indexes find what they found. There
    and back again, as what a gateway needs is on SQLite."""
    folder, before = filled
    there, target = empty(), tmp_path / "target"

    move_everything(url_of(folder), there, None, quiet)
    moved = move_everything(there, url_of(target), (f"{folder}/blobs", f"{target}/blobs"), quiet)

    assert moved.blobs == MovedBlobs(copied=moved.named_blobs, present=0, missing=(), damaged=())
    assert asyncio.run(shown_by(target)) == before


def test_encrypted_memories_are_found_after_a_move(empty: Callable[[], str], tmp_path: Path) -> None:
    """Rows as they are, their words made again with the key that opens them; without it nothing is moved."""
    text = new_key()
    keys: dict[str, Any] = {"encryption_keys": text, "encrypt_contents": True}
    source, there, target = tmp_path / "source", empty(), tmp_path / "target"
    source.mkdir()

    async def found(folder: Path, *contents: str) -> Sequence[str]:
        async with serve_demo() as url, running_gateway(settings_for(folder, url, **keys)) as client:
            for content in contents:
                assert (await client.post("/api/memory", {"content": content})).status_code == 201
            rows = (await client.get("/api/memory?q=leaking")).json()["memories"]
            return [row["content"] for row in rows]

    boat = "Ann's boat leaks."
    assert asyncio.run(found(source, boat, "The tea is green.")) == [boat]
    opened_by = Keyring(read_keys(text))
    with pytest.raises(SettingsError, match="GATEWAY_ENCRYPTION_KEYS"):
        move_everything(url_of(source), there, None, quiet)
    move_everything(url_of(source), there, None, quiet, opened_by)
    move_everything(there, url_of(target), None, quiet, opened_by)

    assert b"boat" not in (target / "memory.db").read_bytes()
    assert asyncio.run(found(target)) == [boat]


@on_postgres
def test_what_was_moved_is_read_as_fast_as_what_is_old(filled: tuple[Path, Mapping[str, Any]]) -> None:
    """Every page is known to be visible to all, and the planner knows the tables: the first searches need
    not wait for autovacuum."""
    there = new_database()
    move_everything(url_of(filled[0]), there, None, quiet)
    with psycopg.connect(there) as connection:
        for table in ("messages", "turns", "memories", "memory_postings"):
            pages = "SELECT relpages, relallvisible, reltuples > 0 FROM pg_class WHERE oid = %s::regclass"
            row = connection.execute(pages, (table,)).fetchone()
            assert row is not None
            assert row[0] == row[1] > 0, table
            assert row[2], table


def test_an_interrupted_move_goes_on_where_it_was(
    filled: tuple[Path, Mapping[str, Any]], empty: Callable[[], str], tmp_path: Path
) -> None:
    """Whatever was told last: each call gets one step further, none adds anything twice, and in none of the
    steps a gateway opens the target, nor is it moved on."""
    folder, before = filled
    there, target = empty(), tmp_path / "target"
    said: set[MoveProgress] = set()
    refused_in = list[str]()
    step = ""

    def stop_at_what_is_new(progress: MoveProgress) -> None:
        nonlocal step
        if progress not in said:
            step = progress.step
            said.add(progress)
            raise Stopped

    moved: MoveReport | None = None
    while moved is None:
        try:
            blobs = (f"{folder}/blobs", f"{target}/blobs")
            moved = move_everything(url_of(folder), there, blobs, stop_at_what_is_new)
        except Stopped:
            if step in refused_in:
                continue
            refused_in.append(step)
            with pytest.raises(StorageError, match="not finished") as refused:
                move_everything(there, url_of(tmp_path / "on"), None, quiet)
            assert refused.value.code == "move_unfinished"
    move_everything(there, url_of(target), None, quiet)

    assert moved.blobs == MovedBlobs(copied=0, present=moved.named_blobs, missing=(), damaged=())
    assert {each.name for each in STEPS} <= {progress.step for progress in said} == {*refused_in}
    assert asyncio.run(shown_by(target)) == before


def test_a_target_that_holds_something_is_refused(
    filled: tuple[Path, Mapping[str, Any]], empty: Callable[[], str]
) -> None:
    """Nothing is mixed: neither with what is there, nor with an unfinished move from elsewhere."""
    folder, _ = filled
    elsewhere, unfinished = empty(), empty()
    move_everything(url_of(folder), elsewhere, None, quiet)

    with pytest.raises(StorageError, match="not empty") as refused:
        move_everything(url_of(folder), elsewhere, None, quiet)
    assert refused.value.code == "target_not_empty"

    def stop(_: MoveProgress) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        move_everything(url_of(folder), unfinished, None, stop)
    with pytest.raises(StorageError, match=f"unfinished move from {url_of(folder)}"):
        move_everything(elsewhere, unfinished, None, quiet)


def test_a_source_that_somebody_uses_is_refused(
    filled: tuple[Path, Mapping[str, Any]], tmp_path: Path
) -> None:
    """What it adds meanwhile would be missing; a file that is not there is not made."""
    folder, _ = filled

    with FolderLock(folder), pytest.raises(StorageError, match="in use"):
        move_everything(url_of(folder), url_of(tmp_path), None, quiet)
    with pytest.raises(StorageError, match="no database"):
        move_everything(url_of(tmp_path / "nowhere"), url_of(tmp_path), None, quiet)

    assert not (tmp_path / "nowhere").exists()


@on_postgres
@pytest.mark.parametrize("which", ["source", "target"])
def test_a_server_that_gateways_use_is_refused(
    filled: tuple[Path, Mapping[str, Any]], tmp_path: Path, which: str
) -> None:
    """Told by the name that gateways give their connections, whichever their URL gives."""
    folder, _ = filled
    used = new_database()
    with ServerAddress(f"{used}?application_name=chat-eu").connect():
        ends = (used, url_of(tmp_path)) if which == "source" else (url_of(folder), used)
        with pytest.raises(StorageError, match="Gateways use") as refused:
            move_everything(*ends, None, quiet)

    assert refused.value.code == "data_locked"


@on_postgres
def test_a_move_does_not_take_its_own_connections_for_those_of_a_gateway(
    filled: tuple[Path, Mapping[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server lists one for a moment after it was closed: none has the name of a gateway's."""
    folder, _ = filled
    there, names, connect = new_database(), set[str](), psycopg.connect

    def named(*args: Any, application_name: str, **parameters: Any) -> psycopg.Connection[Any]:
        names.add(application_name)
        return connect(*args, application_name=application_name, **parameters)

    monkeypatch.setattr(psycopg, "connect", named)
    move_everything(url_of(folder), there, None, quiet)

    assert names == {"chat-gateway-move"}


@on_postgres
def test_a_log_of_loose_events_is_packed_on_its_way(
    filled: tuple[Path, Mapping[str, Any]], tmp_path: Path
) -> None:
    """A PostgreSQL gateway leaves each event in a row of its own; on SQLite every reader would go through all
    of them."""
    folder, before = filled
    there, target = new_database(), tmp_path / "target"
    move_everything(url_of(folder), there, None, quiet)
    with psycopg.connect(there) as connection:
        packs = [Pack(*row) for row in connection.execute("SELECT * FROM event_packs").fetchall()]
        for pack in packs:
            for event in events_of(pack):
                values = (pack.session_id, event.seq, event.turn_id, event.type, event.body)
                connection.execute("INSERT INTO loose_events VALUES (%s, %s, %s, %s, %s)", values)
        connection.execute("DELETE FROM event_packs")

    move_everything(there, url_of(target), (f"{folder}/blobs", f"{target}/blobs"), quiet)

    with closing(sqlite3.connect(target / "gateway.db")) as connection:
        assert connection.execute("SELECT count(*) FROM loose_events").fetchone() == (0,)
    assert asyncio.run(shown_by(target)) == before


@on_postgres
def test_a_text_with_nul_arrives_without_it(filled: tuple[Path, Mapping[str, Any]], tmp_path: Path) -> None:
    """PostgreSQL has no text with NUL in it; a title of former days shall not keep everything from moving."""
    folder, _ = filled
    source, there = tmp_path / "source", new_database()
    move_everything(url_of(folder), url_of(source), None, quiet)
    with closing(sqlite3.connect(source / "gateway.db")) as connection:
        connection.execute("UPDATE sessions SET title = ? WHERE id = 's_1'", ("tea\0time",))
        connection.commit()

    move_everything(url_of(source), there, None, quiet)

    with psycopg.connect(there) as connection:
        title = connection.execute("SELECT title FROM sessions WHERE id = 's_1'").fetchone()
    assert title == (f"tea{REPLACED}time",)


def test_a_source_that_changed_between_two_attempts_is_noticed(
    filled: tuple[Path, Mapping[str, Any]], tmp_path: Path
) -> None:
    """A row that was read already and has another value now: the move does not say that it succeeded."""
    folder, _ = filled
    source, target = tmp_path / "source", tmp_path / "target"
    move_everything(url_of(folder), url_of(source), None, quiet)

    def stop_at_the_check(progress: MoveProgress) -> None:
        if progress.step == "check":
            raise Stopped

    with pytest.raises(Stopped):
        move_everything(url_of(source), url_of(target), None, stop_at_the_check)
    with closing(sqlite3.connect(source / "gateway.db")) as connection:
        connection.execute("UPDATE turns SET input = 'something else' WHERE number = 1")
        connection.commit()

    with pytest.raises(StorageError, match="differs from its source in turns") as refused:
        move_everything(url_of(source), url_of(target), None, quiet)
    assert refused.value.code == "move_differs"


def test_blobs_move_into_a_bucket_and_back(
    filled: tuple[Path, Mapping[str, Any]], tmp_path: Path, store: Bucket, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command, as it is written in the guide: a gateway on the bucket shows the same as before, and so
    does one on the folder that they come back to."""
    folder, before = filled
    command = Command(capsys)
    there, target = tmp_path / "there", tmp_path / "target"
    in_bucket = f"{store.address}/gateway"

    out = command("move", url_of(folder), url_of(there), "--blobs", f"{folder}/blobs", in_bucket)
    again = command(
        "move", url_of(folder), url_of(tmp_path / "more"), "--blobs", f"{folder}/blobs", in_bucket
    )
    shown_there = asyncio.run(shown_by(there, blob_url=in_bucket))
    back = command("move", url_of(there), url_of(target), "--blobs", in_bucket, f"{target}/blobs")

    blobs = len(store.objects())
    assert blobs > 3
    assert (out.code, again.code, back.code) == (0, 0, 0), out.err + again.err + back.err
    assert f"{blobs} blobs (0 were there already)." in out.out
    assert f"{blobs} blobs ({blobs} were there already)." in again.out
    assert f"{blobs} blobs (0 were there already)." in back.out
    assert "damaged" not in out.err + again.err + back.err
    assert shown_there == before
    assert asyncio.run(shown_by(target)) == before


def test_what_is_encrypted_moves_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the keys, which the move does not have, nothing encrypted is taken for damaged, nor copied
    twice; a gateway with the keys shows the same at the new place."""
    source, target, keys = tmp_path / "source", tmp_path / "target", new_key()
    given = {"encryption_keys": keys, "encrypt_contents": True, "artifact_tokens": 500}

    async def use() -> Mapping[str, Any]:
        async with serve_demo() as url, running_gateway(settings_for(source, url, **given)) as client:
            for message in MESSAGES:
                await client.chat(message, session_id="s_0")
            assert (await client.http.post("/api/sessions/s_0/archive")).is_success
            return await shown(client)

    async def look() -> Mapping[str, Any]:
        async with serve_demo() as url, running_gateway(settings_for(target, url, **given)) as client:
            return await shown(client)

    before = asyncio.run(use())
    blobs = [path.read_bytes() for path in (source / "blobs").rglob("*") if path.is_file()]
    command, at = Command(capsys), ("--blobs", f"{source}/blobs", f"{target}/blobs")

    moved = command("move", url_of(source), url_of(target), *at)
    again = command("move", url_of(source), url_of(tmp_path / "more"), *at)

    count = len(blobs)
    assert count > 2
    assert all(blob.startswith(MAGIC) for blob in blobs)
    assert (moved.code, again.code) == (0, 0), moved.err + again.err
    assert f"{count} blobs (0 were there already)." in moved.out
    assert f"{count} blobs ({count} were there already)." in again.out
    assert "damaged" not in moved.err + again.err
    assert asyncio.run(look()) == before


def test_a_bucket_that_is_away_leaves_a_move_that_goes_on(
    filled: tuple[Path, Mapping[str, Any]], tmp_path: Path, store: Bucket, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whichever end it is: the move fails in a sentence, and what was done is not done again."""
    folder, before = filled
    command = Command(capsys)
    there, target = tmp_path / "there", tmp_path / "target"
    here, in_bucket = f"{folder}/blobs", f"{store.address}/gateway"

    for source, into, blobs in (
        (folder, there, (here, in_bucket)),
        (there, target, (in_bucket, f"{target}/blobs")),
    ):
        store.fail("overloaded")
        failed = command("move", url_of(source), url_of(into), "--blobs", *blobs)
        store.fail(None)
        moved = command("move", url_of(source), url_of(into), "--blobs", *blobs)
        assert (failed.code, moved.code) == (1, 0), failed.err + moved.err
        assert "The blob store failed" in failed.err
        assert "Traceback" not in failed.err
    assert asyncio.run(shown_by(target)) == before


def test_lost_and_damaged_blobs_are_told(filled: tuple[Path, Mapping[str, Any]], tmp_path: Path) -> None:
    """The rest moves: after the move it is no worse than before."""
    folder, _ = filled
    blobs = tmp_path / "blobs"
    move_everything(url_of(folder), url_of(tmp_path / "one"), (f"{folder}/blobs", str(blobs)), quiet)
    lost, damaged, *_ = sorted(path for path in blobs.rglob("*") if path.is_file())
    lost.unlink()
    damaged.write_bytes(b"something else")

    moved = move_everything(
        url_of(tmp_path / "one"), url_of(tmp_path / "two"), (str(blobs), f"{tmp_path}/other"), quiet
    )

    assert moved.blobs is not None
    assert moved.blobs.missing == (str(lost.relative_to(blobs)),)
    assert moved.blobs.damaged == (str(damaged.relative_to(blobs)),)

"""`gateway backup` of a PostgreSQL database and a bucket."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.storage.moving import MoveProgress
from gateway.storage.postgres import dumps
from gateway.wiring import backups
from tests.bucket import Bucket, bucket
from tests.harness import running_gateway, settings_for
from tests.postgres import needs_postgres, new_database
from tests.product import Settings, SettingsError, StorageError

pytestmark = [pytest.mark.anyio, *needs_postgres]


def quiet(_: MoveProgress) -> None: ...


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with bucket(monkeypatch) as found:
        yield found


@pytest.fixture
def settings(tmp_path: Path, demo_url: str, store: Bucket) -> Settings:
    return settings_for(
        tmp_path / "data", demo_url, database_url=new_database(), blob_url=f"{store.address}/here"
    )


def elsewhere(settings: Settings, store: Bucket) -> Settings:
    """An empty database, and another place in the bucket."""
    changed = {"database_url": new_database("template0"), "blob_url": f"{store.address}/there"}
    return settings.model_copy(update=changed)


async def test_a_server_and_a_bucket_come_back(tmp_path: Path, settings: Settings, store: Bucket) -> None:
    """Made while the gateway runs, restored into an empty database and another bucket: the same events, the
    same artifacts. While it is made no blob is removed. A second restore into the same database is refused,
    as is a backup that has lost a byte of its dump."""
    folder = tmp_path / "backup"
    async with running_gateway(settings) as client:
        session = await client.session()
        await client.chat("/say kept", session_id=session)
        kind = {"content-type": "application/octet-stream"}
        sent = await client.http.post("/api/artifacts", content=b"some file" * 1000, headers=kind)
        ref = sent.json()["ref"]
        events = await client.events(session)
        manifest = await asyncio.to_thread(
            backups.back_up_everything, settings, folder, quiet, with_blobs=True
        )
        held = dumps.PostgresBackup(settings.database_url or "").hold()
        with held:
            before = store.objects()
            await client.http.delete(f"/api/artifacts/{ref}")
            assert store.objects() == before
            with (
                pytest.raises(StorageError, match="Another backup"),
                dumps.PostgresBackup(settings.database_url or "").hold(),
            ):
                pass
    assert (manifest.engine, manifest.blobs, manifest.missing_count) == ("postgresql", True, 0)
    assert backups.check(folder, quiet).missing == 0

    there = elsewhere(settings, store)
    await asyncio.to_thread(backups.restore, there, folder, quiet, replace=False)
    async with running_gateway(there) as client:
        assert await client.events(session) == events
        found = await client.get(f"/api/artifacts/{ref}")
        assert found.content == b"some file" * 1000, found.text
        assert (await client.chat("/say goes on", session_id=session))[-1]["type"] == "done"
    with pytest.raises(StorageError, match="not empty"):
        await asyncio.to_thread(backups.restore, there, folder, quiet, replace=False)

    content = bytearray((folder / dumps.DUMP).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / dumps.DUMP).write_bytes(content)
    with pytest.raises(StorageError, match="is not what was written"):
        backups.check(folder, quiet)


async def test_blobs_may_stay_in_their_bucket(tmp_path: Path, settings: Settings, store: Bucket) -> None:
    """The restored gateway has to name the same one; a folder is no such place."""
    folder = tmp_path / "backup"
    async with running_gateway(settings) as client:
        await client.chat("/say kept")
    made = await asyncio.to_thread(backups.back_up_everything, settings, folder, quiet, with_blobs=False)
    assert (made.blobs, made.blob_url) == (False, settings.blob_url)
    with pytest.raises(StorageError, match="Set GATEWAY_BLOB_URL to it"):
        await asyncio.to_thread(backups.restore, elsewhere(settings, store), folder, quiet, replace=False)
    same = elsewhere(settings, store).model_copy(update={"blob_url": settings.blob_url})
    assert (await asyncio.to_thread(backups.restore, same, folder, quiet, replace=False)).files == 1
    with pytest.raises(SettingsError, match="in a bucket"):
        backups.back_up_everything(
            settings.model_copy(update={"blob_url": None}), tmp_path / "other", quiet, with_blobs=False
        )


async def test_what_cannot_be_done_is_refused(tmp_path: Path, settings: Settings, demo_url: str) -> None:
    """A backup of the other engine, --replace for a server, and a machine without the server's programs."""
    folder = tmp_path / "backup"
    async with running_gateway(settings) as client:
        await client.chat("/say kept")
    await asyncio.to_thread(backups.back_up_everything, settings, folder, quiet, with_blobs=True)
    with pytest.raises(SettingsError, match="--replace is for files"):
        backups.restore(settings, folder, quiet, replace=True)
    with pytest.raises(SettingsError, match="restore into the same one"):
        backups.restore(settings_for(tmp_path / "files", demo_url), folder, quiet, replace=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dumps, "PLACES", str(tmp_path / "nowhere"))
        patch.setenv("PATH", str(tmp_path))
        with pytest.raises(SettingsError, match="pg_dump is not installed"):
            backups.back_up_everything(settings, tmp_path / "third", quiet, with_blobs=True)

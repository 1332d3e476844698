"""What is left over in the blob store is removed, and nobody waits for it."""

import asyncio

import pytest

from gateway.artifacts.artifact_store import CANDIDATE_TIME
from gateway.service import session_removal
from gateway.storage.artifacts import blob_path
from tests.api.artifacts import send
from tests.harness import TIMEOUT, Client, running_gateway
from tests.product import FolderBlobs, Settings, now_ms, open_storage
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio

PATH = blob_path(OWNER, "0" * 64)


async def test_a_gateway_serves_while_it_removes_what_a_former_process_left(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However slow the store is, and however much there is of it."""
    async with open_storage(settings) as former:
        await former.orphans.suspect([PATH], now_ms() - CANDIDATE_TIME - 1)
        await former.blobs.put(PATH, [b"half"])
    asked, go_on, removed = asyncio.Event(), asyncio.Event(), asyncio.Event()
    delete = FolderBlobs.delete

    async def slow(self: FolderBlobs, path: str) -> None:
        asked.set()
        await go_on.wait()
        await delete(self, path)
        removed.set()

    monkeypatch.setattr(FolderBlobs, "delete", slow)
    async with asyncio.timeout(TIMEOUT), running_gateway(settings) as client:
        await asked.wait()
        assert (await client.get("/api/artifacts")).status_code == 200
        go_on.set()
        await removed.wait()

        assert list(settings.data_dir.rglob("0" * 64 + "*")) == []


async def test_who_deletes_a_session_waits_for_some_of_its_contents_only(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are candidates, and are removed later."""
    monkeypatch.setattr(session_removal, "CLEARED", 2)
    session = await client.session()
    for number in range(5):
        await send(client, f"row {number}".encode(), "text/plain", session_id=session)

    assert (await client.http.delete(f"/api/sessions/{session}")).status_code == 204

    store = client.app.state.deps.artifacts
    assert len(await client.app.state.deps.orphans.candidates(2**62, 99)) == 3
    assert (await store.stock()).artifacts == 0

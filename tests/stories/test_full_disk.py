"""A full disk: the turn fails visibly, the log stays whole, and all goes on when there is room again."""

import asyncio
import resource
from pathlib import Path

import pytest

from tests.harness import Frame, client_at, events, text_of, the
from tests.invariants import violations
from tests.loopback import TIMEOUT
from tests.record import read_records
from tests.running import gateway_process

pytestmark = pytest.mark.anyio


def _limit_file_size(pid: int, size: int) -> None:
    """From now on the process cannot let a file grow beyond `size` bytes: writes fail as on a full disk."""
    hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))


async def test_a_full_disk_fails_the_turn_visibly_and_loses_nothing(tmp_path: Path, demo_url: str) -> None:
    """The reader is told why its stream ends, new messages get 503, /readyz is red and says why, and once
    there is room the turn's books are closed as failed, with everything that was shown still there."""
    data = tmp_path / "data"
    with gateway_process(tmp_path, "serve", ANTHROPIC_BASE_URL=demo_url) as gateway:
        async with client_at(gateway.url) as client:
            session = await client.session()
            turn = (await client.begin(session, "/pieces 3000\n/pace 2"))["turn_id"]
            path = f"/api/sessions/{session}/events?turn_id={turn}"
            shown, largest = list[Frame](), 0
            async with asyncio.timeout(TIMEOUT), client.frames(path) as frames:
                async for frame in frames:
                    shown.append(frame)
                    if len(shown) == 20:
                        largest = max(file.stat().st_size for file in data.iterdir())
                        _limit_file_size(gateway.pid, largest)
            refused = await client.post("/api/chat", {"message": "/say no room"})
            upload = await client.http.post(
                "/api/artifacts", content=b"x" * (largest + 4_000_000), headers={"content-type": "text/plain"}
            )
            red = await client.get("/readyz")
            _limit_file_size(gateway.pid, resource.RLIM_INFINITY)
            async with asyncio.timeout(TIMEOUT):
                while (seen := await client.events(session))[-1]["type"] != "done":
                    await asyncio.sleep(0.1)
            green = await client.get("/readyz")
            again = await client.chat("/say room again", session_id=session)

    assert shown[-1].event == "stream_error"
    assert shown[-1].data["code"] == "storage_full"
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "storage_full")
    assert (upload.status_code, upload.json()["error"]["code"]) == (503, "storage_full")
    assert (red.status_code, red.json()["status"]) == (503, "unavailable")
    assert red.json()["failed"]["storage"]["code"] == "storage_full"
    assert (green.status_code, green.json()["status"]) == (200, "ok")
    assert the(seen, "error")["code"] == "storage_unavailable"
    assert the(seen, "done")["status"] == "failed"
    assert events(shown) == seen[: len(events(shown))]
    assert text_of(again) == "room again"
    assert [wrong for record in read_records(data / "gateway.db") for wrong in violations(record)] == []

"""All sessions in one file, and back."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.harness import Client, running_gateway
from tests.product import Settings

pytestmark = pytest.mark.anyio

NDJSON = {"content-type": "application/x-ndjson"}


async def talk(client: Client, *sessions: str) -> bytes:
    """A turn in each session; returns the export of all."""
    for session in sessions:
        await client.all_frames("/api/chat", {"message": f"/say in {session}", "session_id": session})
    return (await client.get("/api/export")).content


async def taken(client: Client, file: bytes | AsyncIterator[bytes]) -> dict[str, Any]:
    reply = await client.http.post("/api/import", content=file, headers=NDJSON)
    assert reply.status_code == 200, reply.text
    return reply.json()


async def test_what_went_out_comes_in_elsewhere_session_by_session(
    client: Client, settings: Settings, tmp_path: Path
) -> None:
    """Each is what its own export is, archived ones too, in whatever pieces the file comes; at a gateway that
    has one of them already it is refused, and the others come in."""
    await talk(client, "a", "b")
    await client.http.patch("/api/sessions/a", json={"archived": True})
    file = await talk(client, "c")

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(file), 997):
            yield file[at : at + 997]

    async with running_gateway(settings.model_copy(update={"data_dir": tmp_path / "other"})) as other:
        await other.post("/api/sessions", {"id": "b"})
        outcome = await taken(other, pieces())
        copies = [(await other.get(f"/api/sessions/{each}/export")).content for each in "ac"]

    assert outcome["imported"] == 2
    assert outcome["refused"] == 1
    assert [(each["number"], each["code"]) for each in outcome["reasons"]] == [(2, "conflict")]
    assert copies == [(await client.get(f"/api/sessions/{each}/export")).content for each in "ac"]
    assert all(each in file for each in copies)


async def test_a_session_in_which_a_turn_runs_is_left_out_and_named(client: Client) -> None:
    """The last line tells of it; the others are in the file."""
    await talk(client, "a")
    await client.post("/api/sessions", {"id": "busy"})
    begun = await client.begin("busy", "/pieces 5000 /pace 50")
    first, *_, last = (await client.get("/api/export")).content.splitlines()
    await client.post(f"/api/sessions/busy/turns/{begun['turn_id']}/cancel")

    assert orjson.loads(first) == {"kind": "sessions", "format": 1}
    assert orjson.loads(last) == {
        "kind": "sessions_end",
        "sessions": 1,
        "left_out": [{"session_id": "busy", "code": "turn_in_progress"}],
    }


async def test_a_damaged_session_keeps_no_other_out(
    client: Client, settings: Settings, tmp_path: Path
) -> None:
    """It is refused with the reason, as the end of a file that is cut off is."""
    file = await talk(client, "a", "b", "c")
    damaged = file.replace(b"in b", b"in d", 1).rpartition(b'{"kind":"sessions_end"')[0]

    async with running_gateway(settings.model_copy(update={"data_dir": tmp_path / "other"})) as other:
        outcome = await taken(other, damaged)
        listed = (await other.get("/api/sessions")).json()["sessions"]

    assert (outcome["imported"], outcome["refused"]) == (2, 2)
    assert [each["code"] for each in outcome["reasons"]] == ["bad_import", "bad_import"]
    assert "cut off" in outcome["reasons"][1]["message"]
    assert {each["id"] for each in listed} == {"a", "c"}


@pytest.mark.parametrize("file", [b"", b"\n", b'{"kind":"session"}\n', b'{"kind":"sessions","format":2}\n'])
async def test_what_is_no_such_file_is_refused_as_a_whole(client: Client, file: bytes) -> None:
    """400 bad_import, and nothing is made of it."""
    refused = await client.http.post("/api/import", content=file, headers=NDJSON)

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "bad_import")

"""A page of the database that is damaged while the gateway runs."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.harness import client_at
from tests.running import gateway_process, run

pytestmark = pytest.mark.anyio


def pages_of(path: Path, table: str) -> tuple[list[int], int]:
    """The pages of a table, and their size."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        ((root,),) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,))
        ((size,),) = database.execute("PRAGMA page_size")
    return [root], size


def damage(path: Path, table: str) -> None:
    """The root page of a table is noise from now on."""
    pages, size = pages_of(path, table)
    with path.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * size)
            file.write(b"\xa5" * size)


async def test_a_damaged_page_is_named_and_stays_named(tmp_path: Path, demo_url: str) -> None:
    """Turns that meet it end with storage_damaged, which no client repeats; /readyz says it until the process
    ends, a metric counts it, and the log has reads that fail too. What lies in sound pages can be read.
    `gateway doctor` finds it, while the gateway runs and afterwards."""
    database = tmp_path / "data" / "gateway.db"
    given = {"ANTHROPIC_BASE_URL": demo_url}
    with gateway_process(tmp_path, "serve", **given) as gateway:
        async with client_at(gateway.url) as client:
            session = await client.session()
            await client.chat("/say before", session_id=session)
        gateway.stop()
    damage(database, "messages")
    with gateway_process(tmp_path, "serve", **given) as gateway:
        async with client_at(gateway.url) as client:
            ready_before = await client.get("/readyz")
            read = await client.get(f"/api/sessions/{session}/messages")
            ready = await client.get("/readyz")
            again = await client.get("/readyz")
            new = await client.post("/api/chat", {"message": "/say more"}, accept="text/event-stream")
            sound = await client.get("/api/sessions")
            measured = (await client.get("/metrics")).text
            found = run(tmp_path, "doctor", **given)
        said = gateway.output.read_text()

    assert ready_before.status_code == 200
    assert (read.status_code, read.json()["error"]["code"]) == (503, "storage_damaged")
    assert read.json()["error"]["retryable"] is False
    for each in (ready, again):
        assert (each.status_code, each.json()["failed"]["storage"]["code"]) == (503, "storage_damaged")
    assert "storage_damaged" in new.text
    assert sound.status_code == 200
    assert 'gateway_database_unusable{error_type="storage_damaged",gateway_database="sessions"} 1' in measured
    assert said.count("storage_damaged: ") == 1
    assert "gateway doctor" in said
    assert f'"path": "/api/sessions/{session}/messages", "code": "storage_damaged"' in said
    later = run(tmp_path, "doctor", **given)
    for seen in (found, later):
        assert seen.returncode == 1
        assert "✗ storage: the database is damaged" in seen.stdout

"""What the audit tells of requests, over real sockets."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
import structlog
from sqlalchemy import Connection, text

from gateway.auth.failed_attempts import MAX_FAILURES
from gateway.service.audit import MAX_QUEUED, AuditRecorder
from gateway.storage.audit import AuditEntry, AuditFilter
from tests.harness import Client, running_gateway, settings_for
from tests.storage.writing import sqlite_storage

pytestmark = pytest.mark.anyio

KEYS = "ann:ann-secret-of-this-test,bob:bob-secret-of-this-test"
ANY = AuditFilter()
ANN = {"authorization": "Bearer ann-secret-of-this-test"}
BOB = {"authorization": "Bearer bob-secret-of-this-test"}


@pytest.fixture
async def gateway(tmp_path: Path, demo_url: str) -> AsyncGenerator[Client]:
    settings = settings_for(tmp_path, demo_url, api_keys=KEYS, admins=["ann"])
    async with running_gateway(settings) as client:
        yield client


async def told(client: Client, **query: Any) -> list[dict[str, Any]]:
    """The entries, the oldest first, without those that only say that a key was used."""
    await client.app.state.audit.flush()
    response = await client.http.get("/api/audit", params=query, headers=ANN)
    assert response.status_code == 200, response.text
    return [each for each in reversed(response.json()["entries"]) if each["action"] != "key.use"]


def words(entries: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (each.get("actor"), each["action"], each.get("subject_kind"), each.get("subject_id"), each["result"])
        for each in entries
    ]


async def test_what_was_changed_is_told_with_who_what_from_where_and_how_it_went(gateway: Client) -> None:
    """Of every route that changes something, by its action; reading tells nothing."""
    made = (await gateway.post("/api/sessions", {}, **ANN)).json()["id"]
    await gateway.get(f"/api/sessions/{made}", **ANN)
    turn = (await gateway.post(f"/api/sessions/{made}/turns", {"message": "top secret"}, **ANN)).json()
    await gateway.get(f"/api/sessions/{made}/export", **BOB)
    await gateway.post(f"/api/turns/{turn['turn_id']}/cancel", **BOB)
    await gateway.http.delete(f"/api/sessions/{made}", headers=BOB)

    entries = await told(gateway)

    assert words(entries) == [
        ("ann", "session.create", "session", made, "done"),
        ("ann", "turn.start", "session", made, "done"),
        ("bob", "session.export", "session", made, "refused:session_not_found"),
        ("bob", "turn.cancel", "turn", turn["turn_id"], "refused:turn_not_found"),
        ("bob", "session.delete", "session", made, "refused:session_not_found"),
    ]
    assert {each["address"] for each in entries} == {"127.0.0.1"}
    assert [each["key_id"] for each in entries] == ["ann"] * 2 + ["bob"] * 3
    assert all(each["request_id"] for each in entries)
    assert "secret" not in orjson.dumps(entries).decode()


async def test_equal_refusals_become_one_entry_and_a_count(gateway: Client) -> None:
    """Whoever tries keys cannot fill the database, and each attempt counts."""
    wrong = {"authorization": "Bearer a-wrong-key-of-this-test"}
    before = await told(gateway)  # a key that has held is not locked out with its address
    answers = [(await gateway.get("/api/sessions", **wrong)).status_code for _ in range(20)]
    gateway.app.state.audit._end_counts()

    entries = await told(gateway)

    assert before == []
    assert answers == [401] * MAX_FAILURES + [429] * (20 - MAX_FAILURES)
    counted = [(words([each])[0][-1], each["times"]) for each in entries]
    assert sorted(counted) == [
        ("refused:locked_out", 1),
        ("refused:locked_out", 9),
        ("refused:unauthorized", 1),
        ("refused:unauthorized", 9),
    ]


async def test_equal_failures_become_one_entry_and_a_count_too(gateway: Client) -> None:
    """What fails again and again fills the database no more than what is refused."""
    entry = AuditEntry(1, "default", "ann", "ann", "192.0.2.1", "hold.place", "hold", None, "failed:x", "r_1")
    for number in range(50):
        await gateway.app.state.audit.record(replace(entry, at=number, request_id=f"r_{number}"))
    await gateway.app.state.audit.record(replace(entry, actor="bob"))
    gateway.app.state.audit._end_counts()

    found = await told(gateway, action="hold")

    assert sorted((each["actor"], each["times"]) for each in found) == [("ann", 1), ("ann", 49), ("bob", 1)]


async def test_a_refusal_names_who_asked_and_the_route(gateway: Client) -> None:
    """Bob is known, and no admin."""
    forbidden = await gateway.get("/api/audit", **BOB)

    entries = await told(gateway)

    assert forbidden.status_code == 403
    assert words(entries) == [("bob", "access", "route", "GET /api/audit", "refused:forbidden")]
    assert await told(gateway, action="access") == entries


async def test_a_key_is_told_once_a_day(gateway: Client) -> None:
    """Not with each request."""
    for _ in range(3):
        await gateway.get("/api/sessions", **BOB)
    await gateway.app.state.audit.flush()

    found = (await gateway.http.get("/api/audit", params={"action": "key.use"}, headers=ANN)).json()[
        "entries"
    ]

    assert sorted(each["subject_id"] for each in found) == ["bob"]


async def test_the_audit_is_exported_as_lines_and_that_is_told_too(gateway: Client) -> None:
    """One JSON object a line, what a filter finds; the entry of the export is stored before it begins."""
    for _ in range(3):
        await gateway.post("/api/sessions", {}, **ANN)
    await gateway.app.state.audit.flush()

    lines = await gateway.http.get("/api/audit/export", params={"action": "session"}, headers=ANN)
    found = await gateway.http.get("/api/audit", params={"limit": 1}, headers=ANN)

    assert lines.headers["content-type"] == "application/x-ndjson"
    assert [orjson.loads(line)["action"] for line in lines.content.splitlines()] == ["session.create"] * 3
    assert found.json()["entries"][0]["action"] == "audit.export"
    assert found.json()["next"] == found.json()["entries"][0]["number"]


async def test_what_is_queued_is_stored_when_the_gateway_stops(tmp_path: Path, demo_url: str) -> None:
    """The shutdown waits for it."""
    settings = settings_for(tmp_path, demo_url)
    async with running_gateway(settings) as client:
        made = [await client.session() for _ in range(50)]

    async with running_gateway(settings) as client:
        found = (await client.http.get("/api/audit", params={"limit": 500})).json()["entries"]

    assert {each["subject_id"] for each in found if each["action"] == "session.create"} == set(made)


async def test_a_full_queue_holds_up_who_comes_and_drops_nothing(tmp_path: Path) -> None:
    """The entry beyond the limit waits until the database has stored what was before it, and itself."""
    entry = AuditEntry(1, "default", "ann", None, None, "turn.start", None, None, "done", None)
    async with sqlite_storage(tmp_path) as storage:
        recorder = AuditRecorder(storage.audit)  # which nobody runs: it stores nothing in the background
        for _ in range(MAX_QUEUED):
            await recorder.record(entry)
        before = (recorder.queued, len(await storage.audit.list("default", ANY, before=None, limit=9)))

        await recorder.record(entry)

        stored = await storage.audit.list("default", ANY, before=None, limit=2 * MAX_QUEUED)
    assert before == (MAX_QUEUED, 0)
    assert (recorder.queued, len(stored)) == (0, MAX_QUEUED + 1)


def _drop(connection: Connection) -> None:
    connection.execute(text("DROP TABLE audit"))


async def test_a_change_of_rights_that_cannot_be_recorded_is_not_answered_as_done(gateway: Client) -> None:
    """It is stored before the answer leaves: where that fails the answer says so. Others are not held up."""
    store: Any = gateway.app.state.audit._audit
    await store.database.write(_drop)

    skill = (await gateway.get("/api/skills", **ANN)).json()["skills"][0]["name"]
    switched = await gateway.http.patch(f"/api/skills/{skill}", json={"enabled": True}, headers=ANN)
    made = await gateway.post("/api/sessions", {}, **ANN)

    assert (switched.status_code, switched.json()["error"]["code"]) == (503, "storage_unavailable")
    assert made.status_code == 201


async def test_the_log_pipeline_gets_each_entry(gateway: Client) -> None:
    """As the event `audit`."""
    with structlog.testing.capture_logs() as lines:
        made = (await gateway.post("/api/sessions", {}, **ANN)).json()["id"]

    (line,) = [each for each in lines if each["event"] == "audit" and each["action"] == "session.create"]
    assert (line["actor"], line["subject_id"], line["result"]) == ("ann", made, "done")

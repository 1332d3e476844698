"""Sessions are archived and deleted when they were not used for as long as their tenant wants it."""

import asyncio
from typing import Any, cast

import pytest
from sqlalchemy import update

from gateway.service.archiver import Archiver
from gateway.service.retention import RetentionSweep, days_of
from gateway.service.upkeep import Upkeep
from gateway.storage.database import Store
from gateway.storage.retention import FOR_GOOD, RetainedSession, RetentionRule
from gateway.storage.schema import sessions
from tests.harness import Client, running_gateway
from tests.postgres import on_both_engines
from tests.product import DAY_MS, Settings, now_ms

pytestmark = pytest.mark.anyio


def session(archive_days: int | None, delete_days: int | None, owner: str = "ann") -> RetainedSession:
    return RetainedSession("s", owner, 0, archive_days, delete_days, is_archived=False, is_held=False)


def rule(archive_days: int | None, delete_days: int | None, *, fixed: bool = False) -> RetentionRule:
    return RetentionRule("default", archive_days, delete_days, fixed, "ada", 5)


@pytest.mark.parametrize(
    ("own", "tenants", "expected"),
    [
        (session(None, None), None, (None, 400)),
        (session(None, None), rule(30, None), (30, 400)),
        (session(None, None), rule(30, FOR_GOOD), (30, None)),
        (session(7, None), rule(30, 90), (7, 90)),
        (session(None, 1000), rule(30, 90), (30, 1000)),
        (session(FOR_GOOD, FOR_GOOD), rule(30, 90), (None, None)),
        (session(FOR_GOOD, 1000), rule(30, 90, fixed=True), (30, 90)),
        (session(None, 7), rule(None, None, fixed=True), (None, 400)),
        (session(None, None, "team/ann"), rule(30, 90), (None, 400)),
    ],
)
def test_a_sessions_own_days_go_before_its_tenants_and_these_before_the_settings(
    settings: Settings, own: RetainedSession, tenants: RetentionRule | None, expected: tuple[Any, Any]
) -> None:
    """Value by value; where the tenant's rule is fixed, a session has none of its own."""
    rules = {tenants.tenant: tenants} if tenants else {}
    set_ = settings.model_copy(update={"archive_after": None, "delete_after": 400 * 86_400.0})

    assert days_of(own, rules, set_) == tuple(None if each is None else each * DAY_MS for each in expected)


async def used(client: Client, days: dict[str, int]) -> None:
    """Has sessions be used last so many days ago."""

    def work(connection: Any) -> None:
        for session_id, ago in days.items():
            at = now_ms() - ago * DAY_MS
            connection.execute(update(sessions).where(sessions.c.id == session_id).values(updated_at=at))

    await cast("Store", client.app.state.deps.sessions).database.write(work)


async def left(client: Client) -> list[str]:
    found = (await client.get("/api/sessions?archived=all")).json()["sessions"]
    return sorted(each["id"] for each in found)


@on_both_engines
async def test_what_a_preview_tells_is_done_and_recorded(settings: Settings) -> None:
    """A session may be kept longer than its tenant's rule says; one that is held, or used again, stays."""
    ages = {"young": 1, "old": 40, "older": 100, "kept": 400, "held": 400}
    async with running_gateway(settings) as client:
        for each in ages:
            await client.chat(f"hello\n/say {each}", session_id=each)
        await client.http.put("/api/retention", json={"archive_days": 30, "delete_days": 90})
        changed = await client.http.patch("/api/sessions/kept", json={"retention": {"delete_days": 0}})
        await client.post("/api/holds", {"session_id": "held", "reason": "case 7"})
        await used(client, ages)

        told = (await client.get("/api/retention/preview")).json()
        before = await left(client)
        deps = client.app.state.deps
        upkeep = Upkeep(deps, Archiver(deps), client.app.state.gateway.retention.applied)
        await upkeep.look()

        assert changed.json()["retention"] == {"delete_days": 0}
        assert (told["deleted"], told["archived"], told["held"]) == (1, 2, 1)
        assert {(each["action"], each["session_id"]) for each in told["sessions"]} == {
            ("delete", "older"),
            ("archive", "old"),
            ("archive", "kept"),
        }
        assert before == sorted(ages)
        assert await left(client) == ["held", "kept", "old", "young"]
        assert len(await deps.archives.list("old")) == len(await deps.archives.list("kept")) == 1
        await client.app.state.audit.flush()
        entries = (await client.get("/api/audit?action=retention.delete")).json()["entries"]
        assert [(each["actor"], each["subject_id"]) for each in entries] == [("gateway:retention", "older")]
        metrics = (await client.get("/metrics")).text
        assert "gateway_sessions_expired_total 1" in metrics.replace("1.0", "1")


async def test_a_fixed_rule_refuses_a_session_its_own(client: Client) -> None:
    await client.post("/api/sessions", {"id": "s"})
    await client.http.put("/api/retention", json={"delete_days": 90, "fixed": True})

    refused = await client.http.patch("/api/sessions/s", json={"retention": {"delete_days": 1000}})

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "retention_fixed")
    assert (await client.http.patch("/api/sessions/s", json={"retention": {}})).status_code == 200
    assert (await client.get("/api/retention")).json()["fixed"] is True


async def test_a_look_is_bounded_and_the_next_goes_on_behind_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that other upkeep does not wait behind many sessions."""

    async def rest(_: Upkeep) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Upkeep, "run", rest)  # the gateway's own might look in between
    monkeypatch.setattr("gateway.service.retention.MAX_APPLIED", 2)
    ids = [f"s{number}" for number in range(5)]
    async with running_gateway(settings) as client:
        for each in ids:
            await client.post("/api/sessions", {"id": each})
        await client.http.put("/api/retention", json={"delete_days": 1})
        await used(client, dict.fromkeys(ids, 2))
        deps = client.app.state.deps
        retention = RetentionSweep(deps, Archiver(deps))

        looks = [await retention.look() for _ in range(3)]

        assert looks == [False, False, True]
        assert retention.expired == 5
        assert await left(client) == []

"""Titles that a model makes, over real sockets."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.model.side_calls import CallContext
from gateway.service import title_worker
from gateway.service.side_spending import SideSpending, Taken
from tests.harness import TIMEOUT, Client, running_gateway
from tests.invariants import violations
from tests.postgres import on_both_engines
from tests.product import LimitReached, ModelRequest, Settings
from tests.record import read_records

pytestmark = pytest.mark.anyio

ASKED = "How are you today, my friend?\nTell me more."
FORMER, MADE = "How are you today, my friend?", "About: How are you today, my"


@pytest.fixture
async def titling(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    async with running_gateway(settings.model_copy(update={"titles": True})) as client:
        yield client


async def title(client: Client, session: str) -> tuple[str | None, str | None]:
    found = (await client.get(f"/api/sessions/{session}")).json()
    return found.get("title"), found.get("title_by")


async def titled(client: Client, session: str) -> dict[str, Any]:
    """The event of a title, when it is there."""
    async with asyncio.timeout(TIMEOUT), client.frames(f"/api/sessions/{session}/events") as frames:
        async for frame in frames:
            if frame.event == "title":
                return frame.data
    raise AssertionError("the stream ended")


@on_both_engines
async def test_the_first_completed_turn_gives_a_session_its_title(titling: Client) -> None:
    """An event tells what it took, which is in no turn's usage. It is the only one, and search finds it."""
    done = (await titling.chat(ASKED, session_id="s"))[-1]
    event = await titled(titling, "s")

    assert await title(titling, "s") == (MADE, "model")
    assert event["data"]["title"] == MADE
    assert event["data"]["usage"]["output_tokens"] > 0
    assert event["turn_id"] != done["turn_id"]
    await titling.chat("/say more", session_id="s")
    logged = await titling.events("s")
    assert [each["type"] for each in logged].count("title") == 1
    found = (await titling.get("/api/sessions?q=about")).json()["sessions"]
    assert [each["id"] for each in found] == ["s"]
    shown = (await titling.get("/metrics")).text
    assert 'gateway_purpose="title"' in shown


@on_both_engines
async def test_a_title_of_a_person_stays(titling: Client) -> None:
    """Given with the session, or while the first turn runs, though it were the same words."""
    await titling.post("/api/sessions", {"id": "given", "title": FORMER})
    await titling.post("/api/sessions", {"id": "renamed"})
    started = await titling.begin("renamed", f"/pace 20 /pieces 20\n{ASKED}")
    former = (await title(titling, "renamed"))[0]
    await titling.http.patch("/api/sessions/renamed", json={"title": former})
    await titling.all_frames(f"/api/sessions/renamed/events?turn_id={started['turn_id']}")
    await titling.chat(ASKED, session_id="given")
    await titling.chat(ASKED, session_id="last")
    await titled(titling, "last")  # they are made in their order

    assert await title(titling, "given") == (FORMER, "user")
    assert await title(titling, "renamed") == (former, "user")


async def test_a_turn_that_fails_is_not_the_first_completed_one(titling: Client) -> None:
    await titling.chat("/fault http_400", session_id="s")
    before = await title(titling, "s")
    await titling.chat("/say hi", session_id="s")
    await titled(titling, "s")

    assert before == ("/fault http_400", None)
    assert (await title(titling, "s"))[1] == "model"


async def test_no_model_is_asked_unless_the_setting_says_so(client: Client) -> None:
    await client.chat(ASKED, session_id="s")
    assert await title(client, "s") == (FORMER, None)
    assert 'gateway_purpose="title"' not in (await client.get("/metrics")).text


async def test_a_title_for_which_a_limit_has_no_room_waits_for_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is made then."""
    monkeypatch.setattr(title_worker, "MAX_PAUSE", 0.01)
    take, refused = SideSpending.take, list[str]()

    async def spent(self: SideSpending, request: ModelRequest, context: CallContext) -> Taken:
        if len(refused) < 3:
            refused.append(request.model)
            raise LimitReached("spent", code="budget_exhausted", retryable=False, details={}, standing=None)
        return await take(self, request, context)

    monkeypatch.setattr(SideSpending, "take", spent)
    async with running_gateway(settings.model_copy(update={"titles": True})) as client:
        await client.chat(ASKED, session_id="s")
        await titled(client, "s")
        assert await title(client, "s") == (MADE, "model")
    assert len(refused) == 3


async def test_a_title_that_fails_is_logged_and_changes_nothing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The endpoint takes too long. It is not asked again."""
    monkeypatch.setattr(title_worker, "CALL_TIMEOUT", 0)
    async with running_gateway(settings.model_copy(update={"titles": True})) as client:
        with capture_logs() as lines:
            events = await client.chat(ASKED, session_id="s")
            async with asyncio.timeout(TIMEOUT):
                while not (failed := [line for line in lines if line["event"] == "title_failed"]):
                    await asyncio.sleep(0.01)
        monkeypatch.undo()
        await client.chat(ASKED, session_id="s")
        await client.chat(ASKED, session_id="other")
        await titled(client, "other")
        assert (failed[0]["session_id"], failed[0]["code"]) == ("s", "upstream_timeout")
        assert events[-1]["data"]["status"] == "completed"
        assert await title(client, "s") == (FORMER, None)
    for record in read_records(settings.data_dir / "gateway.db"):
        assert violations(record) == []

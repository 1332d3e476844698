"""Two gateways on one database: what one of them does to a turn of the other is what its owner would do."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from structlog.testing import capture_logs

from gateway.storage.postgres import listener, postgres_database
from gateway.storage.postgres.notify_channels import Notifier
from tests.harness import TIMEOUT, Client, Frame, events, running_gateway, text_of, the, types
from tests.pooler import needs_pooler, pooled
from tests.postgres import database_in, needs_postgres
from tests.product import FunctionTool, Settings
from tests.stories.asking import Outbox, ask, parked

pytestmark = [*needs_postgres, pytest.mark.anyio]

SLOW = "/pieces 400\n/pace 25"
MEMORY = {"content": "The user drinks green tea.", "type": "preference"}
CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE query LIKE 'LISTEN%' AND datname = current_database()
"""
# At the end of a transaction, when all its statements are done.
SLOW_COMMITS = """
    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_sleep(0.05); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON loose_events DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.type = 'done' OR NEW.type = 'turn_start') EXECUTE FUNCTION wait();
"""


@pytest.fixture(autouse=True)
def untold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks for what nobody told of, and only of what others follow is told: readers and owners hear
    of it, or nothing goes on."""
    monkeypatch.setattr(listener, "POLL", 3600)
    monkeypatch.setattr(listener, "UNSURE", 0)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return database_in(tmp_path)


@pytest.fixture
def shared(settings: Settings, tmp_path: Path, url: str) -> Settings:
    blobs = tmp_path / "blobs"
    return settings.model_copy(update={"database_url": url, "blob_url": blobs.as_uri(), "lease": 3600})


@asynccontextmanager
async def two(
    shared: Settings, *tools: FunctionTool, first: Settings | None = None
) -> AsyncGenerator[tuple[Client, Client]]:
    """`first`: settings of the first one, where they are others."""
    async with AsyncExitStack() as stack:
        found: list[Client] = []
        for name, settings in (("a", first or shared), ("b", shared)):
            own = settings.model_copy(update={"data_dir": settings.data_dir / name, "replica": name})
            found.append(await stack.enter_async_context(running_gateway(own, *tools)))
        yield found[0], found[1]


async def until(client: Client, session: str, kind: str, after: int = 0) -> None:
    """An event of that type is seen through `client`."""
    path = f"/api/sessions/{session}/events?after={after}&types={kind}"
    async with asyncio.timeout(TIMEOUT), client.frames(path) as frames:
        async for frame in frames:
            if frame.event == kind:
                return


async def done_of(client: Client, session: str, turn: str) -> list[dict[str, Any]]:
    async with asyncio.timeout(TIMEOUT):
        return events(await client.all_frames(f"/api/sessions/{session}/events?turn_id={turn}"))


def raw_of(frames: list[Frame]) -> list[bytes]:
    """The events among them, as they were sent."""
    return [frame.raw for frame in frames if not frame.event.startswith("stream_")]


async def stored(client: Client, session: str) -> list[bytes]:
    """What the log holds, as it is sent."""
    frames = await client.all_frames(f"/api/sessions/{session}/events?follow=0&after=0")
    return raw_of(frames)


async def following(
    client: Client, session: str, opened: asyncio.Event, *, after: int = 0, done: int = 1
) -> list[Frame]:
    """The events of a session, live, until that many turns have their end."""
    found: list[Frame] = []
    path = f"/api/sessions/{session}/events?after={after}"
    async with asyncio.timeout(TIMEOUT), client.frames(path) as frames:
        async for frame in frames:
            opened.set()
            if not frame.event.startswith("stream_"):
                found.append(frame)
            done -= frame.event == "done"
            if not done:
                break
    return found


@pytest.mark.parametrize("slow_commits", [False, True])
async def test_a_follower_elsewhere_gets_every_event_byte_for_byte(
    shared: Settings, url: str, slow_commits: bool
) -> None:
    """Also when a commit takes its time: nobody is told before it is over."""
    if slow_commits:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(SLOW_COMMITS)
    async with two(shared) as (a, b):
        session = await a.session()
        opened = asyncio.Event()
        reading = asyncio.create_task(following(b, session, opened, done=2))
        await opened.wait()
        for _ in range(2):
            sent = await a.all_frames("/api/chat", {"message": "/pieces 40\n/pace 3", "session_id": session})
            assert the(events(sent), "done")["status"] == "completed"
        seen = await reading
        assert [frame.raw for frame in seen] == await stored(a, session) == await stored(b, session)
        assert [frame.id for frame in seen] == list(range(1, len(seen) + 1))


@needs_pooler
async def test_two_gateways_behind_a_pooler(shared: Settings, url: str, tmp_path: Path) -> None:
    """It hands on its connections after each transaction: what lasts longer goes past it."""
    with pooled(url, tmp_path) as pooler:
        shared = shared.model_copy(update={"database_url": pooler, "database_direct_url": url})
        async with two(shared) as (a, b):
            session = await a.session()
            opened = asyncio.Event()
            reading = asyncio.create_task(following(b, session, opened, done=2))
            await opened.wait()
            await a.chat("/pieces 40\n/pace 3", session_id=session)
            head = len(await stored(a, session))
            turn = (await a.begin(session, SLOW))["turn_id"]
            await until(b, session, "text", head)
            await b.post(f"/api/sessions/{session}/turns/{turn}/cancel")
            seen = await reading
            assert raw_of(seen) == await stored(a, session)
            assert seen[-1].data["data"]["status"] == "cancelled"


async def test_a_stream_that_was_cut_goes_on_elsewhere(shared: Settings) -> None:
    """From the last event that was seen, to the end, byte for byte."""
    async with two(shared) as (a, b):
        session = await a.session()
        body = {"message": "/pieces 60\n/pace 10", "session_id": session}
        seen: list[Frame] = []
        async with a.frames("/api/chat", body) as frames:
            async for frame in frames:
                seen.append(frame)
                if frame.id == 9:
                    break
        whole = raw_of(seen)
        turn = seen[-1].data["turn_id"]
        last_id = 9
        for _ in range(2):
            path = f"/api/sessions/{session}/events?turn_id={turn}"
            rest = await b.all_frames(path, headers={"Last-Event-ID": str(last_id)})
            whole = whole[:last_id] + raw_of(rest)
            assert whole == await stored(a, session)
            last_id = len(whole) // 2


async def test_a_reader_where_an_older_head_is_remembered_misses_nothing(shared: Settings) -> None:
    """B had the first turn, A the second: who saw the first one through B gets the other there too."""
    async with two(shared) as (a, b):
        session = await b.session()
        await b.chat("/say one", session_id=session)
        head = len(await stored(b, session))
        await a.chat("/say two", session_id=session)
        seen = await following(b, session, asyncio.Event(), after=head)
        assert raw_of(seen) == (await stored(a, session))[head:]


async def test_a_cancel_elsewhere_stops_the_turn_and_its_model_call(shared: Settings, demo_url: str) -> None:
    """What was written stays; the upstream stream is closed."""
    async with two(shared) as (a, b):
        session = await a.session()
        turn = (await a.begin(session, SLOW))["turn_id"]
        await until(b, session, "text")
        assert (await b.post(f"/api/sessions/{session}/turns/{turn}/cancel")).status_code in {200, 202}
        seen = await done_of(b, session, turn)
        assert the(seen, "done")["status"] == "cancelled"
        assert 0 < len([event for event in seen if event["type"] == "text"]) < 400
        async with httpx2.AsyncClient(trust_env=False) as http, asyncio.timeout(TIMEOUT):
            while (await http.get(f"{demo_url}/demo/requests?limit=1")).json()["counters"]["streams"]:
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("on_conflict", ["queue", "interrupt"])
async def test_a_message_elsewhere_waits_for_the_turn_or_ends_it(shared: Settings, on_conflict: str) -> None:
    """It is answered when that one is over, wherever."""
    async with two(shared) as (a, b):
        session = await a.session()
        message = "/pieces 60\n/pace 10" if on_conflict == "queue" else SLOW
        first = (await a.begin(session, message))["turn_id"]
        await until(b, session, "text")
        second = (await b.begin(session, "/say next", on_conflict=on_conflict))["turn_id"]
        before, after = await done_of(b, session, first), await done_of(b, session, second)
    status = "completed" if on_conflict == "queue" else "cancelled"
    assert the(before, "done")["status"] == status
    assert text_of(after) == "next"
    assert after[0]["seq"] == before[-1]["seq"] + 1


async def test_a_turn_that_waits_is_cancelled_elsewhere(shared: Settings) -> None:
    """Its end is written by the turn that it waits for."""
    async with two(shared) as (a, b):
        session = await a.session()
        first = (await a.begin(session, SLOW))["turn_id"]
        await until(b, session, "text")
        second = (await a.begin(session, "/say next", on_conflict="queue"))["turn_id"]
        await b.post(f"/api/sessions/{session}/turns/{second}/cancel")
        waiting = await done_of(b, session, second)
        await b.post(f"/api/sessions/{session}/turns/{first}/cancel")
        await done_of(a, session, first)
    assert types(waiting) == ["turn_start", "done"]
    assert the(waiting, "done")["status"] == "cancelled"


async def test_what_happens_elsewhere_beside_a_turn_is_in_its_stream(shared: Settings) -> None:
    """A memory and a compression, while the turn is being written: its owner puts them between its events."""
    async with two(shared) as (a, b):
        session = await a.session()
        for _ in range(3):
            await a.chat("/pieces 300", session_id=session)
        head = len(await stored(a, session))
        turn = (await a.begin(session, SLOW))["turn_id"]
        await until(b, session, "text", head)
        saved = await b.post("/api/memory", MEMORY | {"session_id": session})
        await until(a, session, "memory", head)
        compressed = await b.post(f"/api/sessions/{session}/compress")
        await until(a, session, "compression", head)
        await b.post(f"/api/sessions/{session}/turns/{turn}/cancel")
        seen = await done_of(a, session, turn)
        again = await b.chat("/say fine", session_id=session)
    assert (saved.status_code, compressed.status_code) == (201, 201), compressed.text
    assert the(seen, "memory")["op"] == "remembered"
    assert {"started", "completed"} == {e["data"]["phase"] for e in seen if e["type"] == "compression"}
    assert types(seen)[-1] == "done"
    assert text_of(again) == "fine"


async def test_a_deletion_elsewhere_ends_the_readers(shared: Settings) -> None:
    """And another session of that id is no business of theirs."""
    async with two(shared) as (a, b):
        session = await a.session()
        await a.chat("/say one", session_id=session)
        opened = asyncio.Event()
        reading = asyncio.create_task(following(a, session, opened, done=9))
        await opened.wait()
        assert (await b.http.delete(f"/api/sessions/{session}")).status_code == 204
        assert text_of([frame.data for frame in await reading]) == "one"


async def test_a_decision_elsewhere_goes_on_there(shared: Settings) -> None:
    """Whoever hears the decision runs the call, once."""
    outbox = Outbox()
    async with two(shared, *outbox.tools) as (a, b):
        asked = await parked(await ask(a, '/call send {"to": "Mei"}\n/then\n/say sent'))
        asked.client = b
        assert (await asked.decide("approve")).status_code == 200
        seen = await done_of(a, asked.session, asked.turn)
    assert outbox.sent == ["Mei"]
    assert text_of(seen) == "sent"
    assert the(seen, "done")["status"] == "completed"


async def test_a_reader_elsewhere_misses_nothing_when_its_connection_is_cut(
    shared: Settings, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one by which its gateway hears, several times in the middle of an answer."""
    async with two(shared) as (a, b):
        # A connection that is made again may have missed what others follow.
        monkeypatch.setattr(listener, "UNSURE", TIMEOUT)
        session = await a.session()
        opened = asyncio.Event()
        reading = asyncio.create_task(following(b, session, opened))
        await opened.wait()
        turn = (await a.begin(session, "/pieces 200\n/pace 5"))["turn_id"]
        for _ in range(4):
            await until(b, session, "text")
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(CUT)
        await done_of(a, session, turn)
        assert [frame.raw for frame in await reading] == await stored(a, session)


async def test_what_could_not_be_told_is_found(shared: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway may end between its commit and the telling."""
    monkeypatch.setattr(listener, "POLL", 0.02)

    def tell(_: Notifier, session_id: str, head: int) -> None:
        """It ends before that."""

    monkeypatch.setattr(Notifier, "publish_head", tell)
    async with two(shared) as (a, b):
        session = await a.session()
        opened = asyncio.Event()
        reading = asyncio.create_task(following(b, session, opened))
        await opened.wait()
        await a.chat("/say one", session_id=session)
        assert [frame.raw for frame in await reading] == await stored(a, session)


@pytest.mark.parametrize("is_read", [True, False])
async def test_a_reader_elsewhere_keeps_a_released_turn(
    shared: Settings, monkeypatch: pytest.MonkeyPatch, is_read: bool
) -> None:
    """The replica where it was released asks the others; where none has a reader the turn ends."""
    message = "/pieces 200\n/pace 20"
    if not is_read:
        monkeypatch.setattr("gateway.service.abandoned_turns.ANSWER_TIMEOUT", 1)
    async with two(shared) as (a, b):
        session = await a.session()
        turn = (await a.begin(session, message))["turn_id"]
        opened = asyncio.Event()
        reader = asyncio.create_task(following(b, session, opened)) if is_read else None
        if reader is not None:
            await opened.wait()
        await a.post(f"/api/sessions/{session}/turns/{turn}/release", {"grace_seconds": 0.05})
        async with asyncio.timeout(TIMEOUT):
            while (now := (await a.get(f"/api/turns/{turn}")).json())["status"] != "done":
                await asyncio.sleep(0.05)
        if reader is not None:
            await reader
    assert now["outcome"] == ("completed" if is_read else "cancelled")


@needs_pooler
async def test_a_replica_that_hears_nothing_cancels_no_released_turn(
    shared: Settings, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its direct address leads to a pooler too: a reader elsewhere is asked, and its answer does not come."""
    monkeypatch.setattr("gateway.service.abandoned_turns.ANSWER_TIMEOUT", 0.2)
    monkeypatch.setattr(listener, "POLL", 0.05)  # who writes does not hear of the reader

    def unnoticed(_: object) -> None:
        """It is one that came later, and is not found out before the next connection."""

    for each in (listener, postgres_database):
        monkeypatch.setattr(each, "refuse_pooler", unnoticed)
    with pooled(url, tmp_path) as pooler:
        deaf = shared.model_copy(update={"database_direct_url": pooler})
        async with two(shared, first=deaf) as (a, b):
            session = await a.session()
            turn = (await a.begin(session, "/pieces 60\n/pace 20"))["turn_id"]
            opened = asyncio.Event()
            reading = asyncio.create_task(following(b, session, opened))
            await opened.wait()
            with capture_logs() as lines:
                await a.post(f"/api/sessions/{session}/turns/{turn}/release", {"grace_seconds": 0})
                seen = await reading
            assert seen[-1].data["data"]["status"] == "completed"
    (forgotten,) = [line for line in lines if line["event"] == "release_forgotten"]
    assert (forgotten["turn_id"], forgotten["code"]) == (turn, "no_answer_heard")


async def test_a_result_of_a_client_elsewhere_goes_on_there(shared: Settings) -> None:
    """Whoever hears it knows the tools of the turn."""
    tools = [{"name": "locate", "input_schema": {"type": "object"}}]
    async with two(shared) as (a, b):
        session = await a.session()
        turn = (await a.begin(session, "/call locate {}\n/then\n/say over", tools=tools))["turn_id"]
        await until(b, session, "tool_call")
        page = await b.get(f"/api/sessions/{session}/events?types=tool_call", accept="application/json")
        (called,) = page.json()["events"]
        path = f"/api/sessions/{session}/turns/{turn}/tool_results/{called['tool_call_id']}"
        assert (await b.post(path, {"content": "Basel"})).status_code == 200
        seen = await done_of(a, session, turn)
    assert "Basel" in the(seen, "tool_result")["content"]
    assert text_of(seen) == "over"
    assert "warning" not in types(seen)

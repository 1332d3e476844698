"""A gateway whose record is in PostgreSQL: the same stories, and what only a server can do to it."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from structlog.testing import capture_logs

from tests.cutting import cutting
from tests.harness import TIMEOUT, Frame, events, running_gateway, settings_for, text_of, the
from tests.postgres import database_in, needs_postgres
from tests.product import Settings, SettingsError, open_storage

pytestmark = [*needs_postgres, pytest.mark.anyio]


@pytest.fixture
def settings(tmp_path: Path, demo_url: str) -> Settings:
    return settings_for(tmp_path / "data", demo_url, database_url=database_in(tmp_path))


async def test_a_conversation_outlives_the_process(settings: Settings) -> None:
    """Tools, memory and the answer are in the log as they were streamed; another process reads and continues
    it."""
    async with running_gateway(settings) as client:
        streamed = await client.chat("What is 17*23?")
        session = streamed[0]["session_id"]
        streamed += await client.chat("Remember that I like plain words.", session_id=session)
        assert await client.events(session) == streamed

    async with running_gateway(settings) as client:
        assert await client.events(session) == streamed
        more = await client.chat("What do you remember about me?", session_id=session)

    assert {event["data"]["status"] for event in streamed + more if event["type"] == "done"} == {"completed"}
    assert "391" in text_of(streamed)
    assert "plain words" in text_of(more)
    assert [event["seq"] for event in streamed + more] == list(range(1, len(streamed + more) + 1))


async def test_a_folder_that_the_others_may_not_have_is_no_place_for_blobs(settings: Settings) -> None:
    """Unless it is said that they have it: else an archive or an artifact would be there for one of them."""
    with pytest.raises(SettingsError, match="GATEWAY_BLOBS_SHARED"):
        async with open_storage(settings.model_copy(update={"blobs_shared": False})):
            pass
    async with open_storage(settings):
        pass


async def test_two_gateways_have_one_leader(settings: Settings) -> None:
    """When it ends, the other one is."""
    async with asyncio.timeout(TIMEOUT), running_gateway(settings) as second:
        async with running_gateway(settings) as first:
            while not (second.app.state.leader.leads or first.app.state.leader.leads):
                await asyncio.sleep(0.01)
            assert second.app.state.leader.leads != first.app.state.leader.leads
        while not second.app.state.leader.leads:
            await asyncio.sleep(0.01)


async def test_one_that_is_alone_says_so(settings: Settings) -> None:
    """Checks of how many there are find the number also when it is the last one."""
    async with running_gateway(settings) as client:
        assert (await client.get("/readyz")).json()["replicas"] == {"alive": 1, "differ": []}


async def test_its_connections_are_in_the_metrics(settings: Settings) -> None:
    """Those of the sessions and of the memory: in use, idle, and what waits for one."""
    resting, counted = list[str](), list[str]()
    for pool in ("sessions read", "sessions write", "memory read", "memory write"):
        of = f'gateway_pool="{pool}"'
        resting.append(f'gateway_database_connections{{gateway_connection_state="used",{of}}} 0')
        resting.append(f"gateway_database_waiting{{{of}}} 0")
        counted.append(f"gateway_database_wait_seconds_count{{{of}}}")
    async with running_gateway(settings) as client:
        await client.chat("Remember that I like plain words.")
        shown = (await client.get("/metrics")).text
        async with asyncio.timeout(TIMEOUT):  # work beside turns uses them for moments
            while any(line not in shown for line in resting):
                await asyncio.sleep(0.01)
                shown = (await client.get("/metrics")).text
    assert [line for line in counted if line not in shown] == []


async def test_nobody_is_told_where_the_database_is(settings: Settings) -> None:
    """Neither who uses the gateway nor who asks whether it is ready, without a key: operators read it in the
    log, which has no password."""
    assert settings.database_url is not None
    server = urlsplit(settings.database_url)
    with cutting(server.hostname or "", server.port or 0) as proxy:
        address = server._replace(netloc=f"{server.username}:hidden@127.0.0.1:{proxy.port}").geturl()
        async with running_gateway(settings.model_copy(update={"database_url": address})) as client:
            session = (await client.chat("Hello"))[0]["session_id"]
            with capture_logs() as lines:
                proxy.go_away()
                told = [
                    await client.http.get("/readyz"),
                    await client.http.get("/api/sessions"),
                    await client.http.get(f"/api/sessions/{session}/events?follow=0"),
                    await client.http.post("/api/chat", json={"message": "Hello", "session_id": session}),
                ]
                proxy.come_back()

    assert [answer.status_code for answer in told] == [503] * 4
    assert "The database failed." in told[0].text
    for answer in told:
        for hidden in ("127.0.0.1", str(proxy.port), server.path[1:], "hidden", "gateway@"):
            assert hidden not in answer.text
    for event in ("not_ready", "request_refused"):
        said = " ".join(line["error"] for line in lines if line["event"] == event)
        assert str(proxy.port) in said
    assert "hidden" not in str(lines)


async def test_a_turn_outlives_a_server_that_is_away_for_a_moment(settings: Settings) -> None:
    """Every connection is cut in mid-answer and none is to be had for a second: the same stream goes on, and
    the log has every byte of it."""
    assert settings.database_url is not None
    server = urlsplit(settings.database_url)
    with cutting(server.hostname or "", server.port or 0) as proxy:
        address = server._replace(netloc=f"{server.username}@127.0.0.1:{proxy.port}").geturl()
        async with running_gateway(settings.model_copy(update={"database_url": address})) as client:
            session = await client.session()
            turn = await client.begin(session, "/pace 20\n/say " + "word " * 200)
            async with client.frames(f"/api/sessions/{session}/events?turn_id={turn['turn_id']}") as frames:
                seen = list[Frame]()
                async for frame in frames:
                    seen.append(frame)
                    if frame.event == "done":
                        break
                    if len(seen) == 20:
                        proxy.go_away()
                        await asyncio.sleep(1)
                        proxy.come_back()
            streamed = events(seen)
            assert streamed == await client.events(session)
    assert the(streamed, "done")["status"] == "completed"
    assert text_of(streamed).count("word") == 200

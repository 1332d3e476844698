"""Two gateways on one database that is away for a while, for ever, or starts anew in the middle of their
turns, over HTTP."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.cutting import Cutting, cutting
from tests.harness import TIMEOUT, text_of, the, types
from tests.postgres import needs_postgres, new_database, own_server
from tests.stories.replica_tools import SECONDS
from tests.stories.test_replicas import Start, alive, follow, replayed, replicas

pytestmark = [*needs_postgres, pytest.mark.anyio, pytest.mark.long, pytest.mark.waits]

TAKEN_OVER = "turn_recovered"


@asynccontextmanager
async def behind_a_proxy(
    folder: Path, demo_url: str, **given: str
) -> AsyncGenerator[tuple[Start, Cutting, str]]:
    """Replicas of a new database that all go through one proxy; its own address comes with them."""
    url = new_database()
    server = urlsplit(url)
    with cutting(server.hostname or "", server.port or 0) as proxy:
        address = server._replace(netloc=f"{server.username}@127.0.0.1:{proxy.port}").geturl()
        async with replicas(folder, demo_url, GATEWAY_DATABASE_URL=address, **given) as start:
            yield start, proxy, url


def whole(seen: list[dict[str, Any]], replay: list[dict[str, Any]]) -> None:
    """Nothing that was shown is lost, and every number is there once."""
    assert [event["seq"] for event in replay] == list(range(1, len(replay) + 1))
    assert seen == replay[: len(seen)]
    assert types(replay).count("done") == 1


async def test_a_server_that_starts_anew_leaves_every_turn_where_it_is(tmp_path: Path, demo_url: str) -> None:
    """It is away for two seconds, in the middle of an answer on each of two replicas: both go on where they
    were, in the streams that are open, and nothing is taken over or asked for again."""
    with own_server() as server:
        given = {"GATEWAY_DATABASE_URL": server.url, "GATEWAY_LEASE": "10"}
        async with replicas(tmp_path, demo_url, **given) as start:
            both = await asyncio.gather(start("one"), start("two"))
            await alive(both[0], 2)
            followed = list[Any]()
            for replica, other in (both, both[::-1]):
                session = await replica.client.session()
                turn = (await replica.client.begin(session, "/pieces 200\n/pace 20"))["turn_id"]
                followed.append((follow(other.client, session, turn), replica, session, turn))
            for following, *_ in followed:
                await following.until("text", 20)
            await asyncio.to_thread(server.stop)
            await asyncio.sleep(2)
            await asyncio.to_thread(server.start)
            for following, replica, session, turn in followed:
                seen = await following.whole()
                whole(seen, await replayed(replica.client, session, turn))
                assert the(seen, "done")["status"] == "completed"
                assert "iteration_superseded" not in types(seen)
                assert len(text_of(seen)) == 800
                assert TAKEN_OVER not in replica.process.output.read_text()


async def test_a_server_that_is_away_for_longer_than_a_lease_loses_nothing(
    tmp_path: Path, demo_url: str
) -> None:
    """Three leases: a turn goes on, or ends with a named failure; what was shown is in the log, both replicas
    are there again, and the next turn is answered."""
    async with behind_a_proxy(tmp_path, demo_url, **{SECONDS: "0.1"}) as (start, proxy, _):
        one, two = await asyncio.gather(start("one"), start("two"))
        await alive(one, 2)
        session = await one.client.session()
        turn = (await one.client.begin(session, "/pieces 200\n/pace 20"))["turn_id"]
        following = follow(one.client, session, turn)
        await following.until("text", 20)
        proxy.go_away()
        await asyncio.sleep(6)
        refused = await two.client.post("/api/chat", {"message": "/say not now"})
        assert refused.status_code == 503, refused.text
        proxy.come_back()
        for replica in (one, two):
            await alive(replica, 2)
        path = f"/api/sessions/{session}/turns/{turn}"
        async with asyncio.timeout(TIMEOUT):
            while (await two.client.get(path)).json()["status"] != "done":
                await asyncio.sleep(0.05)
        replay = await replayed(two.client, session, turn)
        whole(following.seen, replay)
        ending = the(replay, "done")["status"]
        assert ending in {"completed", "failed"}
        assert ending == "completed" or the(replay, "error")["code"] == "storage_unavailable"
        assert text_of(await two.client.chat("/say here again", session_id=session)) == "here again"


async def test_a_server_that_stays_away_is_said_to_be_and_ends_no_process(
    tmp_path: Path, demo_url: str
) -> None:
    """The stream ends with the reason, new turns and the readiness are refused with it, and the process ends
    in time when it is told to; another one finds all that was shown."""
    async with AsyncExitStack() as stack:
        given = behind_a_proxy(tmp_path, demo_url, GATEWAY_SHUTDOWN_GRACE="0.2")
        start, proxy, url = await stack.enter_async_context(given)
        one = await start("one")
        session = await one.client.session()
        turn = (await one.client.begin(session, "/pieces 200\n/pace 20"))["turn_id"]
        following = follow(one.client, session, turn)
        await following.until("text", 20)
        proxy.go_away()
        seen = await following.whole()
        assert "done" not in types(seen)
        for asked in (one.client.post("/api/chat", {"message": "/say no"}), one.client.get("/readyz")):
            answer = await asked
            assert answer.status_code == 503, answer.text
            assert "storage_unavailable" in answer.text
        assert await asyncio.to_thread(one.process.stop) == 0
        two = await start("two", GATEWAY_DATABASE_URL=url)
        again = follow(two.client, session, turn)
        replay = await again.whole()
        whole([event for event in seen if event["type"] != "error"], replay)
        assert the(replay, "done")["status"] == "completed"


async def test_a_question_that_nobody_answers_expires_once(tmp_path: Path, demo_url: str) -> None:
    """Two replicas see its deadline: the turn goes on in one of them, and has one answer."""
    policy = {"GATEWAY_TOOL_POLICY": "act=ask", "GATEWAY_APPROVAL_TIMEOUT": "1"}
    async with replicas(tmp_path, demo_url, **policy) as start:
        one, two = await asyncio.gather(start("one"), start("two"))
        asked = list[Any]()
        for number in range(4):
            replica = (one, two)[number % 2]
            session = await replica.client.session()
            turn = (await replica.client.begin(session, "/call act {}\n/then\n/say done"))["turn_id"]
            asked.append((session, turn, follow((two, one)[number % 2].client, session, turn)))
        for session, turn, following in asked:
            seen = await following.whole()
            whole(seen, await replayed(one.client, session, turn))
            answer = the(seen, "approval_response")
            assert (answer["decision"], answer["by"]) == ("denied", "expiry")
            assert types(seen).count("approval_response") == types(seen).count("tool_result") == 1
            assert the(seen, "done")["status"] == "completed"
    assert not (tmp_path / "told").exists()

"""Webhooks of several processes: each delivery is made by one of them at a time, whoever is killed."""

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.harness import client_at
from tests.loopback import TIMEOUT
from tests.postgres import database_in, new_database, on_postgres
from tests.product import Settings
from tests.running import gateway_process
from tests.stories.test_other_replica import two
from tests.stories.test_replicas import replicas
from tests.stories.test_webhooks import added, over, quick
from tests.webhook_receiver import STALL, Receiver, receiving

pytestmark = [pytest.mark.anyio, pytest.mark.long, pytest.mark.waits]

TURNS = 4


async def in_order(receiver: Receiver, secret: str, turns: list[str]) -> list[str]:
    """The turns that were told, each when it was first, until all of them were."""
    first: dict[str, str] = {}
    async with asyncio.timeout(2 * TIMEOUT):
        while len(first) < len(turns):
            told = await receiver.told(secret)
            first.setdefault(told["id"], told["data"]["turn_id"])
    return list(first.values())


@on_postgres
async def test_two_replicas_tell_each_end_once(settings: Settings, tmp_path: Path) -> None:
    shared = quick(settings).model_copy(
        update={
            "database_url": database_in(tmp_path),
            "blob_url": (tmp_path / "blobs").as_uri(),
            "lease": 3600,
        }
    )
    async with receiving() as receiver, two(shared) as both:
        webhook = await added(both[0], receiver.url)
        turns = [(await both[n % 2].chat("/say hi"))[0]["turn_id"] for n in range(12)]

        assert len(await over(both[1], webhook, len(turns))) == len(turns)

        told = [await receiver.told(webhook["secret"]) for _ in turns]
        assert sorted(each["data"]["turn_id"] for each in told) == sorted(turns)
        assert receiver.posts.empty()


async def test_a_gateway_that_is_killed_tells_all_and_in_order(tmp_path: Path, demo_url: str) -> None:
    """What was being posted is posted again under its id when its claim is over, and only then what came
    after it in the session; a turn that ended while nothing was posted is told by the next process."""
    given = {
        "ANTHROPIC_BASE_URL": demo_url,
        "GATEWAY_WEBHOOK_HOSTS": "127.0.0.1",
        "GATEWAY_WEBHOOK_TIMEOUT": "1",
        "GATEWAY_WEBHOOK_RETRIES": ",".join(["0.1"] * 20),
    }
    async with receiving(STALL, STALL, "200 OK") as receiver:
        with gateway_process(tmp_path, "serve", **given) as gateway:
            async with client_at(gateway.url) as client:
                webhook = await added(client, receiver.url)
                session = await client.session()
                turns = [
                    (await client.chat("/say hi", session_id=session))[0]["turn_id"] for _ in range(TURNS)
                ]
                await receiver.next()
                gateway.send(signal.SIGKILL)
        with gateway_process(tmp_path, "serve", **given) as gateway:
            assert await in_order(receiver, webhook["secret"], turns) == turns
            async with client_at(gateway.url) as client:
                states = [each["state"] for each in await over(client, webhook, TURNS)]
            assert states == ["delivered"] * TURNS


@on_postgres
async def test_another_replica_tells_what_a_killed_one_cannot(tmp_path: Path, demo_url: str) -> None:
    given = {
        "GATEWAY_DATABASE_URL": new_database(),
        "GATEWAY_WEBHOOK_HOSTS": "127.0.0.1",
        "GATEWAY_WEBHOOK_TIMEOUT": "1",
        "GATEWAY_WEBHOOK_RETRIES": ",".join(["0.1"] * 20),
    }
    async with AsyncExitStack() as stack:
        receiver = await stack.enter_async_context(receiving(STALL, "500 No", STALL, "200 OK"))
        start = await stack.enter_async_context(replicas(tmp_path, demo_url, **given))
        a = await start("a")
        webhook = await added(a.client, receiver.url)
        session = await a.client.session()
        turns = [(await a.client.chat("/say hi", session_id=session))[0]["turn_id"] for _ in range(TURNS)]
        await receiver.next()
        b = await start("b")
        a.process.send(signal.SIGKILL)

        assert await in_order(receiver, webhook["secret"], turns) == turns
        states = [each["state"] for each in await over(b.client, webhook, TURNS)]
        assert states == ["delivered"] * TURNS

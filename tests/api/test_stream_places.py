"""A user has so many streams at a time, whatever they are asked for by: others find room."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import pytest
from pydantic import SecretStr

from gateway.auth import LOCAL_USER, Principal
from gateway.auth.client_addresses import UNKNOWN
from gateway.auth.client_addresses import Client as Sender
from gateway.http.endpoint import STREAM, Endpoint
from gateway.http.stream_places import FEWEST, MAX_STREAMS, StreamPlaces
from tests.api.route_samples import ROUTES
from tests.harness import TIMEOUT, Client, running_gateway
from tests.product import QueueFull, Settings

pytestmark = pytest.mark.anyio

ADA, BOB = ({"x-api-key": f"{name}-secret-0123456789"} for name in ("ada", "bob"))
KEYS = SecretStr(",".join(f"{name}:{name}-secret-0123456789" for name in ("ada", "bob")))
OWN, OTHER = (Sender(address, address, is_own=True) for address in ("192.0.2.1", "192.0.2.2"))
DOORS = [each for each in ROUTES if any(STREAM in answers for answers in each.answers.values())]


@pytest.fixture
async def keyed(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    """Each of two users may have two streams."""
    given = {"api_keys": KEYS, "max_streams_per_user": 2}
    async with running_gateway(settings.model_copy(update=given)) as client:
        yield client


async def refused(client: Client, door: Endpoint, headers: dict[str, str]) -> bool:
    """Whether an answer of that route is that there are too many streams."""
    path = re.sub(r"\{[^}]*\}", "s", door.path)
    answer = await client.http.request(door.method, path, json={}, headers=headers)
    return answer.status_code == 429 and "retry-after" in answer.headers


async def test_every_route_that_may_stream_is_refused_where_its_user_has_too_many(keyed: Client) -> None:
    """Before anything is begun, in the words of its dialect; another user is not."""
    assert {each.path for each in DOORS} >= {"/api/chat", "/mcp", "/a2a", "/v1/responses", "/v1/messages"}
    async with AsyncExitStack() as stack:
        await keyed.post("/api/sessions", {"id": "s"}, **ADA)
        path = "/api/sessions/s/events"
        streams = [await stack.enter_async_context(keyed.frames(path, headers=ADA)) for _ in range(2)]
        assert [(await anext(frames)).event for frames in streams] == ["stream_open"] * 2
        for door in DOORS:
            assert await refused(keyed, door, ADA), door.path
            assert not await refused(keyed, door, BOB), door.path
        answer = await keyed.post("/api/chat", {"message": "hi"}, **ADA)
        assert answer.json()["error"]["code"] == "too_many_streams"
        assert answer.json()["error"]["retryable"] is True
        sessions = (await keyed.get("/api/sessions", **ADA)).json()["sessions"]
        assert len(sessions) == 1
    taken = keyed.app.state.stream_places._taken  # pyright: ignore[reportPrivateUsage] - nobody is told
    async with asyncio.timeout(TIMEOUT):
        while taken:
            await asyncio.sleep(0.01)
    assert len(await keyed.all_frames("/api/sessions/s/events?follow=0", headers=ADA)) > 0


@pytest.mark.parametrize(
    ("given", "who", "most"),
    [
        ({}, LOCAL_USER, 5000),
        ({"max_connections": 60}, LOCAL_USER, 30),
        ({"max_connections": 2}, LOCAL_USER, FEWEST),
        ({"api_keys": KEYS}, Principal("ada"), MAX_STREAMS),
        ({"api_keys": KEYS, "max_connections": 60}, Principal("ada"), 6),
        ({"api_keys": KEYS, "max_connections": 20}, Principal("ada"), FEWEST),
        ({"api_keys": KEYS, "max_streams_per_user": 700}, Principal("ada"), 700),
    ],
)
def test_how_many_there_may_be_depends_on_who_else_needs_them(
    settings: Settings, given: dict[str, Any], who: Principal, most: int
) -> None:
    places = StreamPlaces(settings.model_copy(update=given))
    with ExitStack() as taken:
        for _ in range(most - 1):
            taken.enter_context(places.place(who, UNKNOWN))
        with places.place(who, UNKNOWN), pytest.raises(QueueFull):
            taken.enter_context(places.place(who, UNKNOWN))
        taken.enter_context(places.place(who, UNKNOWN))


@pytest.mark.parametrize(
    ("given", "client", "most"),
    [
        ({"api_keys": KEYS, "max_connections": 60}, OWN, 30),
        ({"api_keys": KEYS, "max_connections": 60, "max_streams_per_address": 7}, OWN, 7),
        ({"api_keys": KEYS, "max_connections": 60}, Sender("10.0.0.1", "10.0.0.1"), None),
        ({"max_connections": 60}, OWN, None),
    ],
    ids=["by default", "as set", "a proxy's", "without accounts"],
)
def test_one_address_has_so_many_whoever_asks(
    settings: Settings, given: dict[str, Any], client: Sender, most: int | None
) -> None:
    """Where it is the client's own; another address has its own places, and none stays taken."""
    places = StreamPlaces(settings.model_copy(update=given))
    with ExitStack() as taken:
        for number in range(most or 200):
            taken.enter_context(places.place(Principal(f"u{number}"), client))
        if most is not None:
            with pytest.raises(QueueFull, match="from your address"):
                taken.enter_context(places.place(Principal("ada"), client))
        taken.enter_context(places.place(Principal("ada"), OTHER))
    with ExitStack() as taken:
        for number in range(most or 200):
            taken.enter_context(places.place(Principal(f"u{number}"), client))

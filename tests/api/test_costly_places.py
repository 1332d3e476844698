"""Costly operations: so many at a time, so many of one user, and nobody else waits behind those."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest
from pydantic import SecretStr

from gateway.errors import QueueFull
from gateway.http.endpoint import Endpoint
from gateway.http.requests import NDJSON
from gateway.service import costly_places
from gateway.service.costly_places import COSTLY, PLACES, Costly, CostlyPlaces, PlaceCounts
from gateway.settings import load_settings
from tests.api.route_samples import ROUTES, cases, nobodys
from tests.harness import TIMEOUT, Client, running_gateway

pytestmark = pytest.mark.anyio

SECRETS = {name: f"{name}-secret-0123456789" for name in ("ada", "bob")}
ROUTES_THAT_COST = [route for route in ROUTES if route.cost is not None]
FILES = frozenset({NDJSON, "application/zip", "application/gzip", "text/html", "text/markdown"})
SEARCHES = frozenset({"q", "search", "json_path"})
"""Parameters by which something is looked for."""
STATUS_WITHOUT_PLACE = 429


@pytest.fixture(scope="module")
async def team(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Client]:
    """A gateway with two users, both of them admins, so that no route refuses them for what they are."""
    settings = load_settings(
        data_dir=tmp_path_factory.mktemp("data"),
        api_keys=SecretStr(",".join(f"{name}:{secret}" for name, secret in SECRETS.items())),
        admins=tuple(SECRETS),
    )
    async with running_gateway(settings) as client:
        yield client


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costly_places, "WAIT", 0.05)


def as_(name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {SECRETS[name]}"}


def request_of(route: Endpoint) -> dict[str, Any]:
    """One for which a place is needed."""
    assert route.cost is not None
    asked = next(iter(cases(route))).request(nobodys())
    if route.cost.only_with:
        asked["params"] = {**asked.get("params", {}), route.cost.only_with[-1]: "green"}
    return asked


def with_headers(asked: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {**asked, "headers": {**asked.get("headers", {}), **as_(name)}}


@pytest.mark.parametrize("route", ROUTES_THAT_COST, ids=lambda route: f"{route.method} {route.path}")
async def test_who_has_all_their_places_waits_and_nobody_else(team: Client, route: Endpoint) -> None:
    """Another request of theirs is refused with a time after which to try again; the same of somebody else
    is answered, and so is a chat of either."""
    places: CostlyPlaces = team.app.state.gateway.places
    assert route.cost is not None
    kind, asked = route.cost.kind, request_of(route)
    async with AsyncExitStack() as held:
        for _ in range(PLACES[kind].of_user):
            await held.enter_async_context(places.taken(kind, "ada"))

        refused = await team.http.request(**with_headers(asked, "ada"))
        answered = await team.http.request(**with_headers(asked, "bob"))
        chats = [await team.post("/api/chat", {"message": "/say hi"}, **as_(name)) for name in ("ada", "bob")]

    assert refused.status_code == STATUS_WITHOUT_PLACE, refused.text
    assert refused.headers["retry-after"] == str(costly_places.RETRY_AFTER)
    assert "operation_busy" in refused.text
    assert answered.status_code not in {STATUS_WITHOUT_PLACE, 500}, answered.text
    assert [chat.status_code for chat in chats] == [200, 200]
    assert all("event: done" in chat.text for chat in chats)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_what_sends_or_takes_files_or_looks_for_words_is_costly(route: Endpoint) -> None:
    """So that a new route of such a kind is not forgotten."""
    sends = FILES & {answer for answers in route.answers.values() for answer in answers if answer}
    searches = SEARCHES & set(route.query.model_fields if route.query is not None else ())
    if sends or route.upload == NDJSON:
        assert route.cost is not None
        assert not route.cost.only_with
    if searches:
        assert route.cost is not None
        assert searches <= set(route.cost.only_with)


async def test_the_kinds_of_the_table_are_those_that_have_places() -> None:
    """Each kind is some route's, and nobody may have all places of one."""
    assert {route.cost.kind for route in ROUTES_THAT_COST if route.cost} == set(COSTLY) == set(PLACES)
    assert all(0 < places.of_user <= places.all // 2 for places in PLACES.values())


async def test_a_list_without_words_to_search_takes_no_place(team: Client) -> None:
    """Nor does the content of an artifact as it is."""
    places: CostlyPlaces = team.app.state.gateway.places
    async with AsyncExitStack() as held:
        for kind in ("search", "extract"):
            for _ in range(PLACES[kind].of_user):
                await held.enter_async_context(places.taken(kind, "ada"))
        assert (await team.get("/api/sessions", **as_("ada"))).status_code == 200
        assert (await team.get("/api/artifacts/ART-0000000000", **as_("ada"))).status_code == 404


async def test_a_place_that_becomes_free_goes_to_who_waits_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all users, each of whom has no more than their own waiting for it."""
    monkeypatch.setattr(costly_places, "WAIT", TIMEOUT)
    places = CostlyPlaces({"search": PlaceCounts(2, 1)})
    order, go_on = list[str](), asyncio.Event()

    async def search(name: str) -> None:
        async with places.taken("search", name):
            order.append(name)
            await go_on.wait()

    tasks = [asyncio.create_task(search(name)) for name in ("ada", "ada", "ada", "bob", "cy")]
    while len(order) < 2:
        await asyncio.sleep(0)
    assert order == ["ada", "bob"]
    go_on.set()
    await asyncio.gather(*tasks)
    assert order[2] == "cy"


@pytest.mark.parametrize("kind", COSTLY)
async def test_no_more_of_one_user_wait_than_a_page_asks(
    kind: Costly, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one is refused at once; what was cancelled while it waited leaves its place to others."""
    monkeypatch.setattr(costly_places, "WAIT", TIMEOUT)
    places, go_on = CostlyPlaces(), asyncio.Event()

    async def work() -> None:
        async with places.taken(kind, "ada"):
            await go_on.wait()

    tasks = [asyncio.create_task(work()) for _ in range(PLACES[kind].of_user + costly_places.MAX_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(QueueFull, match="run or wait already") as refused:
        async with places.taken(kind, "ada"):
            pass
    assert refused.value.code == "operation_busy"
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    go_on.set()
    async with AsyncExitStack() as held:
        for _ in range(PLACES[kind].of_user):
            await held.enter_async_context(places.taken(kind, "ada"))


@pytest.mark.parametrize(
    ("kind", "method", "params"),
    [
        ("search", "tools/call", {"name": "manage_memory", "arguments": {"action": "list"}}),
        ("copy", "resources/read", {"uri": "memory://nothing"}),
    ],
)
async def test_mcp_is_no_way_around(team: Client, kind: Costly, method: str, params: Any) -> None:
    """What is costly takes its place there too; who has none free is told so, and others are answered."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    places: CostlyPlaces = team.app.state.gateway.places
    async with AsyncExitStack() as held:
        for _ in range(PLACES[kind].of_user):
            await held.enter_async_context(places.taken(kind, "ada"))
        told = {name: (await team.post("/mcp", asked, **as_(name))).text for name in SECRETS}
    assert "operation_busy" in told["ada"]
    assert "operation_busy" not in told["bob"]

"""Costly operations: so many at a time, so many of one user, and nobody else waits behind those."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import urlsplit

import pytest
from pydantic import SecretStr

from gateway.http.endpoint import Endpoint
from gateway.http.requests import NDJSON
from gateway.service import costly_places
from gateway.service.costly_places import COSTLY, PLACES, Costly, CostlyPlaces, PlaceCounts
from tests.api.route_samples import ROUTES, cases, nobodys
from tests.harness import TIMEOUT, Client, running_gateway
from tests.product import QueueFull, load_settings

pytestmark = pytest.mark.anyio

SECRETS = {name: f"{name}-secret-0123456789" for name in ("ada", "bob", "cy")}
ROUTES_THAT_COST = [route for route in ROUTES if route.cost is not None and not route.does.is_open]
OPEN_ROUTES_THAT_COST = [route for route in ROUTES if route.cost is not None and route.does.is_open]
FILES = frozenset({NDJSON, "application/zip", "application/gzip", "text/html", "text/markdown"})
SEARCHES = frozenset({"q", "search", "json_path"})
"""Parameters by which something is looked for."""
STATUS_WITHOUT_PLACE = 429


@pytest.fixture(scope="module")
async def team(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Client]:
    """A gateway with some users, all of them admins, so that no route refuses them for what they are."""
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


@pytest.mark.parametrize("route", OPEN_ROUTES_THAT_COST, ids=lambda route: f"{route.method} {route.path}")
async def test_where_nobody_is_asked_who_they_are_an_address_has_the_places(
    team: Client, route: Endpoint
) -> None:
    """Whatever name a request comes with; users have their own beside them."""
    places: CostlyPlaces = team.app.state.gateway.places
    assert route.cost is not None
    kind, asked = route.cost.kind, request_of(route)
    async with AsyncExitStack() as held:
        for _ in range(PLACES[kind].of_user):
            await held.enter_async_context(places.taken(kind, "address 127.0.0.1"))
        refused = await team.http.request(**with_headers(asked, "ada"))
        async with places.taken(kind, "ada"):
            pass

    assert refused.status_code == STATUS_WITHOUT_PLACE, refused.text
    assert "operation_busy" in refused.text


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_what_sends_or_takes_files_or_looks_for_words_is_costly(route: Endpoint) -> None:
    """So that a new route of such a kind is not forgotten."""
    given = (answers for status, answers in route.answers.items() if status < 300)
    sends = FILES & {answer for answers in given for answer in answers if answer}
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


def slow_import(name: str) -> bytes:
    """The head of an import whose body does not come."""
    return (
        f"POST /api/sessions/import HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {SECRETS[name]}\r\n"
        f"content-type: {NDJSON}\r\ncontent-length: 1000000\r\nexpect: 100-continue\r\n\r\n"
    ).encode()


async def test_who_sends_a_file_slowly_holds_nobody_up(team: Client) -> None:
    """Two users have all places by requests whose bodies do not come; what a third asks is answered."""
    url = urlsplit(team.url)
    async with AsyncExitStack() as open_ones:
        for name in ("ada", "bob") * PLACES["import"].of_user:
            reader, writer = await asyncio.open_connection(url.hostname, url.port)
            open_ones.callback(writer.close)
            writer.write(slow_import(name))
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), TIMEOUT)  # its body is waited for

        asked = {"content": b"{}\n", "headers": {"content-type": NDJSON}}
        answered, refused = [
            await team.http.post("/api/sessions/import", **with_headers(asked, name))
            for name in ("cy", "ada")
        ]

    assert answered.status_code == 400, answered.text  # it was looked at
    assert refused.status_code == STATUS_WITHOUT_PLACE, refused.text


async def test_a_file_has_no_place_of_others_while_it_is_sent() -> None:
    """Each part of it is made in one, and who takes none of them keeps no place but one of their own."""
    places = CostlyPlaces({"copy": PlaceCounts(1, 1)})
    made = list[str]()

    async def parts(name: str) -> AsyncGenerator[str]:
        for number in range(3):
            made.append(f"{name}{number}")
            yield made[-1]

    async with places.taken("copy", "ada") as place:
        file = place.made(parts("a"))
        assert await anext(file) == "a0"  # and she takes no more of it
        async with places.taken("copy", "bob") as another:
            assert [part async for part in another.made(parts("b"))] == ["b0", "b1", "b2"]
        async with places.taken("copy", "cy"):
            going_on = asyncio.create_task(anext(file))
            await asyncio.sleep(0.01)
            assert not going_on.done()  # cy has the place
        assert await going_on == "a1"
        await file.aclose()
    assert made == ["a0", "b0", "b1", "b2", "a1"]
    async with places.taken("copy", "dan"):
        pass

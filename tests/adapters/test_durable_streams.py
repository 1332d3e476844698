"""A session's log as a stream of the Durable Streams protocol."""

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from bench.cache import PROGRAM, cached
from gateway.adapters.durable_streams import durable_streams_routes
from gateway.adapters.durable_streams.durable_streams_frames import (
    CURSOR_EPOCH,
    next_cursor,
    offset_of,
    read_offset,
)
from tests.adapters.test_cuts import Gates
from tests.clients.programs import needs_npm, run, run_documented
from tests.conftest import ROOT
from tests.harness import Client, running_gateway, text_of
from tests.loopback import TIMEOUT
from tests.product import Settings, load_settings

pytestmark = pytest.mark.anyio

LONG = "How do I resume a stream? And what is 17*23?"
PATH = "/streams/sessions/s"


@pytest.fixture
async def whole(client: Client) -> list[dict[str, Any]]:
    """The events of a session with a turn."""
    await client.chat(LONG, session_id="s")
    return await client.events("s")


async def caught_up(client: Client, path: str = PATH) -> list[list[dict[str, Any]]]:
    """What a reader is given, answer by answer, until it is up to date."""
    offset, answers = "-1", list[list[dict[str, Any]]]()
    while True:
        answer = await client.get(f"{path}?offset={offset}")
        assert answer.status_code == 200
        answers.append(answer.json())
        offset = answer.headers["stream-next-offset"]
        if answer.headers.get("stream-up-to-date") == "true":
            return answers


async def test_a_reader_that_catches_up_gets_the_log_in_bounded_answers(
    client: Client, whole: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole events, in order, none twice; the same after the session was archived."""
    monkeypatch.setattr(durable_streams_routes, "CHUNK", 3)

    answers = await caught_up(client)
    assert (await client.post("/api/sessions/s/archive")).json()["moved"]
    archived = await caught_up(client)

    assert [event for answer in answers for event in answer] == whole
    assert max(map(len, answers)) == 3
    assert [event for answer in archived for event in answer] == whole


async def test_a_closed_range_may_be_kept_and_the_tail_may_not(
    client: Client, whole: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By private caches only. An answer that is known is 304; HEAD tells the tail alone."""
    monkeypatch.setattr(durable_streams_routes, "CHUNK", 3)

    closed = await client.get(f"{PATH}?offset=-1")
    known = await client.get(f"{PATH}?offset=-1", **{"if-none-match": closed.headers["etag"]})
    other = await client.get(f"{PATH}?offset={offset_of(1)}", **{"if-none-match": closed.headers["etag"]})
    tail = await client.get(f"{PATH}?offset={offset_of(len(whole))}")
    now = await client.get(f"{PATH}?offset=now")
    head = await client.http.head(PATH)

    assert closed.headers["cache-control"] == "private, max-age=60, stale-while-revalidate=300"
    assert closed.headers["x-content-type-options"] == "nosniff"
    assert closed.headers["cross-origin-resource-policy"] == "same-origin"
    assert (known.status_code, known.content) == (304, b"")
    assert known.headers["stream-next-offset"] == closed.headers["stream-next-offset"] == offset_of(3)
    assert other.status_code == 200
    for answer in (tail, now):
        assert (answer.json(), answer.headers["stream-up-to-date"]) == ([], "true")
    for answer in (tail, now, head):
        assert answer.headers["stream-next-offset"] == offset_of(len(whole))
        assert answer.headers["cache-control"] == "no-store"
    assert "etag" not in now.headers
    assert head.headers["content-type"] == "application/json"


async def test_a_long_poll_waits_for_what_comes(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is answered with what came, or after its time with 204 and a larger cursor."""
    await client.post("/api/sessions", {"id": "s"})
    waiting = asyncio.create_task(client.get(f"{PATH}?offset=now&live=long-poll"))
    async with asyncio.timeout(TIMEOUT):
        while not client.app.state.deps.bus.readers:  # what comes before that is not behind "now"
            await asyncio.sleep(0.005)
    await client.chat("/say hello", session_id="s")
    some = await waiting
    monkeypatch.setattr(durable_streams_routes, "POLL_SECONDS", 0.01)
    end = (await client.http.head(PATH)).headers["stream-next-offset"]
    cursor = some.headers["stream-cursor"]
    none = await client.get(f"{PATH}?offset={end}&live=long-poll&cursor={cursor}")

    assert some.status_code == 200
    assert some.json()[0]["type"] == "turn_start"
    assert some.headers["stream-next-offset"] == offset_of(some.json()[-1]["seq"])
    assert some.headers["cache-control"].startswith("private, ")
    assert (none.status_code, none.headers["cache-control"]) == (204, "no-store")
    assert (none.headers["stream-next-offset"], none.headers["stream-up-to-date"]) == (end, "true")
    assert int(none.headers["stream-cursor"]) > int(cursor)


async def test_server_sent_events_tell_where_to_go_on_and_end_by_themselves(
    client: Client, whole: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A control event behind each batch; the stream ends after a minute, so that caches get to collapse."""
    read = b""
    async with asyncio.timeout(TIMEOUT), client.http.stream("GET", f"{PATH}?offset=-1&live=sse") as response:
        async for chunk in response.aiter_raw():
            read += chunk
            if b'"upToDate":true' in read and read.endswith(b"\n\n"):
                break
    frames = frames_of(read)
    monkeypatch.setattr(durable_streams_routes, "SSE_SECONDS", 0.05)
    async with asyncio.timeout(TIMEOUT):
        tail = frames_of((await client.get(f"{PATH}?offset=now&live=sse")).content)

    assert [name for name, _ in frames] == ["data", "control"] * (len(frames) // 2)
    assert [event for _, data in frames[::2] for event in data] == whole
    assert frames[-1][1]["streamNextOffset"] == offset_of(len(whole))
    assert frames[-1][1]["upToDate"] is True
    assert int(frames[-1][1]["streamCursor"]) > 0
    ((name, control),) = tail
    assert (name, control["upToDate"]) == ("control", True)


def frames_of(body: bytes) -> list[tuple[str, Any]]:
    """Names and data of server-sent events, without comments."""
    found: list[tuple[str, Any]] = []
    for frame in body.split(b"\n\n"):
        lines = dict(line.split(b": ", 1) for line in frame.split(b"\n") if b": " in line)
        if lines:
            found.append((lines[b"event"].decode(), orjson.loads(lines[b"data"])))
    return found


async def test_what_is_wrong_is_refused(client: Client, whole: list[dict[str, Any]]) -> None:
    """In the shape of our own problems, as the protocol names none; writing is not offered."""
    for query in ("offset=1", "offset=", "offset=x", "live=sse", "live=no&offset=-1", "offset=-1&offset=-1"):
        refused = await client.get(f"{PATH}?{query}")
        assert (query, refused.status_code) == (query, 400)
        assert refused.json()["error"]["code"] == "invalid_request"
    ahead = await client.get(f"{PATH}?offset={offset_of(len(whole) + 1)}")
    assert (ahead.status_code, ahead.json()["error"]["code"]) == (400, "cursor_ahead")
    assert (await client.get("/streams/sessions/other")).status_code == 404
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        refused = await client.http.request(method, PATH, content=b"[]")
        assert (refused.status_code, set(refused.headers["allow"].split(", "))) == (405, {"GET", "HEAD"})
    lenient = await client.get(f"{PATH}?offset=-1&timeout=3")
    assert lenient.status_code == 200


async def test_a_stream_of_somebody_else_is_not_there(settings: Settings) -> None:
    """As with every route: 404, and 401 without a key."""
    keys = SecretStr("anna:anna-secret-0123456789,bert:bert-secret-0123456789")
    async with running_gateway(settings.model_copy(update={"api_keys": keys})) as client:
        anna = {"authorization": "Bearer anna-secret-0123456789"}
        await client.post("/api/sessions", {"id": "s"}, **anna)
        asked = [
            await client.get(f"{PATH}?offset=-1&live={live}", **headers)
            for live in ("long-poll", "sse")
            for headers in ({}, {"x-api-key": "bert-secret-0123456789"})
        ]
        hers = await client.get(PATH, **anna)

    assert [each.status_code for each in asked] == [401, 404, 401, 404]
    assert hers.json() == []


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_offsets_sort_as_text(one: int, other: int) -> None:
    assert (offset_of(one) < offset_of(other)) == (one < other)
    assert read_offset(offset_of(one)) == one


@given(st.lists(st.floats(0, 10**9), min_size=2, max_size=20))
def test_a_cursor_that_is_sent_back_always_grows(times: list[float]) -> None:
    """Also where the clock stands or goes back, and for a client that lies."""
    cursors = list[str]()
    for time in times:
        cursors.append(next_cursor(cursors[-1] if cursors else None, CURSOR_EPOCH + time))

    assert all(int(before) < int(after) for before, after in pairwise(cursors))
    assert int(next_cursor("99999999", CURSOR_EPOCH)) > 99999999
    assert next_cursor("nonsense", CURSOR_EPOCH + 40) == "2"


async def test_an_adapter_that_is_off_is_not_there(settings: Settings) -> None:
    """Its paths are refused as any unknown one, and the documentation does not have them."""
    off = settings.model_copy(update={"adapters": ()})
    async with running_gateway(off) as client:
        await client.post("/api/sessions", {"id": "s"})
        refused, unknown = await client.get(PATH), await client.get("/nothing")
        paths = (await client.get("/openapi.json")).json()["paths"]

    assert refused.status_code == 404
    assert refused.json()["error"] == unknown.json()["error"]
    assert not any(path.startswith("/streams") for path in paths)


def test_adapters_are_named_in_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that need no extra are on; `none` is none."""
    assert "durable-streams" in load_settings().adapters
    monkeypatch.setenv("GATEWAY_ADAPTERS", "none")
    assert load_settings().adapters == ()
    monkeypatch.setenv("GATEWAY_ADAPTERS", "durable-streams")
    assert load_settings().adapters == ("durable-streams",)


@needs_npm
@pytest.mark.parametrize("live", ["auto", "sse", "long-poll"])
async def test_the_official_client_reads_a_live_turn_and_resumes(settings: Settings, live: str) -> None:
    """From npm, as it is: wherever it stopped, it goes on with the next event, and has the log in the end."""
    gates = Gates()
    async with running_gateway(settings, gates.tool) as client:
        await client.post("/api/sessions", {"id": "s"})
        url = client.url + PATH
        reading = asyncio.create_task(run("durable_streams.mjs", url, live, "-1", "4"))
        await client.begin(
            "s", '/pieces 6 /pace 20\n/call wait {"gate": "before"}\n/then\n/pieces 24 /pace 20'
        )

        *first, stopped = await reading
        resuming = asyncio.create_task(run("durable_streams.mjs", url, live, stopped["offset"], "0"))
        gates.opened["before"].set()
        *rest, _ = await resuming

        whole = await client.events("s")
        *caught_up, end = await run("durable_streams.mjs", url, "false", "-1", "0")
    assert [*first, *rest] == whole
    assert rest[-1]["type"] == "done"
    assert (caught_up, end["offset"]) == (whole, offset_of(len(whole)))


@needs_npm
async def test_the_client_of_the_documentation_runs_as_it_stands_there(client: Client) -> None:
    """It makes a session, starts a turn, prints its text and where to go on."""
    printed = await run_documented(ROOT / "docs" / "durable-streams.md", GATEWAY_URL=client.url)

    (session,) = (await client.get("/api/sessions")).json()["sessions"]
    assert printed == f"{text_of(await client.events(session['id']))}\nnext: {offset_of(session['head'])}\n"


@pytest.mark.skipif(PROGRAM is None, reason="nginx is not installed")
async def test_a_cache_in_front_asks_once_for_what_all_read(client: Client, tmp_path: Path) -> None:
    """nginx with the configuration of the documentation: everybody has the whole log, and nothing was asked
    for twice; with another key it is another reader."""
    await client.post("/api/sessions", {"id": "s"})
    page = ROOT / "docs" / "durable-streams.md"
    async with (
        cached(page, client.url, tmp_path) as (url, asked),
        httpx2.AsyncClient(timeout=TIMEOUT) as http,
    ):
        following = [asyncio.create_task(followed(http, url + PATH)) for _ in range(20)]
        await client.begin("s", "/pieces 20 /pace 30")
        logs = await asyncio.gather(*following)
        once = asked()
        await http.get(f"{url}{PATH}?offset=-1", headers={"x-api-key": "another"})

    whole = await client.events("s")
    assert logs == [whole] * 20
    assert len(once) == len(set(once))
    assert len(asked()) == len(once) + 1


async def followed(http: httpx2.AsyncClient, url: str) -> list[dict[str, Any]]:
    """The events of the stream to the end of a turn, by long-polls."""
    events, query = list[dict[str, Any]](), f"live=long-poll&offset={offset_of(0)}"
    while not (events and events[-1]["type"] == "done"):
        answer = await http.get(f"{url}?{query}")
        assert answer.status_code in {200, 204}
        events += answer.json() if answer.status_code == 200 else []
        offset, cursor = answer.headers["stream-next-offset"], answer.headers["stream-cursor"]
        query = f"live=long-poll&offset={offset}&cursor={cursor}"
    return events

"""Whole sessions over HTTP: replayed, archived, exported, imported."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import orjson
import pytest

from tests.harness import TIMEOUT, Client, Frame, running_gateway, settings_for
from tests.history.past import compress_past
from tests.product import Settings, StoredEvent

pytestmark = pytest.mark.anyio

NDJSON = {"content-type": "application/x-ndjson"}
ANN, BOB = "secret-of-ann-0123456789", "secret-of-bob-0123456789"


def logged(frames: list[Frame]) -> list[bytes]:
    """The frames of events, byte for byte."""
    return [frame.raw for frame in frames if not frame.event.startswith("stream_")]


async def talk(client: Client, session: str = "s", *messages: str) -> list[bytes]:
    """Turns in a session; returns their frames as they were streamed live."""
    live: list[bytes] = []
    for message in messages or ("What is 17*23?", "How do I resume a stream?", "/pieces 20"):
        live += logged(await client.all_frames("/api/chat", {"message": message, "session_id": session}))
    return live


async def replayed(client: Client, query: str = "speed=max") -> list[bytes]:
    return logged(await client.all_frames(f"/api/sessions/s/replay?{query}"))


async def upload(client: Client, file: bytes, **headers: str) -> httpx2.Response:
    return await client.http.post("/api/sessions/import", content=file, headers=NDJSON | headers)


def problem(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


async def test_a_replay_is_what_was_streamed_live(client: Client) -> None:
    """The same frames, whatever the speed; the first one tells the cursor and where the replay ends."""
    live = await talk(client)

    frames = await client.all_frames("/api/sessions/s/replay?speed=max")

    assert frames[0].event == "stream_open"
    assert frames[0].data == {
        "v": 1,
        "type": "stream_open",
        "session_id": "s",
        "cursor": 0,
        "head": len(live),
    }
    assert logged(frames) == live
    assert await replayed(client, "speed=10&pause=0") == live
    assert await replayed(client, "speed=0.5&pause=0") == live


async def test_a_replay_has_a_beginning_and_an_end(client: Client) -> None:
    """`from` and `to` are the seq of the first and last event; a reader that comes back goes on after the
    last one it saw, and is told with 204 when it has seen all."""
    live = await talk(client)
    path = "/api/sessions/s/replay?speed=max&from=3&to=9"

    resumed = await client.all_frames(path, headers={"last-event-id": "5"})
    seen = await client.get(path, **{"last-event-id": "9"})

    assert logged(await client.all_frames(path)) == live[2:9]
    assert logged(resumed) == live[5:9]
    assert seen.status_code == 204


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("from=9&to=3", "invalid_request"),
        ("from=0", "invalid_request"),
        ("to=x", "invalid_request"),
        ("from=4000", "cursor_ahead"),
        ("to=4000", "cursor_ahead"),
        ("speed=0", "invalid_request"),
        ("speed=0.000", "invalid_request"),
        ("speed=-1", "invalid_request"),
        ("speed=nan", "invalid_request"),
        ("speed=1e9", "invalid_request"),
        ("speed=", "invalid_request"),
        ("pause=-1", "invalid_request"),
        ("until=3", "invalid_request"),
    ],
)
async def test_a_range_or_speed_that_makes_no_sense_is_refused(client: Client, query: str, code: str) -> None:
    """400 before anything is streamed."""
    await talk(client, "s", "/say hi")

    assert problem(await client.get(f"/api/sessions/s/replay?{query}")) == (400, code)


@pytest.mark.parametrize(
    "speed", ["fast", "0", "0.0", "-1", "nan", "1e9", "", "１０", "1234567", "10\n", "Max"]
)
async def test_a_wrong_speed_is_told_in_plain_words(shared_client: Client, speed: str) -> None:
    """What it may be, not which pattern it does not match."""
    await talk(shared_client, "s", "/say hi")

    refused = await shared_client.http.get("/api/sessions/s/replay", params={"speed": speed})

    assert problem(refused) == (400, "invalid_request")
    answer = refused.json()["error"]["message"]
    assert answer.startswith("speed must be max, or a number above 0 such as 10 or 0.5")


async def test_an_empty_session_has_nothing_to_replay(client: Client) -> None:
    """204, as for every stream that will never have an event."""
    await client.post("/api/sessions", {"id": "s"})

    assert (await client.get("/api/sessions/s/replay")).status_code == 204


async def test_a_replay_counts_nothing_again(client: Client) -> None:
    """Usage and cost are those of the turns, however often they are looked at."""
    await talk(client)

    async def counted() -> list[str]:
        metrics = (await client.get("/metrics")).text
        return [line for line in metrics.splitlines() if line.startswith(("gateway_turn", "gen_ai"))]

    before = await counted()
    await replayed(client)

    assert before
    assert await counted() == before


async def test_a_long_replay_ends_at_shutdown(client: Client) -> None:
    """A reader in the middle of a pause does not hold the server up."""
    await talk(client, "s", "/pieces 3\n/pace 300")

    async with client.frames("/api/sessions/s/replay?speed=0.001&pause=3600") as frames:
        first = await anext(frames)
        client.app.state.begin_shutdown()
        rest = [frame async for frame in frames]

    assert first.event == "stream_open"
    assert len(rest) < 5


async def test_everything_answers_as_before_after_archiving(client: Client) -> None:
    """Replay, events, messages, snapshot and export give the same bytes; a second archiving has nothing to
    move; and the next turn goes on where the session was."""
    live = await talk(client)
    paths = ("/messages", "/snapshot", "/export", "/events?follow=0")
    before = [(await client.get(f"/api/sessions/s{path}")).content for path in paths]

    moved = await client.post("/api/sessions/s/archive")
    again = await client.post("/api/sessions/s/archive")

    assert moved.status_code == 200
    assert moved.json()["moved"] is True
    assert moved.json()["events"] == {"first": 1, "last": len(live)}
    assert again.json() == {"session_id": "s", "moved": False}
    assert [(await client.get(f"/api/sessions/s{path}")).content for path in paths] == before
    assert await replayed(client) == live
    more = await talk(client, "s", "/say more")
    assert await replayed(client) == live + more


async def with_a_gap(client: Client) -> list[bytes]:
    """A session of which three events were shown and are gone with a database that failed over; its frames
    as they are stored."""
    live = await talk(client)
    bus, made_at = client.app.state.deps.bus, (await client.get("/api/sessions/s")).json()["created_at"]
    with bus.subscribe("s", made_at=made_at):
        bus.publish("s", [StoredEvent(len(live) + more, "text", "t_1", b"{}") for more in (1, 2, 3)])
    await client.all_frames("/api/chat", {"message": "/say behind it", "session_id": "s"})
    return logged(await client.all_frames("/api/sessions/s/events?follow=0"))


async def test_a_gap_that_a_warning_names_is_archived_replayed_exported_and_imported(
    client: Client, tmp_path: Path, demo_url: str
) -> None:
    """Everything answers as before, on the other gateway too, and the numbers stay left out; a client that
    resumes within the gap goes on behind it."""
    stored = await with_a_gap(client)
    numbers = [orjson.loads(frame.split(b"data: ", 1)[1])["seq"] for frame in stored]
    (gap,) = [before for before, after in pairwise(numbers) if after != before + 1]
    assert numbers == [*range(1, gap + 1), *range(gap + 4, numbers[-1] + 1)]
    paths = ("/messages", "/export", "/events?follow=0", f"/events?follow=0&after={gap + 1}")
    before = [(await client.get(f"/api/sessions/s{path}")).content for path in paths]

    moved = (await client.post("/api/sessions/s/archive")).json()
    assert (moved["moved"], moved["events"]) == (True, {"first": 1, "last": numbers[-1]})
    assert [(await client.get(f"/api/sessions/s{path}")).content for path in paths] == before
    assert await replayed(client) == stored

    file = before[1]
    async with running_gateway(settings_for(tmp_path / "other", demo_url)) as other:
        assert (await upload(other, file)).status_code == 201
        assert await replayed(other) == stored
        await other.post("/api/sessions/s/archive")
        assert (await other.get("/api/sessions/s/export")).content == file
        assert await replayed(other) == stored


async def test_a_gap_that_nothing_names_is_none(client: Client) -> None:
    """A file in which events are missing is no export."""
    await with_a_gap(client)
    file = (await client.get("/api/sessions/s/export")).content
    forged = file.replace(b'"code":"events_lost"', b'"code":"events_left"')
    assert forged != file
    lines = forged.splitlines(keepends=True)
    end = orjson.loads(lines[-1]) | {"sha256": sha256(b"".join(lines[:-1])).hexdigest()}
    await client.http.delete("/api/sessions/s")

    refused = await upload(client, b"".join(lines[:-1]) + orjson.dumps(end) + b"\n")

    assert problem(refused)[1] == "bad_import"
    assert "Events are missing" in refused.text


async def test_a_session_goes_from_gateway_to_gateway(client: Client, tmp_path: Path, demo_url: str) -> None:
    """Compressed, archived, exported and imported elsewhere, its replay is byte for byte what was streamed
    live, its export is the same file, its versions are there, and it can be gone on with."""
    live = await talk(client)
    await compress_past(client.app.state.deps, "s", 2)
    await compress_past(client.app.state.deps, "s", 4)
    await client.post("/api/sessions/s/archive")
    file = (await client.get("/api/sessions/s/export")).content
    async with running_gateway(settings_for(tmp_path / "other", demo_url)) as other:
        made = await upload(other, file)

        assert (made.status_code, made.headers["location"]) == (201, "/api/sessions/s")
        assert made.json() == (await client.get("/api/sessions?limit=1")).json()["sessions"][0]
        assert await replayed(other) == live
        assert (await other.get("/api/sessions/s/export")).content == file
        for path in ("/messages", "/snapshot", "/compressions/2/archive"):
            here, there = (
                await client.get(f"/api/sessions/s{path}"),
                await other.get(f"/api/sessions/s{path}"),
            )
            assert there.content == here.content
        here, there = [(await each.get("/api/sessions/s/compressions")).json() for each in (client, other)]
        for version in (*here["versions"], *there["versions"]):
            del version["archive_path"]  # a blob has a name of its own in each store
        assert there == here
        more = await talk(other, "s", "/say more")
        assert await replayed(other) == live + more


async def test_an_export_is_a_file_to_keep(client: Client) -> None:
    """One JSON object a line, offered under the session's name; the events are in it as they were sent."""
    live = await talk(client)

    response = await client.get("/api/sessions/s/export")

    lines = response.content.splitlines()
    assert response.headers["content-type"].startswith("application/x-ndjson")
    assert response.headers["content-disposition"] == 'attachment; filename="s.jsonl"'
    assert [orjson.loads(lines[at])["kind"] for at in (0, -1)] == ["session", "end"]
    bodies = [line[len(b'{"kind":"event","body":') : -1] for line in lines if b'"kind":"event"' in line[:16]]
    assert bodies == [frame.partition(b"\ndata: ")[2].removesuffix(b"\n\n") for frame in live]
    assert b"owner" not in lines[0]


async def test_while_a_turn_runs_a_session_is_neither_exported_nor_archived(client: Client) -> None:
    """409 with the turn."""
    session = await client.session()
    turn = await client.begin(session, "/pieces 300\n/pace 10")

    for refused in (
        await client.get(f"/api/sessions/{session}/export"),
        await client.post(f"/api/sessions/{session}/archive"),
    ):
        assert problem(refused) == (409, "turn_in_progress")
        assert refused.json()["error"]["details"]["turn_id"] == turn["turn_id"]


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (b"", "empty"),
        (b"\n", "JSON"),
        (b"{}\n", "not a line of an export"),
        (b"[1]\n", "not a line of an export"),
        (b"\xff\xfe\n", "JSON"),
        (b'{"kind":"end"}\n', "belong"),
        (b'{"kind":"error","code":"x","message":"disk full"}\n', "disk full"),
        (b'{"kind":"session","format":7}\n', "format"),
        (b"[" * 100_000 + b"\n", "JSON"),
        (b'{"kind":"session"', "cut off"),
    ],
)
async def test_a_file_that_is_no_export_is_refused_with_the_line(
    shared_client: Client, file: bytes, reason: str
) -> None:
    """400 bad_import, never 500."""
    before = (await shared_client.get("/api/sessions")).json()
    refused = await upload(shared_client, file)

    assert problem(refused) == (400, "bad_import")
    assert reason in refused.json()["error"]["message"]
    assert refused.json()["error"]["details"]["line"] == 1
    assert (await shared_client.get("/api/sessions")).json() == before


async def test_an_import_of_a_session_that_is_there_is_a_conflict(client: Client) -> None:
    """409, and the session stays as it is."""
    live = await talk(client, "s", "/say hi")
    file = (await client.get("/api/sessions/s/export")).content

    assert problem(await upload(client, file)) == (409, "conflict")
    assert await replayed(client) == live


async def test_an_import_may_be_larger_than_other_bodies_but_not_than_its_own_limit(
    settings: Settings,
) -> None:
    """`max_body_size` is not for files; `max_import_size` is, with or without a Content-Length."""
    small = settings.model_copy(update={"max_body_size": 1024, "max_import_size": 50_000})
    async with running_gateway(small) as client:
        await talk(client, "s", "/pieces 20")
        file = (await client.get("/api/sessions/s/export")).content
        await client.http.delete("/api/sessions/s")

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(60):
                yield b"x" * 1000

        assert len(file) > 1024
        assert (await upload(client, file)).status_code == 201
        response = await upload(client, b"x" * 50_001)
        untold = await client.http.post("/api/sessions/import", content=pieces(), headers=NDJSON)

    assert problem(response) == problem(untold) == (413, "payload_too_large")
    assert response.json()["error"]["details"] == {"max_import_size": 50_000}
    assert all("GATEWAY_MAX_IMPORT_SIZE" in each.json()["error"]["message"] for each in (response, untold))


async def test_an_upload_that_stops_coming_is_refused(settings: Settings) -> None:
    """Nobody holds a place among the imports by sending nothing."""
    async with running_gateway(settings.model_copy(update={"send_timeout": 0.1})) as client:
        address = urlsplit(client.url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(
            b"POST /api/sessions/import HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n"
            b'Content-Type: application/x-ndjson\r\n\r\n{"kind":'
        )
        async with asyncio.timeout(TIMEOUT):
            answer = await reader.readuntil(b"\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    assert answer.startswith(b"HTTP/1.1 408 ")


async def test_an_imported_session_can_be_found(client: Client) -> None:
    """By its title and by what was said in it, as if it had been said here."""
    await talk(client, "s", "/say the red lighthouse", "/say 小米粥")
    file = (await client.get("/api/sessions/s/export")).content
    await client.http.delete("/api/sessions/s")
    await upload(client, file)
    async with asyncio.timeout(TIMEOUT):
        await client.app.state.indexer.settled()

    for query in ("lighthouse", "米粥"):
        found = (await client.http.get("/api/sessions", params={"q": query})).json()["sessions"]
        assert [session["id"] for session in found] == ["s"]


async def test_an_import_has_a_content_type_of_its_own(client: Client) -> None:
    """JSON and forms are refused: a file is neither."""
    for kind in ("application/json", "application/x-www-form-urlencoded", "text/plain"):
        assert problem(await upload(client, b"x", **{"content-type": kind})) == (400, "invalid_request")


async def broken_off(client: Client, path: str) -> bytes:
    """The body of an answer that has no end."""
    body = b""
    async with client.http.stream("GET", path) as response:
        assert response.status_code == 200
        try:
            async for chunk in response.aiter_bytes():
                body += chunk
        except httpx2.RemoteProtocolError:
            return body
    raise AssertionError("it ended well")


@pytest.mark.parametrize(
    "damage",
    ["UPDATE messages SET content = 'oops'", "UPDATE turns SET usage = '[1]'", "UPDATE turns SET id = x'ff'"],
)
async def test_an_export_of_a_damaged_row_ends_with_the_reason(
    client: Client, settings: Settings, damage: str
) -> None:
    """As one of an archive does: in a line that no import takes for the end of a whole file. The export of
    all sessions goes on with the next one. Behind that the answer is broken off: who only saves it, as curl
    does, sees that it is not whole."""
    await talk(client, "other", "/say this is well")
    await talk(client, "s", "/say this is not")
    with closing(sqlite3.connect(settings.database_path)) as raw, raw:
        raw.execute(f"{damage} WHERE session_id = 's'")

    lines = (await broken_off(client, "/api/sessions/s/export")).splitlines()
    every = (await broken_off(client, "/api/export")).splitlines()

    last = orjson.loads(lines[-1])
    assert (last["kind"], last["code"]) == ("error", "storage_unavailable")
    assert "row of session s is damaged" in last["message"]
    assert [line for line in every if b"this is well" in line]
    assert orjson.loads(every[-1])["kind"] == "sessions_end"


async def test_another_users_session_is_not_there(settings: Settings) -> None:
    """Replay, export and archive of a foreign session are 404; and a file that is imported belongs to whoever
    imports it, under an id of their own: all of it names that. Of two sessions no turn is the same."""
    keyed = settings_for(settings.data_dir, str(settings.anthropic_base_url), api_keys=f"ann:{ANN},bob:{BOB}")
    ann, bob = {"x-api-key": ANN}, {"x-api-key": BOB}
    async with running_gateway(keyed) as client:
        await client.all_frames("/api/chat", {"message": "/say hi", "session_id": "s"}, ann)
        foreign = [
            await client.get("/api/sessions/s/replay", **bob),
            await client.get("/api/sessions/s/export", **bob),
            await client.post("/api/sessions/s/archive", **bob),
        ]
        file = (await client.get("/api/sessions/s/export", **ann)).content
        taken = await upload(client, file, **bob)
        await client.http.delete("/api/sessions/s", headers=ann)
        made = await upload(client, file, **bob)
        gone = await client.get("/api/sessions/s", **ann)
        again = await client.get(f"/api/sessions/{orjson.loads(file.splitlines()[0])['id']}/export", **bob)

    assert [problem(response) for response in foreign] == [(404, "session_not_found")] * 3
    assert problem(taken) == (409, "conflict")
    assert (made.status_code, gone.status_code) == (201, 404)
    session_id = made.json()["id"]
    assert session_id != orjson.loads(file.splitlines()[0])["id"]
    events = [
        line["body"] for line in map(orjson.loads, again.content.splitlines()) if line["kind"] == "event"
    ]
    assert events
    assert {each["session_id"] for each in events} == {session_id}

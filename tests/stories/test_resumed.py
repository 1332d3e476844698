"""Readers come and go: whatever the cursor, the rest is exactly the rest."""

import asyncio

import pytest

from tests.harness import Client, Frame, running_gateway
from tests.loopback import TIMEOUT
from tests.postgres import on_both_engines
from tests.product import Settings

pytestmark = pytest.mark.anyio

MESSAGE = '/think Hm.\n/call calculate {"expression": "17*23"}\n/then\n/pieces 40'


def _bytes(frames: list[Frame]) -> bytes:
    return b"".join(frame.raw for frame in frames if not frame.event.startswith("stream_"))


@on_both_engines
async def test_leaving_at_any_event_and_resuming_gives_exactly_the_rest(client: Client) -> None:
    """For every event of a live turn: read up to it, drop the connection, resume with Last-Event-ID; both
    halves together are byte for byte what an undisturbed reader got."""
    session = await client.session()
    path = f"/api/sessions/{session}/events"
    turn = (await client.begin(session, MESSAGE + "\n/pace 2"))["turn_id"]
    whole = _bytes(await client.all_frames(f"{path}?turn_id={turn}"))

    async def read_in_two(last: int) -> bytes:
        first: list[Frame] = []
        async with client.frames(f"{path}?turn_id={turn}") as frames:
            async for frame in frames:
                first.append(frame)
                if frame.id == last and not frame.event.startswith("stream_"):
                    break
        if first[-1].event == "done":
            return _bytes(first)
        resumed = {"last-event-id": str(last)}
        return _bytes(first) + _bytes(await client.all_frames(f"{path}?turn_id={turn}", headers=resumed))

    head = whole.count(b"\nevent: ")
    assert head > 10
    for last in range(1, head + 1):
        assert whole == await read_in_two(last)


async def test_many_readers_with_random_delays_all_see_the_same_bytes(client: Client) -> None:
    """Twenty readers that join a running turn at different moments get the same stream."""
    session = await client.session()
    turn = (await client.begin(session, "/pieces 120\n/pace 3"))["turn_id"]

    async def read(delay: float) -> bytes:
        await asyncio.sleep(delay)
        return _bytes(await client.all_frames(f"/api/sessions/{session}/events?turn_id={turn}"))

    seen = await asyncio.gather(*(read(number * 0.02) for number in range(20)))

    assert len(set(seen)) == 1
    assert seen[0].rstrip().split(b"event: ")[-1].startswith(b"done")


async def test_a_finished_turn_is_replayed_from_the_log_and_then_answers_204(client: Client) -> None:
    """After the end a reader gets the rest at once; at the end it is told that nothing will come."""
    events = await client.chat("/say hello")
    session, turn, last = events[0]["session_id"], events[0]["turn_id"], events[-1]["seq"]
    path = f"/api/sessions/{session}/events?turn_id={turn}"

    rest = await client.all_frames(path, headers={"last-event-id": str(last - 1)})
    nothing = await client.get(path, **{"last-event-id": str(last)})

    assert [frame.event for frame in rest] == ["stream_open", "done"]
    assert nothing.status_code == 204


async def test_the_bytes_are_the_same_after_a_restart(settings: Settings) -> None:
    """The log, not the process, holds the stream."""
    async with running_gateway(settings) as client:
        first = await client.all_frames("/api/chat", {"message": MESSAGE, "session_id": "mine"})
    async with running_gateway(settings) as client:
        second = await client.all_frames("/api/sessions/mine/events?follow=0")

    assert _bytes(first) == _bytes(second)


async def test_the_session_stream_goes_on_over_several_turns(client: Client) -> None:
    """One open stream of a session shows every turn, with one gapless cursor."""
    session = await client.session()
    seen: list[Frame] = []

    async def follow() -> None:
        async with client.frames(f"/api/sessions/{session}/events") as frames:
            async for frame in frames:
                seen.append(frame)
                if sum(one.event == "done" for one in seen) == 3:
                    return

    reader = asyncio.create_task(follow())
    for number in range(3):
        await client.chat(f"/say {number}", session_id=session)
    await asyncio.wait_for(reader, TIMEOUT)

    assert list(range(1, len(seen))) == [frame.id for frame in seen[1:]]
    assert len({frame.data["turn_id"] for frame in seen[1:]}) == 3


async def test_types_choose_events_and_keep_their_numbers(client: Client) -> None:
    """A filtered stream leaves events out and renumbers nothing."""
    events = await client.chat(MESSAGE)
    path = f"/api/sessions/{events[0]['session_id']}/events?follow=0&types=tool_call,done"

    chosen = [frame.data for frame in await client.all_frames(path)][1:]

    assert [event for event in events if event["type"] in {"tool_call", "done"}] == chosen


async def test_a_page_of_events_is_the_same_as_the_stream(client: Client) -> None:
    """With Accept: application/json the log is read page by page."""
    events = await client.chat(MESSAGE)
    session = events[0]["session_id"]
    paged, after = [], 0
    while after is not None:
        page = await client.get(
            f"/api/sessions/{session}/events?after={after}&limit=7", accept="application/json"
        )
        paged += page.json()["events"]
        after = page.json().get("next")

    assert events == paged


async def test_a_snapshot_and_its_tail_miss_nothing_and_repeat_nothing(client: Client) -> None:
    """At any moment of a turn the snapshot's messages and the events after as_of_seq make the session."""
    session = await client.session()
    await client.chat("/say before", session_id=session)
    turn = (await client.begin(session, "/pieces 60\n/pace 5"))["turn_id"]

    for _ in range(15):
        shot = (await client.get(f"/api/sessions/{session}/snapshot")).json()
        tail = (
            await client.get(
                f"/api/sessions/{session}/events?after={shot['as_of_seq']}", accept="application/json"
            )
        ).json()["events"]
        if "open_turn" in shot:
            assert turn == shot["open_turn"]["turn_id"]
            assert len(shot["messages"]) == 2
            assert not tail or tail[0]["type"] == "turn_start"
        await asyncio.sleep(0.02)

    await client.all_frames(f"/api/sessions/{session}/events?turn_id={turn}")
    shot = (await client.get(f"/api/sessions/{session}/snapshot")).json()
    assert "open_turn" not in shot
    assert len(shot["messages"]) == 4

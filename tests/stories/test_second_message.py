"""A second message while a turn runs, and the same message twice."""

import asyncio

import pytest

from tests.harness import Client, the, types
from tests.postgres import on_both_engines

pytestmark = pytest.mark.anyio

SLOW = "/pieces 400\n/pace 10"


async def test_the_second_message_is_refused_by_default(client: Client) -> None:
    """409 turn_in_progress names the running turn and where the log stands."""
    session = await client.session()
    turn = await client.begin(session, SLOW)

    refused = await client.post(f"/api/sessions/{session}/turns", {"message": "/say two"})

    assert refused.status_code == 409
    error = refused.json()["error"]
    assert error["code"] == "turn_in_progress"
    assert turn["turn_id"] == error["details"]["turn_id"]
    assert error["details"]["seq"] >= 0


async def test_queued_messages_run_one_after_the_other(client: Client) -> None:
    """queue: each turn starts when the one before it is done, in the order of arrival."""
    session = await client.session()
    first = await client.begin(session, "/pieces 30\n/pace 5")
    second = await client.begin(session, "/say two", on_conflict="queue")
    third = await client.begin(session, "/say three", on_conflict="queue")

    assert [turn["status"] for turn in (first, second, third)] == ["running", "accepted", "accepted"]
    await client.all_frames(f"/api/sessions/{session}/events?turn_id={third['turn_id']}")
    events = await client.events(session)
    starts = [event["turn_id"] for event in events if event["type"] == "turn_start"]
    assert [turn["turn_id"] for turn in (first, second, third)] == starts
    turns = [event["turn_id"] for event in events]
    assert turns == sorted(turns, key=starts.index)


@on_both_engines
async def test_an_interrupting_message_stops_the_running_turn_and_goes_first(client: Client) -> None:
    """interrupt: the running turn is cancelled, and the new one runs before those that wait."""
    session = await client.session()
    first = await client.begin(session, SLOW)
    waiting = await client.begin(session, "/say waiting", on_conflict="queue")
    urgent = await client.begin(session, "/say urgent", on_conflict="interrupt")

    await client.all_frames(f"/api/sessions/{session}/events?turn_id={waiting['turn_id']}")
    events = await client.events(session)
    done = {event["turn_id"]: event["data"]["status"] for event in events if event["type"] == "done"}

    assert [first["turn_id"], urgent["turn_id"], waiting["turn_id"]] == list(done)
    assert list(done.values()) == ["cancelled", "completed", "completed"]


async def test_a_waiting_turn_that_is_cancelled_never_asks_the_model(client: Client) -> None:
    """It has its start and its end all the same."""
    session = await client.session()
    first = await client.begin(session, SLOW)
    waiting = await client.begin(session, "/say never", on_conflict="queue")

    await client.post(f"/api/sessions/{session}/turns/{waiting['turn_id']}/cancel")
    await client.post(f"/api/sessions/{session}/turns/{first['turn_id']}/cancel")
    frames = await client.all_frames(f"/api/sessions/{session}/events?turn_id={waiting['turn_id']}")

    assert types([frame.data for frame in frames][1:]) == ["turn_start", "done"]
    assert frames[-1].data["data"]["status"] == "cancelled"


async def test_a_full_queue_says_so(client: Client) -> None:
    """The queue of a session is bounded: 429 with Retry-After."""
    session = await client.session()
    await client.begin(session, SLOW)
    for number in range(16):
        await client.begin(session, f"/say {number}", on_conflict="queue")

    refused = await client.post(
        f"/api/sessions/{session}/turns", {"message": "/say no", "on_conflict": "queue"}
    )

    assert refused.status_code == 429
    assert refused.json()["error"]["code"] == "queue_full"
    assert "retry-after" in refused.headers


async def test_the_same_client_message_id_is_the_same_turn(client: Client) -> None:
    """A client that repeats its request, also at the same moment, starts one turn and is billed once."""
    session = await client.session()
    body = {"message": "/say once", "client_message_id": "m1"}

    answers = await asyncio.gather(*(client.post(f"/api/sessions/{session}/turns", body) for _ in range(10)))
    again = await client.all_frames("/api/chat", {**body, "session_id": session})

    assert len({answer.json()["turn_id"] for answer in answers}) == 1
    assert {200, 202} >= {answer.status_code for answer in answers}
    assert again[1].event == "turn_start"
    assert again[-1].event == "done"
    events = await client.events(session)
    assert the(events, "turn_start")["client_message_id"] == "m1"


async def test_a_client_message_id_cannot_be_used_for_something_else(client: Client) -> None:
    """The same id with another message is a conflict, not a silent old answer."""
    session = await client.session()
    await client.chat("/say one", session_id=session, client_message_id="m1")

    refused = await client.post(
        f"/api/sessions/{session}/turns", {"message": "/say other", "client_message_id": "m1"}
    )

    assert refused.status_code == 409
    assert refused.json()["error"]["code"] == "conflict"

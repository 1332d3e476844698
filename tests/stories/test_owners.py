"""A turn that runs has an owner, whatever goes wrong; a cancel is a cancel; what happens beside is kept."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.storage.decisions.approvals import Approvals
from gateway.storage.log import OutboxEntry
from gateway.storage.log.event_log import EventLog
from gateway.storage.replicas.single_process import SoleReplica
from gateway.turn import running_turn
from gateway.turn.emitter import Emitter
from tests.harness import TIMEOUT, Client, events, running_gateway, text_of, the, types
from tests.product import (
    Append,
    FunctionTool,
    Settings,
    StorageError,
    ToolContext,
    ToolOutput,
    ToolSpec,
    TurnLost,
)
from tests.stories.asking import Outbox, ask, parked

pytestmark = pytest.mark.anyio

SLOW = "/pieces 2000\n/pace 10"
MEMORY = {"content": "The user drinks green tea.", "type": "preference"}


@asynccontextmanager
async def slow_turn(client: Client, session: str, message: str = SLOW) -> AsyncGenerator[str]:
    """The id of a turn of which text was seen; it is stopped at the end."""
    turn = (await client.begin(session, message))["turn_id"]
    path = f"/api/sessions/{session}/turns/{turn}"
    async with client.frames(f"/api/sessions/{session}/events?turn_id={turn}&types=text") as frames:
        async for frame in frames:
            if frame.event == "text":
                break
    yield turn
    await client.post(f"{path}/cancel")
    await done_of(client, session, turn)


async def done_of(client: Client, session: str, turn: str) -> list[dict[str, Any]]:
    """All events of a turn, when it is over."""
    async with asyncio.timeout(TIMEOUT):
        return events(await client.all_frames(f"/api/sessions/{session}/events?turn_id={turn}"))


async def is_free(client: Client, session: str) -> bool:
    """Whether the session answers the next message."""
    seen = await client.chat("/say fine", session_id=session)
    return text_of(seen) == "fine" and the(seen, "done")["status"] == "completed"


@pytest.mark.parametrize(
    "step", ["turn_start", "iteration_start", "text", "iteration_end", "tool_result", "warning"]
)
async def test_an_event_that_cannot_be_encoded_ends_its_turn_and_nothing_else(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The append raises after the event was numbered: the turn is failed, the session goes on, without a
    restart and without a gap."""
    append, raised = EventLog.append, []

    def raising(log: EventLog, batch: Append) -> None:
        if not raised and any(event.type == step for event in batch.events):
            raised.append(step)
            raise TypeError("Integer exceeds 64-bit range")
        append(log, batch)

    monkeypatch.setattr(EventLog, "append", raising)
    message = '/call calculate {"expression": "1+1"}\n/then\n/say two'
    iterations = 1 if step == "warning" else 9
    async with running_gateway(settings.model_copy(update={"max_iterations": iterations})) as client:
        session = await client.session()
        turn = (await client.begin(session, message))["turn_id"]
        seen = await done_of(client, session, turn)
        free = await client.chat("/say fine", session_id=session)
        numbers = [event["seq"] for event in await client.events(session)]

    assert raised == [step]
    assert the(seen, "done")["status"] == "failed"
    assert the(seen, "error")["code"] == "internal"
    assert text_of(free) == "fine"
    assert numbers == list(range(1, len(numbers) + 1))


async def test_a_turn_whose_append_is_refused_goes_on_under_a_new_number(client: Client) -> None:
    """Somebody took the number away and did nothing with the turn: its process takes it again."""
    session = await client.session()
    turn = (await client.begin(session, "/pieces 60\n/pace 20"))["turn_id"]
    async with client.frames(f"/api/sessions/{session}/events?turn_id={turn}&types=text") as frames:
        async for frame in frames:
            if frame.event == "text":
                break
    assert await client.app.state.deps.turns.take_over(turn, recovered=False) is not None

    seen = await done_of(client, session, turn)

    assert the(seen, "done")["status"] == "completed"
    assert "iteration_superseded" in types(seen)
    assert await is_free(client, session)


async def test_a_turn_whose_task_died_is_taken_over(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is known that ends one; should it happen, no restart is needed."""
    monkeypatch.setattr(SoleReplica, "every", 0.05)
    async with running_gateway(settings) as client:
        session = await client.session()
        turn = (await client.begin(session, "/pieces 30\n/pace 20"))["turn_id"]
        async with client.frames(f"/api/sessions/{session}/events?turn_id={turn}") as frames:
            await anext(frames)
            (task,) = [each for each in asyncio.all_tasks() if each.get_name() == f"turns of {session}"]
            task.cancel()
        seen = await done_of(client, session, turn)
        free = await is_free(client, session)

    assert the(seen, "done")["status"] == "completed"
    assert free


async def test_a_decision_and_a_memory_while_the_parked_task_ends_lose_nothing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the commit that parks a turn and the end of its task somebody saves a memory and approves the
    call: the call runs once, and the memory is in the log."""
    outbox = Outbox()
    park, between = Approvals.park, asyncio.Event()

    async def parking(approvals: Approvals, *arguments: Any) -> bool:
        given_up = await park(approvals, *arguments)
        if given_up and not between.is_set():
            between.set()
            await decided.wait()
        return given_up

    decided = asyncio.Event()
    monkeypatch.setattr(Approvals, "park", parking)
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await ask(client, '/call send {"to": "李雷"}\n/then\n/say sent')
        await asyncio.wait_for(between.wait(), TIMEOUT)
        saved = await client.post("/api/memory", MEMORY | {"session_id": asked.session})
        approved = await asked.decide("approve")
        decided.set()
        seen = await asked.all_events()
        free = await is_free(client, asked.session)

    assert (saved.status_code, approved.status_code) == (201, 200)
    assert outbox.sent == ["李雷"]
    assert the(seen, "memory")["op"] == "remembered"
    assert the(seen, "done")["status"] == "completed"
    assert free


async def test_two_decisions_and_a_cancel_of_one_moment_leave_one_end(settings: Settings) -> None:
    """Whichever comes first; the session is free afterwards."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        for _ in range(5):
            asked = await parked(await ask(client, '/call send {"to": "Mei"}\n/then\n/say sent'))
            answers = await asyncio.gather(
                asked.decide("approve"), asked.decide("deny"), client.post(f"{asked.path}/cancel")
            )
            seen = await asked.all_events()
            assert all(answer.status_code in {200, 202, 409} for answer in answers)
            assert the(seen, "done")["status"] in {"completed", "cancelled"}
            assert len([event for event in seen if event["type"] == "tool_result"]) == 1
            assert await is_free(client, asked.session)


@pytest.mark.parametrize(("asks", "status"), [("cancel", "cancelled"), ("time", "limit_reached")])
async def test_an_end_that_takes_long_is_the_one_that_was_asked_for(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, asks: str, status: str
) -> None:
    """A tool that does not heed its cancellation is left behind, and the session goes on without it."""
    monkeypatch.setattr(running_turn, "CANCEL_TIMEOUT", 0.1)
    released, begun = asyncio.Event(), asyncio.Event()

    async def stubborn(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        begun.set()
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        return ToolOutput("late")

    tool = FunctionTool(ToolSpec("stubborn", "Stays.", {"type": "object"}), "idempotent", 100, stubborn)
    limits = {"turn_timeout": 2.0} if asks == "time" else {}
    async with running_gateway(settings.model_copy(update=limits), tool) as client:
        session = await client.session()
        turn = (await client.begin(session, "/call stubborn {}\n/then\n/say never"))["turn_id"]
        await asyncio.wait_for(begun.wait(), TIMEOUT)
        if asks == "cancel":
            await client.post(f"/api/sessions/{session}/turns/{turn}/cancel")
        seen = await done_of(client, session, turn)
        free = await is_free(client, session)
        released.set()

    assert the(seen, "done")["status"] == status
    assert "error" not in types(seen)
    assert free


async def test_a_queued_turn_ends_with_its_cancel_also_while_another_runs(client: Client) -> None:
    """Its follower is told at once, its place in the queue is free, and no model ever hears of it."""
    session = await client.session()
    async with slow_turn(client, session) as first:
        queued = (await client.begin(session, "/say never", on_conflict="queue"))["turn_id"]
        following = asyncio.create_task(done_of(client, session, queued))
        answer = await client.post(f"/api/sessions/{session}/turns/{queued}/cancel")
        seen = await following
        still = (await client.get(f"/api/sessions/{session}/turns/{first}")).json()["status"]

    assert answer.json()["status"] == "done"
    assert types(seen) == ["turn_start", "done"]
    assert the(seen, "done")["status"] == "cancelled"
    assert still == "running"
    messages = (await client.get(f"/api/sessions/{session}/messages")).text
    assert "never" not in messages
    page = (
        await client.get(f"/api/sessions/{session}/events?turn_id={first}", accept="application/json")
    ).json()
    assert {event["turn_id"] for event in page["events"]} == {first}
    file = (await client.get(f"/api/sessions/{session}/export")).content
    assert (await client.http.delete(f"/api/sessions/{session}")).status_code == 204
    headers = {"content-type": "application/x-ndjson"}
    imported = await client.http.post("/api/sessions/import", content=file, headers=headers)
    assert imported.status_code == 201, imported.text
    assert (await client.get(f"/api/sessions/{session}/export")).content == file


async def test_a_queued_turn_ends_with_its_cancel_behind_one_that_waits_for_a_person(
    settings: Settings,
) -> None:
    """Not after a day."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await parked(await ask(client, '/call send {"to": "Mei"}\n/then\n/say sent'))
        queued = (await client.begin(asked.session, "/say never", on_conflict="queue"))["turn_id"]
        await client.post(f"/api/sessions/{asked.session}/turns/{queued}/cancel")
        seen = await done_of(client, asked.session, queued)
        status = await asked.status()
        await asked.decide("approve")
        rest = await asked.all_events()

    assert the(seen, "done")["status"] == "cancelled"
    assert status == "awaiting_approval"
    assert the(rest, "done")["status"] == "completed"


async def test_a_queued_turn_that_a_former_version_cancelled_ends_at_the_start(settings: Settings) -> None:
    """Its wish was stored and it waited on: it does not wait for the person before it any more."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await parked(await ask(client, '/call send {"to": "Mei"}\n/then\n/say sent'))
        queued = (await client.begin(asked.session, "/say never", on_conflict="queue"))["turn_id"]
        await client.app.state.deps.turns.request_cancel(queued)
    async with running_gateway(settings, *outbox.tools) as client:
        seen = await done_of(client, asked.session, queued)
        waiting = await client.app.state.deps.turns.count_waiting()
        turn = (await client.get(f"/api/sessions/{asked.session}/turns/{asked.turn}")).json()

    assert types(seen) == ["turn_start", "done"]
    assert the(seen, "done")["status"] == "cancelled"
    assert waiting == 0
    assert turn["status"] == "awaiting_approval"


async def test_a_memory_saved_while_an_approval_waits_is_in_the_log_at_once(settings: Settings) -> None:
    """The caller does not wait, and who follows the turn sees it before anybody decides."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await parked(await ask(client, '/call send {"to": "Mei"}\n/then\n/say sent'))
        saved = await client.post("/api/memory", MEMORY | {"session_id": asked.session})
        before = await client.events(asked.session)
        await asked.decide("approve")
        rest = await asked.all_events()

    assert saved.status_code == 201
    assert the(before, "memory")["op"] == "remembered"
    assert "approval_response" not in types(before)
    assert the(rest, "memory") == the(before, "memory")


async def test_what_the_outbox_could_not_deliver_is_tried_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database fails while a queued turn's end is to be delivered: its follower is told all the same."""
    monkeypatch.setattr(SoleReplica, "every", 0.05)
    deliver, failures = EventLog.deliver, [StorageError("for now")] * 3

    async def failing(log: EventLog, session_id: str, at: int) -> bool:
        if failures:
            raise failures.pop()
        return await deliver(log, session_id, at)

    def refusing(emitter: Emitter, entry: OutboxEntry) -> None:
        raise StorageError("for now")

    monkeypatch.setattr(EventLog, "deliver", failing)
    monkeypatch.setattr(Emitter, "deliver", refusing)
    async with running_gateway(settings) as client:
        session = await client.session()
        async with slow_turn(client, session):
            queued = (await client.begin(session, "/say never", on_conflict="queue"))["turn_id"]
            await client.post(f"/api/sessions/{session}/turns/{queued}/cancel")
        seen = await done_of(client, session, queued)

    assert failures == []
    assert types(seen) == ["turn_start", "done"]


async def test_a_turn_that_cannot_be_finalized_gets_its_end_all_the_same(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistake in what closes a turn does not repeat itself for ever."""
    append = EventLog.append

    def raising(log: EventLog, batch: Append) -> None:
        if any(event.type in {"iteration_start", "iteration_end"} for event in batch.events):
            raise TypeError("a mistake")
        append(log, batch)

    monkeypatch.setattr(EventLog, "append", raising)
    async with running_gateway(settings) as client:
        session = await client.session()
        turn = (await client.begin(session, "/say hi"))["turn_id"]
        seen = await done_of(client, session, turn)

    assert the(seen, "done")["status"] == "failed"


async def test_a_memory_saved_while_a_turn_runs_is_one_of_its_events(client: Client) -> None:
    session = await client.session()
    async with slow_turn(client, session) as turn:
        await client.post("/api/memory", MEMORY | {"session_id": session})
        async with client.frames(f"/api/sessions/{session}/events?turn_id={turn}&types=memory") as frames:
            async for frame in frames:
                if frame.event == "memory":
                    break
            else:
                raise AssertionError("no memory event")

    assert frame.data["turn_id"] == turn


async def test_a_turn_that_is_lost_again_and_again_is_given_up(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each loss counts: after the attempts that the settings allow it ends as interrupted."""
    append = EventLog.append

    def losing(log: EventLog, batch: Append) -> None:
        if any(event.type == "iteration_start" for event in batch.events):
            asyncio.get_running_loop().call_soon(batch.settled, TurnLost("taken"))
        else:
            append(log, batch)

    monkeypatch.setattr(EventLog, "append", losing)
    async with running_gateway(settings.model_copy(update={"recover_attempts": 2})) as client:
        session = await client.session()
        turn = (await client.begin(session, "/say hi"))["turn_id"]
        seen = await done_of(client, session, turn)

    assert the(seen, "done")["status"] == "interrupted"

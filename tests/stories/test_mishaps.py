"""What goes wrong at an unlucky moment, and what must hold all the same."""

import asyncio
from typing import Any

import pytest
from pydantic import SecretStr

from tests.harness import Client, Frame, events, running_gateway, text_of, the
from tests.loopback import TIMEOUT
from tests.product import Accepted, FunctionTool, Settings, StorageError, ToolContext, ToolOutput, ToolSpec

pytestmark = pytest.mark.anyio

LONG = "/pieces 3000\n/pace 20"
ANNA, BERT = {"x-api-key": "anna-secret-0123456789"}, {"x-api-key": "bert-secret-0123456789"}


async def test_a_stream_of_a_deleted_session_ends_and_never_shows_who_takes_its_id(
    settings: Settings,
) -> None:
    """Anna follows her session and deletes it; Bert makes one of the same id: Anna's stream has ended."""
    keys = SecretStr(",".join(f"{name}:{key['x-api-key']}" for name, key in [("anna", ANNA), ("bert", BERT)]))
    async with running_gateway(settings.model_copy(update={"api_keys": keys})) as client:
        await client.post("/api/sessions", {"id": "main"}, **ANNA)
        seen: list[Frame] = []
        opened = asyncio.Event()

        async def follow() -> None:
            async with client.frames("/api/sessions/main/events", headers=ANNA) as frames:
                async for frame in frames:
                    seen.append(frame)
                    opened.set()

        following = asyncio.create_task(follow())
        await opened.wait()
        await client.http.delete("/api/sessions/main", headers=ANNA)
        await client.all_frames("/api/chat", {"message": "/say secret", "session_id": "main"}, BERT)
        await asyncio.wait_for(following, TIMEOUT)

    assert [frame.event for frame in seen] == ["stream_open"]


async def test_an_interrupt_in_the_same_moment_is_not_lost(client: Client) -> None:
    """Two messages that arrive together, the second interrupting: the first is always cancelled."""
    for number in range(15):
        session = await client.session()
        path = f"/api/sessions/{session}/turns"
        first, second = await asyncio.gather(
            client.post(path, {"message": LONG}),
            client.post(path, {"message": f"/say {number}", "on_conflict": "interrupt"}),
        )
        if first.status_code == 409:  # the second was quicker
            continue
        turn = second.json()["turn_id"]
        seen = events(await client.all_frames(f"/api/sessions/{session}/events?turn_id={turn}"))
        assert text_of(seen) == str(number)


@pytest.mark.parametrize(("verb", "on_conflict"), [("accept", "reject"), ("claim_next", "queue")])
async def test_a_turn_that_is_cancelled_before_its_request_heard_that_it_began_never_runs(
    client: Client, monkeypatch: pytest.MonkeyPatch, verb: str, on_conflict: str
) -> None:
    """The cancellation is heard first when both are committed at once: nothing waits for the next look."""
    turns = client.app.state.deps.turns
    begin = getattr(turns, verb)

    async def cancelled(*given: Any, **named: Any) -> Accepted | None:
        accepted: Accepted | None = await begin(*given, **named)
        if accepted is not None and accepted.turn.status == "running" and accepted.turn.input == LONG:
            await turns.request_cancel(accepted.turn.id)
        return accepted

    monkeypatch.setattr(turns, verb, cancelled)
    session = await client.session()
    if verb == "claim_next":
        await client.begin(session, "/say one")
    begun = await client.begin(session, LONG, on_conflict=on_conflict)
    seen = events(await client.all_frames(f"/api/sessions/{session}/events?turn_id={begun['turn_id']}"))

    assert [event["type"] for event in seen] == ["turn_start", "done"]
    assert seen[-1]["data"]["status"] == "cancelled"


async def test_waiting_turns_survive_a_database_that_fails_when_they_are_claimed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim is tried again until the database answers."""
    turns = client.app.state.deps.turns
    claim, failures = turns.claim_next, iter([StorageError("not now"), StorageError("not now")])

    async def failing(session_id: str) -> Accepted | None:
        if (failure := next(failures, None)) is not None:
            raise failure
        return await claim(session_id)

    monkeypatch.setattr(turns, "claim_next", failing)
    session = await client.session()
    await client.begin(session, "/say one")
    second = await client.begin(session, "/say two", on_conflict="queue")
    seen = events(await client.all_frames(f"/api/sessions/{session}/events?turn_id={second['turn_id']}"))

    assert text_of(seen) == "two"


async def test_a_tool_that_cancels_itself_gets_its_result(settings: Settings) -> None:
    """Not every CancelledError means that somebody stopped the turn."""

    async def run(arguments: dict[str, Any], context: ToolContext) -> ToolOutput:
        raise asyncio.CancelledError

    tool = FunctionTool(ToolSpec("quit", "Quits.", {"type": "object"}), "read_only", 5, run)
    async with running_gateway(settings, tool) as client:
        seen = await client.chat('/call quit {}\n/call calculate {"expression": "1+1"}\n/then\n/say over')

    results = [event["data"]["status"] for event in seen if event["type"] == "tool_result"]
    assert sorted(results) == ["error", "ok"]
    assert the(seen, "done")["status"] == "completed"


async def test_a_mistake_of_ours_ends_the_turn_and_not_the_session(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is raised where nothing should be: the turn fails as internal, and the next one works."""

    def broken() -> None:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patched:
        patched.setattr(client.app.state.deps.prompts, "read", broken)
        seen = await client.chat("/say hi", session_id="mine")
    again = await client.chat("/say fine", session_id="mine")

    assert the(seen, "error")["code"] == "internal"
    assert "a bug" not in str(seen)
    assert the(again, "done")["status"] == "completed"


async def test_pages_of_large_events_lead_on_to_the_end(client: Client) -> None:
    """A page is bounded in bytes too; `next` is there as long as something may follow."""
    session = await client.session()
    for _ in range(5):
        await client.chat("/say " + "long " * 60_000, session_id=session)
    whole = await client.events(session)
    paged, after = [], 0
    while after is not None:
        path = f"/api/sessions/{session}/events?after={after}&limit=1000"
        page = (await client.get(path, accept="application/json")).json()
        paged += page["events"]
        after = page.get("next")

    assert paged == whole


async def test_a_repeated_first_message_finds_its_session_again(client: Client) -> None:
    """A client that never saw the answer to its very first message repeats it and gets the same turn."""
    body = {"message": "/say once", "client_message_id": "first"}

    first = events(await client.all_frames("/api/chat", body))
    again = events(await client.all_frames("/api/chat", body))

    assert first == again
    assert len((await client.get("/api/sessions")).json()["sessions"]) == 1


async def test_nobody_overtakes_those_who_wait(client: Client) -> None:
    """Messages that are queued run in the order of their arrival, however fast the turns between them end."""
    session = await client.session()
    accepted = [
        (await client.begin(session, f"/say {number}", on_conflict="queue"))["turn_id"]
        for number in range(12)
    ]
    await client.all_frames(f"/api/sessions/{session}/events?turn_id={accepted[-1]}")

    seen = await client.events(session)
    assert [event["turn_id"] for event in seen if event["type"] == "turn_start"] == accepted

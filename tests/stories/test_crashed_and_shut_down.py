"""The process ends while a turn runs, by kill -9 or by SIGTERM; the next process finishes the turn."""

import asyncio
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gateway.storage.replicas.single_process import SoleReplica
from tests.harness import TIMEOUT, Client, client_at, events, running_gateway, text_of, the
from tests.product import FunctionTool, Settings, ToolContext, ToolOutput, ToolSpec, now_ms
from tests.running import gateway_process
from tests.stories.test_schedules import details, made, settled

pytestmark = [pytest.mark.anyio, pytest.mark.long, pytest.mark.waits]

MINUTE = 60_000


async def _read_until(client: Client, path: str, kind: str, count: int) -> list[dict[str, Any]]:
    """The events up to the `count`-th of that type, or until the connection breaks."""
    seen: list[dict[str, Any]] = []
    async with client.frames(path) as frames:
        async for frame in frames:
            if not frame.event.startswith("stream_"):
                seen.append(frame.data)
            if sum(event["type"] == kind for event in seen) == count:
                break
    return seen


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_a_turn_survives_its_process(tmp_path: Path, demo_url: str, how: signal.Signals) -> None:
    """What was read before the end and, by cursor, after it make one gapless turn with one done; the
    half-written model call is superseded and asked again."""
    given = {"ANTHROPIC_BASE_URL": demo_url, "GATEWAY_SHUTDOWN_GRACE": "0.1"}
    with gateway_process(tmp_path, "serve", **given) as gateway:
        async with client_at(gateway.url) as client:
            session = await client.session()
            turn = (await client.begin(session, "/pieces 60\n/pace 20"))["turn_id"]
            path = f"/api/sessions/{session}/events?turn_id={turn}"
            before = await _read_until(client, path, "text", 5)
        gateway.stop(how)
    with gateway_process(tmp_path, "serve", **given) as gateway:
        async with client_at(gateway.url) as client:
            after = events(await client.all_frames(path, headers={"last-event-id": str(before[-1]["seq"])}))

    seen = before + after
    assert list(range(1, len(seen) + 1)) == [event["seq"] for event in seen]
    assert the(seen, "done")["status"] == "completed"
    assert the(seen, "iteration_superseded")["reason"] == "server_restart"
    again = seen[[event["type"] for event in seen].index("iteration_superseded") :]
    assert len(text_of(again)) == 240


async def test_every_due_time_of_a_schedule_has_one_turn_whenever_its_process_is_killed(
    tmp_path: Path, demo_url: str
) -> None:
    """Ten minutes are made up for, run after run, in one process after the other."""
    given = {
        "ANTHROPIC_BASE_URL": demo_url,
        "GATEWAY_DATA_DIR": str(tmp_path / "data"),
        "GATEWAY_SCHEDULE_GRACE": "5",
    }
    session = schedule = ""
    began = now_ms() // MINUTE * MINUTE - 10 * MINUTE
    for runs in (3, 7, 11):
        with gateway_process(tmp_path, "serve", **given) as gateway:
            async with client_at(gateway.url) as client:
                if not schedule:
                    session = await client.session()
                    schedule = await made(client, "/say once", session, cron="* * * * *", late="all")
                    with closing(sqlite3.connect(tmp_path / "data" / "gateway.db")) as file, file:
                        file.execute("UPDATE schedules SET due_at = ?", (began,))
                async with asyncio.timeout(TIMEOUT):
                    while len((await details(client, schedule))["runs"]) < runs:
                        await asyncio.sleep(0.02)
            gateway.stop(signal.SIGKILL)
    with gateway_process(tmp_path, "serve", **given) as gateway:
        async with client_at(gateway.url) as client:
            found = await settled(client, schedule, runs=11)
            seen = await client.events(session)

    due = [run["due_at"] for run in reversed(found)]
    assert due == [began + MINUTE * number for number in range(len(due))]
    assert {run["status"] for run in found} == {"completed"}
    starts = [each["data"]["client_message_id"] for each in seen if each["type"] == "turn_start"]
    # A minute may have passed since the runs were read.
    assert starts[: len(due)] == [f"{schedule}-{at}" for at in due]
    assert len(set(starts)) == len(starts)


async def test_a_turn_of_a_branch_survives_its_process(tmp_path: Path, demo_url: str) -> None:
    """It goes on after its parent, and not after what was asked before it; the other branch is as it was."""
    given = {"ANTHROPIC_BASE_URL": demo_url}
    with gateway_process(tmp_path, "serve", **given) as gateway:
        async with client_at(gateway.url) as client:
            first = (await client.chat("/say one", session_id="s"))[0]["turn_id"]
            await client.chat("/say two", session_id="s")
            turn = (await client.begin("s", "/pieces 60\n/pace 20", parent_turn_id=first))["turn_id"]
            path = f"/api/sessions/s/events?turn_id={turn}"
            before = await _read_until(client, path, "text", 5)
        gateway.stop(signal.SIGKILL)
    with gateway_process(tmp_path, "serve", **given) as gateway:
        async with client_at(gateway.url) as client:
            after = events(await client.all_frames(path, headers={"last-event-id": str(before[-1]["seq"])}))
            said = (await client.get("/api/sessions/s/messages")).json()["messages"]
            other = (await client.get("/api/sessions/s/messages?branch=0")).json()["messages"]

    assert the(before, "turn_start")["parent_turn_id"] == first
    assert the(after, "done")["status"] == "completed"
    words = [[block["text"] for each in found for block in each["content"]] for found in (said, other)]
    assert words[0][:3] == ["/say one", "one", "/pieces 60\n/pace 20"]
    assert words[1] == ["/say one", "one", "/say two", "two"]
    assert len(words[0][3]) == 240


async def test_at_sigterm_a_turn_that_can_finish_in_time_does(tmp_path: Path, demo_url: str) -> None:
    """Within the grace running turns go on and their readers see done; new turns are refused with 503."""
    given = {"ANTHROPIC_BASE_URL": demo_url, "GATEWAY_SHUTDOWN_GRACE": "10"}
    with gateway_process(tmp_path, "serve", **given) as gateway:
        async with client_at(gateway.url) as client:
            session = await client.session()
            turn = (await client.begin(session, "/pieces 50\n/pace 20"))["turn_id"]
            path = f"/api/sessions/{session}/events?turn_id={turn}"
            async with client.frames(path) as frames:
                first = [await anext(frames), await anext(frames)]
                gateway.send(signal.SIGTERM)
                refused = await client.http.post("/api/chat", json={"message": "/say no"})
                first += [frame async for frame in frames]
            code = gateway.ended()

    assert first[-1].event == "done"
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "draining")
    assert "retry-after" in refused.headers
    assert code == 0


def _recorder(effect: Any, runs: list[str]) -> FunctionTool:
    async def run(arguments: dict[str, Any], context: ToolContext) -> ToolOutput:
        runs.append(context.idempotency_key)
        if len(runs) == 1:
            await asyncio.sleep(60)
        return ToolOutput("did it")

    return FunctionTool(ToolSpec("act", "Acts.", {"type": "object"}), effect, 100, run)


@pytest.mark.parametrize(
    ("effect", "status", "times"),
    [("read_only", "ok", 2), ("idempotent", "ok", 2), ("effectful", "unknown_outcome", 1)],
)
async def test_a_call_that_was_running_is_repeated_only_when_that_is_harmless(
    settings: Settings, effect: str, status: str, times: int
) -> None:
    """After a restart read-only and idempotent calls run again under the same key; an effectful one never
    does, and the model is told that its outcome is unknown."""
    runs: list[str] = []
    settings = settings.model_copy(update={"tool_policy": ("act=allow",)})
    async with running_gateway(settings, _recorder(effect, runs)) as client:
        session = await client.session()
        turn = (await client.begin(session, "/call act {}\n/then\n/say over"))["turn_id"]
        path = f"/api/sessions/{session}/events?turn_id={turn}"
        await _read_until(client, path, "tool_call", 1)
        while not runs:
            await asyncio.sleep(0.005)
    async with running_gateway(settings, _recorder(effect, runs)) as client:
        seen = events(await client.all_frames(path))

    assert status == the(seen, "tool_result")["status"]
    call = next(event["tool_call_id"] for event in seen if event["type"] == "tool_call")
    assert [f"{turn}:{call}"] * times == runs
    assert the(seen, "done")["status"] == "completed"
    assert text_of(seen) == "over"


async def test_a_turn_that_takes_the_process_down_again_and_again_is_given_up(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After recover_attempts crashes the turn ends as interrupted instead of trying for ever. A process that
    shuts down, as an upgrade asks it to, is none: it releases what it leaves open."""

    async def crashes(*_: object) -> None:
        pass

    monkeypatch.setattr(SoleReplica, "release", crashes)
    monkeypatch.setattr(SoleReplica, "leave", crashes)
    never = settings.model_copy(update={"recover_attempts": 1})
    async with running_gateway(never) as client:
        session = await client.session()
        turn = (await client.begin(session, "/fault headers_stall"))["turn_id"]
    async with running_gateway(never):
        pass
    async with running_gateway(never) as client:
        seen = events(await client.all_frames(f"/api/sessions/{session}/events?turn_id={turn}"))

    assert the(seen, "done")["status"] == "interrupted"
    assert the(seen, "error")["code"] == "server_restart"

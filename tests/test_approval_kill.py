"""kill -9 at every moment of an approval: asked once, decided once, run at most once, and always told. And of
a call that the client runs: its result is taken once."""

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.doomed import doomed_gateway, kept, name_of
from tests.harness import TIMEOUT, Client, events, the, types
from tests.invariants import violations
from tests.record import read_records

pytestmark = [pytest.mark.anyio, pytest.mark.long, pytest.mark.waits]

MOMENTS = {
    "before ask": ("ok", 1),
    "after ask": ("ok", 1),
    "before park": ("ok", 1),
    "after park": ("ok", 1),
    "before decide": ("ok", 1),
    "after decide": ("ok", 1),
    "after apply_decisions": ("unknown_outcome", 0),
    "in the call": ("unknown_outcome", 1),
}
"""What comes of a call whose process is killed then: its status, and how often it took effect. It does not
begin before the decision is durable: nobody can know how far a call came that was decided about and has no
result."""


class Waiting:
    """A turn with one call that a person decides about."""

    def __init__(self, client: Client, session: str, turn: str) -> None:
        self.session = session
        self.turn = turn
        self.call: str | None = None
        self.client = client

    @property
    def events_path(self) -> str:
        return f"/api/sessions/{self.session}/events?turn_id={self.turn}"

    async def asked(self) -> None:
        """Returns when the call has been asked about."""
        async with asyncio.timeout(TIMEOUT), self.client.frames(self.events_path) as frames:
            async for frame in frames:
                if frame.event == "approval_request":
                    self.call = frame.data["tool_call_id"]
                    return

    async def approve(self) -> httpx2.Response:
        path = f"/api/sessions/{self.session}/turns/{self.turn}/approvals/{self.call}"
        return await self.client.post(path, {"decision": "approve"})

    async def all_events(self) -> list[dict[str, Any]]:
        return events(await self.client.all_frames(self.events_path))


@asynccontextmanager
async def _client(url: str) -> AsyncGenerator[Client]:
    async with httpx2.AsyncClient(base_url=url, timeout=TIMEOUT, trust_env=False) as http:
        yield Client(url, None, http)  # pyright: ignore[reportArgumentType] - the app lives in another process


async def _begin(client: Client, line: str) -> Waiting:
    session = await client.session()
    turn = await client.begin(session, f'/call keep {{"line": "{line}"}}\n/then\n/say over')
    return Waiting(client, session, turn["turn_id"])


async def _meet_the_end(waiting: Waiting, moment: str) -> None:
    """Goes on with the turn until the process dies at that moment."""
    if moment.endswith(("decide", "apply_decisions", "call")):
        await waiting.asked()
        with suppress(httpx2.TransportError):  # it died before it could answer
            await waiting.approve()


async def _go_on(waiting: Waiting, client: Client) -> list[dict[str, Any]]:
    """Approves the call in the next process and returns the turn's events."""
    waiting.client = client
    await waiting.asked()
    if waiting.call is not None:
        assert (await waiting.approve()).status_code == 200
    return await waiting.all_events()


async def test_a_process_killed_at_any_moment_leaves_one_outcome(tmp_path: Path, demo_url: str) -> None:
    """Each process finishes the turn of the one before it and dies in its own."""
    seen: dict[str, list[dict[str, Any]]] = {}
    former: Waiting | None = None
    for moment, following in zip([*MOMENTS, None], [None, *MOMENTS], strict=True):
        async with doomed_gateway(tmp_path, demo_url, moment) as (url, process), _client(url) as client:
            if former is not None and following is not None:
                seen[following] = await _go_on(former, client)
            if moment is not None:
                former = await _begin(client, moment)
                await _meet_the_end(former, moment)
                await asyncio.to_thread(process.join, TIMEOUT)
                assert process.exitcode == -signal.SIGKILL, moment

    outcomes = {
        moment: (the(turn, "tool_result")["status"], kept(tmp_path).count(moment))
        for moment, turn in seen.items()
    }
    assert outcomes == MOMENTS
    for moment, turn in seen.items():
        assert the(turn, "done")["status"] == "completed"
        order = [
            kind for kind in types(turn) if kind in {"approval_request", "approval_response", "tool_result"}
        ]
        assert order == ["approval_request", "approval_response", "tool_result"], moment
        assert the(turn, "approval_response")["decision"] == "approved"
    assert [each for record in read_records(tmp_path / "gateway.db") for each in violations(record)] == []


async def test_a_decision_that_was_answered_is_not_lost(tmp_path: Path, demo_url: str) -> None:
    """The process is killed as soon as the answer to the POST is read: the call is carried out, or it had
    begun; never twice."""
    async with doomed_gateway(tmp_path, demo_url) as (url, process), _client(url) as client:
        waiting = [await _begin(client, f"第{n}次") for n in range(5)]
        await asyncio.gather(*(each.asked() for each in waiting))
        replies = [await each.approve() for each in waiting]
        process.kill()
    async with doomed_gateway(tmp_path, demo_url) as (url, _), _client(url) as client:
        for each in waiting:
            each.client = client
        seen = [await each.all_events() for each in waiting]

    assert {reply.status_code for reply in replies} == {200}
    for number, turn in enumerate(seen):
        response = the(turn, "approval_response")
        assert (response["decision"], response["by"]) == ("approved", "local")
        status, effects = the(turn, "tool_result")["status"], kept(tmp_path).count(f"第{number}次")
        assert (status, effects) in {("ok", 1), ("unknown_outcome", 0), ("unknown_outcome", 1)}
        assert the(turn, "done")["status"] == "completed"
    assert [each for record in read_records(tmp_path / "gateway.db") for each in violations(record)] == []


CLIENT_MOMENTS = (
    "before expect_results",
    "after expect_results",
    "before park",
    "after park",
    "before answer",
    "after answer",
    "before take_results",
    "after take_results",
)


@dataclass(slots=True)
class ClientCall:
    """A turn with one call that the client runs."""

    client: Client
    session: str
    turn: str

    @property
    def path(self) -> str:
        return f"/api/sessions/{self.session}"

    async def give(self) -> httpx2.Response:
        """Gives the result as soon as the call is seen."""
        path = f"{self.path}/events?turn_id={self.turn}"
        call = ""
        async with asyncio.timeout(TIMEOUT), self.client.frames(path) as frames:
            async for frame in frames:
                if frame.event == "tool_call":
                    call = frame.data["tool_call_id"]
                    break
        return await self.client.post(
            f"{self.path}/turns/{self.turn}/tool_results/{call}", {"content": "巴塞尔"}
        )


async def test_a_process_killed_at_any_moment_takes_a_clients_result_once(
    tmp_path: Path, demo_url: str
) -> None:
    """The client repeats what was not answered; each process finishes the turn of the one before it."""
    former: ClientCall | None = None
    for moment in (*CLIENT_MOMENTS, None):
        async with doomed_gateway(tmp_path, demo_url, moment) as (url, process), _client(url) as client:
            if former is not None:
                former.client = client
                assert (await former.give()).status_code == 200
                seen = events(await client.all_frames(f"{former.path}/events?turn_id={former.turn}"))
                assert the(seen, "tool_result")["status"] == "ok"
                assert "巴塞尔" in the(seen, "tool_result")["content"]
                assert the(seen, "done")["status"] == "completed"
            if moment is not None:
                tool = {"name": name_of(moment), "input_schema": {"type": "object"}}
                session, message = await client.session(), f"/call {name_of(moment)} {{}}\n/then\n/say over"
                turn = (await client.begin(session, message, tools=[tool]))["turn_id"]
                former = ClientCall(client, session, turn)
                if moment.endswith(("answer", "take_results")):
                    with suppress(httpx2.TransportError):  # it died before it could answer
                        await former.give()
                await asyncio.to_thread(process.join, TIMEOUT)
                assert process.exitcode == -signal.SIGKILL, moment

    assert [each for record in read_records(tmp_path / "gateway.db") for each in violations(record)] == []

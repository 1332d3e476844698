"""A scripted day at the gateway: everything that a panel or an alert is about happens at least once."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from gateway.demo.server import serve_demo
from gateway.settings import Settings
from tests.harness import TIMEOUT, Client, events, running_gateway, stalled_reader, text_of, the
from tests.observability.offloading import OFFLOADS, offload_round, offload_tools
from tests.observability.permitted import LEFT_ALONE, NEEDED, needed_tools, permitted_round
from tests.observability.remembering import ASKED, remembering, remembering_round
from tests.stories.asking import ask
from tests.webhook_receiver import receiving

WINDOW = 9_000
"""Tokens of the endpoint's context: few, so that a short session has to be compressed."""
PARAGRAPH = "One more paragraph about nothing in particular, to fill the window. " * 25
WITH_TOOLS = "What is 17*23? And how do I resume a stream?"


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A turn as its client saw it: the question, and every event."""

    asked: str
    events: list[dict[str, Any]] = field(repr=False)

    @property
    def session(self) -> str:
        return self.events[0]["session_id"]

    @property
    def turn(self) -> str:
        return self.events[0]["turn_id"]

    @property
    def trace(self) -> str:
        """The trace id that `turn_start` announced."""
        return the(self.events, "turn_start")["trace_id"]

    @property
    def done(self) -> dict[str, Any]:
        return the(self.events, "done")

    @property
    def answer(self) -> str:
        """The text of the last model call."""
        last = self.done["iterations"]
        return text_of([event for event in self.events if event.get("iteration") == last])

    @property
    def paid(self) -> list[dict[str, Any]]:
        """Whatever tells usage and cost of calls in its trace: its end, and compressions that it needed."""
        compressed = [event["data"] for event in self.events if event["type"] == "compression"]
        return [self.done, *(data for data in compressed if data["phase"] != "started")]

    @property
    def input_tokens(self) -> int:
        """Those that came from or went to the cache included."""
        usages = [data.get("usage", {}) for data in self.paid]
        return sum(count for usage in usages for name, count in usage.items() if name != "output_tokens")

    @property
    def output_tokens(self) -> int:
        return sum(data.get("usage", {}).get("output_tokens", 0) for data in self.paid)

    @property
    def tools(self) -> list[str]:
        """The names of the tools it called, in order."""
        return [event["data"]["name"] for event in self.events if event["type"] == "tool_call"]


@asynccontextmanager
async def busy_gateway(settings: Settings) -> AsyncGenerator[Client]:
    """A gateway whose endpoint has a small window, and which drops a stalled reader soon."""
    async with (
        serve_demo(pace=0, window=WINDOW) as url,
        remembering(settings.data_dir / "documents") as remembered,
    ):
        given = {
            "anthropic_base_url": url,
            "model": "claude-haiku-4-5",
            "context_window": WINDOW,
            "summary_tokens": 300,
            "send_timeout": 0.3,
            "progress_timeout": 10.0,
            "first_byte_timeout": 10.0,
            "max_iterations": 4,
            "max_answer_size": 16_000_000,
            "webhook_hosts": ("127.0.0.1",),
            **NEEDED,
            **OFFLOADS,
            **remembered,
        }
        tools = (*needed_tools(), *offload_tools(settings.data_dir))
        async with running_gateway(settings.model_copy(update=given), *tools) as client:
            yield client


async def scripted_round(client: Client) -> dict[str, RecordedTurn]:
    """One round of every kind of turn; returns those that were followed to their end, by kind."""
    session = await client.session()
    unanswered = await ask(client, LEFT_ALONE)
    told: dict[str, RecordedTurn] = {}
    for kind, message in {
        "normal": "My cat is called Tofu. What can you do?",
        "tools": WITH_TOOLS,
        "thinking": "/think hm\n/say Hello",
        "tool error": '/call calculate {"expression": "1/0"}\n/then\n/say It cannot be divided.',
        "retried": "/fault http_429_ms once",
        "failed": "/fault http_400",
        "refused": "/fault stop_reason_refusal",
        "limited": "/call current_time {}\n/then\n" * 5 + "/say done",
    }.items():
        told[kind] = RecordedTurn(message, await client.chat(message, session_id=session))
    await _rated(client)
    said = [{"id": "m", "role": "user", "content": "/say hi"}]
    assert (await client.post("/ag-ui", {"threadId": session, "messages": said})).status_code == 200
    for kind, (message, found) in (await permitted_round(client)).items():
        told[kind] = RecordedTurn(message, found)
    told["remembered"] = RecordedTurn(ASKED, await remembering_round(client))
    told["offloaded"] = RecordedTurn("/call customers {}", await offload_round(client))
    told["cancelled"] = await _cancelled(client)
    told["queued"] = await _queued(client)
    told["resumed"] = await _resumed(client)
    await _stalled(client)
    told["compressed"] = await _compressed(client)
    await _scheduled(client)
    await _told(client)
    told["expired"] = RecordedTurn(LEFT_ALONE, await unanswered.all_events())
    await client.all_frames(f"/api/sessions/{session}/replay?speed=max")
    await client.all_frames(f"/api/sessions/{session}/events?follow=0")
    archived = await client.post(f"/api/sessions/{session}/archive")
    assert archived.status_code == 200, archived.text
    await client.all_frames(f"/api/sessions/{session}/replay?speed=max")
    assert (await client.get("/api/sessions/nobody")).status_code == 404
    return told


async def _scheduled(client: Client) -> None:
    """A schedule that is asked to run, and its run's end."""
    made = (await client.post("/api/schedules", {"message": "/say hi", "every": 86_400})).json()
    path = f"/api/schedules/{made['id']}"
    assert (await client.post(f"{path}/run")).status_code == 202

    async def ended() -> bool:
        return [run["status"] for run in (await client.get(path)).json()["runs"]] == ["completed"]

    await until_seen(ended)


async def _told(client: Client) -> None:
    """The end of a turn that a webhook is told of, and one that it refuses for good."""
    async with receiving("200 OK", "410 Gone") as receiver:
        webhook = (await client.post("/api/webhooks", {"url": receiver.url})).json()
        path = f"/api/webhooks/{webhook['id']}/deliveries"
        for count in (1, 2):
            await client.chat("/say hi")

            async def ended(count: int = count) -> bool:
                found = (await client.get(path)).json()["deliveries"]
                return [each["state"] != "pending" for each in found] == [True] * count

            await until_seen(ended)


async def on_record(client: Client) -> dict[str, list[RecordedTurn]]:
    """Every turn as the log has it, by session."""
    sessions = (await client.get("/api/sessions?limit=100")).json()["sessions"]
    return {session["id"]: _turns_of(await client.events(session["id"])) for session in sessions}


async def until_seen(ask: Callable[[], Awaitable[Any]], *, patience: float = TIMEOUT) -> Any:
    """Asks until the answer is something, since what reads telemetry is always a little late.

    Raises:
        TimeoutError: it never was, for `patience` seconds.
    """
    async with asyncio.timeout(patience):
        while not (found := await ask()):
            await asyncio.sleep(0.2)
        return found


async def measured(client: Client, name: str) -> float:
    """The sum over all series of that name, as /metrics has them now."""
    lines = (await client.get("/metrics")).text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def _turns_of(found: list[dict[str, Any]]) -> list[RecordedTurn]:
    turns: dict[str, list[dict[str, Any]]] = {}
    for event in found:
        turns.setdefault(event["turn_id"], []).append(event)
    return [
        RecordedTurn(the(turn, "turn_start")["input"], turn)
        for turn in turns.values()
        if turn[0]["type"] == "turn_start"
    ]


async def _cancelled(client: Client) -> RecordedTurn:
    session = await client.session()
    message = "/pieces 500\n/pace 20"
    turn = (await client.begin(session, message))["turn_id"]
    seen: list[dict[str, Any]] = []
    async with client.frames(f"/api/sessions/{session}/events?turn_id={turn}") as frames:
        async for frame in frames:
            seen.append(frame.data)
            if frame.event == "text" and frame.data["seq"] == 6:
                await client.post(f"/api/sessions/{session}/turns/{turn}/cancel")
    return RecordedTurn(message, [event for event in seen if "seq" in event])


async def _queued(client: Client) -> RecordedTurn:
    session = await client.session()
    await client.begin(session, "/pieces 20\n/pace 20")
    waiting = (await client.begin(session, "hello", on_conflict="queue"))["turn_id"]
    return RecordedTurn(
        "hello", events(await client.all_frames(f"/api/sessions/{session}/events?turn_id={waiting}"))
    )


async def _resumed(client: Client) -> RecordedTurn:
    """Its first reader leaves in the middle; the second goes on from the cursor."""
    message = "/pieces 40\n/pace 10"
    seen: list[dict[str, Any]] = []
    async with client.frames("/api/chat", {"message": message}) as frames:
        async for frame in frames:
            if "seq" in frame.data:
                seen.append(frame.data)
            if frame.event == "text":
                break
    path = f"/api/sessions/{seen[0]['session_id']}/events?turn_id={seen[0]['turn_id']}"
    rest = await client.all_frames(path, headers={"last-event-id": str(seen[-1]["seq"])})
    return RecordedTurn(message, seen + events(rest))


async def _rated(client: Client) -> None:
    """A turn that somebody likes, then not."""
    first, *_ = await client.chat("/say something")
    path = f"/api/sessions/{first['session_id']}/turns/{first['turn_id']}/feedback"
    for rating in ("up", "down"):
        assert (await client.post(path, {"rating": rating})).status_code == 200


async def _stalled(client: Client) -> None:
    """A reader that takes nothing is dropped."""
    session = await client.session()
    turn = (await client.begin(session, "/fault huge_delta 8"))["turn_id"]
    path = f"/api/sessions/{session}/events?turn_id={turn}"
    slow = "gateway_stream_slow_consumer_drops_total"
    before = await measured(client, slow)
    with stalled_reader(client.url, path):
        await until_seen(lambda: _grown(client, slow, before))


async def _compressed(client: Client) -> RecordedTurn:
    """A session that grew beyond the window, compressed by hand and then by need."""
    session = await client.session()
    await client.chat("My favourite colour is teal.", session_id=session)
    for _ in range(4):
        await client.chat("/say " + PARAGRAPH, session_id=session)
    answer = await client.post(f"/api/sessions/{session}/compress")
    assert answer.status_code == 201, answer.text
    for _ in range(20):
        found = await client.chat("/say " + PARAGRAPH, session_id=session)
        if any(event["type"] == "compression" for event in found):
            return RecordedTurn("/say " + PARAGRAPH, found)
    raise AssertionError("the session was never too long")


async def _grown(client: Client, name: str, before: float) -> bool:
    return await measured(client, name) > before

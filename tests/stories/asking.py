"""Tools whose calls a person decides about, and how a test decides."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.harness import TIMEOUT, Client, events
from tests.product import FunctionTool, tool


@dataclass(slots=True)
class Outbox:
    """What was really sent, and the tools that send it."""

    sent: list[str] = field(default_factory=list[str])
    slow: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def tools(self) -> tuple[FunctionTool, ...]:
        @tool(effect="effectful")
        def send(to: str) -> str:
            """Sends a letter.

            Args:
                to: Who gets it.
            """
            self.sent.append(to)
            return f"sent to {to}"

        @tool(effect="effectful")
        def post(text: str) -> str:
            """Posts a text."""
            self.sent.append(text)
            return "posted"

        @tool(effect="read_only")
        async def look(what: str) -> str:
            """Looks slowly."""
            await asyncio.wait_for(self.slow.wait(), TIMEOUT)
            return f"saw {what}"

        return send, post, look


@dataclass(slots=True)
class Asked:
    """A turn that waits for a person."""

    client: Client
    session: str
    turn: str
    calls: dict[str, str]
    """The ids of the calls that wait, by the name of their tool."""
    events: list[dict[str, Any]]

    @property
    def path(self) -> str:
        return f"/api/sessions/{self.session}/turns/{self.turn}"

    async def status(self, client: Client | None = None) -> str:
        return (await (client or self.client).get(self.path)).json()["status"]

    async def decide(
        self, decision: str, name: str = "send", *, client: Client | None = None, **more: Any
    ) -> httpx2.Response:
        path = f"{self.path}/approvals/{self.calls[name]}"
        return await (client or self.client).post(path, {"decision": decision, **more})

    async def all_events(self, client: Client | None = None) -> list[dict[str, Any]]:
        """The events of the turn to its end."""
        path = f"/api/sessions/{self.session}/events?turn_id={self.turn}"
        return events(await (client or self.client).all_frames(path))


async def ask(client: Client, message: str, *, session: str | None = None, waiting: int = 1) -> Asked:
    """Sends `message`; returns when so many of its calls wait for a person and the turn is parked."""
    session = session or await client.session()
    turn = (await client.begin(session, message))["turn_id"]
    asked = Asked(client, session, turn, {}, [])
    async with asyncio.timeout(TIMEOUT):
        async with client.frames(f"/api/sessions/{session}/events?turn_id={turn}") as frames:
            async for frame in frames:
                asked.events.append(frame.data)
                if frame.event == "approval_request":
                    asked.calls[frame.data["data"]["name"]] = frame.data["tool_call_id"]
                if len(asked.calls) == waiting:
                    break
        return asked


async def parked(asked: Asked, client: Client | None = None) -> Asked:
    """Returns when nobody owns the turn any more."""
    async with asyncio.timeout(TIMEOUT):
        while await asked.status(client) != "awaiting_approval":
            await asyncio.sleep(0.005)
    return asked

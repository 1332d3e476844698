"""`/gateway …`, which answers one person alone, and the window in which a person gives a key of theirs."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import aiohttp
import structlog
from slack_bolt.response import BoltResponse

from gateway.adapters.messengers.base import Place, Thread
from gateway.adapters.messengers.bridge import Bridge
from gateway.adapters.messengers.journal import Journal
from gateway.adapters.slack.slack_mrkdwn import escaped, plain
from gateway.bounded_dict import BoundedDict
from gateway.client import AsyncGatewayClient
from gateway.errors import GatewayError, RequestRefused

LINK = "gateway_link"
"""The window for a key."""
LINK_TIMEOUT = 2.0
"""Seconds for which the window waits for the gateway: Slack closes the question after three
(https://docs.slack.dev/interactivity/handling-user-interaction)."""
MAX_TAKEN = 1000
"""Commands that are known when they come again, by the trigger that each has of its own."""
MAX_MEMORIES = 10
MAX_ANSWER = 3000
"""Characters of an answer."""
HELP = """\
`/gateway status` who you are here, and what runs
`/gateway memory [words]` what is remembered about you
`/gateway remember <text>` · `/gateway forget <id>`
`/gateway summary` of your last thread in this channel
`/gateway new` begins a new session in a direct message; in a channel each mention does
`/gateway stop` stops your last thread in this channel
`/gateway link` uses a key of yours for the gateway · `/gateway unlink`"""

Body = Mapping[str, Any]
log = structlog.get_logger(__name__)


class SlackCommands:
    """`open_view(trigger_id, view)` shows a window."""

    def __init__(
        self,
        bridge: Bridge,
        journal: Journal,
        http: aiohttp.ClientSession,
        open_view: Callable[[str, Mapping[str, Any]], Awaitable[None]],
    ) -> None:
        self._bridge = bridge
        self._journal = journal
        self._http = http
        self._open_view = open_view
        self._running: set[asyncio.Task[None]] = set()
        self._taken = BoundedDict[str, bool](MAX_TAKEN)

    async def answer(self, body: Body) -> BoltResponse | None:
        """None: it is no command. What takes longer than Slack waits is answered later. One that comes again
        does nothing."""
        if body.get("command") is not None:
            if (trigger := str(body["trigger_id"])) in self._taken:
                return BoltResponse(status=200)
            self._taken[trigger] = True
            task = asyncio.create_task(self._respond(body))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
            return BoltResponse(status=200)
        if body.get("type") == "view_submission" and body["view"].get("callback_id") == LINK:
            return await self._link(body)
        return None

    async def _respond(self, body: Body) -> None:
        try:
            text = await self._run(body)
        except GatewayError as error:
            text = escaped(error.message)
        if not text:
            return
        answer = {"response_type": "ephemeral", "text": text[:MAX_ANSWER]}
        try:
            async with self._http.post(str(body["response_url"]), json=answer) as response:
                response.raise_for_status()
        except (aiohttp.ClientError, OSError, KeyError) as error:
            log.warning("slack_command_unanswered", error=str(error))

    async def _run(self, body: Body) -> str:
        name, _, rest = str(body.get("text") or "").strip().partition(" ")
        rest = plain(rest, "")
        person, channel = str(body["user_id"]), str(body["channel_id"])
        match name.casefold():
            case "link":
                await self._open_view(str(body["trigger_id"]), _window())
                return ""
            case "unlink":
                self._journal.link(person, None)
                return "Your key is forgotten here."
            case "new":
                return await self._begin_anew(person, channel)
            case "status" | "memory" | "remember" | "forget" | "summary" | "stop" as verb:
                client = await self._bridge.client(person)
                return await _VERBS[verb](client, self._journal.latest_of(person, channel), rest)
            case _:
                return HELP

    async def _begin_anew(self, person: str, channel: str) -> str:
        if not channel.startswith("D"):
            return "In a channel each mention begins a new session. In a direct message `/gateway new` does."
        await self._bridge.begin_anew(Place(channel), person)
        return "What you say next begins a new session."

    async def _link(self, body: Body) -> BoltResponse:
        values: Mapping[str, Any] = body["view"]["state"]["values"]
        key = str(values["key"]["key"].get("value") or "").strip()
        try:
            async with asyncio.timeout(LINK_TIMEOUT):
                await self._bridge.check(key)
        except RequestRefused as error:
            answer = {"response_action": "errors", "errors": {"key": error.message[:150]}}
            return BoltResponse(status=200, body=answer)
        except (GatewayError, TimeoutError):
            answer = {
                "response_action": "errors",
                "errors": {"key": "The gateway does not answer. Try again."},
            }
            return BoltResponse(status=200, body=answer)
        self._journal.link(str(body["user"]["id"]), key)
        return BoltResponse(status=200)


async def _status(client: AsyncGatewayClient, thread: Thread | None, _: str) -> str:
    who = await client.ask("GET", "/api/me")
    turns = (await client.turns(status="running"))["turns"]
    waiting = (await client.approvals())["approvals"]
    lines = [
        f"You are `{escaped(who['user_id'])}`. Model: {escaped(who['models'][0])}.",
        f"Answers that are being written: {len(turns)}. Calls that wait for you: {len(waiting)}.",
    ]
    if thread is not None:
        page = f"{client.url}/#s={thread.session_id}"
        lines.append(f"Your last thread here is <{page}|{thread.session_id}>.")
    return "\n".join(lines)


async def _memory(client: AsyncGatewayClient, _: Thread | None, words: str) -> str:
    page = await client.memories(q=words or None, limit=MAX_MEMORIES)
    lines = [f"• {escaped(each['content'])}  `{each['id']}`" for each in page["memories"]]
    return "\n".join(lines) or "Nothing is remembered about that."


async def _remember(client: AsyncGatewayClient, _: Thread | None, text: str) -> str:
    if not text:
        return HELP
    found = await client.remember(text)
    return f"Remembered: {escaped(text)}  `{found.get('id', '')}`"


async def _forget(client: AsyncGatewayClient, _: Thread | None, memory: str) -> str:
    if not memory.isidentifier():
        return "`/gateway memory` shows the ids."
    await client.forget(memory)
    return "Forgotten."


async def _summary(client: AsyncGatewayClient, thread: Thread | None, _: str) -> str:
    if thread is None:
        return "You have no thread here."
    made = await client.ask("POST", "/api/session/summary", {"session_id": thread.session_id})
    lines: list[str] = []
    for name, value in made["summary"].items():
        values = value if isinstance(value, list) else [value]
        if answer := "; ".join(str(each) for each in values if each):
            lines.append(f"*{escaped(name.replace('_', ' '))}*: {escaped(answer)}")
    return "\n".join(lines) or "There is nothing to summarise."


async def _stop(client: AsyncGatewayClient, thread: Thread | None, _: str) -> str:
    running = (await client.snapshot(thread.session_id)).get("open_turn") if thread is not None else None
    if thread is None or running is None:
        return "Nothing runs there."
    await client.cancel(thread.session_id, running["turn_id"])
    return "Stopped."


_VERBS: Mapping[str, Callable[[AsyncGatewayClient, Thread | None, str], Awaitable[str]]] = {
    "status": _status,
    "memory": _memory,
    "remember": _remember,
    "forget": _forget,
    "summary": _summary,
    "stop": _stop,
}


def _window() -> Mapping[str, Any]:
    return {
        "type": "modal",
        "callback_id": LINK,
        "title": {"type": "plain_text", "text": "Link your account"},
        "submit": {"type": "plain_text", "text": "Link"},
        "blocks": [
            {
                "type": "input",
                "block_id": "key",
                "label": {"type": "plain_text", "text": "Your key for the gateway"},
                "hint": {
                    "type": "plain_text",
                    "text": "The program that answers here keeps it, and forgets it with /gateway unlink.",
                },
                "element": {"type": "plain_text_input", "action_id": "key"},
            }
        ],
    }

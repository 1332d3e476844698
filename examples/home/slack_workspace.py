"""A stand-in of Slack on loopback: a workspace with its Web API, Socket Mode, limits and files, for
`gateway slack` as it is, slack-bolt and slack-sdk with it. The tests of the gateway use the same one."""

import asyncio
import hashlib
import hmac
import json
import time
from collections import Counter, defaultdict, deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlencode

import httpx2
from aiohttp import WSMsgType, web

from gateway.adapters.slack.slack_call_rates import MINUTE, OTHERS, PER_MINUTE

BOT, TEAM, SECRET = "UBOT", "T0001", "signing-secret"
TOKEN, APP_TOKEN = "xoxb-token", "xapp-token"
TIMEOUT = 180.0
"""Seconds after which who waits for something has found a bug."""
MAX_TEXT, MAX_UPDATED, MAX_CHUNK = 40_000, 4000, 12_000
"""Characters of the text of a new message, of an edited one, and of a piece of a stream
(https://docs.slack.dev/reference/methods/chat.postMessage, chat.update, chat.appendStream)."""
MAX_BLOCKS, MAX_SECTION, MAX_NOTES, MAX_BUTTONS, MAX_LABEL, MAX_VALUE = 50, 3000, 10, 25, 75, 2000
"""Of Block Kit: https://docs.slack.dev/reference/block-kit."""
Message = dict[str, Any]


class Workspace:
    """What a test sees of it and does in it. `rate` is how many times the published limits it allows: in
    each half of the time, as on one event loop a call may come late and the next one not."""

    def __init__(self, rate: float = 1000.0) -> None:
        self.url = ""
        self.channels: defaultdict[str, list[Message]] = defaultdict(list)
        self.ephemeral: list[Message] = []
        self.uploads: dict[str, dict[str, Any]] = {}
        self.downloads: dict[str, bytes] = {}
        self.emails: dict[str, str] = {}
        self.teams: dict[str, str] = {}
        """Of people of other workspaces."""
        self.responses: list[dict[str, Any]] = []
        self.views: list[dict[str, Any]] = []
        self.calls: Counter[str] = Counter()
        self.too_many: Counter[str] = Counter()
        self.acknowledged: list[str] = []
        self.payloads: dict[str, Any] = {}
        """What came with the acknowledgement."""
        self.stream_ends_after: int | None = None
        """Appends after which a stream ends by itself."""
        self.has_streams = True
        self.token = TOKEN
        self.busy_until = 0.0
        """Until then every call is refused with 429 (monotonic)."""
        self.retry_after = "0.2"
        self.refused: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        """Methods whose next calls take effect, and are never answered."""
        self.before: Callable[[str, Message], Any] | None = None
        """Is called with each call that is about to take effect."""
        self.refuses: Callable[[str, Message], str | None] | None = None
        """Tells the error that a call is refused with."""
        self.after: Callable[[str, Message], Any] | None = None
        """Is called with each call that has taken effect and is not answered yet."""
        self._minute = MINUTE / rate / 2
        self._made: defaultdict[str, deque[float]] = defaultdict(deque)
        self._sockets: list[web.WebSocketResponse] = []
        self._changed = asyncio.Condition()
        self._time = time.time()
        self._numbers = 0

    # What people do

    async def say(self, person: str, channel: str, text: str, thread: str | None = None, **more: Any) -> str:
        """Returns the ts. A mention comes as two events, as Slack sends it."""
        message = self._message(channel, person, thread, text=text, **more)
        kind = "im" if channel.startswith("D") else "channel"
        event = {**message, "channel": channel, "channel_type": kind, "event_ts": message["ts"]}
        await self.send_event({"type": "message", **event})
        if f"<@{BOT}>" in text and kind != "im":
            await self.send_event({"type": "app_mention", **event})
        return message["ts"]

    def spoken(self, person: str, channel: str, thread: str | None, text: str) -> str:
        """What was said before the bot was there."""
        return self._message(channel, person, thread, text=text)["ts"]

    async def react(self, person: str, channel: str, ts: str, reaction: str, kind: str = "added") -> None:
        item = {"type": "message", "channel": channel, "ts": ts}
        event = {"type": f"reaction_{kind}", "user": person, "reaction": reaction, "item": item}
        await self.send_event({**event, "item_user": BOT, "event_ts": self._ts()})

    async def press(self, person: str, channel: str, message: Message, action: Mapping[str, Any]) -> None:
        await self.send(
            "interactive",
            {
                "type": "block_actions",
                "user": {"id": person, "team_id": TEAM},
                "team": {"id": TEAM},
                "channel": {"id": channel},
                "message": message,
                "container": {"type": "message", "channel_id": channel, "message_ts": message["ts"]},
                "actions": [{**action, "action_ts": self._ts(), "block_id": "b"}],
                "trigger_id": "trigger",
                "response_url": f"{self.url}/response",
            },
        )

    async def command(self, person: str, channel: str, text: str) -> None:
        """`/gateway …`; what it answers is in `responses`."""
        about = {"command": "/gateway", "text": text, "user_id": person, "channel_id": channel}
        more = {"team_id": TEAM, "trigger_id": self._ts(), "response_url": f"{self.url}/response"}
        await self.send("slash_commands", {**about, **more})

    async def delete(self, person: str, channel: str, ts: str) -> None:
        former = next(each for each in self.channels[channel] if each["ts"] == ts)
        self.channels[channel].remove(former)
        event = {"type": "message", "subtype": "message_deleted", "channel": channel, "deleted_ts": ts}
        kind = "im" if channel.startswith("D") else "channel"
        await self.send_event(
            {**event, "channel_type": kind, "previous_message": former, "ts": self._ts(), "user": person}
        )

    async def send_event(self, event: Mapping[str, Any], event_id: str | None = None) -> None:
        await self.send("events_api", self.event_body(event, event_id))

    def event_body(self, event: Mapping[str, Any], event_id: str | None = None) -> dict[str, Any]:
        self._numbers += 1
        return {
            "type": "event_callback",
            "team_id": TEAM,
            "api_app_id": "A1",
            "event": dict(event),
            "event_id": event_id or f"Ev{self._numbers}",
            "event_time": int(time.time()),
        }

    async def send(self, kind: str, payload: Mapping[str, Any]) -> Any:
        """Over Socket Mode, again until it is acknowledged, as Slack does; returns what came with that."""
        self._numbers += 1
        envelope = f"env-{self._numbers}"
        body = json.dumps(
            {"type": kind, "envelope_id": envelope, "accepts_response_payload": True, "payload": payload}
        )
        while envelope not in self.acknowledged:
            await self.until(lambda: any(not each.closed for each in self._sockets))
            socket = next(each for each in self._sockets if not each.closed)
            with suppress(ConnectionError):
                await socket.send_str(body)
            await self._acknowledged(envelope, socket)
        return self.payloads[envelope]

    async def post_event(self, url: str, body: Any, **headers: str) -> httpx2.Response:
        """Over the Events API, signed."""
        form = isinstance(body, str)
        content = body if form else json.dumps(body)
        kind = "application/x-www-form-urlencoded" if form else "application/json"
        given = {**signed(content), "content-type": kind, **headers}
        async with httpx2.AsyncClient(trust_env=False, timeout=TIMEOUT) as client:
            return await client.post(url, content=content, headers=given)

    async def disconnect(self) -> None:
        for each in self._sockets:
            await each.close()

    # What they see

    def answers(self, channel: str, thread: str | None = None) -> list[Message]:
        """The bot's messages, in one thread if it is given."""
        return [
            each
            for each in self.channels[channel]
            if each["user"] == BOT and thread in {None, each.get("thread_ts")}
        ]

    async def until(self, is_so: Callable[[], Any], *, seconds: float = TIMEOUT) -> Any:
        """Waits for it, looking whenever something has happened."""
        async with asyncio.timeout(seconds), self._changed:
            while not (found := is_so()):
                await self._changed.wait()
            return found

    async def answered(self, channel: str, thread: str | None = None, count: int = 1) -> list[Message]:
        """The bot's messages there once that many are the ends of their turns."""

        def ended() -> list[Message]:
            found = self.answers(channel, thread)
            last = [each for each in found if payload(each).get("is_last") and not each.get("streaming")]
            return found if len(last) >= count else []

        return await self.until(ended)

    # The Web API

    async def call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        given = await _arguments(request)
        self.calls[method] += 1
        if request.headers.get("authorization") not in {f"Bearer {self.token}", f"Bearer {APP_TOKEN}"}:
            return web.json_response({"ok": False, "error": "invalid_auth"})
        if self._is_too_often(method, given):
            self.too_many[method] += 1
            return _refused("ratelimited", 429, self.retry_after)
        if time.monotonic() < self.busy_until:
            self.refused[method] += 1
            return _refused("ratelimited", 429, self.retry_after)
        if self.before is not None:
            self.before(method, given)
        take = getattr(self, "_" + method.replace(".", "_"), None)
        if take is None or (not self.has_streams and method.endswith("Stream")):
            return web.json_response({"ok": False, "error": "unknown_method"})
        try:
            if self.refuses is not None and (error := self.refuses(method, given)):
                raise _Refused(error)
            said = take(given)
        except _Refused as refused:
            return web.json_response({"ok": False, "error": str(refused)})
        if self.after is not None:
            self.after(method, given)
        await self._happened()
        if self.lost[method]:
            self.lost[method] -= 1
            assert request.transport is not None
            request.transport.abort()
        return web.json_response({"ok": True, **said})

    def _is_too_often(self, method: str, given: Message) -> bool:
        lines = [(method, PER_MINUTE.get(method, OTHERS), self._minute)]
        if method == "chat.postMessage":
            lines.append((f"{method} {given['channel']}", 1, self._minute / 60))
        now = time.monotonic()
        if method in {"auth.test", "apps.connections.open"}:
            return False
        is_over = False
        for name, calls, seconds in lines:
            made = self._made[name]
            while made and made[0] <= now - seconds:
                made.popleft()
            is_over = is_over or len(made) >= calls
            made.append(now)
        return is_over

    def _auth_test(self, _: Message) -> Message:
        return {"user_id": BOT, "team_id": TEAM, "team": "Test", "user": "gateway", "bot_id": "B1"}

    def _apps_connections_open(self, _: Message) -> Message:
        return {"url": self.url.replace("http", "ws") + "/socket"}

    def _chat_postMessage(self, given: Message) -> Message:  # noqa: N802
        _check_blocks(given)
        more = {name: given[name] for name in ("blocks", "metadata") if name in given}
        message = self._message(
            given["channel"], BOT, given.get("thread_ts"), text=given.get("text", ""), bot_id="B1", **more
        )
        return {"ts": message["ts"], "channel": given["channel"]}

    def _chat_update(self, given: Message) -> Message:
        message = self._own(given)
        if message.get("streaming"):
            raise _Refused("streaming_state_conflict")
        _check_blocks(given, MAX_UPDATED)
        message.pop("chunks", None)
        message.update({name: given[name] for name in ("text", "blocks", "metadata") if name in given})
        return {"ts": message["ts"]}

    def _chat_delete(self, given: Message) -> Message:
        self.channels[given["channel"]].remove(self._own(given))
        return {}

    def _chat_postEphemeral(self, given: Message) -> Message:  # noqa: N802
        self.ephemeral.append(given)
        return {"message_ts": self._ts()}

    def _chat_startStream(self, given: Message) -> Message:  # noqa: N802
        if not given.get("thread_ts") or not given.get("recipient_user_id"):
            raise _Refused("invalid_arguments")
        message = self._message(
            given["channel"], BOT, given["thread_ts"], text="", bot_id="B1", streaming=True, chunks=[]
        )
        self._append(message, given)
        return {"ts": message["ts"], "channel": given["channel"]}

    def _chat_appendStream(self, given: Message) -> Message:  # noqa: N802
        message = self._streaming(given)
        self._append(message, given)
        if self.stream_ends_after is not None and len(message["chunks"]) >= self.stream_ends_after:
            message["streaming"] = False
        return {"ts": message["ts"]}

    def _chat_stopStream(self, given: Message) -> Message:  # noqa: N802
        message = self._streaming(given)
        self._append(message, given)
        message["streaming"] = False
        if "metadata" in given:
            message["metadata"] = given["metadata"]
        return {"ts": message["ts"]}

    def _conversations_replies(self, given: Message) -> Message:
        found = [
            each
            for each in self.channels[given["channel"]]
            if given["ts"] in {each["ts"], each.get("thread_ts")}
        ]
        return self._page(found, given)

    def _conversations_history(self, given: Message) -> Message:
        found = [each for each in self.channels[given["channel"]] if not each.get("thread_ts")]
        return self._page(found, given)

    def _users_info(self, given: Message) -> Message:
        email = self.emails.get(given["user"])
        profile = {"email": email} if email else {}
        about = {"team_id": self.teams.get(given["user"], TEAM), "real_name": given["user"].title()}
        return {"user": {"id": given["user"], "profile": profile, **about}}

    def _views_open(self, given: Message) -> Message:
        self.views.append(given["view"])
        return {"view": {"id": "V1"}}

    def _files_getUploadURLExternal(self, given: Message) -> Message:  # noqa: N802
        self._numbers += 1
        name = f"F{self._numbers}"
        self.uploads[name] = {"name": given["filename"], "length": int(given["length"])}
        return {"file_id": name, "upload_url": f"{self.url}/upload/{name}"}

    def _files_completeUploadExternal(self, given: Message) -> Message:  # noqa: N802
        files = given["files"] if isinstance(given["files"], list) else json.loads(given["files"])
        for each in files:
            self.uploads[each["id"]].update(title=each.get("title"), channel=given["channel_id"])
        self._message(given["channel_id"], BOT, given.get("thread_ts"), text="", bot_id="B1", files=files)
        return {"files": files}

    async def take_upload(self, request: web.Request) -> web.Response:
        self.uploads[request.match_info["name"]]["content"] = await request.read()
        return web.Response(text="OK")

    async def give_file(self, request: web.Request) -> web.Response:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return web.Response(text="<html>Sign in</html>", content_type="text/html")
        return web.Response(body=self.downloads[request.match_info["name"]])

    async def response(self, request: web.Request) -> web.Response:
        self.responses.append(await request.json())
        await self._happened()
        return web.Response(text="ok")

    async def socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_str(json.dumps({"type": "hello", "num_connections": 1}))
        self._sockets.append(socket)
        await self._happened()
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    told = json.loads(message.data)
                    self.acknowledged.append(told["envelope_id"])
                    self.payloads[told["envelope_id"]] = told.get("payload")
                    await self._happened()
        finally:
            self._sockets.remove(socket)
            await self._happened()
        return socket

    # Inside

    async def _acknowledged(self, envelope: str, socket: web.WebSocketResponse) -> None:
        """It is, or has to be sent again."""
        with suppress(TimeoutError):
            await self.until(lambda: envelope in self.acknowledged or socket.closed, seconds=3)

    async def _happened(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _ts(self) -> str:
        self._time += 0.001
        return f"{self._time:.6f}"

    def _message(self, channel: str, user: str, thread: str | None, **more: Any) -> Message:
        message: Message = {"type": "message", "ts": self._ts(), "user": user, "team": TEAM, **more}
        if thread:
            message["thread_ts"] = thread
        self.channels[channel].append(message)
        return message

    def _own(self, given: Message) -> Message:
        for each in self.channels[given["channel"]]:
            if each["ts"] == given["ts"] and each["user"] == BOT:
                return each
        raise _Refused("message_not_found")

    def _streaming(self, given: Message) -> Message:
        message = self._own(given)
        if not message.get("streaming"):
            raise _Refused("message_not_in_streaming_state")
        return message

    def _append(self, message: Message, given: Message) -> None:
        chunks = given.get("chunks") or []
        if any(len(each.get("text", "")) > MAX_CHUNK for each in chunks):
            raise _Refused("msg_too_long")
        message["chunks"] += chunks

    def _page(self, found: list[Message], given: Message) -> Message:
        found = [each for each in found if float(each["ts"]) >= float(given.get("oldest", 0))]
        found = [each for each in found if float(each["ts"]) < float(given.get("latest", "inf"))]
        begin, limit = int(given.get("cursor") or 0), int(given.get("limit", 100))
        rest = begin + limit < len(found)
        page = [dict(each) for each in found[begin : begin + limit]]
        if str(given.get("include_all_metadata")).lower() not in {"1", "true"}:
            for each in page:
                each.pop("metadata", None)
        more = {"response_metadata": {"next_cursor": str(begin + limit)}} if rest else {}
        return {"messages": page, "has_more": rest, **more}


def payload(message: Message) -> dict[str, Any]:
    """What a message of the bot's tells of itself."""
    return message.get("metadata", {}).get("event_payload", {})


def shown(message: Message) -> str:
    """The text of a message as people see it."""
    if "chunks" in message:
        return "".join(each["text"] for each in message["chunks"] if each["type"] == "markdown_text")
    sections = [each["text"]["text"] for each in message.get("blocks", ()) if each["type"] == "section"]
    return "\n".join(sections)


def quiet_lines(message: Message) -> list[str]:
    """Its notes, the newest state of each."""
    if "chunks" in message:
        tasks = [each for each in message["chunks"] if each["type"] == "task_update"]
        return [*{each["id"]: f"{each['status']} {each['title']}" for each in tasks}.values()]
    return [
        element["text"]
        for each in message.get("blocks", ())
        if each["type"] == "context"
        for element in each["elements"]
    ]


def buttons(message: Message) -> list[dict[str, Any]]:
    """The buttons that it has."""
    return [
        element
        for each in message.get("blocks", ())
        if each["type"] == "actions"
        for element in each["elements"]
    ]


def signed(content: str, at: float | None = None, secret: str = SECRET) -> dict[str, str]:
    """The headers of a request of Slack's."""
    stamp = str(int(at if at is not None else time.time()))
    base = f"v0:{stamp}:{content}".encode()
    digest = hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
    return {"x-slack-request-timestamp": stamp, "x-slack-signature": f"v0={digest}"}


def form(payload: Mapping[str, Any]) -> str:
    """What people press, as the Events API has it."""
    return urlencode({"payload": json.dumps(payload)})


@asynccontextmanager
async def slack_workspace(
    rate: float = 1000.0, port: int = 0, more: Callable[[Workspace], Sequence[web.RouteDef]] = lambda _: ()
) -> AsyncGenerator[Workspace]:
    """One that is served on loopback as long as the context lasts, with `more` routes."""
    workspace = Workspace(rate)
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.add_routes(
        [
            web.route("*", "/api/{method}", workspace.call),
            web.get("/socket", workspace.socket),
            web.post("/response", workspace.response),
            web.post("/upload/{name}", workspace.take_upload),
            web.get("/files/{name}", workspace.give_file),
            *more(workspace),
        ]
    )
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    workspace.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield workspace
    finally:
        await workspace.disconnect()
        await runner.cleanup()


class _Refused(Exception):
    """The error that a method answers with."""


def _refused(error: str, status: int, retry_after: str) -> web.Response:
    return web.json_response(
        {"ok": False, "error": error}, status=status, headers={"retry-after": retry_after}
    )


async def _arguments(request: web.Request) -> Message:
    if request.content_type == "application/json":
        return await request.json()
    return {**request.query, **(await request.post())}


def _check_blocks(given: Message, most: int = MAX_TEXT) -> None:
    blocks = given.get("blocks") or []
    if len(blocks) > MAX_BLOCKS or not all(map(_is_taken, blocks)):
        raise _Refused("invalid_blocks")
    if not blocks and not given.get("text"):
        raise _Refused("no_text")
    if len(given.get("text", "")) > most:
        raise _Refused("msg_too_long")


def _is_taken(block: Message) -> bool:
    """Whether it is as large as such a block may be."""
    elements = block.get("elements", ())
    match block["type"]:
        case "section":
            return 0 < len(block["text"]["text"]) <= MAX_SECTION
        case "context":
            sizes = [len(each["text"]) for each in elements]
            return 0 < len(sizes) <= MAX_NOTES and all(0 < size <= MAX_SECTION for size in sizes)
        case "actions":
            sizes = [(len(each["text"]["text"]), len(each["value"])) for each in elements]
            is_small = all(label <= MAX_LABEL and value <= MAX_VALUE for label, value in sizes)
            return 0 < len(sizes) <= MAX_BUTTONS and is_small
        case _:
            return False

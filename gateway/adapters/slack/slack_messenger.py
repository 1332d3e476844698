"""Slack as a messenger: answers stream into messages where the workspace has that, else they are edited."""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import structlog

from gateway.adapters.messengers.base import (
    Draw,
    Drawn,
    Keep,
    MessageGone,
    MessageRejected,
    Messenger,
    MessengerBusy,
    Place,
    Received,
    RemoteFile,
    Thread,
)
from gateway.adapters.slack.slack_blocks import (
    EVENT_TYPE,
    Streamed,
    blocks_of,
    metadata,
    preview,
    without_blocks,
)
from gateway.adapters.slack.slack_call_rates import ALWAYS, Urgent
from gateway.adapters.slack.slack_events import Bot
from gateway.adapters.slack.slack_mrkdwn import plain
from gateway.adapters.slack.slack_web_api import SlackWebApi, StillStreams, StreamsUnavailable, Unsupported
from gateway.bounded_dict import BoundedDict

STREAM_SECONDS = 240.0
"""After which a stream is ended and its message edited: Slack ends streams after some five minutes
(slackapi/python-slack-sdk issue 1859)."""
MAX_BEFORE, MAX_BEFORE_SIZE = 50, 16_000
"""Messages, and characters of them, that the model is shown of a thread that it is called into: the last."""
RECENT = 86_400.0
"""Seconds: the part of a thread that is looked through first."""
Receiver = Callable[[Keep], Awaitable[None]]

log = structlog.get_logger(__name__)


class SlackMessenger(Messenger):
    """A bot in one workspace. `receiver` is how events come: see `slack_receivers`."""

    name = "slack"
    message_size = 6000

    def __init__(self, api: SlackWebApi, bot: Bot, receiver: Receiver) -> None:
        self._api = api
        self._bot = bot
        self._receiver = receiver
        self._streams = BoundedDict[tuple[str, str], _Stream](1000)
        self._can_stream = True

    async def receive(self, keep: Keep) -> None:
        await self._receiver(keep)

    async def post(self, thread: Thread, key: str, draw: Draw) -> str:
        may_stream = self._can_stream and thread.place.thread and self._api.limits.is_free("chat.startStream")
        if (
            may_stream
            and not draw().is_final
            and (ts := await self._start_stream(thread, key, draw)) is not None
        ):
            return ts
        posted = await self._send("chat.postMessage", thread, key, draw)
        return str(posted["ts"])

    async def edit(self, thread: Thread, message: str, key: str, draw: Draw) -> None:
        channel = thread.place.channel
        if (stream := self._streams.get((channel, message))) is not None:
            if time.monotonic() < stream.ends_at and await self._go_on(thread, message, key, draw, stream):
                return
            del self._streams[channel, message]
            await self._end_stream(thread, message)
        try:
            await self._update(thread, message, key, draw)
        except (StillStreams, MessageGone, MessageRejected):  # maybe a stream of a former process
            await self._end_stream(thread, message)
            await self._update(thread, message, key, draw)

    async def delete(self, thread: Thread, message: str) -> None:
        self._streams.pop((thread.place.channel, message), None)
        arguments = {"channel": thread.place.channel, "ts": message}
        await self._api.call("chat.delete", thread.place, lambda: arguments)

    async def find(self, thread: Thread, key: str) -> str | None:
        streaming: str | None = None
        for oldest in (time.time() - RECENT, 0.0):
            async for message in self._own(thread, oldest):
                about = _payload(message)
                files = message.get("files") or ()
                if about.get("key") == key or any(
                    str(each.get("title")).endswith(_mark(key)) for each in files
                ):
                    return str(message["ts"])
                if not about and not message.get("files"):  # a stream gets its metadata when it ends
                    streaming = str(message["ts"])
            if streaming is not None:
                return streaming
        return None

    async def last_seq(self, thread: Thread) -> int | None:
        seqs = [
            int(about["seq"])
            async for message in self._own(thread, 0.0)
            if (about := _payload(message)).get("is_last") in {True, "true"}
        ]
        return max(seqs, default=0)

    async def before(self, received: Received) -> str:
        ts = received.id.rpartition("-")[2].replace("_", ".")
        if received.thread in {"", ts}:
            return ""
        texts: list[str] = []
        for oldest in (float(ts) - RECENT, 0.0):
            messages = [each async for each in self._api.messages(received.place, oldest, latest=ts)]
            texts = [
                f"@{each['user']}: {plain(str(each['text']), self._bot.user)}"
                for each in messages
                if each.get("user") and each.get("text") and each["ts"] != ts
            ]
            if len(texts) >= MAX_BEFORE:
                break
        return "\n\n".join(texts[-MAX_BEFORE:])[-MAX_BEFORE_SIZE:]

    async def notify(self, place: Place, person: str, text: str) -> None:
        arguments: dict[str, Any] = {"channel": place.channel, "user": person, "text": text}
        if place.thread:
            arguments["thread_ts"] = place.thread
        await self._api.call("chat.postEphemeral", place, lambda: arguments)

    async def fetch(self, file: RemoteFile) -> bytes:
        return await self._api.fetch(file)

    async def upload(self, thread: Thread, key: str, name: str, mime: str, content: bytes) -> str:
        # A file has no metadata: its title ends with what is looked for.
        return await self._api.upload(thread.place, name, f"{name} {_mark(key)}", content)

    async def _start_stream(self, thread: Thread, key: str, draw: Draw) -> str | None:
        """None: there are no streams here."""
        stream = _Stream()
        sent = stream.sending(draw)

        def arguments() -> dict[str, Any]:
            return {
                "channel": thread.place.channel,
                "thread_ts": thread.place.thread,
                "recipient_user_id": thread.person,
                "recipient_team_id": self._bot.team,
                "chunks": sent.chunks(),
            }

        try:
            started = await self._api.call("chat.startStream", thread.place, arguments)
        except _NoStream:
            return None
        except Unsupported as error:
            log.warning("slack_stream_refused", error=error.message)
            self._can_stream = not isinstance(error, StreamsUnavailable)
            return None
        sent.arrived()
        ts = str(started["ts"])
        self._streams[thread.place.channel, ts] = stream
        if sent.drawn.is_final:  # meanwhile
            await self.edit(thread, ts, key, draw)
        return ts

    async def _go_on(self, thread: Thread, message: str, key: str, draw: Draw, stream: "_Stream") -> bool:
        """Adds to a stream what has come, or ends it; False: it cannot say what the message is to say."""
        is_final = draw().is_final
        sent = stream.sending(draw)

        def arguments() -> dict[str, Any]:
            given: dict[str, Any] = {"channel": thread.place.channel, "ts": message}
            if chunks := sent.chunks():
                given["chunks"] = chunks
            elif not is_final:
                raise _Nothing
            return {**given, "metadata": metadata(key, sent.drawn)} if is_final else given

        method = "chat.stopStream" if is_final else "chat.appendStream"
        try:
            await self._api.call(method, thread.place, arguments, urgent=lambda: draw.is_over)
        except _Nothing:
            return True
        except (_NoStream, Unsupported, MessageRejected, MessengerBusy):
            # Nobody knows what it took: the whole text is sent again.
            return False
        sent.arrived()
        if is_final:
            self._streams.pop((thread.place.channel, message), None)
        elif sent.drawn.is_final:  # meanwhile
            return await self._go_on(thread, message, key, draw, stream)
        return True

    async def _end_stream(self, thread: Thread, message: str) -> None:
        arguments = {"channel": thread.place.channel, "ts": message}
        with suppress(Unsupported, MessageGone, MessageRejected):  # it had ended
            await self._api.call("chat.stopStream", thread.place, lambda: arguments)

    async def _update(self, thread: Thread, message: str, key: str, draw: Draw) -> None:
        await self._send("chat.update", thread, key, draw, urgent=lambda: draw.is_over, ts=message)

    async def _send(
        self, method: str, thread: Thread, key: str, draw: Draw, *, urgent: Urgent = ALWAYS, **more: str
    ) -> Mapping[str, Any]:
        """The message; as text alone where Slack does not take its blocks."""

        def blocks() -> dict[str, Any]:
            return {**self._shown(thread, key, draw), **more}

        def text() -> dict[str, Any]:
            return {**blocks(), "blocks": [], "text": without_blocks(draw())}

        try:
            return await self._api.call(method, thread.place, blocks, urgent=urgent)
        except MessageRejected as error:
            log.warning("slack_message_refused", error=error.message)
            return await self._api.call(method, thread.place, text, urgent=urgent)

    def _shown(self, thread: Thread, key: str, draw: Draw) -> dict[str, Any]:
        drawn = draw()
        place = thread.place
        return {
            "channel": place.channel,
            **({"thread_ts": place.thread} if place.thread else {}),
            "text": preview(drawn),
            "blocks": blocks_of(drawn),
            "metadata": metadata(key, drawn),
            "unfurl_links": False,
            "unfurl_media": False,
        }

    async def _own(self, thread: Thread, oldest: float) -> AsyncGenerator[Mapping[str, Any]]:
        """The bot's messages in the thread, in their order."""
        async for message in self._api.messages(thread.place, oldest):
            if message.get("user") == self._bot.user:
                yield message


class _NoStream(Exception):
    """The message takes something back, or has buttons, which a stream cannot do."""


class _Nothing(Exception):
    """There is nothing to add."""


class _Stream:
    """A message that is being streamed."""

    def __init__(self) -> None:
        self.streamed = Streamed()
        self.ends_at = time.monotonic() + STREAM_SECONDS

    def sending(self, draw: Draw) -> "_Sending":
        return _Sending(self.streamed, draw)


class _Sending:
    """What one call adds to a stream, drawn anew each time it is tried."""

    def __init__(self, streamed: Streamed, draw: Draw) -> None:
        self._streamed, self._draw = streamed, draw
        self.drawn = Drawn(())

    def chunks(self) -> list[dict[str, Any]]:
        self.drawn = self._draw()
        if not self._streamed.can_take(self.drawn):
            raise _NoStream
        return self._streamed.chunks(self.drawn)

    def arrived(self) -> None:
        self._streamed.took(self.drawn)


def _payload(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """What one of our messages tells of itself; {}: nothing."""
    about = message.get("metadata") or {}
    return about.get("event_payload") or {} if about.get("event_type") == EVENT_TYPE else {}


def _mark(key: str) -> str:
    """The end of a file's title."""
    return f"({key.rpartition('.')[2]})"

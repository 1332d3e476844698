"""Turns of one session, one after another: asked, followed to their end, stopped."""

import asyncio
import signal
import sys
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

from gateway.cli.chat.turn_view import TurnView
from gateway.cli.terminal import to_stderr
from gateway.client import AsyncGatewayClient, Frame
from gateway.errors import GatewayError

LEFT = Frame("left", None, b"")
"""In the place of a frame: the reader wants no more of them."""


class ChatSession:
    """`session` is the one to go on with; without one, it is made with the first message. `model` is that of
    the messages to come. In a `dialogue` somebody is at the terminal who can be asked."""

    def __init__(
        self, client: AsyncGatewayClient, session: dict[str, Any] | None, model: str | None, *, raw: bool
    ) -> None:
        self.client = client
        self.session_id: str | None = session["id"] if session else None
        self.model = model
        self.last_turn: str | None = None
        self.is_dialogue = False
        self._raw = raw
        self._frames: asyncio.Queue[Frame | GatewayError] = asyncio.Queue()
        self._held: deque[Frame | GatewayError] = deque()
        self._view = TurnView(raw=raw)
        self._running: tuple[str, str] | None = None
        self._interrupts = 0
        self._stopping: asyncio.Task[None] | None = None

    async def ask_each(self, lines: Iterable[str]) -> int:
        """Each line is a message. Returns the exit code of the last."""
        code = 0
        for line in lines:
            if line.strip():
                code = await self.ask(line.rstrip("\r\n"))
        return code

    async def ask(self, message: str, **body: Any) -> int:
        """A message and the turn that it starts, which waits for one that runs. Returns an exit code.

        Raises:
            GatewayError: it was not taken, or its stream is lost for good.
        """
        session = await self._session()
        body = {"on_conflict": "queue", **({"model": self.model} if self.model else {}), **body}
        turn = await self.client.start_turn(session, as_utf8(message), **body)
        return await self.follow(turn["turn_id"], int(turn["seq"]))

    async def _session(self) -> str:
        if self.session_id is None:
            self.session_id = str((await self.client.create_session())["id"])
        return self.session_id

    async def follow(self, turn_id: str, after: int) -> int:
        """Shows a turn of the session to its end, from the event after `after` on."""
        assert self.session_id is not None
        self.last_turn = turn_id
        self._running = (self.session_id, turn_id)
        self._view = TurnView(raw=self._raw, tells_cost=self.is_dialogue)
        self._held.clear()
        self._frames, self._interrupts = asyncio.Queue(), 0
        reading = asyncio.create_task(self._read(self.session_id, turn_id, after))
        try:
            async with self._interruptible():
                await self._show()
        finally:
            reading.cancel()
            self._view.end_answer()
            if self._stopping is not None:
                await self._stopping
                self._stopping = None
        return self._view.exit_code

    async def _read(self, session_id: str, turn_id: str, after: int) -> None:
        try:
            async with aclosing(
                self.client.follow_session(session_id, after=after, turn_id=turn_id)
            ) as frames:
                async for frame in frames:
                    self._frames.put_nowait(frame)
            self._frames.put_nowait(LEFT)
        except GatewayError as error:
            self._frames.put_nowait(error)

    async def _show(self) -> None:
        while True:
            try:
                frame = self._held.popleft() if self._held else await self._next()
            except TimeoutError:
                self._view.tick()
                continue
            if isinstance(frame, GatewayError):
                raise frame
            if frame is LEFT:
                return
            # What the model still said until it heard of the stop would begin a new line behind it.
            if self._stopping is None or frame.event not in {"text", "thinking"}:
                self._view.show(frame)
            if frame.event == "done":
                return
            if frame.event == "approval_request":
                await self._settle(frame.load())

    async def _next(self) -> Frame | GatewayError:
        async with asyncio.timeout(self._view.pace):
            return await self._frames.get()

    async def _settle(self, asked: dict[str, Any]) -> None:
        """Asks the person at the terminal, unless somebody else decides meanwhile. Frames that come are held
        until then."""
        if self._raw:
            return
        call = asked["tool_call_id"]
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            to_stderr(
                f"  gateway approvals approve {call} --session {asked['session_id']}, or deny, decides."
            )
            return
        if any(_decides(frame, call) for frame in self._held):
            return
        from gateway.cli.chat.asked_approval import ask_approval

        self._view.end_answer()
        asking = asyncio.create_task(ask_approval(asked["data"]))
        while not asking.done():
            coming = asyncio.create_task(self._frames.get())
            await asyncio.wait({asking, coming}, return_when=asyncio.FIRST_COMPLETED)
            if not coming.cancel():
                self._held.append(frame := coming.result())
                if frame is LEFT or isinstance(frame, GatewayError) or _decides(frame, call):
                    asking.cancel()
                    with suppress(asyncio.CancelledError):
                        await asking
            else:
                with suppress(asyncio.CancelledError):
                    await coming
        self._listen()  # the prompt has taken its place
        if asking.cancelled():
            return
        decision = asking.result()
        if decision == "stop":
            self._interrupt()
        elif decision == "leave":
            self._leave()
        else:
            await self._decide(asked, decision)

    async def _decide(self, asked: dict[str, Any], decision: dict[str, Any]) -> None:
        try:
            await self.client.decide(asked["session_id"], asked["turn_id"], asked["tool_call_id"], **decision)
        except GatewayError as error:
            self._view.note(f"✗ {error}")

    @asynccontextmanager
    async def _interruptible(self) -> AsyncGenerator[None]:
        """The first Ctrl-C stops the turn on the server, whose end is still shown; the second one leaves."""
        before = signal.getsignal(signal.SIGINT)
        self._listen()
        try:
            yield
        finally:
            asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, before)

    def _listen(self) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupt)

    def _interrupt(self) -> None:
        self._interrupts += 1
        self._view.end_answer()
        if self._interrupts == 1:
            self._stopping = asyncio.create_task(self._stop())
        elif self.is_dialogue:
            self._leave()
        else:
            raise KeyboardInterrupt

    def _leave(self) -> None:
        to_stderr("Left: the turn may go on at the server. /follow shows it again, /stop stops it.")
        self._held.appendleft(LEFT)
        self._frames.put_nowait(LEFT)  # wakes who waits for one

    async def _stop(self) -> None:
        assert self._running is not None
        to_stderr("\nstopping…")
        try:
            await self.client.cancel(*self._running)
        except GatewayError as error:
            to_stderr(f"The turn could not be stopped and goes on: {error}")


def _decides(frame: Frame | GatewayError, call: str) -> bool:
    if isinstance(frame, GatewayError) or frame.event not in {"approval_response", "tool_result", "done"}:
        return False
    return frame.event == "done" or frame.load().get("tool_call_id") == call


def asked(message: str | None) -> str:
    """The message of an argument, and below it what is on stdin, unless that is a terminal; empty where
    nothing is said."""
    given = [message or ""]
    if sys.stdin and not sys.stdin.isatty():  # None: it was closed
        given.append(sys.stdin.buffer.read().decode(errors="replace").rstrip("\r\n"))
    return "\n".join(as_utf8(each) for each in given if each.strip())


def as_utf8(text: str) -> str:
    """The text with U+FFFD for bytes that were none: an argument or a terminal passes them on as
    surrogates (PEP 383)."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

"""One call of a tool within its time limit."""

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import structlog

from gateway.errors import ToolError, ToolTimedOut
from gateway.events.envelope import EventData
from gateway.tools.base import Tool, ToolContext, ToolOutput
from gateway.tools.result import sound

STOP_TIMEOUT = 1.0
"""Seconds that a cancelled call gets to end; then it is left behind."""
MAX_ABANDONED = 8
"""Calls of one tool that may be left behind; while there are so many, no other one of it begins."""
EMIT_TIMEOUT = 10.0
"""Seconds that a thread waits for the event loop to emit an event: only a blocked loop takes so long."""

log = structlog.get_logger(__name__)

_left_behind: defaultdict[str, set[asyncio.Future[Any]]] = defaultdict(set)


async def run_in_time(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> ToolOutput:
    """Runs the tool in a task of its own, for `tool.timeout` seconds or until the caller is cancelled. Then
    it is cancelled and, should it not end, abandoned: its later events are dropped.

    Raises:
        ToolTimedOut: it was not done in time.
        ToolError: the tool raised it, it gave up, it raised something that would stop the server, or too many
            calls of it are left behind, or what it gave back has no text.
        Exception: any other exception of the tool.
    """
    name = tool.spec.name
    refuse_stuck(name)
    gate = _EmitGate(context.emit)
    call = asyncio.create_task(_run(tool, arguments, replace(context, emit=gate.emit)), name=f"tool {name}")
    try:
        done, _ = await asyncio.wait((call,), timeout=tool.timeout)
    finally:
        try:
            if not call.done():
                await _stop(call, name)
        finally:
            gate.close()
    outcome = call.result() if call.done() and not call.cancelled() else asyncio.CancelledError()
    if isinstance(outcome, ToolOutput):
        return sound(outcome)  # also a late one: it knows better than the clock what came of the call
    if not done and not isinstance(outcome, ToolError):
        raise ToolTimedOut(_too_late(tool))
    if isinstance(outcome, asyncio.CancelledError):
        raise ToolError("The tool gave up: something it waited for was cancelled.")
    if isinstance(outcome, Exception):
        raise outcome
    raise ToolError(f"The tool failed: {type(outcome).__name__}.")


def refuse_stuck(name: str) -> None:
    """Raises errors.ToolError when too many calls of the tool `name` are left behind to begin another."""
    if len(_left_behind[name]) >= MAX_ABANDONED:
        raise ToolError(f"{name} is not available: {MAX_ABANDONED} earlier calls of it have not ended yet.")


def leave_behind(name: str, running: asyncio.Future[Any]) -> None:
    """Keeps account of something of the tool `name` that was to stop and goes on."""
    calls = _left_behind[name]
    calls.add(running)
    running.add_done_callback(calls.discard)
    if isinstance(running, asyncio.Task):
        # Otherwise the end of the server would wait for it without end: asyncio's runner cancels the tasks
        # that it knows and awaits them. (docs.python.org, "Extending asyncio", task lifetime support)
        asyncio.tasks._unregister_task(running)  # pyright: ignore[reportPrivateUsage]
    log.warning("tool_left_behind", tool=name, left_behind=len(calls))


async def _run(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> ToolOutput | BaseException:
    """What came of it, also of exceptions: a SystemExit that leaves a task would stop the event loop."""
    try:
        return await tool.run(arguments, context)
    except BaseException as error:  # noqa: BLE001 - a tool may raise anything; the caller sorts it
        return error


async def _stop(call: asyncio.Task[Any], name: str) -> None:
    call.cancel()
    try:
        await asyncio.wait((call,), timeout=STOP_TIMEOUT)
    finally:
        if not call.done():
            leave_behind(name, call)


def _too_late(tool: Tool) -> str:
    message = f"The tool gave no answer within {tool.timeout:g} seconds."
    if tool.effect == "effectful":
        return f"{message} It may or may not have taken effect: verify before trying again."
    return message


class _EmitGate:
    """The events of a call while it lasts, from any thread. A thread waits until its event is emitted, so
    that it cannot emit more than the turn can take."""

    def __init__(self, emit: Callable[[EventData], None]) -> None:
        self._emit = emit
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._open = True

    def close(self) -> None:
        self._open = False

    def emit(self, data: EventData) -> None:
        """Raises errors.ToolError when the call is over, what the turn's own emit raises, and, in a thread,
        TimeoutError."""
        if threading.get_ident() == self._thread:
            self._emit_open(data)
            return
        emitted: Future[None] = Future()
        self._loop.call_soon_threadsafe(self._emit_for, data, emitted)
        emitted.result(EMIT_TIMEOUT)

    def _emit_open(self, data: EventData) -> None:
        if not self._open:
            raise ToolError("The call is over: nothing more can be told.")
        self._emit(data)

    def _emit_for(self, data: EventData, emitted: Future[None]) -> None:
        try:
            emitted.set_result(self._emit_open(data))
        except Exception as error:  # noqa: BLE001 - it belongs to the thread that waits
            emitted.set_exception(error)

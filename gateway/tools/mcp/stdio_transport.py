"""A server that is a program of ours: spoken to in lines of JSON over its standard streams.

The SDK's own transport reads lines of any length, and logs those that it cannot read.
"""

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, RequestId

from gateway.cancellation_shield import finish
from gateway.child_process import ChildProcess, start_child
from gateway.json_parts import PartCounter
from gateway.settings.value_types import McpServer
from gateway.tools.mcp import bounds
from gateway.tools.mcp.failure_messages import ConnectionEnding
from gateway.tools.mcp.wire_messages import Mend, read_apart, read_messages

GRACE = 2.0
"""Seconds that a program gets to end after its input was closed, and again after SIGTERM. (MCP
specification, "Lifecycle", shutdown over stdio)"""

_ENDED = "it has ended"

Inbox = MemoryObjectSendStream[SessionMessage | Exception]
Outbox = MemoryObjectReceiveStream[SessionMessage]
Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def stdio_transport(
    server: McpServer, ending: ConnectionEnding, on_line: Callable[[str], None], results: Mend
) -> AsyncGenerator[Streams]:
    """Starts the program and in any case ends it with all that it started itself, in at most three times
    GRACE. `on_line` gets the lines of its standard error; results are what `results` makes of them.

    Raises:
        OSError: it cannot be started.
    """
    process = await _start(server)
    inbox, messages = anyio.create_memory_object_stream[SessionMessage | Exception]()
    answers, outbox = anyio.create_memory_object_stream[SessionMessage]()
    asked: dict[RequestId, None] = {}
    tasks = [
        asyncio.create_task(_read_stderr(process, ending, on_line)),
        asyncio.create_task(_read(process, inbox, ending, asked, results)),
        asyncio.create_task(_write(process, outbox, inbox, asked)),
    ]
    try:
        yield messages, answers
    finally:
        for task in tasks[1:]:  # not the first: the last words are still to come
            task.cancel()
        try:
            await finish(asyncio.wait((asyncio.create_task(_stop(process, ending)),)))
        finally:
            process.close()
            tasks[0].cancel()
            for stream in (inbox, messages, answers, outbox):
                stream.close()
        await asyncio.wait(tasks)


async def _start(server: McpServer) -> ChildProcess:
    given = {name: value.get_secret_value() for name, value in server.env.items()}
    return await start_child(
        (server.command or "", *server.args),
        get_default_environment() | given,
        cwd=server.cwd,
        own_group=True,  # its process group is what is ended
        with_stderr=True,
        limit=bounds.MESSAGE,
    )


async def _read(
    process: ChildProcess,
    inbox: Inbox,
    ending: ConnectionEnding,
    asked: dict[RequestId, None],
    results: Mend,
) -> None:
    """Every line of standard output is a message. Closing the inbox is how the session learns of the end.
    Of the requests that are `asked` and not answered, an error without an id is that of the last one: a
    program that could not read a line says so at once."""
    strange = 0
    with inbox, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        while strange < bounds.STRANGE_LINES:
            try:
                line = await process.stdout.readuntil()
            except asyncio.IncompleteReadError:
                ending.because(_ENDED)
                return
            except asyncio.LimitOverrunError:
                ending.because(f"it sent a message of more than {bounds.MESSAGE} bytes")
                return
            last = next(reversed(asked), None)
            try:
                messages = await read_apart(len(line), partial(_messages, line, last, results))
            except _TooManyParts:
                ending.because(f"it sent a message of more than {bounds.PARTS} objects, lists and values")
                return
            except ValueError:
                strange += 1
                continue
            strange = 0
            for message in messages:
                if isinstance(message, JSONRPCResponse | JSONRPCError):
                    for request in (message.id, _number(message.id)):
                        if request is not None:
                            asked.pop(request, None)
                await inbox.send(SessionMessage(message))
        ending.because("it writes something else than messages to its standard output")


class _TooManyParts(Exception):
    """A message has more than bounds.PARTS."""


def _messages(line: bytes, unanswered: RequestId | None, results: Mend) -> list[JSONRPCMessage]:
    """Raises ValueError: it is none; _TooManyParts."""
    if PartCounter(with_values=True).add(line) > bounds.PARTS:
        raise _TooManyParts
    return read_messages(line, unanswered, results)


def _number(request: RequestId | None) -> int | None:
    """An id that a program has made a string."""
    return int(request) if isinstance(request, str) and request.isdecimal() else None


async def _write(process: ChildProcess, outbox: Outbox, inbox: Inbox, asked: dict[RequestId, None]) -> None:
    with inbox, outbox, suppress(OSError):  # what cannot be sent any more will not be answered either
        async for message in outbox:
            if isinstance(message.message, JSONRPCRequest):
                asked[message.message.id] = None
                while len(asked) > bounds.ASKED:
                    del asked[next(iter(asked))]
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(line.encode() + b"\n")
            await process.stdin.drain()


async def _read_stderr(
    process: ChildProcess, ending: ConnectionEnding, on_line: Callable[[str], None]
) -> None:
    assert process.stderr is not None
    count = 0
    while chunk := await process.stderr.read(65_536):
        for line in chunk.decode(errors="replace").splitlines():
            if line.strip():
                ending.detail = line
                count += 1
                if count <= bounds.STDERR_LINES:
                    on_line(line)


async def _stop(process: ChildProcess, ending: ConnectionEnding) -> None:
    process.stdin.close()
    if await _has_ended(process):
        if ending.reason == _ENDED:
            ending.reason = f"{_ENDED} with exit code {process.returncode}"
    else:
        process.signal(signal.SIGTERM, group=True)
        await _has_ended(process)
    process.signal(signal.SIGKILL, group=True)  # also what it started and left behind
    await _has_ended(process)


async def _has_ended(process: ChildProcess) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(GRACE):
            await process.wait()
    return process.returncode is not None

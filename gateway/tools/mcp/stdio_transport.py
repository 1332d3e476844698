"""A server that is a program of ours: spoken to in lines of JSON over its standard streams.

The SDK's own transport reads lines of any length, and logs those that it cannot read.
"""

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from gateway.cancellation_shield import finish
from gateway.json_parts import PartCounter
from gateway.settings.value_types import McpServer
from gateway.tools.mcp import bounds
from gateway.tools.mcp.failure_messages import ConnectionEnding

GRACE = 2.0
"""Seconds that a program gets to end after its input was closed, and again after SIGTERM. (MCP
specification, "Lifecycle", shutdown over stdio)"""

_ENDED = "it has ended"

Inbox = MemoryObjectSendStream[SessionMessage | Exception]
Outbox = MemoryObjectReceiveStream[SessionMessage]
Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def stdio_transport(
    server: McpServer, ending: ConnectionEnding, on_line: Callable[[str], None]
) -> AsyncGenerator[Streams]:
    """Starts the program and in any case ends it with all that it started itself, in at most three times
    GRACE. `on_line` gets the lines of its standard error.

    Raises:
        OSError: it cannot be started.
    """
    transport, process = await _start(server)
    inbox, messages = anyio.create_memory_object_stream[SessionMessage | Exception]()
    answers, outbox = anyio.create_memory_object_stream[SessionMessage]()
    tasks = [
        asyncio.create_task(_read_stderr(process, ending, on_line)),
        asyncio.create_task(_read(process, inbox, ending)),
        asyncio.create_task(_write(process, outbox, inbox)),
    ]
    try:
        yield messages, answers
    finally:
        for task in tasks[1:]:  # not the first: the last words are still to come
            task.cancel()
        try:
            await finish(asyncio.wait((asyncio.create_task(_stop(process, ending)),)))
        finally:
            transport.close()
            tasks[0].cancel()
            for stream in (inbox, messages, answers, outbox):
                stream.close()
        await asyncio.wait(tasks)


async def _start(server: McpServer) -> tuple[asyncio.SubprocessTransport, Process]:
    # In two steps, since only the transport can be closed while something else holds the program's pipes.
    loop = asyncio.get_running_loop()
    given = {name: value.get_secret_value() for name, value in server.env.items()}
    transport, protocol = await loop.subprocess_exec(
        lambda: SubprocessStreamProtocol(limit=bounds.MESSAGE, loop=loop),
        server.command or "",
        *server.args,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=get_default_environment() | given,
        cwd=server.cwd,
        start_new_session=True,  # its process group is what is ended
    )
    return transport, Process(transport, protocol, loop)


async def _read(process: Process, inbox: Inbox, ending: ConnectionEnding) -> None:
    """Every line of standard output is a message. Closing the inbox is how the session learns of the end."""
    assert process.stdout is not None
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
            if PartCounter().add(line) > bounds.PARTS:
                ending.because(f"it sent a message of more than {bounds.PARTS} objects and lists")
                return
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                strange += 1
                continue
            strange = 0
            await inbox.send(SessionMessage(message))
        ending.because("it writes something else than messages to its standard output")


async def _write(process: Process, outbox: Outbox, inbox: Inbox) -> None:
    assert process.stdin is not None
    with inbox, outbox, suppress(OSError):  # what cannot be sent any more will not be answered either
        async for message in outbox:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(line.encode() + b"\n")
            await process.stdin.drain()


async def _read_stderr(process: Process, ending: ConnectionEnding, on_line: Callable[[str], None]) -> None:
    assert process.stderr is not None
    count = 0
    while chunk := await process.stderr.read(65_536):
        for line in chunk.decode(errors="replace").splitlines():
            if line.strip():
                ending.detail = line
                count += 1
                if count <= bounds.STDERR_LINES:
                    on_line(line)


async def _stop(process: Process, ending: ConnectionEnding) -> None:
    assert process.stdin is not None
    process.stdin.close()
    if await _has_ended(process):
        if ending.reason == _ENDED:
            ending.reason = f"{_ENDED} with exit code {process.returncode}"
    else:
        _signal(process, signal.SIGTERM)
        await _has_ended(process)
    _signal(process, signal.SIGKILL)  # also what it started and left behind
    await _has_ended(process)


async def _has_ended(process: Process) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(GRACE):
            await process.wait()
    return process.returncode is not None


def _signal(process: Process, number: signal.Signals) -> None:
    """To the program and what it started: its process group has its id, also when it has ended itself."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)

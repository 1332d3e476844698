"""A program that is started, spoken to over pipes, and ended.

Nothing forks. What asyncio and uvloop have for this does: uvloop calls fork(2), which runs the handlers that
libraries have for it (pthread_atfork). That of OpenBLAS, which numpy brings along, waits there for its
threads, and when one of them computes it waits for good, with Python's lock in hand. `subprocess` calls
vfork(2), which runs no handler and copies no page, for as long as nothing has to run between it and exec.
"""

import asyncio
import os
import signal
import threading
from asyncio import StreamReader, StreamReaderProtocol, StreamWriter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import IO

_BUFFER = 65_536
_LOADERS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")  # what Python itself may need; no secret of the gateway's


class ChildProcess:
    """A program that runs, and our ends of its pipes. `stderr` is None where what it writes there goes
    nowhere."""

    def __init__(
        self,
        started: Popen[bytes],
        stdin: StreamWriter,
        stdout: StreamReader,
        stderr: StreamReader | None,
        readers: Sequence[asyncio.ReadTransport],
    ) -> None:
        self.pid = started.pid
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self._readers = readers
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        # asyncio's own way as well; a signal of a child's end would be the whole process's.
        threading.Thread(
            target=self._wait, args=(started, asyncio.get_running_loop()), daemon=True, name="child"
        ).start()

    @property
    def returncode(self) -> int | None:
        """The exit status of the process, negative by a signal; None as long as it is not known."""
        return self._ended.result() if self._ended.done() else None

    async def wait(self) -> int:
        """The return code of the process, when it has ended."""
        return await asyncio.shield(self._ended)

    def signal(self, number: signal.Signals, *, group: bool = False) -> None:
        """Sends it a signal, with `group` also to what it started: its process group has its id, also when it
        has ended itself."""
        with suppress(ProcessLookupError, PermissionError):
            if group:
                os.killpg(self.pid, number)
            elif not self._ended.done():
                os.kill(self.pid, number)

    def close(self) -> None:
        """Closes our ends of its pipes, also while something else has the others."""
        for transport in (self.stdin.transport, *self._readers):
            transport.close()

    def _wait(self, started: Popen[bytes], loop: asyncio.AbstractEventLoop) -> None:
        code = started.wait()
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(self._note_end, code)

    def _note_end(self, code: int) -> None:
        if not self._ended.done():
            self._ended.set_result(code)


async def start_child(
    command: Sequence[str | Path],
    env: Mapping[str, str],
    *,
    cwd: str | Path | None = None,
    own_group: bool = False,
    with_stderr: bool = False,
    limit: int = _BUFFER,
) -> ChildProcess:
    """Starts a program, with these variables alone. `own_group`: signals of the terminal do not reach it.
    `limit` is how many bytes a line may have that is read of it. Raises OSError where it cannot start."""
    # In a thread it would keep Python's lock for that millisecond too. What runs is ours, or the operators'.
    started = Popen(  # noqa: ASYNC220, S603
        command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE if with_stderr else DEVNULL,
        env=dict(env),
        cwd=cwd,
        start_new_session=own_group,
        bufsize=0,
    )
    connected = asyncio.ensure_future(_connect(started, limit))
    try:
        return await asyncio.shield(connected)
    except BaseException:
        await asyncio.wait([connected])  # at once: nothing in it waits for the program
        if connected.exception() is None:
            child = connected.result()
            child.signal(signal.SIGKILL)
            child.close()
            await child.wait()
        raise


async def _connect(started: Popen[bytes], limit: int) -> ChildProcess:
    loop = asyncio.get_running_loop()
    assert started.stdin is not None
    assert started.stdout is not None
    transport, protocol = await loop.connect_write_pipe(
        lambda: StreamReaderProtocol(StreamReader(loop=loop), loop=loop), started.stdin
    )
    stdin = StreamWriter(transport, protocol, None, loop)
    readers = {pipe: await _reader(loop, pipe, limit) for pipe in (started.stdout, started.stderr) if pipe}
    stderr = readers[started.stderr][0] if started.stderr is not None else None
    transports = [transport for _, transport in readers.values()]
    return ChildProcess(started, stdin, readers[started.stdout][0], stderr, transports)


async def _reader(
    loop: asyncio.AbstractEventLoop, pipe: IO[bytes], limit: int
) -> tuple[StreamReader, asyncio.ReadTransport]:
    reader = StreamReader(limit=limit, loop=loop)
    transport, _ = await loop.connect_read_pipe(lambda: StreamReaderProtocol(reader, loop=loop), pipe)
    return reader, transport


async def answer_of(
    command: Sequence[str | Path], content: AsyncIterator[bytes], most: int, seconds: float
) -> tuple[bytes, int | None]:
    """The output of a program when it is given that content, at most about `most` bytes, and its return code;
    nothing, and None, where it took longer than `seconds` or wrote more. It has ended when this returns or
    raises, also when the caller is cancelled.

    Raises:
        OSError: it cannot be started. What reading `content` raises.
    """
    child = await start_child(command, {name: os.environ[name] for name in _LOADERS if name in os.environ})
    try:
        async with asyncio.timeout(seconds):
            written = await _converse(child, content, most)
            return (b"", None) if written is None else (written, await child.wait())
    except TimeoutError:
        return b"", None
    finally:
        child.signal(signal.SIGKILL)
        child.close()
        await child.wait()


async def _converse(child: ChildProcess, content: AsyncIterator[bytes], most: int) -> bytes | None:
    with suppress(ConnectionError):  # it ended early: it wrote why, or has reached a limit
        async for piece in content:
            child.stdin.write(piece)
            await child.stdin.drain()
        child.stdin.close()
    written = bytearray()
    while piece := await child.stdout.read(_BUFFER):
        written += piece
        if len(written) > most:
            return None
    return bytes(written)

"""The `gateway` command of a shell, in processes that did not have to import everything first."""

import os
import signal
import socket
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from marshal import loads
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path

from gateway.cli import main
from tests.forked import forked, write_to

# It hands over its files, its folder, its arguments and its environment, and ends as the other process does.
# What of Python is not there at once (`site`, `socket`) costs more than all of this.
_GATEWAY = """\
#!{python} -IS
import _socket, os, sys
from marshal import dumps
there = _socket.socket(_socket.AF_UNIX)
there.connect({address!r})
files = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
there.sendmsg([b"files"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
there.sendall(dumps((os.getcwd(), sys.argv[1:], dict(os.environ))))
there.shutdown(_socket.SHUT_WR)
sys.exit(int(there.recv(9)))
"""
_Caller = tuple[str, list[str], dict[str, str]]


@contextmanager
def gateway_commands(programs: Path) -> Generator[None]:
    """`gateway` is one of these programs. Leaving the context ends all that still run."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address := f"{folder}/gateway")
        listening.listen()
        gateway = programs / "gateway"
        gateway.write_text(_GATEWAY.format(python=sys.executable, address=address))
        gateway.chmod(0o755)
        process = forked(_serve, listening)
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid or 0, signal.SIGKILL)
            process.kill()
            process.join()


def _serve(listening: socket.socket) -> None:
    """Forks a process for each that calls, in one group with it."""
    os.setsid()
    running = dict[int, tuple[ForkProcess, socket.socket]]()
    while True:
        for ready in wait([listening, *running]):
            if isinstance(ready, int):
                process, caller = running.pop(ready)
                process.join()
                with caller, suppress(BrokenPipeError):  # the shell's end is that of its commands
                    caller.sendall(b"%d" % (process.exitcode or 0))
            else:
                caller, _ = listening.accept()
                process = get_context("fork").Process(target=_run, args=(caller,))
                process.start()
                running[process.sentinel] = process, caller


def _run(caller: socket.socket) -> None:
    _, files, _, _ = socket.recv_fds(caller, 5, 3)
    told: _Caller = loads(b"".join(iter(lambda: caller.recv(1 << 16), b"")))
    folder, arguments, environment = told
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, file in enumerate(files):
        os.dup2(file, number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - until the process ends
    write_to(1)
    sys.argv = ["gateway", *arguments]
    main()

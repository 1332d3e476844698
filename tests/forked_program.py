"""The `gateway` command as a program, whose processes did not have to import everything first."""

import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from marshal import loads
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path

from gateway.cli import main
from tests.forked import forked, write_to

# It hands over its files, its folder, its arguments and its environment, passes signals on, and ends as the
# other process does. What of Python is not there at once (`site`, `socket`) costs more than all of this.
_PROGRAM = """\
#!{python} -IS
import _signal, _socket, os, sys
from marshal import dumps
passed_on = (_signal.SIGINT, _signal.SIGTERM)
_signal.pthread_sigmask(_signal.SIG_BLOCK, passed_on)
there = _socket.socket(_socket.AF_UNIX)
there.connect({address!r})
told = dumps((os.getcwd(), sys.argv[1:], dict(os.environ)))
files = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
there.sendmsg([b"%9d" % len(told)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
there.sendall(told)
process = int(there.recv(9))
for each in passed_on:
    _signal.signal(each, lambda number, _: os.kill(process, number))
_signal.pthread_sigmask(_signal.SIG_UNBLOCK, passed_on)
code = int(there.recv(9))
if code < 0:
    _signal.signal(-code, _signal.SIG_DFL) if -code != _signal.SIGKILL else None
    os.kill(os.getpid(), -code)
sys.exit(code)
"""
_Caller = tuple[str, list[str], dict[str, str]]


@contextmanager
def gateway_program(folder: Path) -> Generator[Path]:
    """The program `gateway` in this folder. Leaving the context kills all of it that still runs."""
    with tempfile.TemporaryDirectory() as place, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address := f"{place}/gateway")
        listening.listen()
        program = folder / "gateway"
        program.write_text(_PROGRAM.format(python=sys.executable, address=address))
        program.chmod(0o755)
        process = forked(_serve, listening)
        try:
            yield program
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid or 0, signal.SIGKILL)
            process.kill()
            process.join()
            process.close()


def _serve(listening: socket.socket) -> None:
    """Forks a process for each that calls, in one group with it, and tells it how that one ended."""
    os.setsid()
    running = dict[int, tuple[ForkProcess, socket.socket]]()
    while True:
        for ready in wait([listening, *running]):
            if isinstance(ready, int):
                process, caller = running.pop(ready)
                process.join()
                with caller, suppress(BrokenPipeError):  # it was killed
                    caller.sendall(b"%9d" % (process.exitcode or 0))
            else:
                caller, _ = listening.accept()
                process = get_context("fork").Process(target=_run, args=(caller,))
                process.start()
                running[process.sentinel] = process, caller


def _run(caller: socket.socket) -> None:
    size, files, _, _ = socket.recv_fds(caller, 9, 3)
    told: _Caller = loads(caller.recv(int(size), socket.MSG_WAITALL))
    folder, arguments, environment = told
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    write_to(1)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
    sys.argv = ["gateway", *arguments]
    threading.Thread(target=_end_with, args=(caller,), daemon=True).start()
    caller.sendall(b"%9d" % os.getpid())
    main()


def _end_with(caller: socket.socket) -> None:
    """Who kills the program means this process."""
    caller.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)

"""Processes forked from one that has imported what a gateway loads, so that tests can afford many of them."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import chdir, contextmanager
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import TextIO

import anthropic
import httpx2
import typer.main

import gateway.app
import gateway.cli.http_server
import gateway.memory.tool_call
import gateway.model.http_client
import gateway.storage.blobs.folder
import gateway.storage.postgres
from gateway.adapters.adapter import MODULES, switched_on
from gateway.adapters.slack import slack_program
from gateway.api.url_table import ENDPOINTS
from gateway.cli import command_tree
from gateway.model.prices import cost_of
from tests.known import remember
from tests.product import Usage

# What a gateway would load or find out when it starts, to be forked with the rest.
remember()
assert gateway.cli.http_server.build_app is gateway.app.build_app
assert all((anthropic, gateway.memory.tool_call, gateway.model.http_client, gateway.storage.blobs.folder))
assert all((gateway.storage.postgres, slack_program))
assert typer.main.get_command(command_tree.command_tree())
assert httpx2.create_ssl_context()
for each in (*ENDPOINTS, *(row for adapter in switched_on([*MODULES]).values() for row in adapter.endpoints)):
    each.route()
cost_of("claude-sonnet-5-5", Usage(input_tokens=1, output_tokens=1))

ROOT = Path(__file__).parent.parent
FORKED = get_context("forkserver")
FORKED_FROM = "tests.forked_from"
"""What the process imports that the others are forked from."""
PR_SET_PDEATHSIG = 1
"""Of `man 2 prctl`: a signal for when the parent has ended."""


def forked(run: Callable[..., object], *args: object) -> ForkServerProcess:
    """A process that runs this."""
    FORKED.set_forkserver_preload([FORKED_FROM])
    process = FORKED.Process(target=_run, args=(run, args))
    with chdir(ROOT):  # where the first of them, from which the others are forked, finds this module
        process.start()
    return process


@contextmanager
def telling(run: Callable[..., object], *args: object) -> Generator[tuple[ForkServerProcess, TextIO]]:
    """A process that runs this, and its standard output. Leaving the context kills it."""
    ours, theirs = FORKED.Pipe(duplex=False)
    process = forked(_tell, theirs, run, args)
    theirs.close()
    try:
        with ours, os.fdopen(os.dup(ours.fileno()), encoding="utf-8") as output:
            yield process, output
    finally:
        process.kill()
        process.join()
        process.close()


def _run(run: Callable[..., object], args: Sequence[object]) -> None:
    _end_with_the_tests()
    run(*args)


def _end_with_the_tests() -> None:
    """Has this process killed when the tests' own is gone, however that ended, instead of holding its output
    open: the process that all are forked from ends when nobody but the tests' could ask it for another."""
    os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def write_to(output: int) -> None:
    """Has this process write there what it prints."""
    os.dup2(output, 1)
    sys.stdout = os.fdopen(1, "w", buffering=1, encoding="utf-8", closefd=False)


def _tell(output: Connection, run: Callable[..., object], args: tuple[object, ...]) -> None:
    write_to(output.fileno())
    run(*args)

"""A gateway in a process that kills itself at a given moment of a turn that waits, as kill -9 would."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import gateway.turn.model_call
import gateway.turn.tool_calls
from gateway.storage.decisions.approvals import Approvals
from gateway.storage.decisions.client_calls import ClientCalls
from gateway.turn.context import TurnContext
from tests.forked import FORKED, forked
from tests.harness import TIMEOUT, running_gateway, settings_for
from tests.product import FunctionTool, tool

Step = Callable[..., Awaitable[Any]]


def doomed_gateway(
    folder: Path, model_url: str, moment: str | None = None
) -> AbstractAsyncContextManager[tuple[str, ForkServerProcess]]:
    """A gateway over `folder` at this URL. With `moment` it dies when a call comes to that moment which has
    it as its argument. Leaving the context kills it."""
    return served_by(_serve, folder, model_url, moment)


@asynccontextmanager
async def served_by(
    serve: Callable[..., object], *args: object
) -> AsyncGenerator[tuple[str, ForkServerProcess]]:
    """A process that runs `serve`, which sends the URL of its gateway through the last of its arguments, a
    connection. Leaving the context kills it."""
    ours, theirs = FORKED.Pipe()
    process = forked(serve, *args, theirs)
    theirs.close()
    try:
        if not await asyncio.to_thread(ours.poll, TIMEOUT):
            raise AssertionError("the gateway did not start")
        yield ours.recv(), process
    finally:
        ours.close()
        process.kill()
        await asyncio.to_thread(process.join)
        process.close()


def keep(folder: Path, moment: str | None) -> FunctionTool:
    """A tool whose effect can be counted: a line in the file `kept`."""

    @tool(effect="effectful", name="keep")
    def run(line: str) -> str:
        """Keeps a line."""
        with (folder / "kept").open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        if line == moment == "in the call":
            _die()
        return f"kept {line}"

    return run


def kept(folder: Path) -> list[str]:
    """The lines that were kept, in their order."""
    file = folder / "kept"
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def _serve(folder: Path, model_url: str, moment: str | None, ready: Connection) -> None:
    if moment is not None:
        _arrange(moment)
    asyncio.run(_run(folder, model_url, moment, ready))


async def _run(folder: Path, model_url: str, moment: str | None, ready: Connection) -> None:
    async with running_gateway(settings_for(folder, model_url), keep(folder, moment)) as client:
        ready.send(client.url)
        await asyncio.Event().wait()


def _arrange(moment: str) -> None:
    """Has the step that the moment names end the process, when it is about that very call: its arguments, its
    name or its message have the moment."""
    when, _, what = moment.partition(" ")
    names = (moment, name_of(moment))
    owners: tuple[Any, ...] = (Approvals, ClientCalls, gateway.turn.tool_calls, gateway.turn.model_call)
    owner = next((each for each in owners if hasattr(each, what)), None)
    if owner is None:
        return
    step: Step = getattr(owner, what)

    async def doomed(*args: Any) -> Any:
        about = args[0].row.input if isinstance(args[0], TurnContext) else repr(args)
        is_it = any(name in about for name in names)
        if is_it and when == "before":
            _die()
        outcome = await step(*args)
        if is_it and when == "after" and outcome is not False:
            _die()
        return outcome

    setattr(owner, what, doomed)


def name_of(moment: str) -> str:
    """The name of a client's tool whose call is to meet that moment."""
    return moment.replace(" ", "_")


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)

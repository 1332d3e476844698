"""Holds of the event loop: steps of a gateway in which nothing else can run, as it computes. What is counted
is the CPU time of the loop's thread, so that a busy machine makes no difference."""

import asyncio
import gc
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from time import thread_time
from typing import Any

from pydantic._internal import _model_construction
from starlette.types import ASGIApp, Receive, Scope, Send

import gateway

LIMIT = 0.05
"""Seconds of CPU that one step may take."""
_ROOT = str(Path(gateway.__file__).parent)
_PROGRAMS = ("/cli/", "/client/", "/demo/", "/adapters/messengers/", "/adapters/slack/")
"""What runs in processes of its own beside the gateway's, and in the loop of a test together with it."""
_run = asyncio.Handle._run  # pyright: ignore[reportPrivateUsage]
_complete = _model_construction.complete_model_class
_request: ContextVar[str] = ContextVar("request")


@dataclass(slots=True)
class Hold:
    """A step that took `seconds`; `what` is the request that it served, or where the code is."""

    what: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.what}: {self.seconds * 1000:.0f} ms"


holds: list[Hold] = []
"""Those that took longer than LIMIT, since somebody emptied it."""
_built = 0


class _Collections(threading.local):
    """What the garbage collection has taken of a thread's time: it runs in whichever thread comes to it."""

    began = 0.0
    seconds = 0.0


_collections = _Collections()


def watch() -> None:
    """From now on, in all event loops of this process (asyncio's own: others do not ask)."""
    asyncio.Handle._run = _timed  # type: ignore[method-assign] # pyright: ignore[reportPrivateUsage]
    _model_construction.complete_model_class = _counted
    gc.callbacks.append(_collected)


@contextmanager
def steps_taken() -> Generator[list[float]]:
    """The CPU seconds of all steps of the event loop from now on, whosever they are."""
    steps = [0.0]
    run = asyncio.Handle._run  # pyright: ignore[reportPrivateUsage]

    def timed(handle: asyncio.Handle) -> None:
        before = thread_time()
        run(handle)
        steps.append(thread_time() - before)

    asyncio.Handle._run = timed  # type: ignore[method-assign] # pyright: ignore[reportPrivateUsage]
    try:
        yield steps
    finally:
        asyncio.Handle._run = run  # type: ignore[method-assign] # pyright: ignore[reportPrivateUsage]


def watched(app: ASGIApp) -> ASGIApp:
    """The same application; what its requests compute is the gateway's, in all tasks that they begin."""

    async def named(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            _request.set(f"{scope['method']} {scope['path'][:100]}")
        await app(scope, receive, send)

    return named


def _timed(handle: asyncio.Handle) -> None:
    collected, built, modules, before = _collections.seconds, _built, len(sys.modules), thread_time()
    _run(handle)
    if (took := thread_time() - before - (_collections.seconds - collected)) <= LIMIT:
        return
    # What is loaded or built when it is used first happens once in a process, and not again.
    if (built, modules) == (_built, len(sys.modules)) and (what := _served_by(handle)) is not None:
        holds.append(Hold(what, took))


def _served_by(handle: Any) -> str | None:
    """The request or the code of the gateway's that ran; None: a test's own, or a server's beside it."""
    if (request := handle._context.get(_request)) is not None:
        return request
    callback = handle._callback
    of = getattr(callback, "__self__", None)
    code = getattr(of.get_coro(), "cr_code", None) if isinstance(of, asyncio.Task) else None
    code = code or getattr(getattr(callback, "__func__", callback), "__code__", None)
    if code is None or not code.co_filename.startswith(_ROOT):
        return None
    file = code.co_filename.removeprefix(_ROOT)
    return None if file.startswith(_PROGRAMS) else f"{code.co_qualname} in {file}"


def _collected(phase: str, _info: dict[str, int]) -> None:
    """The garbage collection looks through all that tests have made."""
    if phase == "start":
        _collections.began = thread_time()
    else:
        _collections.seconds += thread_time() - _collections.began


def _counted(*given: Any, **more: Any) -> bool:
    global _built  # noqa: PLW0603
    _built += 1
    return _complete(*given, **more)

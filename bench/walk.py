"""`python -m bench.walk`: the walk of a plain message through the code, from its HTTP route until the request
to the model leaves: which functions are called, and how often that changes the file one has to look at. And
what chats ask of the database: `reads`, each a way to a thread and back, and `transactions`, each a commit.

A whole gateway in this process, with the demo model; one plain chat in a new session, with an empty memory
and no attachment. Counted is what the request's own tasks call in `gateway/`, without telemetry: what the
interpreter's profiler sees, so also a coroutine that goes on after a wait. What telemetry itself calls, such
as its bounded dicts, is telemetry. The first chat only warms up.
The transactions are those until the stream's end, without those that hold nothing but pieces of text; what is
done beside the turns, a moment later, comes on top.
"""

import asyncio
import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import orjson
from starlette.types import ASGIApp, Message

import gateway
from bench.figures import Figure, show
from gateway.app import build_app
from gateway.settings import load_settings
from gateway.storage.log.group_commit import Flush
from gateway.storage.sqlite.commits import SqliteCommits
from gateway.storage.sqlite.sqlite_file import SqliteFile

ROOT = Path(gateway.__file__).parent
FIRST = ("api/turns_routes.py", "chat")
LEAVES = ("model/http_response.py", "HttpResponse.send")
"""Where the request to the model leaves the gateway."""
LEFT_OUT = ("telemetry/", "demo/")
MAX_CHANGES = 90
CHATS = (
    ("a new session", "hello", "walk_1"),
    ("the session's second turn", "hello", "walk_1"),
    ("a new session and a tool", "/call current_time {}", "walk_2"),
)
"""What is counted: about, message, session."""
BESIDE = 0.6
"""Seconds in which what is done beside a turn is over."""

walking: ContextVar[bool] = ContextVar("walking", default=False)
"""Whether what runs belongs to the request: its tasks have it from where they were made."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call: of a function in a file below `gateway/`."""

    file: str
    function: str

    @property
    def package(self) -> str:
        return self.file.partition("/")[0]


def main() -> None:
    parser = ArgumentParser(prog="python -m bench.walk", description=__doc__)
    parser.add_argument("--steps", action="store_true", help="prints every call too")
    parser.add_argument("--quick", action="store_true", help="the same: it takes seconds")
    options = parser.parse_args()
    steps, asked = asyncio.run(walked())
    if options.steps:
        for step in steps:
            print(f"{step.file:<40}{step.function}")
    for package, arrivals in by_package(steps):
        calls = sum(step.package == package for step in steps)
        print(f"{package:<14}{calls:>5} calls{arrivals:>6} changes of file")
    show([*figures(steps), *asked])


def figures(steps: Sequence[Step]) -> list[Figure]:
    changes = sum(before.file != after.file for before, after in pairwise(steps))
    return [
        Figure("calls from the route until the request leaves", len(steps), "calls", float("inf")),
        Figure("  functions", len(set(steps)), "", float("inf")),
        Figure("  files", len({step.file for step in steps}), "", float("inf")),
        Figure("  changes of file", changes, "", MAX_CHANGES),
    ]


def by_package(steps: Sequence[Step]) -> list[tuple[str, int]]:
    """For each package how often the walk comes into one of its files from another file, most first."""
    arrivals = Counter(after.package for before, after in pairwise(steps) if before.file != after.file)
    return arrivals.most_common()


async def walked() -> tuple[Sequence[Step], Sequence[Figure]]:
    """The calls of one plain message, in their order; and what chats ask of the database."""
    with tempfile.TemporaryDirectory() as folder:
        app = build_app(load_settings(data_dir=Path(folder), log_level="error"), demo=True)
        async with app.router.lifespan_context(app):
            await chat(app, "hello")
            with recorded() as steps:
                await chat(app, "hello again")
            asked = [
                each
                for about, message, session_id in CHATS
                for each in await asked_for(app, about, message, session_id)
            ]
            await app.state.begin_shutdown()
    return steps, asked


async def asked_for(app: ASGIApp, about: str, message: str, session_id: str) -> list[Figure]:
    """What one chat asks of the database."""
    walking.set(True)
    await asyncio.sleep(BESIDE)
    with counted() as asked:
        await chat(app, message, session_id)
    return [
        Figure(f"{about}: reads", asked["reads"], "", float("inf")),
        Figure(f"{about}: transactions", asked["transactions"], "", float("inf")),
    ]


@contextmanager
def counted() -> Generator[Counter[str]]:
    """Counts what all databases of the process are asked."""
    asked: Counter[str] = Counter()
    read, commit = SqliteFile.read, SqliteCommits.commit

    async def counted_read(file: SqliteFile, *work: Any, **how: Any) -> Any:
        asked["reads"] += walking.get()
        return await read(file, *work, **how)

    def counted_commit(commits: SqliteCommits, flush: Flush) -> None:
        asked["transactions"] += flush.sync
        commit(commits, flush)

    SqliteFile.read, SqliteCommits.commit = counted_read, counted_commit  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield asked
    finally:
        SqliteFile.read, SqliteCommits.commit = read, commit


@contextmanager
def recorded() -> Generator[list[Step]]:
    """What is called on this thread from FIRST until LEAVES."""
    steps: list[Step] = []
    over = False

    def on_event(frame: FrameType, event: str, _: object) -> None:
        nonlocal over
        if event != "call" or over:
            return
        if not frame.f_code.co_filename.startswith(f"{ROOT}/"):
            return
        file, function = file_of(frame), frame.f_code.co_qualname
        if (file, function) == LEAVES:
            over = bool(steps) and walking.get()
            return
        if not steps and (file, function) == FIRST:
            walking.set(True)
        if walking.get() and not file.startswith(LEFT_OUT) and not file_of(frame.f_back).startswith(LEFT_OUT):
            steps.append(Step(file, function))

    sys.setprofile(on_event)
    try:
        yield steps
    finally:
        sys.setprofile(None)
    assert over, "the request never left"


def file_of(frame: FrameType | None) -> str:
    """Where the code of a frame is, below `gateway/` if it is there."""
    return frame.f_code.co_filename.removeprefix(f"{ROOT}/") if frame is not None else ""


async def chat(app: ASGIApp, text: str, session_id: str | None = None) -> None:
    """POST /api/chat, its stream read to the end."""
    error = {"message": text} if session_id is None else {"message": text, "session_id": session_id}
    body: list[Message] = [{"type": "http.request", "body": orjson.dumps(error), "more_body": False}]

    async def receive() -> Message:
        if not body:
            await asyncio.Event().wait()  # the client stays
        return body.pop()

    async def send(_: Message) -> None:
        pass

    headers = {"host": "127.0.0.1", "content-type": "application/json", "accept": "text/event-stream"}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/api/chat",
        "raw_path": b"/api/chat",
        "root_path": "",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await app(scope, receive, send)


if __name__ == "__main__":
    main()

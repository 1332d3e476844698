"""Where the gateway's CPU time goes: microseconds per stage of a turn, from a sampling profile of the run.

Each sample of the main thread counts for the innermost of its frames that belongs to a stage, so that what a
stage calls of libraries and of lower rooms which are nobody's here is its own. Other threads go by name.
"""

import os
import signal
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import uvloop

from bench import client, servers
from bench.cells import CALL, SETTLE, warm_up
from bench.sampled import Profile, Stack
from bench.servers import Server

OTHER = "other"

STAGES: Sequence[tuple[str, Sequence[str]]] = (
    ("HTTP in", ("uvicorn", "starlette", "gateway.api", "gateway.cli.http_connections")),
    ("accept", ("gateway.service", "gateway.auth")),
    (
        "prepare",
        (
            *("gateway.prompt", "gateway.history", "gateway.skills", "gateway.memory"),
            *("gateway.turn.prepare", "gateway.turn.turn_prompt", "gateway.turn.context"),
            *("gateway.turn.memory_context", "gateway.turn.compression", "gateway.turn.request"),
            "gateway.turn.model_call_files",
        ),
    ),
    ("run the turn", ("gateway.turn", "gateway.messages")),
    ("ask the model", ("gateway.model", "anthropic", "httpx2", "aiohttp.connector")),
    (
        "read the model's stream",
        (
            *("gateway.model.sse", "gateway.model.message_stream", "gateway.model.content_block"),
            *("gateway.model.strict_json", "gateway.model.watchdog", "gateway.model.usage"),
            *("gateway.model.response_chunks", "gateway.model.text_deltas", "gateway.model.event_fields"),
            "gateway.model.http_response",
        ),
    ),
    ("emit", ("gateway.turn.emitter", "gateway.turn.progress", "gateway.events")),
    ("hand over and settle", ("gateway.storage",)),
    (
        "send to the reader",
        (
            *("gateway.http.stream", "gateway.sse_frames", "gateway.service.follower"),
            *("gateway.storage.log.bus", "gateway.service.streams:SessionStreams.follow"),
            "uvicorn.protocols.http.httptools_impl:RequestResponseCycle.send",
        ),
    ),
    ("telemetry", ("gateway.telemetry", "gateway.turn.observer", "opentelemetry", "structlog")),
    (
        "tools",
        (
            *("gateway.tools", "gateway.artifacts", "gateway.turn.permission"),
            *("gateway.turn.tool_calls", "gateway.turn.tool_run", "gateway.turn.tool_results"),
        ),
    ),
    (
        "beside the turn",
        (
            *("gateway.history.indexer", "gateway.lexical"),
            *("gateway.memory.extraction", "gateway.supervisor"),
            *("gateway.service.learning_worker", "gateway.service.upkeep", "gateway.service.purge_worker"),
            *("gateway.service.archiver", "gateway.turn.memory_write_queue"),
        ),
    ),
    # The frames at the bottom of every stack: nothing of ours runs above them.
    ("event loop", ("asyncio.runners", "gateway.cli")),
)
"""What belongs to a stage: packages, modules, functions (`module:qualified name`). The longest name that fits
counts."""

THREADS: Sequence[tuple[str, str]] = (
    ("writer thread", "storage-writer"),
    ("readers' threads", "storage-reader"),
    ("tools' threads", "tool"),
)
"""The threads that are told apart, by how their names begin."""

OTHER_THREADS = "other threads"
_STAGE_OF = {place: stage for stage, places in STAGES for place in places}
ROWS = (*(stage for stage, _ in STAGES), *(row for row, _ in THREADS), OTHER_THREADS, OTHER)


@dataclass(frozen=True, slots=True)
class Subject:
    """What is looked at: a load, and whether its CPU is told per chat or per piece."""

    name: str
    message: str
    chats: int
    at_once: int
    ramp: float = 0
    per_piece: bool = False


SUBJECTS = (
    Subject("short chat", "/pieces 10", 1500, 10),
    Subject("with a tool", "/pieces 10" + CALL, 1000, 10),
    Subject("slow piece", "/pieces 200 /pace 50", 100, 100, ramp=1, per_piece=True),
)
QUICK = 5
"""How much less of each chat the short form takes."""

Shares = Mapping[str, float]
"""Row -> microseconds of CPU."""


def stage_of(stack: Stack) -> str:
    """The stage that a stack counts for."""
    for frame in stack:
        place = frame
        while place:
            if (stage := _STAGE_OF.get(place)) is not None:
                return stage
            place = place[: max(place.rfind("."), place.rfind(":"), 0)]
    return OTHER


def row_of(thread: str) -> str:
    """The row that a thread of that name counts for."""
    return next((row for row, begins in THREADS if thread.startswith(begins)), OTHER_THREADS)


def shares(profile: Profile, count: int) -> Shares:
    """Every row's microseconds for each of `count`."""
    found = defaultdict[str, float](float, dict.fromkeys(ROWS, 0.0))
    for stack, seconds in profile.stacks.items():
        found[stage_of(stack)] += seconds
    for thread, seconds in profile.threads.items():
        found[row_of(thread)] += seconds
    found[OTHER_THREADS] += profile.ended
    return {row: seconds / count * 1e6 for row, seconds in found.items()}


def measured(upstream: int, *, quick: bool) -> dict[str, Shares]:
    """The shares of every subject, of one warmed-up gateway in front of `upstream`."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        samples = Path(folder) / "samples"
        environment = {"BENCH_SAMPLES": str(samples)}
        with servers.gateway(upstream, "sampled", "bench.sampled", **environment) as server:
            uvloop.run(warm_up(server))
            return {subject.name: look_at(subject, server, samples, quick=quick) for subject in SUBJECTS}


def look_at(subject: Subject, server: Server, samples: Path, *, quick: bool) -> Shares:
    chats = max(subject.at_once, subject.chats // (QUICK if quick else 1))
    taken(server, samples)
    load = uvloop.run(
        client.run(
            server.port,
            server.dialect,
            subject.message,
            chats=chats,
            at_once=subject.at_once,
            ramp=subject.ramp,
        )
    )
    time.sleep(SETTLE)
    profile = taken(server, samples)
    if load.failures:
        raise RuntimeError(f"{subject.name}: {len(load.failures)} failures, the first: {load.failures[0]}")
    return shares(profile, load.pieces if subject.per_piece else chats)


def taken(server: Server, samples: Path) -> Profile:
    """What the server gathered since it was asked before.

    Raises:
        RuntimeError: it does not answer.
    """
    samples.unlink(missing_ok=True)
    os.kill(server.pid, signal.SIGUSR1)
    give_up = time.monotonic() + servers.START_TIMEOUT
    while not samples.exists():
        if time.monotonic() > give_up:
            raise RuntimeError("the sampled gateway does not answer")
        time.sleep(0.01)
    return Profile.read(samples.read_bytes())


def table(measured: Mapping[str, Shares]) -> list[list[str]]:
    """The head and a line for each row: microseconds, and the share of each column's sum in percent."""
    sums = {name: sum(shares.values()) for name, shares in measured.items()}
    lines = [["us CPU", *(cell for name in measured for cell in (name, "%"))]]
    for row in ROWS:
        parts = [(shares[row], 100 * shares[row] / (sums[name] or 1)) for name, shares in measured.items()]
        lines.append([row, *(cell for us, share in parts for cell in (f"{us:.1f}", f"{share:.1f}"))])
    return [*lines, ["all", *(cell for name in measured for cell in (f"{sums[name]:.1f}", "100"))]]


def shown(measured: Mapping[str, Shares]) -> str:
    """The table as it is printed."""
    lines = ["stages: where the gateway's CPU goes, of each chat and of each piece of a slow stream"]
    for first, *rest in table(measured):
        lines.append(
            f"  {first:25}" + "".join(f"{cell:>{14 - 7 * (at % 2)}}" for at, cell in enumerate(rest))
        )
    return "\n".join(lines)

"""`python -m bench.sessions`: long and many sessions. All runs in this process, on SQLite in a temporary
folder; only the demo model is a process of its own."""

import asyncio
import random
import resource
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter

from bench.client import percentile
from bench.figures import Figure, show
from bench.servers import demo
from gateway import wiring
from gateway.events.envelope import StoredEvent, encode, encode_scope
from gateway.events.session_changes import Compression
from gateway.history.archive import archive_session
from gateway.history.replay import replay
from gateway.history.transcript import fold, problems, view
from gateway.messages import Message, Usage, text_block, tool_result_block
from gateway.model.base import Chunk, Model, ModelRequest, Take
from gateway.model.prices import DEFAULT_WINDOW, cost_of
from gateway.service.purge_worker import PurgeWorker
from gateway.settings import Settings, load_settings
from gateway.sse_frames import encode_frames
from gateway.storage.log import Append, Closing
from gateway.storage.messages import History, StoredMessage
from gateway.storage.turns import NewTurn
from gateway.turn.memory_write_queue import MemoryWriteQueue
from gateway.wiring import Storage

TEXT = (
    "the gateway keeps every event so that a reader may resume where it was and nobody loses a word of it "
    "网关 会保存 每一个 事件 因此 读者 可以 从 断开 的 地方 继续 阅读 而 不会 丢失 任何 内容"
)
WORDS = TEXT.split()
OWNER = "ann"


def main() -> None:
    parser = ArgumentParser(prog="python -m bench.sessions", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sessions and events")
    share = 10 if parser.parse_known_args()[0].quick else 1
    measures = (folding, compressing, replaying, removing, growing, searching)
    missed = show(figure for measure in measures for figure in asyncio.run(measure(share)))
    sys.exit(0 if share == 10 or not missed else 1)


async def folding(share: int) -> Sequence[Figure]:
    """From stored messages to a checked view."""
    stored = conversation(10_000)
    times: list[float] = []
    for _ in range(5):
        began = perf_counter()
        found = problems(fold(view(History(stored))))
        times.append(perf_counter() - began)
        assert not found
    return [Figure("fold and validate 10,000 messages", min(times) * 1e3, "ms", 150)]


async def compressing(share: int) -> Sequence[Figure]:
    """A manual compression, without what the model takes."""
    async with opened() as (settings, storage):
        await store(storage, "s", conversation(5_000 // share))
        with demo() as endpoint:
            timed = Timed(wiring.open_model(settings, f"http://127.0.0.1:{endpoint.port}"))
            skills = wiring.open_skills(settings, storage.switches, (), tuple, DEFAULT_WINDOW)
            deps = wiring.assemble(
                settings, storage, timed, skills, memory_writes=MemoryWriteQueue(), id_key=bytes(32)
            )
            cost_of("demo", Usage(input_tokens=1, output_tokens=1))  # the gateway loads prices when it starts
            began = perf_counter()
            row = await deps.compressor.compress("s", model="demo", trigger="manual", notify=nobody)
            took = perf_counter() - began
            await timed.close()
    assert row.to_position > 1_500 / share
    return [
        Figure("compress 5,000 messages, without the model's time", took - timed.seconds, "s", 3),
        Figure("  of which the model took besides", timed.seconds, "s", float("inf")),
    ]


async def replaying(share: int) -> Sequence[Figure]:
    """Every event of a session as frames, from the tables and from an archive."""
    count = 200_000 // share
    async with opened() as (_, storage):
        await store(storage, "s", conversation(200), pieces=count)
        head = (await storage.sessions.get("s", OWNER)).head
        first, grown = await drained(storage, head)
        await archive_session(
            "s",
            log=storage.log,
            sessions=storage.sessions,
            archives=storage.archives,
            orphans=storage.orphans,
            blobs=storage.blobs,
            exclusive=storage.exclusive,
        )
        second, grown_archived = await drained(storage, head)
    return [
        Figure("replay at max from SQLite", first, "events/s", 20_000, at_most=False),
        Figure("replay at max from an archive", second, "events/s", 20_000, at_most=False),
        Figure("  memory that grew while replaying, tables", grown, "MB", 16),
        Figure("  memory that grew while replaying, archive", grown_archived, "MB", 16),
    ]


async def drained(storage: Storage, head: int) -> tuple[float, float]:
    """Events a second, and the most megabytes by which the process was larger than before."""
    before = most = resident()
    began, count = perf_counter(), 0
    async for events in replay(storage.log, "s", after=0, until=head, speed=None):
        encode_frames(events)
        count += len(events)
        most = max(most, resident())
    assert count == head
    return count / (perf_counter() - began), (most - before) / 1024**2


def resident() -> int:
    """Bytes of this process in memory (Linux)."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


async def searching(share: int) -> Sequence[Figure]:
    """The newest sessions that say something, of very many."""
    sessions, rng = 10_000 // share, random.Random(7)
    async with opened() as (_, storage):
        names = [f"s{number}" for number in range(sessions)]
        for start in range(0, sessions, 100):
            batch = names[start : start + 100]
            await asyncio.gather(*(store(storage, name, conversation(4, rng), rng=rng) for name in batch))
            await storage.search.index(*batch)
        times: list[float] = []
        for query in [" ".join(rng.sample(WORDS, 1 + number % 2)) for number in range(200)]:
            began = perf_counter()
            await storage.sessions.list(OWNER, limit=50, query=query)
            times.append(perf_counter() - began)
    return [
        Figure(f"search over {sessions:,} sessions, p50", percentile(times, 0.5) * 1e3, "ms", 50),
        Figure(f"search over {sessions:,} sessions, p95", percentile(times, 0.95) * 1e3, "ms", 50),
    ]


async def removing(share: int) -> Sequence[Figure]:
    """What others wait for their commits while a long session is deleted, and while it is archived."""
    count, figures = 300_000 // share, list[Figure]()
    async with opened() as (_, storage):
        await store(storage, "s", conversation(200), pieces=count)
        await store(storage, "moved", conversation(200), pieces=count)
        await storage.sessions.create("other", OWNER, None, 1)
        purging, times = PurgeWorker(storage.purges), list[float]()

        async def delete() -> None:
            await storage.sessions.delete("s", OWNER)
            await purging.finish()

        async def move() -> None:
            await archive_session(
                "moved",
                log=storage.log,
                sessions=storage.sessions,
                archives=storage.archives,
                orphans=storage.orphans,
                blobs=storage.blobs,
                exclusive=storage.exclusive,
            )
            times.clear()  # reading and zipping are measured elsewhere
            await purging.finish()

        async def wait() -> None:
            await asyncio.sleep(2)

        for name, work in (("beside", wait), ("deleting", delete), ("freeing the archived rows of", move)):
            times.clear()
            began, task = perf_counter(), asyncio.create_task(work())
            while not task.done():
                asked = perf_counter()
                await storage.sessions.change("other", OWNER, 1, title="a title")
                times.append(perf_counter() - asked)
                await asyncio.sleep(0.005)
            await task
            what = f"{name} {count:,} events"
            if work is wait:
                figures.append(Figure("commits p99, nothing else", percentile(times, 0.99) * 1e3, "ms", 20))
                continue
            figures += [
                Figure(f"{what}: others' commits p99", percentile(times, 0.99) * 1e3, "ms", 20),
                Figure("  the longest of them", max(times) * 1e3, "ms", 100),
                Figure("  until all rows are gone", perf_counter() - began, "s", float("inf")),
            ]
    return figures


async def growing(share: int) -> Sequence[Figure]:
    """An append and a resume in a session of 100,000 events, beside one of 100."""
    figures: list[Figure] = []
    async with opened() as (_, storage):
        short: dict[str, float] = {}
        for count in (100, 100_000 // share):
            name = f"s{count}"
            await store(storage, name, conversation(4), pieces=count)
            head = (await storage.sessions.get(name, OWNER)).head
            appends, resumes = list[float](), list[float]()
            for number in range(200):
                began = perf_counter()
                await storage.log.note(name, f"c_{number}", Compression(phase="started"), 1)
                appends.append(perf_counter() - began)
                began = perf_counter()
                await storage.log.read(name, after=head - 50, limit=50)
                resumes.append(perf_counter() - began)
            for what, times in (("append", appends), ("resume", resumes)):
                value = percentile(times, 0.5) * 1e3
                bound = 1.1 * short.setdefault(what, value)
                figures.append(Figure(f"{what} at {count:,} events, p50", value, "ms", bound))
    return figures


@asynccontextmanager
async def opened() -> AsyncGenerator[tuple[Settings, Storage]]:
    """The storage of an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data_dir=Path(folder), model="demo", context_window=200_000)
        async with wiring.open_storage(settings) as storage:
            yield settings, storage


def conversation(count: int, rng: random.Random | None = None) -> list[StoredMessage]:
    """Messages of turns that call a tool every other time."""
    rng = rng or random.Random(3)
    messages: list[Message] = []
    while len(messages) < count:
        messages.append(Message("user", [text_block(sentence(rng, 20))]))
        if rng.random() < 0.5:
            call = f"toolu_{len(messages)}"
            use = {"type": "tool_use", "id": call, "name": "lookup", "input": {"query": sentence(rng, 4)}}
            messages.append(Message("assistant", [text_block(sentence(rng, 8)), use]))
            messages.append(Message("user", [tool_result_block(call, sentence(rng, 40), is_error=False)]))
        messages.append(Message("assistant", [text_block(sentence(rng, 40))]))
    return [StoredMessage(position, f"t{position}", message) for position, message in enumerate(messages, 1)]


def sentence(rng: random.Random, length: int) -> str:
    return " ".join(rng.choices(WORDS, k=length))


async def store(
    storage: Storage,
    session_id: str,
    messages: Sequence[StoredMessage],
    *,
    pieces: int = 0,
    rng: random.Random | None = None,
    owner: str = OWNER,
) -> None:
    """One turn of `owner` that says all of `messages`, after `pieces` events of text."""
    turn_id = f"t_{session_id}"
    first = messages[0].message.content[0]["text"]
    await storage.turns.accept(
        NewTurn(turn_id, session_id, owner, first, "demo", None, "reject", create_session=True, at=1),
        max_queued=0,
    )
    scope, head, fates = encode_scope(session_id, turn_id), 0, list[asyncio.Future[Exception | None]]()
    loop = asyncio.get_running_loop()
    kinds: list[tuple[str, Message | None]] = [("text", None)] * pieces
    kinds += [("iteration_end", item.message) for item in messages]
    for start in range(0, len(kinds), 500):
        for kind, message in kinds[start : start + 500]:
            body = encode(head + 1, kind, 1_795_000_000_000 + head, scope, b'{"text":"a piece of text "}')
            fates.append(fate := loop.create_future())
            event = StoredEvent(head + 1, kind, turn_id, body)
            storage.log.append(
                Append(session_id, turn_id, 1, head, [event], fate.set_result, message, sync=False)
            )
            head += 1
        assert set(await asyncio.gather(*fates)) == {None}
        fates.clear()
    fates.append(fate := loop.create_future())
    body = encode(head + 1, "done", 1_795_000_000_000 + head, scope, b'{"status":"completed"}')
    closing = Closing("completed", 1, None, None, 1_795_000_000_000)
    event = StoredEvent(head + 1, "done", turn_id, body)
    storage.log.append(Append(session_id, turn_id, 1, head, [event], fate.set_result, closing=closing))
    assert set(await asyncio.gather(*fates)) == {None}


class Timed:
    """A model, and the seconds that its calls took."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.facts, self.queue = model.facts, model.queue
        self.seconds = 0.0

    @asynccontextmanager
    async def stream(
        self, request: ModelRequest, take: Take | None = None
    ) -> AsyncGenerator[AsyncIterator[Chunk]]:
        began = perf_counter()
        try:
            async with self._model.stream(request, take) as chunks:
                yield chunks
        finally:
            self.seconds += perf_counter() - began

    async def started(self, seconds: float) -> None:
        await self._model.started(seconds)

    async def inquire(self) -> None:
        """There is nothing to ask."""

    async def watch(self) -> None:
        """There is nothing to ask."""

    async def count_tokens(self, request: ModelRequest) -> int | None:
        return await self._model.count_tokens(request)

    async def prepare(self) -> None:
        await self._model.prepare()

    async def close(self) -> None:
        await self._model.close()


async def nobody(event: Compression) -> None:
    """Whom the compressor tells."""


if __name__ == "__main__":
    main()

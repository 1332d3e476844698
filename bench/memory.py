"""`python -m bench.memory`: what is remembered, found again. All runs in this process, on SQLite in a
temporary folder, what is found by words with --postgres on a PostgreSQL server of its own too; only those who
write at the same time are processes of their own."""

import asyncio
import itertools
import random
import re
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import orjson
import psycopg
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bench.client import percentile
from bench.figures import Figure, show
from bench.recall.sets import CHARACTERS, documents
from bench.recall.turns import documented, in_turns, planted, saving
from bench.scale import cluster
from bench.scale.gateways import settings_of
from bench.sessions import OWNER, resident
from gateway import wiring
from gateway.memory.changes import Attribution
from gateway.memory.documents.document import document_of
from gateway.memory.documents.selection import MAX_CHARACTERS
from gateway.memory.recall import InContext
from gateway.memory.search.query import MemoryQuery
from gateway.memory.search.searcher import Searcher
from gateway.memory.services import MemoryServices
from gateway.memory.snapshot import MemorySnapshot
from gateway.memory.validation import NewMemory, indexed
from gateway.settings import Settings, load_settings
from gateway.storage.memories import AllScopes, Filter, MemoryRow, Scope, Vector
from tests.loopback import served
from tests.memory.pairs import PAIRS, confusion
from tests.memory.search.recall_set import ASKED, NO_ANSWER, NOT_BY_WORDS, by_words, recall
from tests.memory.search.saving import made, put, recall_rows

MEMORIES = 10_000
QUERIES = 2_000
WRITERS, WRITTEN, SHARED = 4, 1_000, 50
"""Processes, memories of each, and those that all of them write."""
DIMENSIONS = 1_536
SCOPE = Scope(OWNER)
BY = Attribution(OWNER, "the bench")
HANZI = bytes(byte for high in range(0xB0, 0xD7) for low in range(0xA1, 0xFA) for byte in (high, low)).decode(
    "gb2312"
)
"""The 3,471 most frequent characters, of the standard's first level."""
ROOT = Path(__file__).parent.parent


def main() -> None:
    parser = ArgumentParser(prog="python -m bench.memory", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the memories and queries")
    parser.add_argument("--postgres", action="store_true", help="words in PostgreSQL as well")
    parser.add_argument(
        "--write", nargs=3, metavar=("FOLDER", "WRITER", "COUNT"), help="be one of the writers"
    )
    given, _ = parser.parse_known_args()
    if given.write:
        folder, writer, count = given.write
        asyncio.run(write(Path(folder), int(writer), int(count)))
        return
    share = 10 if given.quick else 1
    words: list[Callable[[int], Coroutine[Any, Any, Sequence[Figure]]]] = [recalling, searching]
    words += [in_postgres] if given.postgres else []
    measures = (in_turns, documented, saving, planted, comparing, *words, nearing, writing)
    missed = show(figure for measure in measures for figure in asyncio.run(measure(share)))
    sys.exit(0 if share == 10 or not missed else 1)


async def comparing(share: int) -> Sequence[Figure]:
    """What is decided of pairs of memories."""
    found = confusion()
    found_share = {kind: 100 * found[kind, kind] / len(pairs) for kind, pairs in PAIRS.items()}
    return [
        Figure("pairs of one fact that are one", found_share["same"], "%", 90, at_most=False),
        Figure("  of two facts that stay two", found_share["two"], "%", 100, at_most=False),
        Figure("  of a correction that is found", found_share["corrections"], "%", 90, at_most=False),
    ]


async def recalling(share: int, database_url: str | None = None) -> Sequence[Figure]:
    """recall@5 by words: alone, and among very many others."""
    async with opened(database_url=database_url) as (_, services):
        rows = recall_rows(SCOPE)
        await put(services.store, *rows.values())
        alone = await recalled(services.searcher, rows)
        await fill(services, MEMORIES // share)
        crowded = await recalled(services.searcher, rows)
    return [
        Figure("recall@5 by words, two languages", 100 * by_words(alone), "%", 95, at_most=False),
        *(
            Figure(f"  {name}", 100 * alone[name], "%", 0 if name == NOT_BY_WORDS else 70, at_most=False)
            for name in alone
        ),
        Figure(
            f"recall@5 among {MEMORIES // share:,} others", 100 * by_words(crowded), "%", 80, at_most=False
        ),
        Figure("  no-answer", 100 * crowded[NO_ANSWER], "%", 0, at_most=False),
    ]


async def recalled(searcher: Searcher, rows: dict[str, MemoryRow]) -> dict[str, float]:
    names = {row.id: name for name, row in rows.items()}
    found = {
        asked: [
            names.get(hit.row.id, "") for hit in (await searcher.find(SCOPE, MemoryQuery(asked.text))).hits
        ]
        for asked in ASKED
    }
    return recall(found)


async def searching(share: int, database_url: str | None = None) -> Sequence[Figure]:
    """By words, and what a turn waits for because of it."""
    count, queries = MEMORIES // share, QUERIES // share
    async with opened(database_url=database_url) as (_, services):
        await fill(services, count)
        if database_url is not None:
            settle(database_url)
        texts = [ASKED[number % len(ASKED)].text for number in range(queries)]
        await timed(texts[: len(ASKED)], lambda text: services.searcher.find(SCOPE, MemoryQuery(text)))
        before = resident()
        times = await timed(texts, lambda text: services.searcher.find(SCOPE, MemoryQuery(text)))
        grown = resident() - before
        prompted = await services.recall.load_snapshot(SCOPE)
        turns = await timed(texts[:200], lambda text: before_turn(services, prompted, text))
        standing = await timed(texts[:20], lambda _: services.recall.load_snapshot(SCOPE))
        await services.store.put_documents([(row, indexed(row)) for row in handbooks(share)])
        beside = await timed(texts[:200], lambda text: before_turn(services, prompted, text))
    return [
        Figure(f"search by words of {count:,} memories, p50", percentile(times, 0.5) * 1e3, "ms", 20),
        Figure(f"search by words of {count:,} memories, p95", percentile(times, 0.95) * 1e3, "ms", 20),
        Figure(f"  memory that grew in {queries:,} searches", grown / 1024**2, "MB", 16),
        Figure("  what a turn waits for its memories, p50", percentile(turns, 0.5) * 1e3, "ms", 25),
        Figure("  what a turn waits for its memories, p95", percentile(turns, 0.95) * 1e3, "ms", 25),
        Figure("  the same beside a full folder of documents, p95", percentile(beside, 0.95) * 1e3, "ms", 50),
        Figure("  what stands in the prompt, once a session, p50", median(standing) * 1e3, "ms", 250),
    ]


async def in_postgres(share: int) -> Sequence[Figure]:
    """The same, in databases that nobody else uses."""
    with cluster.running() as server, tempfile.TemporaryDirectory() as folder:
        urls = [settings_of(server, folder)["GATEWAY_DATABASE_URL"] for _ in range(2)]
        found = [*await recalling(share, urls[0]), *await searching(share, urls[1])]
    return [replace(figure, name=f"PostgreSQL: {figure.name.strip()}") for figure in found]


def settle(database_url: str) -> None:
    """What the server does by itself within a minute or two of so many writes: until then an index says where
    rows are, but not whether they count, and a search takes about twice as long."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


def handbooks(share: int) -> list[MemoryRow]:
    """Documents of 40,000 characters, together as long as a folder's may be."""
    pages = [document.content for language in CHARACTERS for document in documents(language)]
    rng = random.Random(3)
    texts = ["\n\n".join(rng.choices(pages, k=20))[:40_000] for _ in range(MAX_CHARACTERS // 40_000 // share)]
    fields = {"type": "reference", "skill": "handbook"}
    return [
        document_of({**fields, "reference": f"part {number}", "content": text}, 1).as_row
        for number, text in enumerate(texts)
    ]


async def before_turn(services: MemoryServices, prompted: MemorySnapshot, message: str) -> None:
    """All that a later turn of a session does before its model is asked."""
    recall, told = services.recall, prompted.digests
    state = (await recall.revalidate(SCOPE, told)).state
    await recall.changes(SCOPE, state, told, as_of=prompted.as_of, turns=())
    await recall.is_empty(SCOPE)
    await recall.retrieve(SCOPE, message, message_count=4, known=InContext())


async def nearing(share: int) -> Sequence[Figure]:
    """By words and meaning, over loopback; every memory has a vector."""
    count, rng = MEMORIES // share, np.random.default_rng(5)

    async def answer(request: Request) -> Response:
        asked = orjson.loads(await request.body())["input"]
        data = [{"index": at, "embedding": rng.normal(size=DIMENSIONS).tolist()} for at in range(len(asked))]
        return Response(orjson.dumps({"data": data}), media_type="application/json")

    app = Starlette(routes=[Route("/v1/embeddings", answer, methods=["POST"])])
    async with served(app, lifespan=False) as url, opened(embeddings_url=f"{url}/v1") as (settings, services):
        model = settings.embeddings_model
        rows = await fill(services, count)
        for start in range(0, count, 500):
            found = rng.normal(size=(500, DIMENSIONS)).astype("<f4")
            found /= np.linalg.norm(found, axis=1, keepdims=True)
            some = zip(rows[start : start + 500], found, strict=False)
            await services.store.put_vectors(
                model, [Vector(row.id, row.digest, v.tobytes()) for row, v in some]
            )
        texts = [ASKED[number % len(ASKED)].text for number in range(QUERIES // share // 4)]
        began = perf_counter()
        first = await services.searcher.find(SCOPE, MemoryQuery(texts[0]))
        reading = perf_counter() - began
        assert not first.degraded
        before = resident()
        times = await timed(texts, lambda text: services.searcher.find(SCOPE, MemoryQuery(text)))
        grown = resident() - before
    return [
        Figure(f"search by words and meaning of {count:,}, p50", percentile(times, 0.5) * 1e3, "ms", 50),
        Figure(f"search by words and meaning of {count:,}, p95", percentile(times, 0.95) * 1e3, "ms", 50),
        Figure("  the first one, which reads the vectors", reading * 1e3, "ms", 1_000),
        Figure("  memory that grew meanwhile", grown / 1024**2, "MB", 16),
    ]


async def writing(share: int) -> Sequence[Figure]:
    """Several processes remember at once; SHARED things are remembered by all of them."""
    each = WRITTEN // share
    async with opened() as (settings, services):
        began = perf_counter()
        await asyncio.gather(*(start_writer(settings.data_dir, writer, each) for writer in range(WRITERS)))
        took = perf_counter() - began
        count = await services.store.count(AllScopes(OWNER), Filter())
        wanted = WRITERS * (each - SHARED) + SHARED
        found = await services.store.list(AllScopes(OWNER), Filter(), limit=count + 1)
    doubled = len(found) - len({row.content for row in found})
    return [
        Figure(f"lost of {wanted:,} memories that {WRITERS} processes wrote", abs(wanted - count), "", 0),
        Figure("  doubled", doubled, "", 0),
        Figure("  written by all together", WRITERS * each / took, "a second", 50, at_most=False),
    ]


async def start_writer(folder: Path, writer: int, count: int) -> None:
    given = ("-m", "bench.memory", "--write", str(folder), str(writer), str(count))
    process = await asyncio.create_subprocess_exec(sys.executable, *given, cwd=ROOT)
    assert await process.wait() == 0


async def write(folder: Path, writer: int, count: int) -> None:
    async with wiring.open_memory(settings_in(folder)) as services:
        for number in range(count):
            said = (
                f"共同的记忆 shared number {number}"
                if number < SHARED
                else f"记忆 {number} of writer {writer}"
            )
            await services.memories.save(SCOPE, NewMemory(said), BY)


async def timed(texts: Sequence[str], work: Callable[[str], Awaitable[object]]) -> list[float]:
    times: list[float] = []
    for text in texts:
        began = perf_counter()
        await work(text)
        times.append(perf_counter() - began)
    return times


async def fill(services: MemoryServices, count: int) -> list[MemoryRow]:
    """Memories of ordinary length, half of them in Chinese, with few words often and many seldom."""
    rng = random.Random(11)
    pages = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md")]
    english = re.findall(r"[a-z]{2,}", " ".join(page.read_text(encoding="utf-8") for page in pages).lower())
    chinese = ["".join(rng.choices(HANZI, k=2)) for _ in range(5_000)]
    seldom = list(itertools.accumulate(1 / rank for rank in range(1, 5_001)))  # Zipf's law
    rows = list[MemoryRow]()
    while len(rows) < count:
        if len(rows) % 2:
            said = "".join(rng.choices(chinese, cum_weights=seldom, k=14)) + f"，{len(rows)}。"
        else:
            said = " ".join(rng.choices(english, k=16)) + f" {len(rows)}"
        rows.append(made(said, SCOPE, days=rng.uniform(0, 300), importance=rng.randint(1, 5)))
    for start in range(0, count, 500):
        await put(services.store, *rows[start : start + 500])
    return rows


@asynccontextmanager
async def opened(**given: str | None) -> AsyncGenerator[tuple[Settings, MemoryServices]]:
    """The memory of an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_in(Path(folder), **given)
        async with wiring.open_memory(settings) as services:
            yield settings, services


def settings_in(folder: Path, **given: str | None) -> Settings:
    return load_settings(data_dir=folder, model="demo", **given)


if __name__ == "__main__":
    main()

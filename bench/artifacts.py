"""`python -m bench.artifacts`: large contents taken in, told in short and read in parts; and what a turn with
large tool results sends to the model. In this process, on SQLite and a folder of blobs."""

import asyncio
import csv
import ctypes
import gc
import io
import random
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, BinaryIO

import orjson

from bench.figures import Figure, show
from bench.sessions import OWNER, opened, sentence
from gateway import wiring
from gateway.artifacts.artifact_store import ArtifactStore, Origin
from gateway.artifacts.compact import compact_of
from gateway.artifacts.content import file_content, measure, text_content
from gateway.artifacts.kinds import kind_of
from gateway.artifacts.reading.reader import read_part
from gateway.artifacts.reading.selector import selector_of
from gateway.demo.server import serve_demo
from gateway.history.tokens import request_tokens
from gateway.model.base import Model, ModelRequest
from gateway.storage.artifacts import CHUNK
from gateway.tools.function import tool
from tests.harness import running_gateway, settings_for

MEGABYTE = 1_000_000
ROUNDS = 5
LINES = 50


def main() -> None:
    parser = ArgumentParser(prog="python -m bench.artifacts", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the same: it takes seconds")
    parser.parse_known_args()
    measures = (ingesting, reading, events, prompting)
    sys.exit(1 if show(figure for each in measures for figure in asyncio.run(each())) else 0)


async def ingesting() -> Sequence[Figure]:
    """20 MB from a file, as an upload comes: with what is told of it."""
    figures: list[Figure] = []
    contents = {"text": ("notes.txt", written), "JSON": ("orders.json", written_json)}
    for form, (name, writing) in contents.items():
        times: list[float] = []
        grown: list[float] = []
        async with shelf_with(artifact_max_size=30 * MEGABYTE) as artifact_store:
            for number in range(ROUNDS + 1):
                with writing(20 * MEGABYTE, seed=number) as file:
                    before = peak_begins()
                    began = perf_counter()
                    row = await artifact_store.put(file_content(file, name=name), Origin(OWNER))
                    times.append(perf_counter() - began)
                    grown.append((peak() - before) / CHUNK)
                assert row.kind == form.lower()
        figures += [
            Figure(f"ingest of 20 MB {form}, median", median(times[1:]), "s", 0.5),
            Figure("  memory it took at its most", max(grown[1:]), "chunks", 2),
        ]
    return figures


async def reading() -> Sequence[Figure]:
    """Lines in the middle and at the end of 100 MB."""
    async with shelf_with(artifact_max_size=110 * MEGABYTE) as artifact_store:
        with written(100 * MEGABYTE, seed=1) as file:
            row = await artifact_store.put(file_content(file), Origin(OWNER))
        assert row.lines is not None
        times: list[float] = []
        grown: list[float] = []
        for number in range(ROUNDS * 4):
            first = 1 + (row.lines - LINES) * number // (ROUNDS * 4 - 1)
            selector = selector_of(lines=f"{first}-{first + LINES - 1}")
            before, began = peak_begins(), perf_counter()
            part = await read_part(artifact_store, row, selector)
            times.append(perf_counter() - began)
            grown.append((peak() - before) / MEGABYTE)
            assert part.first == first
    return [
        Figure("lines of a 100 MB artifact, median", median(times) * 1e3, "ms", 100),
        Figure("  memory it took at its most", max(grown), "MB", 8),
    ]


async def events() -> Sequence[Figure]:
    """The compact form of 1 MB, from its bytes to the text; half of it Chinese."""
    rng = random.Random(7)
    orders = [order(rng, number) for number in range(16_000)]
    table = io.StringIO()
    writer = csv.DictWriter(table, list(orders[0]))
    writer.writeheader()
    writer.writerows(orders)
    texts = {
        "text": ("notes.txt", "\n".join(sentence(rng, 60) for _ in range(3000))),
        "JSON": ("orders.json", orjson.dumps({"orders": orders[:8100]}).decode()),
        "JSON of tiny objects": ("tiny.json", f"[{'{},' * 333_000}1]"),
        "CSV": ("orders.csv", table.getvalue()),
    }
    figures: list[Figure] = []
    for name, (file, text) in texts.items():
        cut = text if file.endswith(".json") else text.encode()[:MEGABYTE].decode(errors="ignore")
        content = text_content(cut, name=file)
        times: list[float] = []
        for _ in range(ROUNDS * 2):
            began = perf_counter()
            measured = measure(content)
            kind, _ = kind_of(measured, content.name, content.mime)
            compact_of(content, measured, kind)
            times.append(perf_counter() - began)
        figures.append(
            Figure(
                f"compact form of {len(cut.encode()) / MEGABYTE:.1f} MB {name}", median(times) * 1e3, "ms", 50
            )
        )
    return figures


@tool(effect="read_only")
async def large(seed: int) -> list[dict[str, Any]]:
    """Gives a megabyte of orders.

    Args:
        seed: Another one gives others.
    """
    rng = random.Random(seed)
    return [order(rng, number) for number in range(8100)]


async def prompting() -> Sequence[Figure]:
    """The last model call of a turn in which ten results of 1 MB came, all of its prompt, as estimated."""
    asked: list[ModelRequest] = []
    with tempfile.TemporaryDirectory() as folder:
        async with serve_demo() as url, running_gateway(settings_for(Path(folder), url), large) as client:
            heard(client.app.state.deps.model, asked)
            calls = "\n".join(f'/call large {{"seed": {seed}}}' for seed in range(10))
            found = await client.chat(f"{calls}\n/then\n/say Done.")
    results = [event["data"] for event in found if event["type"] == "tool_result"]
    assert len(results) == 10
    assert all("artifact" in result for result in results)
    return [Figure("prompt of a turn with ten results of 1 MB", request_tokens(asked[-1]), "tokens", 8000)]


def heard(model: Model, asked: list[ModelRequest]) -> None:
    """Lists what the model is asked from now on."""
    stream = model.stream

    def listening(request: ModelRequest) -> Any:
        asked.append(request)
        return stream(request)

    setattr(model, "stream", listening)  # noqa: B010 - a protocol's method cannot be assigned


@asynccontextmanager
async def shelf_with(**given: Any) -> AsyncGenerator[ArtifactStore]:
    async with opened() as (settings, storage):
        yield wiring.open_artifact_store(settings.model_copy(update=given), storage)


@contextmanager
def written(size: int, *, seed: int) -> Generator[BinaryIO]:
    """A file of lines, half of them Chinese, that is gone when the context is left."""
    rng = random.Random(seed)
    page = "\n".join(sentence(rng, rng.randrange(4, 40)) for _ in range(4000)).encode() + b"\n"
    with tempfile.TemporaryFile() as file:
        while file.tell() < size:
            file.write(str(file.tell()).encode() + b" " + page)
        yield file


@contextmanager
def written_json(size: int, *, seed: int) -> Generator[BinaryIO]:
    """A file of orders as JSON, and of tiny objects beside them."""
    rng = random.Random(seed)
    page = orjson.dumps({"tiny": [{}] * 500, "orders": [order(rng, number) for number in range(500)]})
    with tempfile.TemporaryFile() as file:
        file.write(b"[" + page)
        while file.tell() < size:
            file.write(b"," + page)
        file.write(b"]")
        yield file


def order(rng: random.Random, number: int) -> dict[str, Any]:
    return {
        "id": f"A-{number:06}",
        "customer": rng.choice(["王小明", "Ada Lovelace", "李四", "Grace Hopper"]),
        "city": rng.choice(["上海", "Berlin", "台北", "Oslo"]),
        "total": round(rng.uniform(1, 900), 2),
        "items": rng.randrange(1, 9),
        "note": sentence(rng, 5),
    }


def peak_begins() -> int:
    """Bytes of memory in use; from here on `peak` counts (Linux, proc(5), clear_refs). What is free goes back
    first: what is taken anew shall be seen."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def peak() -> int:
    """The most bytes of memory that were in use since."""
    return _status("VmHWM")


def _status(name: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()

"""Sessions with artifacts, and their exports as lines."""

from pathlib import Path
from typing import Any

import orjson

from gateway.artifacts.artifact_store import Origin
from gateway.artifacts.content import ArtifactContent, bytes_content, text_content
from tests.history.copying import artifact_store_of, aside_in, blobs_in, exported
from tests.history.past import Past, compress_past, sealed, settings_in, write_past
from tests.product import ArtifactRow, Storage, now_ms, open_storage
from tests.storage.writing import OWNER

TALK = [Past("看一下订单", ("好的",)), Past("more", ("d",))]
LONG = ("第一行\n" * 110_000).encode()
"""More than one part, with characters that its border cuts."""
HERE = Origin(OWNER, "s", "t1-s", "toolu_1")


async def kept(storage: Storage, content: ArtifactContent, origin: Origin = HERE) -> ArtifactRow:
    return await artifact_store_of(storage).put(content, origin, metadata={"来源": ["a", 1.5]})


async def fill(storage: Storage) -> list[ArtifactRow]:
    """A session `s` with four artifacts: a long text, an image-to-be, and a text twice."""
    await write_past(storage, "s", TALK)
    await compress_past(storage, "s", 2)
    return [
        await kept(storage, bytes_content(LONG, "订单.txt")),
        await kept(storage, bytes_content(b"\x89PNG\r\n\x1a\n" + bytes(50))),
        await kept(storage, text_content('{"a": [1, 2]}', "a.json")),
        await kept(storage, text_content('{"a": [1, 2]}', "b.json")),
    ]


async def a_file(folder: Path) -> bytes:
    async with open_storage(settings_in(folder)) as storage:
        await fill(storage)
        return await exported(storage)


def parsed(file: bytes) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in file.splitlines()][:-1]


def lines_of(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["kind"] == kind]


def forged(lines: list[dict[str, Any]]) -> bytes:
    return sealed([orjson.dumps(line) for line in lines])


async def content_of(storage: Storage, row: ArtifactRow) -> bytes:
    return b"".join([part async for part in artifact_store_of(storage).stream(row)])


async def is_untouched(storage: Storage, folder: Path) -> bool:
    """Whether nothing of an import is left, in tables or folders."""
    rows = await storage.artifacts.find(OWNER, limit=9)
    taken = await storage.copies.taken("s")
    candidates = await storage.orphans.candidates(now_ms() + 1, 9)
    return not (rows or taken or candidates or aside_in(folder) or blobs_in(folder))

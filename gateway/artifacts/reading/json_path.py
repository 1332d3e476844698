"""The values that a JSON path selects in a content: `json_path=$.items[0]`. json_path_program.py finds them,
in a process with bounded time and memory."""

import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import structlog

from gateway.artifacts.artifact_store import ArtifactStore
from gateway.artifacts.lossless_json import lossless_json
from gateway.artifacts.reading.part import MAX_BYTES, ContentPart, fits, fitting
from gateway.artifacts.reading.selector import JsonPath, path_of
from gateway.artifacts.store_events import PathStopped
from gateway.child_process import answer_of
from gateway.errors import InvalidRequest, QueueFull
from gateway.places import Places, PlaceTimeout
from gateway.storage.artifacts import ArtifactRow

MAX_JSON = 20_971_520
"""Bytes of a content that paths are evaluated on."""
MAX_CONCURRENT = 2
"""Evaluations that run at the same time; others wait."""
WALL_SECONDS = 5.0
"""How long one may take, by the clock; json_path_program.py bounds its CPU time and memory."""
TIMEOUT = 10.0
"""Seconds that one waits for its place."""

_PROGRAM = Path(__file__).with_name("json_path_program.py")
_ANSWER_FRAME = 262_144  # bytes of an answer beside what was selected
_SELECT_LESS = "select less, such as $.items[0:10], or read it by search= or bytes="

_ENDS = (None, 0, -signal.SIGKILL, -signal.SIGXCPU)

log = structlog.get_logger(__name__)

_places = Places(MAX_CONCURRENT)


async def values_at(store: ArtifactStore, row: ArtifactRow, path: str, *, most_bytes: int) -> list[Any]:
    """All that a JSON path (RFC 9535) selects, in its order; together at most `most_bytes` of JSON.

    Raises:
        errors.InvalidRequest: as `reader.read_part`, and json_path_too_large for more than that.
        errors.ArtifactDamaged: the content is missing or not what was written.
        errors.StorageError: it could not be read.
    """
    answer = await _evaluated(store, row, path_of(path), most_bytes, outline=False)
    if answer["whole"] is None:
        raise InvalidRequest(
            f"{path[:100]} selects {answer['count']:,} values: together they have more than {most_bytes:,} "
            f"bytes, or one is nested too deeply to pass on; {_SELECT_LESS}.",
            code="json_path_too_large",
        )
    return lossless_json(answer["whole"].encode())


async def read_json(
    store: ArtifactStore, row: ArtifactRow, selector: JsonPath, most_tokens: int
) -> ContentPart:
    """What a path selects: a value as JSON, several as a list; what is too large by its parts, of which large
    ones are described. Raises what `reader.read_part` does."""
    answer = await _evaluated(store, row, selector.path, MAX_BYTES, outline=True)
    count, whole = answer["count"], answer["whole"]
    if count == 0:
        remark = "The path selects nothing. $ shows which names there are."
        return ContentPart("json_path", "", 0, 0, 0, None, remark)
    if whole is not None and not answer["at_least"] and fits(whole, most_tokens):
        return ContentPart("json_path", whole, 1, count, count)
    text = "\n".join(answer["rows"])
    text = text[: fitting(text, most_tokens)]
    if answer["form"] == "text":
        remark = (
            f"It is a string of {answer['size']:,} characters; these are the first {len(text):,} of them."
        )
        return ContentPart("json_path", text, 1, 1, 1, None, remark)
    shown = text.count("\n") + 1
    if shown > 1 and not text.endswith(answer["rows"][shown - 1]):
        text, shown = text[: text.rindex("\n")], shown - 1
    following = answer["following"][shown - 1] if shown < answer["size"] else None
    remark = _REMARKS[answer["form"]]
    if answer["at_least"]:
        how = "go on with `next`" if following else "select fewer at a time, such as $.items[0:1000].name"
        remark += f" More than {count:,} are not counted: {how}."
    following = following or answer["deeper"]
    return ContentPart(
        "json_path",
        text,
        1,
        shown,
        count if count > 1 else answer["size"],
        None if following is None else f"json_path={following}",
        remark,
        answer["at_least"],
    )


_REMARKS = {
    "values": "They are too large to show whole. Large ones are described: read these by their paths.",
    "elements": "These are elements of one array. Large ones are described: read these by their index.",
    "members": "These are members of one object. Large ones are described: read these by their names.",
}


def _otherwise(row: ArtifactRow) -> str:
    return "read it by bytes=" if row.lines is None else "read it by lines=, bytes= or search="


async def _evaluated(
    store: ArtifactStore, row: ArtifactRow, path: str, most_bytes: int, *, outline: bool
) -> dict[str, Any]:
    if row.kind != "json" or row.size > MAX_JSON:
        what = f"has more than {MAX_JSON:,} bytes" if row.kind == "json" else f"is {row.kind}, not JSON"
        raise InvalidRequest(f"{row.ref} {what}: {_otherwise(row)}.", code="not_json")
    request = orjson.dumps({"path": path, "most_bytes": most_bytes, "outline": outline})
    try:
        async with _places.one(TIMEOUT):
            written = await _run(request, store.stream(row), 2 * most_bytes + _ANSWER_FRAME)
    except PlaceTimeout:
        store.on_event(PathStopped("busy"))
        raise QueueFull("Other JSON paths are being evaluated: try again.", code="json_path_busy") from None
    try:
        answer: dict[str, Any] = orjson.loads(written)
    except orjson.JSONDecodeError:
        store.on_event(PathStopped("time"))
        raise _too_slow() from None
    if "refused" not in answer:
        return answer
    code, reason = answer["refused"], answer["reason"]
    if code == "json_path_too_slow":
        store.on_event(PathStopped("memory"))
        raise _too_slow()
    if code == "not_json":
        raise InvalidRequest(f"{row.ref}: {reason}; {_otherwise(row)}.", code=code)
    raise InvalidRequest(f"The JSON path cannot be used: {reason}.", code=code)


def _too_slow() -> InvalidRequest:
    return InvalidRequest(
        f"The JSON path takes too much time or memory: {_SELECT_LESS}.", code="json_path_too_slow"
    )


async def _run(request: bytes, content: AsyncIterator[bytes], most: int) -> bytes:
    """What the program writes, at most about `most` bytes; nothing usable when it was stopped."""

    async def pieces() -> AsyncIterator[bytes]:
        yield request + b"\n"
        async for piece in content:
            yield piece

    # -I: neither the folder nor the environment it is started in affects its imports.
    command = sys.executable, "-I", _PROGRAM
    written, returncode = await answer_of(command, pieces(), most, WALL_SECONDS)
    if returncode not in _ENDS:
        log.warning("json_path_crashed", returncode=returncode)
    return written

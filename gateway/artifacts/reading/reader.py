"""Reads a part of an artifact by any selector."""

from gateway.artifacts.artifact_store import ArtifactStore
from gateway.artifacts.reading.byte_range import read_bytes
from gateway.artifacts.reading.chunks import ContentChunks
from gateway.artifacts.reading.json_path import read_json
from gateway.artifacts.reading.line_range import read_lines
from gateway.artifacts.reading.line_search import read_matches
from gateway.artifacts.reading.part import MAX_TOKENS, MIN_TOKENS, ContentPart, How
from gateway.artifacts.reading.selector import Bytes, JsonPath, LineRange, LineSearch, Selector
from gateway.artifacts.store_events import Attribution, PartRead
from gateway.errors import GatewayError
from gateway.storage.artifacts import ArtifactRow

_HOW: dict[type[Selector], How] = {
    LineRange: "lines",
    Bytes: "bytes",
    JsonPath: "json_path",
    LineSearch: "search",
}


async def read_part(
    store: ArtifactStore,
    row: ArtifactRow,
    selector: Selector,
    *,
    most_tokens: int = MAX_TOKENS,
    by: Attribution = "model",
) -> ContentPart:
    """Reads what is wanted, as much of it as fits: at most `most_tokens` (estimated; always between 500 and
    4000) and 24,000 bytes. Of a large content only what is needed is in memory.

    Raises:
        errors.InvalidRequest: it has no such part; the message has what to ask for instead. Codes: bad_range,
            not_text, bad_json_path, not_json, json_path_too_slow, json_path_busy.
        errors.ArtifactDamaged: the content is missing or not what was written.
        errors.StorageError: it could not be read.
    """
    try:
        part = await _read(store, row, selector, min(max(most_tokens, MIN_TOKENS), MAX_TOKENS))
    except GatewayError as error:
        store.on_event(PartRead(_HOW[type(selector)], by, error.code))
        raise
    store.on_event(PartRead(part.how, by))
    return part


async def _read(store: ArtifactStore, row: ArtifactRow, selector: Selector, most_tokens: int) -> ContentPart:
    match selector:
        case LineRange():
            return await read_lines(ContentChunks(store, row), selector, most_tokens)
        case Bytes():
            return await read_bytes(ContentChunks(store, row), selector, most_tokens)
        case LineSearch():
            return await read_matches(ContentChunks(store, row), selector, most_tokens)
        case JsonPath():
            return await read_json(store, row, selector, most_tokens)

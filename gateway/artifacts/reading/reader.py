"""One door to all ways of reading a part."""

from gateway.artifacts.news import Attribution, PartRead
from gateway.artifacts.reading.json_path import read_json
from gateway.artifacts.reading.lines import read_lines
from gateway.artifacts.reading.octets import read_bytes
from gateway.artifacts.reading.part import MAX_TOKENS, MIN_TOKENS, How, Part
from gateway.artifacts.reading.pieces import Pieces
from gateway.artifacts.reading.search import read_matches
from gateway.artifacts.reading.wanted import Bytes, JsonPath, Lines, Search, Wanted
from gateway.artifacts.shelf import Shelf
from gateway.errors import GatewayError
from gateway.storage.artifacts import ArtifactRow

_HOW: dict[type[Wanted], How] = {Lines: "lines", Bytes: "bytes", JsonPath: "json_path", Search: "search"}


async def read_part(
    shelf: Shelf,
    row: ArtifactRow,
    wanted: Wanted,
    *,
    most_tokens: int = MAX_TOKENS,
    by: Attribution = "model",
) -> Part:
    """Reads what is wanted, as much of it as fits: at most `most_tokens` (estimated; between 500 and 4000
    whatever is asked) and 24,000 bytes. Of a large content only what is needed is in memory.

    Raises:
        errors.InvalidRequest: it has no such part; the message says what to ask for instead. Codes:
            bad_range, not_text, bad_json_path, not_json, json_path_too_slow, json_path_busy.
        errors.ArtifactDamaged: the content is missing or not what was written.
        errors.StorageError: it could not be read.
    """
    try:
        part = await _read(shelf, row, wanted, min(max(most_tokens, MIN_TOKENS), MAX_TOKENS))
    except GatewayError as error:
        shelf.told(PartRead(_HOW[type(wanted)], by, error.code))
        raise
    shelf.told(PartRead(part.how, by))
    return part


async def _read(shelf: Shelf, row: ArtifactRow, wanted: Wanted, most_tokens: int) -> Part:
    match wanted:
        case Lines():
            return await read_lines(Pieces(shelf, row), wanted, most_tokens)
        case Bytes():
            return await read_bytes(Pieces(shelf, row), wanted, most_tokens)
        case Search():
            return await read_matches(Pieces(shelf, row), wanted, most_tokens)
        case JsonPath():
            return await read_json(shelf, row, wanted, most_tokens)

"""All sessions of a user in one file: the export of each, as it is, between two lines of its own.

    {"kind":"sessions","format":1}
    {"kind":"session",…} … {"kind":"end",…}        the lines of one export, then those of the next
    {"kind":"sessions_end","sessions":1,"left_out":[{"session_id":"…","code":"turn_in_progress"}]}

The export of a session that fails on the way ends with its "error" line, and the next one follows. A file
without the last line is cut off.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Sequence

import orjson

from gateway.errors import BadImport
from gateway.history.copies.line_reader import MAX_LINE_LENGTH

FIRST_LINE = b'{"kind":"sessions","format":1}\n'
_LAST_LINE = b'{"kind":"sessions_end",'
_ENDS_OF_ONE = (b'{"kind":"end",', b'{"kind":"error",')


def last_line(sessions: int, left_out: Sequence[dict[str, str]]) -> bytes:
    """The number of exports that were written, and the sessions that could not be, with the code of the
    reason."""
    return orjson.dumps({"kind": "sessions_end", "sessions": sessions, "left_out": left_out}) + b"\n"


async def exports_in(chunks: AsyncIterable[bytes]) -> AsyncGenerator[AsyncGenerator[bytes]]:
    """The lines of each export in the file, as it comes in; those that are not read are passed over before
    the next one. Raises errors.BadImport: it is no such file, at once, or it is cut off."""
    lines = _lines(chunks)
    if await anext(lines, b"") != FIRST_LINE:
        raise BadImport("It is not an export of all sessions.")
    async for line in lines:
        if line.startswith(_LAST_LINE):
            return
        export = _export(line, lines)
        yield export
        async for _ in export:
            pass
    raise BadImport("The file is cut off: its last line is missing.")


async def _export(line: bytes, others: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    yield line
    while not line.startswith(_ENDS_OF_ONE) and (line := await anext(others, b"")):
        yield line


async def _lines(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """With their line ends, which the last one may lack. Raises errors.BadImport: one is too long."""
    held = bytearray()
    async for chunk in chunks:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            yield bytes(held + end + b"\n")
            held.clear()
        held += rest
        if len(held) > MAX_LINE_LENGTH:
            raise BadImport("A line is too long.")
    if held:
        yield bytes(held)

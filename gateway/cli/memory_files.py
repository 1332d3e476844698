"""Memories to a file, and from one."""

import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack
from pathlib import Path

from gateway.cli.catalog import tell
from gateway.cli.memory_desk import Desk
from gateway.errors import GatewayError
from gateway.memory.copies import Intake, Report, export, lines_of
from gateway.memory.memories import By
from gateway.storage.memories import Evidence

CHUNK = 262_144


async def write_memories(desk: Desk, output: Path | None) -> None:
    """Raises GatewayError when the file cannot be written."""
    with ExitStack() as opened:
        try:
            file = sys.stdout.buffer if output is None else opened.enter_context(output.open("wb"))
            async for lines in export(desk.room.store, desk.whole):
                file.write(lines)
            file.flush()
        except OSError as error:
            raise GatewayError(f"{output or 'stdout'} cannot be written: {error.strerror}.") from None


async def read_memories(desk: Desk, path: Path) -> Report:
    """Takes what can be taken, and tells what cannot.

    Raises:
        GatewayError: the file cannot be read.
        MemoryFull: the user's memories are at their limit; what came before stays.
    """
    by = By(desk.scope.user_id, "Imported on the command line.")
    intake = Intake(desk.room.memories, desk.whole, by, _nothing)
    async for line in lines_of(_chunks(path)):
        await intake.take(line)
    report = intake.report
    for refusal in report.refusals:
        tell(f"✗ line {refusal.line}: {refusal.reason}")
    if (more := report.refused - len(report.refusals)) > 0:
        tell(f"✗ and {more} more lines")
    print(
        f"{report.imported} imported, {report.reinforced} reinforced, {report.known} were there already, "
        f"{report.refused} refused."
    )
    return report


async def _nothing(_: Sequence[Evidence]) -> Sequence[Evidence]:
    """Quotes are held to the sessions that they are of, which only a running gateway can read."""
    return ()


async def _chunks(path: Path) -> AsyncGenerator[bytes]:
    with ExitStack() as opened:
        try:
            file = sys.stdin.buffer if str(path) == "-" else opened.enter_context(path.open("rb"))
            while chunk := file.read(CHUNK):
                yield chunk
        except OSError as error:
            raise GatewayError(f"{path} cannot be read: {error.strerror}.") from None

"""Memories to a file, and from one."""

import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack
from pathlib import Path

from gateway.cli.memory_context import MemoryContext
from gateway.cli.session_files import CHUNK, named_failures
from gateway.cli.terminal import to_stderr
from gateway.files.replacement import replacing
from gateway.memory.changes import Attribution
from gateway.memory.export import export
from gateway.memory.import_file import ImportReport, MemoryImport, lines_of
from gateway.storage.memories import Evidence


async def write_memories(context: MemoryContext, output: Path | None) -> None:
    """A file is for its owner alone, and there only once it is whole. Raises GatewayError when it cannot be
    written."""
    with named_failures(output or "stdout", "written"), ExitStack() as opened:
        file = sys.stdout.buffer if output is None else opened.enter_context(replacing(output, private=True))
        async for lines in export(context.services.store, context.all_scopes):
            file.write(lines)
        file.flush()


async def read_memories(context: MemoryContext, path: Path) -> ImportReport:
    """Takes what can be taken, and tells what cannot.

    Raises:
        GatewayError: the file cannot be read.
        MemoryFull: the user's memories are at their limit; what came before stays.
    """
    by = Attribution(context.scope.user_id, "Imported on the command line.")
    importing = MemoryImport(context.services.memories, context.all_scopes, by, _nothing)
    report = await importing.run(lines_of(_chunks(path)))
    for refusal in report.refusals:
        to_stderr(f"✗ line {refusal.line}: {refusal.reason}")
    if (more := report.refused - len(report.refusals)) > 0:
        to_stderr(f"✗ and {more} more lines")
    if report.quotes_dropped:
        to_stderr(
            f"! {report.quotes_dropped} quotes were left out: only a running gateway can hold them to the "
            "sessions that they are of (POST /api/memory/import)."
        )
    if report.links_dropped:
        to_stderr(f"! {report.links_dropped} links were left out: they lead to memories that are not here.")
    print(
        f"{report.imported} imported, {report.reinforced} reinforced, {report.known} were there already, "
        f"{report.refused} refused."
    )
    return report


async def _nothing(_: Sequence[Evidence]) -> Sequence[Evidence]:
    """Quotes are held to the sessions that they are of, which only a running gateway can read."""
    return ()


async def _chunks(path: Path) -> AsyncGenerator[bytes]:
    with named_failures(path, "read"), ExitStack() as opened:
        file = sys.stdin.buffer if str(path) == "-" else opened.enter_context(path.open("rb"))
        while chunk := file.read(CHUNK):
            yield chunk

"""kill -9 after any step of a compression leaves the old view or the new one, never a third."""

import asyncio
import signal
from pathlib import Path

import pytest

from gateway.history.transcript import fold, problems, view
from tests.forked import forked
from tests.harness import TIMEOUT
from tests.history.compressing import archived, session, talk
from tests.history.killed import STEPS, compress_until
from tests.history.scripted import summary, words

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("step", STEPS)
async def test_a_compression_that_is_killed_leaves_one_of_two_views(tmp_path: Path, step: str) -> None:
    """Only after the transaction is the new view in force, with a readable archive; before it everything is
    as it was, and the next attempt succeeds."""
    async with session(tmp_path) as opened:
        for messages in talk(8, words(300)):
            await opened.add(*messages)
        old = await opened.state()

    process = forked(compress_until, tmp_path, step)
    await asyncio.to_thread(process.join, TIMEOUT)
    assert process.exitcode == -signal.SIGKILL
    process.close()

    async with session(tmp_path, summary()) as opened:
        if step == "after add":
            [row] = await opened.storage.compressions.list("s")
            assert len(await archived(opened, row)) == row.to_position
        else:
            assert await opened.state() == old
            await opened.compress()
        history = await opened.storage.sessions.history("s")
        assert history.compression is not None
        assert problems(fold(view(history))) == []
        everything = await opened.storage.sessions.messages("s")
        assert [item.position for item in everything] == list(range(1, 17))

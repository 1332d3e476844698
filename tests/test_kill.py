"""`make kill` in short: a server that is killed while turns run, on real sockets and a real database."""

import pytest

from bench.kill import run

pytestmark = pytest.mark.anyio


async def test_a_killed_server_loses_nothing() -> None:
    """Turns interrupted by kill -9 all end with one done, and clients that resume see exactly the log."""
    outcome = await run(10, seed=7, at_once=5, every=0.4)

    assert outcome.violations == []
    assert sum(outcome.ended.values()) == 10
    assert outcome.kills > 0
    assert outcome.resumed > 0

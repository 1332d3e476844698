"""`make kill` in short: a server that is killed while turns run, on real sockets and a real database."""

import pytest

from bench.kill import run

pytestmark = pytest.mark.anyio


async def test_a_killed_server_loses_nothing() -> None:
    """Turns interrupted by kill -9 all end with one done, and clients that resume see exactly the log."""
    outcome = await run(6, seed=7, at_once=3, every=60, most_kills=2)

    assert outcome.violations == []
    assert sum(outcome.ended.values()) == 6
    assert outcome.kills > 0
    assert outcome.resumed > 0

"""`make kill` in short: a server that is killed while turns run, on real sockets and a real database."""

import asyncio
import io

import pytest

from bench.kill import run, so_far
from bench.outcome import Outcome
from bench.progress import progress
from bench.scale.kill import run as run_replicated
from bench.scale.proxy import PROGRAM
from bench.scale.rolling import run as run_rolling
from tests.disk import LEFT_OUT
from tests.postgres import on_postgres

pytestmark = [pytest.mark.anyio, pytest.mark.long, pytest.mark.waits]


async def test_a_killed_server_loses_nothing() -> None:
    """Turns interrupted by kill -9 all end with one done, and clients that resume see exactly the log."""
    outcome = await run(6, seed=7, at_once=3, every=60, most_kills=2)

    assert outcome.violations == []
    assert sum(outcome.ended.values()) == 6
    assert outcome.kills > 0
    assert outcome.resumed > 0


@pytest.mark.skipif(**LEFT_OUT)
async def test_a_server_without_power_loses_nothing_that_was_shown() -> None:
    """Of its files only what was synced is left: clients resume where they were, no number comes twice."""
    outcome = await run(6, seed=11, at_once=3, every=40, most_kills=3, power_cuts=3)

    assert outcome.violations == []
    assert sum(outcome.ended.values()) == 6
    assert outcome.power_cuts > 0
    assert outcome.resumed > 0


@on_postgres
async def test_replicas_that_are_killed_and_frozen_lose_nothing() -> None:
    """Three on one database, which restarts and whose connections are cut: each request of a client goes to
    any of them, and what it was told over all of them is the log."""
    outcome = await run_replicated(10, seed=16, at_once=3, every=25)

    assert outcome.violations == []
    assert sum(outcome.ended.values()) == 10
    assert min(outcome.kills - outcome.frozen, outcome.frozen, outcome.cuts, outcome.restarts) > 0
    assert outcome.resumed > 0


@on_postgres
@pytest.mark.skipif(PROGRAM is None, reason="nginx is not installed")
async def test_replicas_that_are_started_anew_one_after_the_other_refuse_nobody() -> None:
    """`make rolling` in short: behind nginx with the file of docs/scaling.md every message and every list is
    answered with 200 while each replica is asked to end and started again, and no stream loses anything."""
    outcome = await run_rolling(30, seed=3, at_once=4)

    assert not outcome.refused
    assert outcome.violations == []
    assert outcome.accepted == sum(outcome.ended.values()) == 30
    assert outcome.restarts >= 3
    assert outcome.listed > 0


@pytest.mark.parametrize("over", [False, True])
async def test_a_long_run_says_how_far_it_is(over: bool) -> None:
    """A line now and then where it is kept, and one that is written over on a terminal."""
    lines = io.StringIO()
    lines.isatty = lambda: over
    async with progress(lambda: so_far([], Outcome(turns=6, kills=2)), lines, seldom=0.001):
        while "turns" not in lines.getvalue():
            await asyncio.sleep(0.001)

    text = "0 of 6 turns done, 2 kills, 0 power cuts, 0 violations so far"
    assert lines.getvalue().startswith(f"\r{text}\x1b[K" if over else f"{text}\n")
    assert lines.getvalue().endswith("\r\x1b[K" if over else "\n")

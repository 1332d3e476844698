"""`python -m bench.kill`: kill -9, or a power cut, at random moments of many turns. Was anything lost?

Clients that resume by Last-Event-ID drive the turns against the demo model; the gateway is killed and started
again on the same port and data folder until every turn has ended. A power cut leaves of the database's files
what was synced of them (tests/disk.py): a turn that nobody was told of may be gone, and is asked for again.
Then what every client saw over all its connections is compared with a full replay, every session is asked
whether it goes on, and the database is read directly to check each session's record.
"""

import asyncio
import random
import signal
import sqlite3
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from bench import servers
from bench.outcome import Outcome, check, compare, told
from bench.progress import progress
from bench.reader import Reader
from bench.victim import Victim
from gateway.settings import load_settings
from tests.disk import power_cut, unreachable
from tests.harness import client_at
from tests.ownership import stuck

TURNS_PER_SESSION = 5

LAST_EVENTS = """
    SELECT session_id, max(seq)
    FROM (SELECT session_id, seq FROM loose_events UNION ALL SELECT session_id, last_seq FROM event_packs)
    GROUP BY session_id
"""

SCRIPTS = (
    "/pieces 40 /pace 10",
    "/think Let me see.\n/pieces 20 /pace 15",
    '/call calculate {"expression": "17*23"}\n/then\n/pieces 30 /pace 10',
    '/say I look.\n/call current_time {}\n/call calculate {"expression": "6*7"}\n/then\n/pieces 10 /pace 20',
    '/call search_docs {"query": "resume"}\n/then\n/call current_time {}\n/then\n/pieces 20 /pace 10',
    "/pieces 10 /pace 10\n/call no_such_tool {}\n/then\n/say That tool does not exist.",
    "/pieces 400 /burst",
    '/call search_docs {"query": "resume", "limit": 8}\n/then\n'
    '/call read_artifact {"ref": "{{artifact}}", "lines": "1-5"}\n/then\n/pieces 20 /pace 10',
)


@dataclass(slots=True)
class Moments:
    """When to kill: mostly after some more events (`every` on average) reached the clients, so that turns get
    on between two kills, and now and then right after the start, while turns are being recovered."""

    chance: random.Random
    every: int
    most: int | None
    power_cuts: int = 0

    async def wait(self, work: asyncio.Task[None], readers: Sequence[Reader]) -> None:
        if self.chance.random() < 0.2:
            await asyncio.wait({work}, timeout=self.chance.uniform(0, 0.5))
            return
        until = events_seen(readers) + self.chance.randrange(2 * self.every)
        while not work.done() and events_seen(readers) < until:
            await asyncio.wait({work}, timeout=0.002)
        await asyncio.wait({work}, timeout=self.chance.uniform(0, 0.02))

    def is_power_cut(self, so_far: int) -> bool:
        """Every other time, until there were as many as are wanted."""
        return so_far < self.power_cuts and self.chance.random() < 0.5


async def run(
    turns: int,
    *,
    seed: int,
    at_once: int = 8,
    every: int = 150,
    most_kills: int | None = None,
    power_cuts: int = 0,
) -> Outcome:
    """Drives `turns` turns in sessions of five; kills about once in `every` events, `most_kills` at most. Of
    the kills the first `power_cuts` that chance takes are power cuts. Says on stderr how far it is."""
    chance = random.Random(seed)
    outcome = Outcome(turns=turns)
    with tempfile.TemporaryDirectory(prefix="kill-") as temporary, servers.demo() as model:
        folder, synced = Path(temporary) / "data", Path(temporary) / "synced"
        folder.mkdir()
        victim = Victim(model.port, folder, synced if power_cuts else None)
        await victim.start()
        try:
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
                readers = [
                    Reader(http, [victim.url], random.Random(chance.random()))
                    for _ in range(-(-turns // TURNS_PER_SESSION))
                ]
                work = asyncio.create_task(drive(readers, turns, at_once))
                moments = Moments(chance, every, most_kills, power_cuts)
                async with progress(lambda: so_far(readers, outcome)):
                    await kill_while(work, victim, readers, moments, outcome)
                    for reader in readers:
                        compare(reader.turns, await reader.replay(), outcome)
            async with client_at(victim.url) as client:
                outcome.violations += await stuck(client, [reader.session_id for reader in readers])
            await victim.end(signal.SIGTERM)
        finally:
            await victim.end(signal.SIGKILL)
        database = load_settings(data_dir=folder).database_path
        await check(database, database.parent / "blobs", outcome)
    return outcome


async def drive(readers: list[Reader], turns: int, at_once: int) -> None:
    """Every session's turns in order, `at_once` sessions side by side."""
    places = asyncio.Semaphore(at_once)

    async def converse(number: int, reader: Reader) -> None:
        async with places:
            for _ in range(min(TURNS_PER_SESSION, turns - number * TURNS_PER_SESSION)):
                stop = reader.chance.uniform(0, 0.6) if reader.chance.random() < 0.1 else None
                await reader.take_turn(reader.chance.choice(SCRIPTS), cancel_after=stop)

    await asyncio.gather(*(converse(number, reader) for number, reader in enumerate(readers)))


async def kill_while(
    work: asyncio.Task[None],
    victim: Victim,
    readers: Sequence[Reader],
    moments: Moments,
    outcome: Outcome,
) -> None:
    """Kills and starts `victim` until `work` is through; `outcome` counts it."""
    try:
        while not work.done():
            await moments.wait(work, readers)
            if work.done() or outcome.kills + outcome.power_cuts == moments.most:
                break
            synced = victim.synced
            if synced is not None and moments.is_power_cut(outcome.power_cuts):
                await victim.cut_power()
                outcome.power_cuts += 1
                outcome.violations += missing(synced, readers)
            else:
                await victim.end(signal.SIGKILL)
                outcome.kills += 1
            await victim.start()
        await work
    finally:
        work.cancel()


def missing(synced: Path, readers: Sequence[Reader]) -> list[str]:
    """What readers were shown and the disk does not hold any more. It looks at a copy: who opens a database
    changes its files."""
    with tempfile.TemporaryDirectory(prefix="cut-") as folder:
        power_cut(Path(folder), synced)
        with closing(sqlite3.connect(load_settings(data_dir=Path(folder)).database_path)) as connection:
            left: dict[str, int] = dict(connection.execute(LAST_EVENTS).fetchall())
    shown = {reader.session_id: max((turn.cursor for turn in reader.turns), default=0) for reader in readers}
    return [
        f"power cut: session {session_id} was shown {seq} events, {left.get(session_id, 0)} are left"
        for session_id, seq in shown.items()
        if seq > left.get(session_id, 0)
    ]


def so_far(readers: Sequence[Reader], outcome: Outcome) -> str:
    """One line about a run that goes on."""
    turns = [each for reader in readers for each in reader.turns]
    done = sum(each.status is not None for each in turns)
    # What readers found comes to the outcome only when they are compared.
    wrong = {*outcome.violations, *(problem for each in turns for problem in each.problems)}
    return (
        f"{done} of {outcome.turns} turns done, {outcome.kills} kills, {outcome.power_cuts} power cuts, "
        f"{len(wrong)} violations so far"
    )


def events_seen(readers: Sequence[Reader]) -> int:
    return sum(len(turn.frames) for reader in readers for turn in reader.turns)


def main() -> None:
    parser = ArgumentParser(prog="python -m bench.kill", description=__doc__)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument(
        "--seed", type=int, default=random.randrange(10**6), help="of the scripts and the moments"
    )
    parser.add_argument("--at-once", type=int, default=8, help="sessions side by side")
    parser.add_argument("--every", type=int, default=150, help="events between two kills, on average")
    parser.add_argument("--power-cuts", type=int, default=20, help="so many of the kills are power cuts")
    parser.add_argument("--replicas", type=int, help="so many on PostgreSQL, without power cuts")
    given = parser.parse_args()
    if given.replicas:
        from bench.scale import kill as replicated  # noqa: PLC0415 - it imports this module

        sys.exit(replicated.main(given))
    if given.power_cuts and (reason := unreachable()):
        print(f"Without power cuts: {reason}.")
        given.power_cuts = 0
    print(f"{given.turns} turns, seed {given.seed}", flush=True)
    outcome = asyncio.run(
        run(
            given.turns,
            seed=given.seed,
            at_once=given.at_once,
            every=given.every,
            power_cuts=given.power_cuts,
        )
    )
    print(f"kills: {outcome.kills}, power cuts: {outcome.power_cuts} of {given.power_cuts} wanted")
    sys.exit(told(outcome))


if __name__ == "__main__":
    main()

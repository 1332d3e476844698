"""`python -m bench.kill --replicas 3`: replicas are killed or frozen, the database restarts, connections are
cut, at random moments of many turns. Was anything lost?

Each request of a client goes to any of the replicas. What is checked is what `bench.kill` checks.
"""

import asyncio
import random
import signal
import socket
import tempfile
from argparse import Namespace
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import aiohttp

from bench import servers
from bench.kill import TURNS_PER_SESSION, Moments, drive, so_far
from bench.outcome import Outcome, check, compare, told
from bench.progress import progress
from bench.reader import Reader
from bench.scale import cluster
from bench.scale.cluster import Cluster
from bench.victim import Victim
from tests.harness import client_at
from tests.ownership import stuck

LEASE = 3.0
"""Seconds of GATEWAY_LEASE: short, so that a frozen replica often loses what it had."""
Disturbance = Literal["kill", "freeze", "cut", "restart"]
"""`freeze` is SIGSTOP, and SIGCONT later; connections to the database are cut, the database restarts."""
OFTEN: Mapping[Disturbance, int] = {"kill": 9, "freeze": 4, "cut": 3, "restart": 2}
"""How often each comes, in an order by chance."""


@dataclass(slots=True)
class Disturbed(Outcome):
    """What was done beside the kills: `frozen` of them were SIGSTOP."""

    frozen: int = 0
    cuts: int = 0
    restarts: int = 0


class Cutting:
    """Passes on what gateways and database say to each other, until it cuts them off from each other."""

    def __init__(self, port: int) -> None:
        self.upstream = port
        self._open: set[asyncio.StreamWriter] = set()

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[int]:
        """On which port."""
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            self.cut(1, random.Random(0))

    def cut(self, share: float, chance: random.Random) -> None:
        """Resets about that share of the connections, in the middle of whatever they say."""
        for writer in list(self._open):
            if chance.random() < share:
                writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, to_there = await asyncio.open_connection("127.0.0.1", self.upstream)
        except OSError:
            writer.transport.abort()
            return
        for each in (writer, to_there):
            # A piece of text is worth a packet of its own, as without this relay.
            each.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._open |= {writer, to_there}
        await asyncio.gather(_copy(reader, to_there), _copy(there, writer))
        self._open -= {writer, to_there}


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.transport.abort()


@dataclass(slots=True)
class Chaos:
    """What happens to replicas and database while the turns run."""

    victims: Sequence[Victim]
    database: Cluster
    cutting: Cutting
    chance: random.Random
    outcome: Disturbed
    kinds: random.Random
    """Decides which disturbance comes next; what depends on the moment does not change the order."""
    _deck: list[Disturbance] = field(default_factory=list[Disturbance])
    _down: set[Victim] = field(default_factory=set[Victim])
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def rule(self, work: asyncio.Task[None], moments: Moments, readers: Sequence[Reader]) -> None:
        """Until `work` is through; then everything runs again."""
        try:
            while not work.done():
                await moments.wait(work, readers)
                if work.done() or self.outcome.kills == moments.most:
                    break
                await self.disturb({reader.reads_from for reader in readers})
            await work
        finally:
            work.cancel()
            await asyncio.gather(*self._tasks)

    async def disturb(self, read: Collection[str | None]) -> None:
        """Kills or freezes a replica, one that is `read` where there is one, or does something to the
        database."""
        if not self._deck:
            self._deck = [kind for kind, count in OFTEN.items() for _ in range(count)]
            self.kinds.shuffle(self._deck)
        kind = self._deck.pop()
        if kind == "restart":
            how = self.chance.choice((signal.SIGINT, signal.SIGQUIT))
            await asyncio.to_thread(self.database.stop, how)
            await asyncio.to_thread(self.database.start)
            self.outcome.restarts += 1
        elif kind == "cut":
            self.cutting.cut(self.chance.choice((0.2, 1.0)), self.chance)
            self.outcome.cuts += 1
        elif up := [victim for victim in self.victims if victim not in self._down]:
            victim = self.chance.choice([victim for victim in up if victim.url in read] or up)
            self._down.add(victim)
            self.outcome.kills += 1
            disturbing = self._freeze(victim) if kind == "freeze" else self._kill(victim)
            self._tasks.add(asyncio.create_task(disturbing))
        else:
            self._deck.append(kind)
            await asyncio.sleep(0.05)

    async def _kill(self, victim: Victim) -> None:
        await victim.end(signal.SIGKILL)
        await asyncio.sleep(self.chance.choice((0, self.chance.uniform(0, 2 * LEASE))))
        # It may come up while the database is away.
        while self.victims:
            try:
                await victim.start()
            except RuntimeError:
                continue
            break
        self._down.discard(victim)

    async def _freeze(self, victim: Victim) -> None:
        victim.send(signal.SIGSTOP)
        self.outcome.frozen += 1
        await asyncio.sleep(self.chance.uniform(0.2, 2 * LEASE))
        victim.send(signal.SIGCONT)
        self._down.discard(victim)


async def run(
    turns: int,
    *,
    seed: int,
    replicas: int = 3,
    at_once: int = 8,
    every: int = 60,
    most_kills: int | None = None,
) -> Disturbed:
    """Drives `turns` turns in sessions of five; something happens about once in `every` events, with
    `most_kills` at most. Says on stderr how far it is."""
    chance = random.Random(seed)
    outcome = Disturbed(turns=turns)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kill-")))
        model, database = stack.enter_context(servers.demo()), stack.enter_context(cluster.running())
        url, cutting = database.database(), Cutting(database.port)
        port = await stack.enter_async_context(cutting.serving())
        shared = {
            "GATEWAY_DATABASE_URL": url.replace(f":{database.port}/", f":{port}/"),
            "GATEWAY_BLOB_URL": str(folder / "blobs"),
            "GATEWAY_BLOBS_SHARED": "true",
            "GATEWAY_LEASE": str(LEASE),
        }
        victims = [Victim(model.port, folder / str(number), None, **shared) for number in range(replicas)]
        for victim in victims:
            victim.folder.mkdir()
            stack.push_async_callback(victim.end, signal.SIGKILL)
        servers.command(["gateway", "migrate"], shared | {"GATEWAY_DATABASE_URL": url})
        await asyncio.gather(*(victim.start() for victim in victims))
        http = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        urls = [victim.url for victim in victims]
        readers = [
            Reader(http, urls, random.Random(chance.random())) for _ in range(-(-turns // TURNS_PER_SESSION))
        ]
        work = asyncio.create_task(drive(readers, turns, at_once))
        chaos = Chaos(victims, database, cutting, chance, outcome, random.Random(seed))
        async with progress(lambda: so_far(readers, outcome)):
            await chaos.rule(work, Moments(chance, every, most_kills), readers)
            for reader in readers:
                compare(reader.turns, await reader.replay(), outcome)
        async with client_at(chance.choice(urls)) as client:
            outcome.violations += await stuck(client, [reader.session_id for reader in readers])
        await asyncio.gather(*(victim.end(signal.SIGTERM) for victim in victims))
        await check(url, folder / "blobs", outcome)
    return outcome


def main(given: Namespace) -> bool:
    """`bench.kill` with replicas; whether anything is wrong."""
    print(f"{given.turns} turns on {given.replicas} replicas, seed {given.seed}", flush=True)
    outcome = asyncio.run(
        run(
            given.turns,
            seed=given.seed,
            replicas=given.replicas,
            at_once=given.at_once,
            every=given.every,
        )
    )
    print(f"kills: {outcome.kills}, {outcome.frozen} of them SIGSTOP and SIGCONT")
    print(f"restarts of the database: {outcome.restarts}, cuts of connections: {outcome.cuts}")
    return told(outcome)

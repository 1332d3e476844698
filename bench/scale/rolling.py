"""`python -m bench.scale.rolling`: three replicas behind nginx are stopped and started again, one after the
other, while messages are sent. Was any of them refused, or anything lost?

    SIGTERM, until it has ended ── start ── until /readyz says so ── the next one, until all turns are over

Half of the clients ask short questions one after the other, others have long answers, and one lists sessions.
A POST or a list that is not answered with 200 was refused: nobody may see that there is a restart. Streams of
a replica that ends are cut off and resumed; what they bring is checked as `bench.kill` checks it.
"""

import asyncio
import random
import signal
import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import aiohttp

from bench import servers
from bench.kill import TURNS_PER_SESSION, drive, so_far
from bench.outcome import Outcome, check, compare, told
from bench.progress import progress
from bench.reader import AWAY, RETRY, TIMEOUT, Reader, ReceivedTurn
from bench.scale import cluster
from bench.scale.proxy import PROGRAM, nginx
from bench.victim import Victim
from tests.harness import client_at
from tests.loopback import TIMEOUT as ANSWER_TIMEOUT
from tests.ownership import stuck
from tests.waiting import until

LIST_EVERY = 0.05
"""Seconds between two lists of sessions."""
SHORT = "/pieces 4 /pace 5"
SLOW = '/pieces 20 /pace 50\n/call calculate {"expression": "17*23"}\n/then\n/pieces 60 /pace 50'
GRACE = 2.0
"""Seconds of GATEWAY_SHUTDOWN_GRACE: some of the long answers are handed over, others cut off."""


@dataclass(slots=True)
class Rolled(Outcome):
    """What came of it: how many replicas were started anew, how many messages and lists were answered with
    200, and what became of the others, by status or the kind of failure."""

    restarts: int = 0
    accepted: int = 0
    listed: int = 0
    refused: Counter[str] = field(default_factory=Counter[str])


class Asking(Reader):
    """One that notes each message that is refused."""

    def __init__(
        self, http: aiohttp.ClientSession, url: str, chance: random.Random, outcome: Rolled, message: str
    ) -> None:
        super().__init__(http, [url], chance)
        self.outcome = outcome
        self.message = message

    async def take_turn(self, message: str, *, cancel_after: float | None = None) -> ReceivedTurn:
        """Asks its own question, whatever `message` is."""
        return await super().take_turn(self.message)

    async def _ask(self, turn: ReceivedTurn, client_message_id: str) -> None:
        try:
            await super()._ask(turn, client_message_id)
        except AWAY as error:
            if turn.turn_id is None:
                self.outcome.refused[type(error).__name__] += 1
            raise

    async def _read(self, answer: aiohttp.ClientResponse, turn: ReceivedTurn) -> None:
        if answer.method == "POST":
            self.outcome.accepted += answer.status == 200
            if answer.status != 200:
                self.outcome.refused[f"{answer.status} to a message"] += 1
        if answer.status >= 500:
            await asyncio.sleep(RETRY)
            return
        await super()._read(answer, turn)


async def restart(victims: Sequence[Victim], work: asyncio.Task[None], outcome: Rolled, least: int) -> None:
    """One after the other, until `work` is through and there were `least`."""
    while not (work.done() and outcome.restarts >= least):
        victim = victims[outcome.restarts % len(victims)]
        await victim.end(signal.SIGTERM)
        await victim.start()
        await until(partial(is_ready, victim), ANSWER_TIMEOUT)
        outcome.restarts += 1


async def is_ready(victim: Victim) -> bool:
    async with client_at(victim.url) as client:
        return (await client.get("/readyz")).status_code == 200


async def list_sessions(http: aiohttp.ClientSession, url: str, outcome: Rolled) -> None:
    """Again and again, until it is cancelled."""
    while True:
        try:
            async with http.get(f"{url}/api/sessions", timeout=TIMEOUT) as answer:
                await answer.read()
            outcome.listed += answer.status == 200
            if answer.status != 200:
                outcome.refused[f"{answer.status} to a list"] += 1
        except AWAY as error:
            outcome.refused[f"{type(error).__name__} of a list"] += 1
        await asyncio.sleep(LIST_EVERY)


async def run(turns: int, *, seed: int, at_once: int = 6, least: int = 3) -> Rolled:
    """Asks for so many turns, in sessions of five; replicas are started anew, at least `least` times."""
    chance, outcome = random.Random(seed), Rolled(turns=turns)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rolling-")))
        model, database = stack.enter_context(servers.demo()), stack.enter_context(cluster.running())
        shared = {
            "GATEWAY_DATABASE_URL": database.database(),
            "GATEWAY_BLOB_URL": str(folder / "blobs"),
            "GATEWAY_BLOBS_SHARED": "true",
            "GATEWAY_SHUTDOWN_GRACE": str(GRACE),
        }
        victims = [Victim(model.port, folder / str(number), None, **shared) for number in range(3)]
        for victim in victims:
            victim.folder.mkdir()
            stack.push_async_callback(victim.end, signal.SIGKILL)
        servers.command(["gateway", "migrate"], shared)
        await asyncio.gather(*(victim.start() for victim in victims))
        url = stack.enter_context(nginx([victim.port for victim in victims]))
        http = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        readers = [
            Asking(http, url, random.Random(chance.random()), outcome, SHORT if number % 2 else SLOW)
            for number in range(-(-turns // TURNS_PER_SESSION))
        ]
        work = asyncio.create_task(drive(list(readers), turns, at_once))
        lister = asyncio.create_task(list_sessions(http, url, outcome))
        async with progress(lambda: so_far(readers, outcome)):
            await restart(victims, work, outcome, least)
            await work
            lister.cancel()
            for reader in readers:
                compare(reader.turns, await reader.replay(), outcome)
        async with client_at(url) as client:
            outcome.violations += await stuck(client, [reader.session_id for reader in readers])
        await asyncio.gather(*(victim.end(signal.SIGTERM) for victim in victims))
        await check(shared["GATEWAY_DATABASE_URL"], folder / "blobs", outcome)
    return outcome


def main() -> None:
    parser = ArgumentParser(prog="python -m bench.scale.rolling", description=__doc__)
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--at-once", type=int, default=6, help="sessions side by side")
    given = parser.parse_args()
    if PROGRAM is None:
        sys.exit("nginx is not installed.")
    print(f"{given.turns} turns, seed {given.seed}", flush=True)
    outcome = asyncio.run(run(given.turns, seed=given.seed, at_once=given.at_once))
    print(f"restarts: {outcome.restarts}; accepted: {outcome.accepted} messages, {outcome.listed} lists")
    print("refused: " + (", ".join(f"{n} x {what}" for what, n in outcome.refused.items()) or "0"))
    sys.exit(told(outcome) or bool(outcome.refused))


if __name__ == "__main__":
    main()

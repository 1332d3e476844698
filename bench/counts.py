"""`python -m bench.counts [--check]`: what a chat makes the gateway do, counted: no clock, and so no noise.

Each load is put on one warmed-up gateway, a chat at a time, and the median of the chats counts: of short ones
(one model call, ten pieces), of short ones with a tool round, and of slow streams of a hundred pieces.
`BUDGET` holds what each may do; it may only fall. `--check` fails where more is done.
"""

import os
import signal
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import orjson
import uvloop

from bench import client, servers
from bench.cells import CALL, warm_up
from bench.servers import Server


@dataclass(frozen=True, slots=True)
class Counts:
    """What a chat made the gateway do, and which functions that were."""

    counts: Mapping[str, float]
    functions: Mapping[str, float]


LOADS = {
    "short chat": ("/pieces 10", 21),
    "with a tool": ("/pieces 10" + CALL, 21),
    "slow stream of 100 pieces": ("/pieces 100 /pace 10", 7),
}
"""The message, and how many chats of it are counted."""
BUDGET: Mapping[str, Mapping[str, int]] = {
    "short chat": {
        "calls": 1880, "coroutine steps": 356, "statements": 55, "transactions": 3, "reads and writes": 130,
    },
    "with a tool": {
        "calls": 2965, "coroutine steps": 565, "statements": 76, "transactions": 6, "reads and writes": 171,
    },
    "slow stream of 100 pieces": {
        "calls": 10450, "coroutine steps": 1253, "statements": 250, "transactions": 103,
        "reads and writes": 1175,
    },
}  # fmt: skip
ROOM = {"calls": 0.08, "coroutine steps": 0.08}
"""How much more than its budget a count may be: how pieces meet in a flush is not the same in each run."""
MORE_ROOM = 1.0
"""The same of the others: they depend on what is done beside the turns meanwhile, on a busy machine more."""
SETTLE = 0.15
"""Seconds after a chat in which what follows its end is done."""


def counted(server: Server, file: Path, message: str, chats: int) -> Counts:
    """The median of what the gateway does for each of so many chats.

    Raises:
        RuntimeError: a chat failed, or the gateway does not say what it counted.
    """
    found: list[Counts] = []
    for _ in range(chats):
        taken(server, file)
        load = uvloop.run(client.run(server.port, server.dialect, message, chats=1, at_once=1))
        if load.failures:
            raise RuntimeError(f"a chat failed: {load.failures[0]}")
        time.sleep(SETTLE)
        found.append(taken(server, file))
    names = {name for each in found for name in each.functions}
    return Counts(
        {name: median(each.counts[name] for each in found) for name in found[0].counts},
        {name: median(each.functions.get(name, 0) for each in found) for name in names},
    )


def taken(server: Server, file: Path) -> Counts:
    """What was counted since it was asked before. Raises RuntimeError: there is no answer."""
    file.unlink(missing_ok=True)
    os.kill(server.pid, signal.SIGUSR1)
    give_up = time.monotonic() + servers.START_TIMEOUT
    while not file.exists():
        if time.monotonic() > give_up:
            raise RuntimeError("the counted gateway does not answer")
        time.sleep(0.002)
    said = orjson.loads(file.read_bytes())
    return Counts(functions=said.pop("functions"), counts=said)


def measured(checkout: str = "") -> dict[str, Counts]:
    """The counts of each load, of the gateway here or of that in `checkout`, which must know how to count."""
    with servers.upstream() as upstream, tempfile.TemporaryDirectory(prefix="bench-") as folder:
        file = Path(folder) / "counts"
        with servers.gateway(
            upstream.port, "counted", "bench.counted", checkout=checkout, BENCH_COUNTS=str(file)
        ) as server:
            uvloop.run(warm_up(server))
            return {name: counted(server, file, *load) for name, load in LOADS.items()}


def problems(found: Mapping[str, Counts]) -> list[str]:
    """A sentence for each count that its budget does not hold."""
    said: list[str] = []
    for load, made in found.items():
        for name, count in made.counts.items():
            budget = BUDGET[load][name]
            if count > budget * (1 + ROOM.get(name, MORE_ROOM)):
                said.append(f"{load}: {count:g} {name}, {budget} are allowed. Do less, or say why in BUDGET.")
    return said


def table(found: Mapping[str, Counts]) -> str:
    """A line for each load, a column for each count."""
    names = list(next(iter(found.values())).counts)
    lines = [f"{'':28}" + "".join(f"{name:>18}" for name in names)]
    lines += [
        f"{load:28}" + "".join(f"{made.counts[name]:>18g}" for name in names) for load, made in found.items()
    ]
    return "\n".join(lines)


def main() -> None:
    parser = ArgumentParser(prog="python -m bench.counts", description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where the budget does not hold")
    check = parser.parse_known_args()[0].check
    found = measured()
    print(table(found))
    if check and (said := problems(found)):
        sys.exit("\n".join(said))


if __name__ == "__main__":
    main()

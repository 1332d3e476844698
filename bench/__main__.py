"""`python -m bench`: the gateway beside bare relays of the same upstream, and where its CPU time goes.

The full form (all cells and servers, three rounds) writes its results to bench/results.md. Every run prints
beside its own results what was recorded there.
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import uvloop

from bench import results, servers, stages
from bench.cells import CELLS, Cell, Figures, Start, at_hand, warm_up
from bench.report import AIMS, table, worse
from bench.servers import Server
from bench.stages import Shares

Running = dict[str, tuple[Server, Start]]
Measured = dict[str, list[Figures]]

STAGES = "stages"
ALL_CELLS = ",".join([*CELLS, STAGES])
ALL_SERVERS = "direct,httpx2,aiohttp,gateway"
RECORDED_ROUNDS = 3
"""Fewer rounds are not kept."""


def main() -> None:
    given = arguments()
    servers.pin(0, 1)
    chosen, asked = given.servers.split(","), given.cells.split(",")
    recorded, measures, profile = results.recorded(), dict[str, Measured](), dict[str, Shares]()
    with ExitStack() as stack:
        cells = [CELLS[name] for name in asked if name != STAGES]
        upstream = stack.enter_context(servers.upstream())
        running = start(stack, upstream, {name for cell in cells for name in cell.measured(chosen)})
        for cell in cells:
            measured = {name: running[name] for name in cell.measured(chosen)}
            measures[cell.name] = rounds_of(
                cell, measured, 1 if given.quick else given.rounds, quick=given.quick
            )
            if measured:
                print(table(cell.name, cell.about, measures[cell.name], recorded) + "\n", flush=True)
        if STAGES in asked:
            profile = stages.measured(upstream.port, quick=given.quick)
            print(stages.shown(profile) + "\n", flush=True)
    if given.json:
        Path(given.json).write_text(json.dumps(measures, indent=1), encoding="utf-8")
    print(summary := summed_up(measures))
    print("".join(f"Worse than recorded: {what}\n" for what in worse(measures, recorded)), end="")
    if given.record:
        results.FILE.write_text(results.written(measures, profile, summary), encoding="utf-8")
        print(f"Recorded in bench/{results.FILE.name}")


def summed_up(measured: Mapping[str, Measured]) -> str:
    aims = [(name, aim) for name in measured for aim in AIMS[name] if aim.measured(measured[name])]
    missed = [f"{name} {aim.figure}" for name, aim in aims if not aim.reached(measured[name])]
    reached = f"{len(aims) - len(missed)} of {len(aims)} aims reached"
    return reached + "".join(f"; missed: {it}" for it in missed)


def arguments() -> Namespace:
    """The arguments; `record` is whether they ask for the full form, whose results are kept."""
    parser = ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round (about 3 minutes)")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds (default 3)")
    parser.add_argument("--cells", default=ALL_CELLS, help=f"of {ALL_CELLS.replace(',', ', ')}")
    parser.add_argument("--servers", default=ALL_SERVERS, help="which to measure")
    parser.add_argument("--json", metavar="FILE", help="every figure of every round")
    given = parser.parse_args()
    unknown = set(given.cells.split(",")) - set(ALL_CELLS.split(","))
    if unknown:
        parser.error(f"no such cell: {', '.join(unknown)}")
    whole = given.cells == ALL_CELLS and given.servers == ALL_SERVERS
    given.record = whole and not given.quick and given.rounds >= RECORDED_ROUNDS
    return given


def start(stack: ExitStack, upstream: Server, names: set[str]) -> Running:
    """The wanted servers, running and warmed up, and for each how to start another one."""
    starts: dict[str, Start] = {
        "direct": servers.upstream,
        "httpx2": partial(servers.relay, "httpx2", upstream.port),
        "aiohttp": partial(servers.relay, "aiohttp", upstream.port),
        "gateway": partial(servers.gateway, upstream.port),
        "relaxed": partial(servers.relaxed, upstream.port),
        "untold": partial(servers.untold, upstream.port),
        "traced": partial(servers.traced, upstream.port),
    }
    running = {
        name: (upstream if name == "direct" else stack.enter_context(start()), start)
        for name, start in starts.items()
        if name in names
    }
    for server, _ in running.values():
        uvloop.run(warm_up(server))
    return running


def rounds_of(cell: Cell, running: Running, rounds: int, *, quick: bool) -> Measured:
    """The figures of every server in every round."""
    found: Measured = {name: [] for name in running}
    for number in range(min(rounds, cell.rounds or rounds)):
        for name, figures in one_round(cell, running, number, quick=quick):
            found[name].append(figures)
    return found


def one_round(cell: Cell, running: Running, number: int, *, quick: bool) -> Iterator[tuple[str, Figures]]:
    """Every server once, each round beginning with another one, so that none profits from its place."""
    names = list(running)
    for name in names[number % len(names) :] + names[: number % len(names)]:
        if sys.stderr.isatty():
            print(f"{cell.name} {name} {number + 1}   ", end="\r", file=sys.stderr, flush=True)
        with at_hand(cell, *running[name]) as server:
            yield name, uvloop.run(cell.measure(server, quick))


if __name__ == "__main__":
    main()

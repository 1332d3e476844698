"""`python -m bench`: the gateway beside bare relays of the same upstream."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import uvloop

from bench import servers
from bench.cells import CELLS, Cell, Figures, Start, at_hand, warm_up
from bench.report import AIMS, table
from bench.servers import Server

Running = dict[str, tuple[Server, Start]]


def main() -> None:
    given = arguments()
    servers.pin(0, 1)
    rounds = 1 if given.quick else given.rounds
    told: dict[str, dict[str, list[Figures]]] = {}
    with ExitStack() as stack:
        chosen, cells = given.servers.split(","), [CELLS[name] for name in given.cells.split(",")]
        running = start(stack, list(dict.fromkeys(name for cell in cells for name in cell.measured(chosen))))
        for server, _ in running.values():
            uvloop.run(warm_up(server))
        for cell in cells:
            measured = {name: running[name] for name in cell.measured(chosen)}
            told[cell.name] = {name: [] for name in measured}
            for number in range(min(rounds, cell.rounds or rounds)):
                for name, figures in one_round(cell, measured, number, quick=given.quick):
                    told[cell.name][name].append(figures)
            if measured:
                print(table(cell.name, cell.about, told[cell.name]) + "\n", flush=True)
    if given.json:
        Path(given.json).write_text(json.dumps(told, indent=1), encoding="utf-8")
    aims = [(name, aim) for name in told for aim in AIMS[name] if aim.measured(told[name])]
    missed = [f"{name} {aim.figure}" for name, aim in aims if not aim.reached(told[name])]
    print(
        f"{len(aims) - len(missed)} of {len(aims)} aims reached" + "".join(f"; missed: {it}" for it in missed)
    )


def arguments() -> Namespace:
    parser = ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round (about 2 minutes)")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds (default 3)")
    parser.add_argument("--cells", default=",".join(CELLS), help=f"of {', '.join(CELLS)}")
    parser.add_argument("--servers", default="direct,httpx2,aiohttp,gateway", help="which to measure")
    parser.add_argument("--json", metavar="FILE", help="every figure of every round")
    given = parser.parse_args()
    unknown = set(given.cells.split(",")) - set(CELLS)
    if unknown:
        parser.error(f"no such cell: {', '.join(unknown)}")
    return given


def start(stack: ExitStack, names: list[str]) -> Running:
    """The wanted servers, running, and for each how to start another one."""
    upstream = stack.enter_context(servers.upstream())
    starts: dict[str, Start] = {
        "direct": servers.upstream,
        "httpx2": partial(servers.relay, "httpx2", upstream.port),
        "aiohttp": partial(servers.relay, "aiohttp", upstream.port),
        "gateway": partial(servers.gateway, upstream.port),
        "relaxed": partial(servers.relaxed, upstream.port),
        "untold": partial(servers.untold, upstream.port),
        "traced": partial(servers.traced, upstream.port),
    }
    return {
        name: (upstream if name == "direct" else stack.enter_context(starts[name]()), starts[name])
        for name in names
    }


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

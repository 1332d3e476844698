"""`python -m bench.pair REVISION`: the gateway here beside that of an earlier revision, in turns, on the same
machine with the same libraries; what each cell's figures are here, divided by what they are there.

Both run all the time, a round of a cell is measured on one after the other, and the median of the rounds
counts: so an hour in which the machine is slow is slow for both. What a chat makes each of them do is counted
too (`bench.counts`).
"""

import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

import uvloop

from bench import counts, servers
from bench.__main__ import Running, rounds_of
from bench.cells import CELLS, warm_up

CHOSEN = ("c1", "c50", "c50tool", "c200", "slow100", "chat", "tool")
SHOWN = 40
HERE = Path(__file__).parent


@contextmanager
def checked_out(revision: str) -> Generator[str]:
    """The sources of a revision, for the time of the context. What counts is put beside them.

    Raises:
        subprocess.CalledProcessError: git does not know it.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        place = Path(folder) / "checkout"
        git = ["git", "-C", str(HERE)]
        subprocess.run([*git, "worktree", "add", "--quiet", "--detach", str(place), revision], check=True)
        try:
            shutil.copy(HERE / "counted.py", place / "bench" / "counted.py")
            yield str(place)
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", str(place)], check=True)


def grown(here: counts.Counts, there: counts.Counts) -> list[str]:
    """A line for each function whose number of calls differs most."""
    more = {
        name: here.functions.get(name, 0) - there.functions.get(name, 0)
        for name in {*here.functions, *there.functions}
    }
    first = sorted(more, key=lambda name: -abs(more[name]))[:SHOWN]
    return [f"{more[name]:>+8g}  {name}" for name in first if more[name]]


def main() -> None:
    parser = ArgumentParser(prog="python -m bench.pair", description=__doc__)
    parser.add_argument("revision", help="a commit, branch or tag")
    parser.add_argument("--cells", default=",".join(CHOSEN), help=f"of {', '.join(CELLS)}")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds (default 3)")
    parser.add_argument("--quick", action="store_true", help="short rounds")
    given = parser.parse_args()
    servers.pin(0, 1)
    with checked_out(given.revision) as there:
        made, before = counts.measured(), counts.measured(there)
        print(f"here\n{counts.table(made)}\n\n{given.revision}\n{counts.table(before)}\n", flush=True)
        for load in made:
            print(
                f"{load}: functions called more or less often", *grown(made[load], before[load]), "", sep="\n"
            )
        with servers.upstream() as upstream:
            new = partial(servers.gateway, upstream.port, "here")
            old = partial(servers.gateway, upstream.port, "there", checkout=there)
            with new() as here, old() as earlier:
                running: Running = {"here": (here, new), "there": (earlier, old)}
                for server in (here, earlier):
                    uvloop.run(warm_up(server))
                print(f"{'here / ' + given.revision:40}{'here':>12}{'there':>12}{'ratio':>8}")
                for name in given.cells.split(","):
                    found = rounds_of(CELLS[name], running, given.rounds, quick=given.quick)
                    for figure in found["here"][0]:
                        now, then = (median(each[figure] for each in found[it]) for it in running)
                        ratio = f"{now / then:.2f}" if then else "-"
                        print(f"{name + ': ' + figure:40}{now:>12.2f}{then:>12.2f}{ratio:>8}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

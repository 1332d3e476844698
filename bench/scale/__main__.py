"""`python -m bench.scale`: what PostgreSQL costs beside SQLite, and replicas beside one; how soon these hear
of each other. On a PostgreSQL server of its own, which has every commit on its disk."""

import sys
from argparse import ArgumentParser

from bench import servers
from bench.figures import show
from bench.scale import cluster
from bench.scale.cpu import appends, pieces
from bench.scale.live import cancels, live
from bench.scale.moving import moving
from bench.scale.takeover import takeovers

MEASURES = {each.__name__: each for each in (pieces, appends, live, cancels, takeovers, moving)}


def main() -> None:
    parser = ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--only", default=",".join(MEASURES), help=f"of {', '.join(MEASURES)}")
    given, _ = parser.parse_known_args()
    servers.pin(0, 1)
    with cluster.running() as database:
        missed = sum(
            show(MEASURES[name](database, quick=given.quick)) for name in given.only.split(",") if name
        )
    sys.exit(0 if given.quick or not missed else 1)


if __name__ == "__main__":
    main()

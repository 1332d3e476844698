"""Writes dashboards/*.json from boards/.

With --check nothing is written: it exits 1 where a file is stale, missing, or nobody's.
"""

import json
import sys
from pathlib import Path

from boards.agent import AGENT
from boards.artifacts import ARTIFACTS
from boards.delivery import DELIVERY
from boards.memory import MEMORY
from boards.models import MODELS
from boards.overview import OVERVIEW
from boards.skills import SKILLS
from panels import written

FOLDER = Path(__file__).parent / "dashboards"
BOARDS = (OVERVIEW, MODELS, AGENT, SKILLS, MEMORY, ARTIFACTS, DELIVERY)


def main(arguments: list[str]) -> int:
    """Writes or checks every dashboard; returns the exit code."""
    fresh = {f"{board.name}.json": json.dumps(written(board), indent=2) + "\n" for board in BOARDS}
    there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    stale = [name for name in sorted(fresh.keys() | there.keys()) if fresh.get(name) != there.get(name)]
    for name in stale:
        if "--check" in arguments:
            print(f"grafana/dashboards/{name} is stale; `make dashboards` writes it")
        elif name in fresh:
            (FOLDER / name).write_text(fresh[name], encoding="utf-8")
            print(f"wrote grafana/dashboards/{name}")
        else:
            (FOLDER / name).unlink()
            print(f"removed grafana/dashboards/{name}")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""bench/results.md: the last results of the full form, of which commit and on which machine. The bench writes
it, and reads it back to say what has changed."""

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench import report, stages
from bench.cells import CELLS
from bench.figures import Figure
from bench.report import Readings, Rounds
from bench.stages import Shares

FILE = Path(__file__).with_name("results.md")
ROOT = FILE.parent.parent

HEAD = """\
# Results

Written by `make bench`: medians of interleaved rounds. Read what is compared, not the absolute figures, which
differ from machine to machine and from hour to hour. `reading` is what the next run is held against: as the
aim says it, else the gateway's ratio to the bare relay on httpx2. What PostgreSQL and replicas cost is not
here: `make bench-scale` measures it, docs/scaling.md has its figures.
"""

PAGE = "## page"


def written(measured: Mapping[str, Rounds], profile: Mapping[str, Shares], summary: str) -> str:
    """The page."""
    parts = [HEAD, "\n".join(f"- {fact}" for fact in circumstances()), summary]
    for cell, rounds in measured.items():
        parts += [f"## {cell}", f"{CELLS[cell].about[:1].upper()}{CELLS[cell].about[1:]}."]
        parts.append(markdown(report.rows(cell, rounds)))
    parts += [
        "## stages",
        "Microseconds of the gateway's CPU for each chat, and for each piece of a slow stream.",
    ]
    parts.append(markdown(stages.table(profile)))
    parts.append(page_recorded())
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def record_page(figures: Sequence[Figure], load: str) -> None:
    """Puts what the page's bench found in the place of what it found before, at the end."""
    rows = [["figure", "value", "aim"]]
    for each in figures:
        value = f"{each.value:,.1f} {each.unit}"
        rows.append([each.name.strip(), value, each.aim and f"{'✓' if each.reached else '✗'} {each.aim}"])
    facts = "\n".join(f"- {fact}" for fact in [*circumstances(), load])
    about = "The page in Chromium (`python -m bench.page`). What has no aim belongs to the figure above it."
    kept = FILE.read_text(encoding="utf-8").partition(PAGE)[0].rstrip() if FILE.exists() else HEAD
    FILE.write_text("\n\n".join([kept, PAGE, about, facts, markdown(rows)]) + "\n", encoding="utf-8")


def page_recorded() -> str:
    """That part of the page, or nothing."""
    found = FILE.read_text(encoding="utf-8").partition(PAGE) if FILE.exists() else ("", "", "")
    return "".join(found[1:])


def read(page: str) -> Readings:
    """The readings on a page that `written` made."""
    found: dict[tuple[str, str], float] = {}
    cell, column = "", 0
    for line in page.splitlines():
        cells = [each.strip() for each in line.strip("|").split("|")]
        if line.startswith("## "):
            cell, column = line.removeprefix("## "), 0
        elif "reading" in cells:
            column = cells.index("reading")
        elif line.startswith("|") and column and cells[column] not in {"", "---"}:
            found[cell, cells[0]] = float(cells[column])
    return found


def recorded() -> Readings:
    """What was recorded last; nothing when there is no such page."""
    return read(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *lines = rows
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *lines))


def circumstances() -> list[str]:
    """The commit and the machine, without any name of it."""
    return [
        f"commit {commit()}, {datetime.now(UTC):%Y-%m-%d}",
        f"{processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
        f"Python {platform.python_version()}",
    ]


def commit() -> str:
    """The commit that is checked out, and whether the files are others."""
    try:
        short = _git("rev-parse", "--short", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", "gateway", "bench")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{short} with changes" if changed else short


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def processor() -> str:
    """The model of the processor, as the kernel tells it (Linux)."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())

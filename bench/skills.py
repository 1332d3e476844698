"""`python -m bench.skills`: the catalog of many written skills, half of them in Chinese; and what a tool call
costs beside the tool."""

import asyncio
import random
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.figures import Figure, show
from bench.sessions import OWNER, WORDS, opened, sentence
from gateway import wiring
from gateway.lexical import estimate_tokens
from gateway.settings import Settings
from gateway.skills.catalog import build_catalog
from gateway.skills.folders import SkillFolders
from gateway.skills.library import SkillLibrary
from gateway.skills.skill import FunctionSkill
from gateway.storage.messages import History
from gateway.storage.turns import NewTurn
from gateway.tools.base import FunctionTool
from gateway.tools.function import tool
from gateway.turn.context import TurnContext
from gateway.turn.emitter import Emitter
from gateway.turn.memory_write_queue import MemoryWriteQueue
from gateway.turn.permission import seek_permission
from gateway.turn.progress import CallState, TurnProgress
from gateway.turn.start_and_end import TurnBounds
from gateway.turn.tool_run import run_call

SKILLS = 500
CALLS = 1000
WINDOW, SHARE = 200_000, float(Settings.model_fields["skills_share"].default)
"""Tokens a model may see, and the share of them that the catalog may take: the settings' defaults."""
CHINESE = [word for word in WORDS if not word.isascii()]


def main() -> None:
    parser = ArgumentParser(prog="python -m bench.skills", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the same: it takes seconds")
    parser.parse_known_args()
    sys.exit(1 if show(asyncio.run(measured())) else 0)


async def measured() -> Sequence[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for number in range(SKILLS):
            write(root / f"group-{number % 10}" / f"skill-{number:03}", random.Random(number))
        return [*scanning(root), *await looking(root), *events(root), *await calling()]


def write(folder: Path, rng: random.Random) -> None:
    """A skill of ordinary size: 2 pages, and 2 files beside it."""
    (folder / "references").mkdir(parents=True)
    words = CHINESE if rng.random() < 0.5 else WORDS
    body = "\n".join(" ".join(rng.choices(words, k=12)) for _ in range(80))
    (folder / "SKILL.md").write_text(
        f"---\nname: {folder.name}\ndescription: {' '.join(rng.choices(words, k=40))}\nlicense: MIT\n"
        f"metadata:\n  author: bench\nallowed-tools: calculate search_docs\n---\n\n{body}\n",
        encoding="utf-8",
    )
    for name in ("a.md", "b.md"):
        (folder / "references" / name).write_text(sentence(rng, 100), encoding="utf-8")


def scanning(root: Path) -> Sequence[Figure]:
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(3):
        folders = SkillFolders({"project": root})
        began = perf_counter()
        found = folders.scan()
        cold.append(perf_counter() - began)
        assert len(found.skills) == SKILLS
        for _ in range(5):
            began = perf_counter()
            assert folders.scan() is found
            warm.append(perf_counter() - began)
    return [
        Figure(f"scan {SKILLS} skills, cold (files in the page cache)", median(cold), "s", 1),
        Figure(f"scan {SKILLS} unchanged skills again", median(warm) * 1e3, "ms", 50),
    ]


async def looking(root: Path) -> Sequence[Figure]:
    """What a running gateway does every other second."""
    library = SkillLibrary(
        folders={"project": root},
        functions=(),
        server_tools=tuple,
        switches=NoSwitches(),
        share_tokens=WINDOW,
        snapshot_path=root / "SKILLS_SNAPSHOT.md",
    )
    began = perf_counter()
    first = await library.refresh()
    whole = perf_counter() - began
    times: list[float] = []
    for _ in range(5):
        began = perf_counter()
        assert await library.refresh() is first
        times.append(perf_counter() - began)
    return [
        Figure("catalog and snapshot of them, from nothing", whole, "s", 1),
        Figure("  when nothing has changed", median(times) * 1e3, "ms", 50),
    ]


def events(root: Path) -> Sequence[Figure]:
    found = SkillFolders({"project": root}).scan().skills
    whole = build_catalog((), found, (), (), share_tokens=WINDOW).snapshot
    clamped = build_catalog((), found, (), (), share_tokens=int(WINDOW * SHARE)).snapshot
    listed = clamped.count("\n- ")
    return [
        Figure("tokens a skill in the prompt, estimated", estimate_tokens(whole) / SKILLS, "tokens", 60),
        Figure(
            f"tokens of {SKILLS} skills in a window of {WINDOW // 1000}k ({listed} are told)",
            estimate_tokens(clamped),
            "tokens",
            WINDOW * SHARE,
        ),
    ]


@tool(effect="read_only")
async def echo(text: str, times: int = 1) -> str:
    """Says a text again."""
    return text * times


@tool(effect="read_only")
def echo_in_thread(text: str, times: int = 1) -> str:
    """Says a text again, from a thread."""
    return text * times


async def calling() -> Sequence[Figure]:
    """From a recorded intent to its result, without the log: skills and policy asked, arguments checked, the
    tool run in time, its result put together. The tools themselves take less than a microsecond."""
    async with opened() as (settings, storage):
        functions = [FunctionSkill(each, "bench", each.spec.name) for each in (echo, echo_in_thread)]
        skills = wiring.open_skills(settings, storage.switches, functions, tuple, WINDOW)
        await skills.refresh()
        model = wiring.open_model(settings, "http://127.0.0.1:9")
        deps = wiring.assemble(
            settings, storage, model, skills, memory_writes=MemoryWriteQueue(), id_key=bytes(32)
        )
        new = NewTurn("t", "s", OWNER, "hi", "demo", None, "reject", create_session=True, at=1)
        accepted = await storage.turns.accept(new, max_queued=0)
        emitter = Emitter(storage.log, accepted.turn, accepted.head, TurnProgress())
        turn = TurnContext(deps, emitter, TurnBounds(1, None, 1))
        turn.set_history(History([]))
        figures = [
            Figure(f"dispatch of {kind}", await dispatched(turn, each) * 1e3, "ms", 1)
            for kind, each in (("an async tool", echo), ("a plain one, in a thread", echo_in_thread))
        ]
        await model.close()
    return figures


async def dispatched(turn: TurnContext, each: FunctionTool) -> float:
    """Seconds that one call takes: the median."""
    calls = turn.progress.calls
    times: list[float] = []
    for number in range(CALLS):
        calls.clear()
        calls[f"c{number}"] = state = CallState(each.spec.name, {"text": "回声", "times": 2}, each.effect)
        began = perf_counter()
        await seek_permission(turn)
        result = await run_call(turn, f"c{number}", state)
        times.append(perf_counter() - began)
        assert result.content == "回声回声"
    return median(times)


class NoSwitches:
    """Nothing is switched off."""

    async def disabled(self) -> frozenset[str]:
        return frozenset()

    async def switch(self, name: str, *, enabled: bool, by: str, at: int) -> None:
        raise NotImplementedError


if __name__ == "__main__":
    main()

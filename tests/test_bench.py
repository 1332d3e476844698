"""The measuring house itself: which stage a sample counts for, and what is kept of a run."""

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

from bench import report, results, stages
from bench.figures import Figure
from bench.page.frames import Frames
from bench.report import Rounds
from bench.sampled import Profile
from bench.scale import __main__ as scale

LOOP = ("asyncio.runners:Runner.run", "gateway.cli.http_server:run", "gateway.cli:main", "__main__:<module>")

STACKS = (
    (("gateway.turn.emitter:Emitter.emit", "gateway.turn.model_call:ask"), "emit"),
    (("orjson:dumps", "gateway.turn.emitter:Emitter.emit", "gateway.turn.run:run"), "emit"),
    (("httpx2._models:Headers.__init__", "gateway.model.anthropic:AnthropicModel._post"), "ask the model"),
    (
        ("aiohttp.helpers:TimerNoop.__enter__", "gateway.model.response_chunks:_read"),
        "read the model's stream",
    ),
    (("aiohttp.helpers:TimerNoop.__enter__", "gateway.model.http_client:Wire.send"), "ask the model"),
    (("uvicorn.protocols.http.httptools_impl:RequestResponseCycle.send",), "send to the reader"),
    (("uvicorn.protocols.http.httptools_impl:RequestResponseCycle.send.<locals>.f",), "send to the reader"),
    (("uvicorn.protocols.http.httptools_impl:RequestResponseCycle.sender",), "HTTP in"),
    (("uvicorn.protocols.http.httptools_impl:HttpToolsProtocol.on_url",), "HTTP in"),
    (("asyncio.timeouts:Timeout.__aexit__", "gateway.http.stream:EventStream._put"), "send to the reader"),
    (("gateway.turning:run",), "event loop"),
    ((), "event loop"),
)


@pytest.mark.parametrize(("frames", "stage"), STACKS)
def test_a_sample_counts_for_the_innermost_frame_that_belongs_to_a_stage(
    frames: tuple[str, ...], stage: str
) -> None:
    """By whole names of packages, modules and functions; the longest one decides."""
    assert stages.stage_of((*frames, *LOOP)) == stage


def test_a_sample_of_nobody_is_other() -> None:
    """Such as what runs before the command does."""
    assert stages.stage_of(("runpy:_run_code",)) == "other"


@pytest.mark.parametrize("place", [place for _, places in stages.STAGES for place in places])
def test_every_place_of_a_stage_exists(place: str) -> None:
    """A module or function that was moved moves in the table too."""
    module, _, name = place.partition(":")
    found = import_module(module)
    if name:
        assert callable(attrgetter(name)(found))


def test_every_second_of_a_profile_is_in_one_row() -> None:
    """The main thread's by stage, the others' by name, and what nobody can name among the others."""
    profile = Profile(
        {("gateway.turn.emitter:emit", *LOOP): 1.0, ("runpy:run",): 0.5},
        {"storage-writer": 0.25, "storage-reader_1": 0.125, "uvloop_0": 0.0625},
        ended=0.5,
    )

    shares = stages.shares(Profile.read(profile.written()), 1000)

    assert sum(shares.values()) == pytest.approx(2437.5)
    rows = {row: us for row, us in shares.items() if us}
    assert rows == {
        "emit": 1000,
        "other": 500,
        "writer thread": 250,
        "readers' threads": 125,
        "other threads": 562.5,
    }


def test_the_readings_that_are_recorded_are_read_back() -> None:
    """As the aim reads it, or the ratio to the relay; failures are no reading."""
    page = results.written({"c50": rounds(2.0, 1.0), "disk": disk(100)}, {}, "")

    recorded = results.read(page)

    assert recorded == {
        ("c50", "pieces per CPU s"): 2.0,
        ("c50", "us CPU per piece"): 0.5,
        ("disk", "bytes per text event"): 100,
    }


def test_what_is_worse_than_recorded_is_said() -> None:
    """By more than a fifth, in the direction that the aim names."""
    recorded = {("c50", "pieces per CPU s"): 3.0, ("disk", "bytes per text event"): 100.0}

    def said(ratio: float, size: float) -> list[str]:
        return report.worse({"c50": rounds(ratio, 1.0), "disk": disk(size)}, recorded)

    assert said(2.6, 115) == said(6.0, 10) == []
    assert said(2.0, 130) == [
        "c50 pieces per CPU s is 2, was 3",
        "disk bytes per text event is 130, was 100",
    ]


@pytest.mark.parametrize(("value", "arguments", "code"), [(1, [], 0), (3, [], 1), (3, ["--quick"], 0)])
def test_an_aim_that_is_missed_ends_the_bench_of_replicas_with_an_error(
    monkeypatch: pytest.MonkeyPatch, value: float, arguments: list[str], code: int
) -> None:
    """After all of its figures; a short round proves nothing."""
    done = list[str]()

    def measure(name: str, value: float) -> Callable[..., Iterator[Figure]]:
        def measured(*_: object, **__: object) -> Iterator[Figure]:
            yield Figure(name, value, "s", bound=2)
            done.append(name)

        return measured

    monkeypatch.setattr(scale, "MEASURES", {"one": measure("one", value), "other": measure("other", 2)})
    monkeypatch.setattr(scale.cluster, "running", nullcontext)
    monkeypatch.setattr(scale.servers, "pin", print)
    monkeypatch.setattr(sys, "argv", ["bench.scale", "--only", "one,other", *arguments])
    with pytest.raises(SystemExit) as ended:
        scale.main()
    assert (ended.value.code, done) == (code, ["one", "other"])


def rounds(mine: float, theirs: float) -> Rounds:
    """Rounds in which the gateway takes `mine` pieces for each CPU second."""
    return {
        name: [{"pieces per CPU s": pieces, "us CPU per piece": 1 / pieces, "failures": 0}] * 3
        for name, pieces in (("httpx2", theirs), ("gateway", mine))
    }


def disk(size: float) -> Rounds:
    return {"gateway": [{"bytes per text event": size, "failures": 0}]}


def test_a_frame_is_told_by_the_wall_and_by_what_its_thread_did() -> None:
    """The thread that draws most counts: no tasks of others, nor what was before the first frame."""

    def event(name: str, thread: int, ts: int, **more: int) -> dict[str, object]:
        return {"name": name, "pid": 1, "tid": thread, "ts": ts, **more}

    drawn = [event("BeginMainThreadFrame", 7, ts) for ts in (100_000, 116_000, 190_000)]
    others = [event("BeginMainThreadFrame", 8, ts) for ts in (100_000, 400_000)]
    tasks = [
        event("RunTask", 7, 90_000, tdur=9_000),
        event("RunTask", 7, 101_000, tdur=2_000),
        event("RunTask", 7, 120_000, tdur=30_000),
        event("RunTask", 7, 160_000, tdur=20_000),
        event("RunTask", 8, 121_000, tdur=50_000),
        event("RunTask", 7, 195_000, tdur=5_000),
    ]
    frames = Frames()
    frames.add([*tasks, *others, *drawn])
    assert (frames.wall, frames.running) == ([16, 74], [2, 50])


def test_what_is_recorded_of_the_page_stands_beside_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of the one replaces what it found before, and leaves what the other found."""
    monkeypatch.setattr(results, "FILE", tmp_path / "results.md")
    results.FILE.write_text(results.written({"disk": disk(60)}, {}, ""), encoding="utf-8")
    for value in (70.0, 40.0):
        results.record_page([Figure("first paint", value, "ms", 50)], "load of the machine 1")
    results.FILE.write_text(results.written({"disk": disk(90)}, {}, ""), encoding="utf-8")
    page = results.FILE.read_text(encoding="utf-8")
    assert "| first paint | 40.0 ms | ✓ <= 50 |" in page
    assert "70.0" not in page
    assert results.read(page)["disk", "bytes per text event"] == 90

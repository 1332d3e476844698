"""How long the page took for each frame, out of Chromium's trace: as a clock on the wall has it, and how long
its main thread was running for it, which does not count what others did on the machine meanwhile."""

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from playwright.sync_api import Page

CATEGORIES = [
    "disabled-by-default-devtools.timeline",
    "disabled-by-default-devtools.timeline.frame",
]
DRAWN = "BeginMainThreadFrame"
TASK = "RunTask"
"""A task of a thread's event loop. `tdur`: microseconds that the thread was running."""

Event = dict[str, Any]


@dataclass(slots=True)
class Frames:
    """Milliseconds from one drawing to the next, and of the main thread's running in them."""

    wall: list[float] = field(default_factory=list[float])
    running: list[float] = field(default_factory=list[float])

    def add(self, events: Sequence[Event]) -> None:
        """Those of a trace: of the thread that draws most, as the browser has windows of its own."""
        frames = [event for event in events if event["name"] == DRAWN]
        thread, _ = Counter(map(_thread, frames)).most_common(1)[0]
        drawn = sorted(each["ts"] for each in frames if _thread(each) == thread)
        tasks = sorted(
            (each["ts"], each["tdur"])
            for each in events
            if each["name"] == TASK and "tdur" in each and _thread(each) == thread
        )
        at = 0
        for before, after in pairwise(drawn):
            running = 0
            while at < len(tasks) and tasks[at][0] < after:
                running += tasks[at][1] if tasks[at][0] >= before else 0
                at += 1
            self.wall.append((after - before) / 1e3)
            self.running.append(running / 1e3)


def _thread(event: Event) -> tuple[int, int]:
    return event["pid"], event["tid"]


@contextmanager
def watched(page: Page, into: Frames) -> Generator[None]:
    """Adds the frames that are drawn while the context lasts."""
    browser = page.context.browser
    assert browser is not None
    session, events, ended = browser.new_browser_cdp_session(), list[Event](), list[object]()

    def take(told: dict[str, Any]) -> None:
        events.extend(told["value"])

    def end(
        told: object,
    ) -> None:  # Playwright keeps a mark at a handler: no method of a list has room for it
        ended.append(told)

    session.on("Tracing.dataCollected", take)
    session.on("Tracing.tracingComplete", end)
    config = {"includedCategories": CATEGORIES, "excludedCategories": ["*"]}
    session.send("Tracing.start", {"transferMode": "ReportEvents", "traceConfig": config})
    try:
        yield
    finally:
        session.send("Tracing.end")
        while not ended:
            page.wait_for_timeout(20)
        session.detach()
    into.add(events)

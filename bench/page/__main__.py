"""`python -m bench.page`: the page in Chromium, before a gateway in production mode and the demo model.

What a reader notices: how soon the page is there, and the longest frame while something happens, in
milliseconds of the main thread's running (what the machine does for others does not count; `by the wall`
it does). Nothing is throttled. The full form streams for ten minutes and writes its figures to
bench/results.md.
"""

import asyncio
import gzip
import os
import re
import shutil
import sys
import tempfile
import time
import urllib.request
from argparse import ArgumentParser
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import orjson
from playwright.sync_api import Browser, Page, sync_playwright

from bench import results, servers
from bench.client import percentile
from bench.figures import Figure, show
from bench.page import sessions
from bench.page.frames import Frames, watched
from bench.servers import Server
from gateway import wiring
from gateway.settings import load_settings

PROGRAMS = ("chromium", "google-chrome", "chromium-headless-shell")
"""The first that there is: the one without windows takes four times the CPU for a frame."""
LOADS = 5
"""How often a page is opened; the median counts."""
PACE = 5
"""Milliseconds between two pieces: 200 a second."""
EVENTS = 100_000
WINDOW_MS = 1_000
"""What a new window of the browser takes for pages of its own (its address bar has some), which a reader's
window has behind it: two hundred files that would be loaded side by side with ours."""
TIMEOUT_MS = 120_000
MAX_FRAME = 50.0
"""Milliseconds, from which on the W3C's Long Tasks API calls a task long."""
NO_AIM = float("inf")
MEGABYTE = 1e6
BUILT = Path(wiring.__file__).parents[1] / "ui" / "index.html"
WATCH = Path(__file__).with_name("watch.js").read_text(encoding="utf-8")
FIRST_TURN = """new MutationObserver((_, observer) => {
    if (document.querySelector("article") === null) return;
    observer.disconnect();
    requestAnimationFrame(() => { window.firstTurn = performance.now(); });
}).observe(document, { childList: true, subtree: true });"""
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
HOSTILE = {
    "50 kB in one line": "word " * 10_000,
    "24 kB of '_a '": "_a " * 8_000,
    "24 kB of '[[['": "[" * 24_000,
    "24 kB of '[^'": "[^" * 12_000,
    "24 kB of '*a**'": "*a**" * 6_000,
    "24 kB of '![]('": "![](" * 6_000,
    "10,000 nested quotes": ">" * 10_000 + " a",
    "24 kB of '`` `'": "`` `" * 6_000,
    "24 kB of '<a '": "<a " * 8_000,
    "24 kB of '|a'": "|a" * 6_000 + "\n" + "|-" * 6_000,
    "6,000 formulas": "$a$ " * 6_000,
    "a list of 2,000 lines, 25 deep": "\n".join(f"{' ' * min(depth, 24)}- a" for depth in range(2_000)),
    "10,000 nested lists": "- " * 10_000 + "a",
    "a table of 2,000 rows": "|a|b|\n|-|-|\n" + "|1|**2**|\n" * 2_000,
    "20,000 lines of code": "```python\n" + "a = [1, 'b']\n" * 20_000 + "```",
    "a formula 5,000 deep": "$$" + "{" * 5_000 + "a" + "}" * 5_000 + "$$",
    "a formula of 400 fractions in each other": "$$" + r"\frac{a}{" * 400 + "a" + "}" * 400 + "$$",
    "10,000 links": "[a](http://a.example) " * 10_000,
    "10,000 footnotes": "".join(f"[^{number}] " for number in range(5_000))
    + "".join(f"\n\n[^{number}]: a" for number in range(5_000)),
    "10,000 paragraphs": "a\n\n" * 10_000,
    "5,000 headings": "# a\n" * 5_000,
}
"""What a model may write to the harm of a page."""
QUICK_HOSTILE = 6


class Screen:
    """The page in a browser, with its gateway."""

    def __init__(self, browser: Browser, server: Server) -> None:
        self.browser = browser
        self.url = f"http://127.0.0.1:{server.port}"

    @contextmanager
    def opened(self, session: str | None = None, **options: Any) -> Generator[Page]:
        """In a context of its own, whose cache is empty."""
        with self.browser.new_context(**options) as context:
            context.add_init_script(WATCH)
            page = context.new_page()
            page.set_default_timeout(TIMEOUT_MS)
            page.wait_for_timeout(WINDOW_MS)
            page.goto(f"{self.url}/" + (f"#s={session}" if session else ""))
            yield page

    def create(self, session: str) -> None:
        """A new session."""
        self._post("/api/sessions", {"id": session})

    def say(self, session: str, message: str) -> str:
        """Starts a turn beside the page; its id."""
        return self._post(f"/api/sessions/{session}/turns", {"message": message})["turn_id"]

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(f"{self.url}/{path}", timeout=60) as answer:
            return answer.read()

    def _post(self, path: str, body: object) -> Any:
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.url + path, orjson.dumps(body), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return orjson.loads(answer.read())


def main() -> None:
    parser = ArgumentParser(prog="python -m bench.page", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="streams for a minute, and writes nothing")
    parser.add_argument("--only", default=",".join(MEASURES), help=f"of {', '.join(MEASURES)}")
    given = parser.parse_known_args()[0]
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None or not BUILT.exists():
        print("The page is not measured: there is no Chromium, or it is not built (make page).")
        return
    found: list[Figure] = []

    def measured() -> Iterator[Figure]:
        for name in given.only.split(","):
            for figure in MEASURES[name](screen, given.quick):
                found.append(figure)
                yield figure

    before = os.getloadavg()[0]
    with started(program) as screen:
        missed = show(measured())
    load = f"load of the machine {before:.1f} before, {os.getloadavg()[0]:.1f} after"
    print(load)
    if not given.quick and given.only == ",".join(MEASURES):
        results.record_page(found, load)
    sys.exit(0 if given.quick or not missed else 1)


@contextmanager
def started(program: str) -> Generator[Screen]:
    """Chromium, and a gateway with the sessions that are looked at."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        asyncio.run(stored(Path(folder)))
        with (
            servers.demo() as model,
            servers.gateway(model.port, GATEWAY_DATA_DIR=folder) as server,
            sync_playwright() as playwright,
        ):
            browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
            yield Screen(browser, server)
            browser.close()


async def stored(folder: Path) -> None:
    async with wiring.open_storage(load_settings(data_dir=folder, model="demo")) as storage:
        await sessions.store(storage, "s_100", 100, sessions.LONG_ANSWER)
        await sessions.store(storage, "s_1000", 1_000)
        await sessions.store(storage, "s_10000", 10_000)
        await sessions.store_warnings(storage, "s_events", EVENTS)


def opening(screen: Screen, quick: bool) -> Iterator[Figure]:
    """How soon it is there."""
    paints, boxes, turns = list[float](), list[float](), list[float]()
    for _ in range(LOADS):
        with screen.opened() as page:
            until(page, "watch.opening() !== null")
            seen = page.evaluate("watch.opening()")
            paints.append(seen["paint"])
            boxes.append(seen["box"])
        with screen.opened("s_1000") as page:
            until(page, "watch.turnAt('t_s_1000_1000') > 0")
            turns.append(page.evaluate("watch.turnAt('t_s_1000_1000')"))
    yield Figure("first paint", median(paints), "ms", 300)
    yield Figure("interactive: a message can be written", median(boxes), "ms", 600)
    yield Figure("open a session of 1,000 turns", median(turns), "ms", 1_000)
    html = screen.get("")
    named = [screen.get(name) for name in re.findall(r'(?:src|href)="\./([^"]+)"', html.decode())]
    size = sum(len(gzip.compress(each, 6)) for each in (html, *named))
    yield Figure("first load, compressed", size / 1e3, "kB", 250)


def streaming(screen: Screen, quick: bool) -> Iterator[Figure]:
    """Answers of 15 seconds, one after another, in Markdown and in one long line."""
    seconds, frames, count = 60 if quick else 600, Frames(), 0
    with screen.opened("s_1000") as page:
        until(page, "watch.turnAt('t_s_1000_1000') > 0")
        for script in (sessions.SCRIPT, "/pieces 3000"):  # what there is but once does not count
            finish(page, screen.say("s_1000", f"/burst\n{script}"))
        before, began = heap(page), time.monotonic()
        while time.monotonic() - began < seconds:
            script = sessions.SCRIPT if count % 2 else "/pieces 3000"
            with watched(page, frames):
                finish(page, screen.say("s_1000", f"/pace {PACE}\n{script}"))
            count += 1
        took = time.monotonic() - began
        grown = (heap(page) - before) / MEGABYTE * 600 / took
    yield from longest("200 pieces/s into 1,000 turns", frames)
    measured = f", extrapolated from {took:.0f} s" if quick else ""
    yield Figure(f"  heap in ten minutes{measured}", grown, "MB", 20)


def hostile(screen: Screen, quick: bool) -> Iterator[Figure]:
    """Texts that are hard to parse or to draw, as they come and when they are there."""
    for number, (name, text) in enumerate(list(HOSTILE.items())[: QUICK_HOSTILE if quick else None]):
        session, script = f"s_hostile_{number}", sessions.saying(text)
        screen.create(session)
        growing, whole = Frames(), Frames()
        with screen.opened(session) as page:
            until(page, "watch.boxAt > 0")
            with watched(page, growing):
                finish(page, screen.say(session, f"/pace 1\n{script}"))
                until(page, "watch.isDrawn()")
        with screen.opened() as page:
            until(page, "watch.boxAt > 0")
            with watched(page, whole):
                page.evaluate(f"location.hash = 's={session}'")
                until(page, "document.querySelector('.answer .actions')")
                until(page, "watch.isDrawn()")
        yield from longest(f"{name}, as it comes", growing)
        yield from longest(f"{name}, at once", whole)


def scrolling(screen: Screen, quick: bool) -> Iterator[Figure]:
    """10,000 turns: read to the first one, scrolled through, and one more comes."""
    reading, through, growing = Frames(), Frames(), Frames()
    with screen.opened("s_10000") as page:
        until(page, "watch.turnAt('t_s_10000_10000') > 0")
        began = time.monotonic()
        with watched(page, reading):
            page.evaluate("watch.toFirst('t_s_10000_1')")
        took = time.monotonic() - began
        with watched(page, through):
            page.evaluate("watch.through(400)")
        page.evaluate("watch.toEnd()")
        with watched(page, growing):
            finish(page, screen.say("s_10000", f"/pace {PACE}\n/pieces 2000"))
    yield from longest("10,000 turns, read to the first one", reading)
    yield Figure("  until it is there", took, "s", NO_AIM)
    yield from longest("10,000 turns, scrolled through", through)
    yield from longest("10,000 turns, 200 pieces/s into them", growing)


def events(screen: Screen, quick: bool) -> Iterator[Figure]:
    """The raw events of a session, each a row."""
    reading, through = Frames(), Frames()
    with screen.opened("s_events", viewport={"width": 1600, "height": 900}) as page:
        inspector = page.get_by_role("button", name=re.compile("^(Show|Hide) inspector$")).first
        if inspector.get_attribute("aria-expanded") == "false":
            inspector.click()
        page.get_by_role("tab", name="Events").click()
        page.wait_for_selector(".virtual-row")
        began = time.monotonic()
        with watched(page, reading):
            page.evaluate("watch.allEvents()")
        took = time.monotonic() - began
        with watched(page, through):
            page.evaluate("watch.scrollEvents(300)")
    yield from longest(f"{EVENTS:,} raw events, read to the first one", reading)
    yield Figure("  until it is there", took, "s", NO_AIM)
    yield from longest(f"{EVENTS:,} raw events, scrolled through", through)
    yield Figure("  by the wall: p95", percentile(through.wall, 0.95), "ms", MAX_FRAME)


def sharing(screen: Screen, quick: bool) -> Iterator[Figure]:
    """A chat of 100 long answers as a file of its own: to make, to keep, to open from a disk."""
    made, paints, turns, wholes = list[float](), list[float](), list[float](), list[float]()
    content = b""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        file = Path(folder) / "shared.html"
        for _ in range(LOADS):
            began = time.monotonic()
            content = screen.get("api/sessions/s_100/export?format=html")
            made.append((time.monotonic() - began) * 1e3)
            file.write_bytes(content)
            with screen.browser.new_context() as context:
                context.add_init_script(FIRST_TURN)
                page = context.new_page()
                page.wait_for_timeout(WINDOW_MS)
                page.goto(file.as_uri())
                page.wait_for_selector("#messages[aria-busy=false]", timeout=TIMEOUT_MS)
                wholes.append(page.evaluate("performance.now()"))
                paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
                paints.append(page.evaluate(paint))
                turns.append(page.evaluate("firstTurn"))
    yield Figure("share 100 turns: made in", median(made), "ms", NO_AIM)
    yield Figure("  size", len(content) / MEGABYTE, "MB", 1.5)
    yield Figure("  size, compressed", len(gzip.compress(content, 6)) / MEGABYTE, "MB", NO_AIM)
    yield Figure("  first paint", median(paints), "ms", 500)
    yield Figure("  first turn drawn", median(turns), "ms", NO_AIM)
    yield Figure("  all turns drawn", median(wholes), "ms", NO_AIM)


def longest(about: str, frames: Frames) -> list[Figure]:
    return [
        Figure(f"{about}: frame", max(frames.running), "ms CPU", MAX_FRAME),
        Figure("  by the wall", max(frames.wall), "ms", NO_AIM),
    ]


def until(page: Page, condition: str) -> None:
    """Waits in the page, whose policy forbids what Playwright would do for that."""
    page.evaluate(f"watch.until(() => {condition})")


def finish(page: Page, turn: str) -> None:
    until(page, f"watch.isOver('{turn}')")
    assert page.evaluate(f"watch.isCompleted('{turn}')"), "the turn failed"


def heap(page: Page) -> float:
    """Bytes of live objects of the page, without its workers'."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.enable")
    for _ in range(3):  # what a finaliser lets go of is only found the next time
        session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")["usedSize"]
    session.detach()
    return used


MEASURES: dict[str, Callable[[Screen, bool], Iterator[Figure]]] = {
    "opening": opening,
    "streaming": streaming,
    "hostile": hostile,
    "scrolling": scrolling,
    "events": events,
    "sharing": sharing,
}

if __name__ == "__main__":
    main()

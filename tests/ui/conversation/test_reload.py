"""The conversation is drawn from the log alone: when the page was loaded makes no difference to it."""

import difflib
import os
import time
from collections.abc import Generator, Sequence

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize

from tests.loopback import TIMEOUT
from tests.product import StoredEvent
from tests.ui.conversation.released import Released, released
from tests.ui.page import CLOSED, EVERY, TIMEOUT_MS, in_a_browser

pytestmark = [*in_a_browser, pytest.mark.long]

SOME = 20  # one of so many pieces of a text
SCREEN: ViewportSize = {"width": 800, "height": 600}

DRAWN = """isAll => {
    const screen = document.querySelector("main .conversation");
    if (!screen || screen.querySelector(".plain")) return "";
    const lines = [document.title];
    const look = (element, depth) => {
        const box = element.getBoundingClientRect();
        const attributes = [...element.attributes].map(({ name, value }) => `${name}=${value}`).sort();
        const texts = [...element.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE);
        const text = JSON.stringify(texts.map(({ data }) => data).join(""));
        const place = isAll ? [box.x, box.y, box.width, box.height].map(Math.round) : Math.round(box.width);
        lines.push([" ".repeat(depth) + element.localName, ...attributes, text, `@${place}`].join(" "));
        for (const child of element.children) look(child, depth + 1);
    };
    const newest = [...screen.querySelectorAll(":is(.question, .answer)")].slice(-2);
    for (const element of isAll ? [screen] : [...newest, screen.querySelector("form")]) look(element, 0);
    return lines.join("\\n").replaceAll(/«\\w+»|_r_\\w+_|:r\\w+:/g, "id");
}"""
"""Each element of the conversation with its text, its states and its place; or, without places, of its newest
turn and of the composer. Nothing while Markdown is not parsed. React's ids are counted as they come."""

QUIET = """() => new Promise(done => {
    const finish = () => { observer.disconnect(); done(); };
    setTimeout(finish, 2000);
    let rest = setTimeout(finish, 100);
    const observer = new MutationObserver(() => { clearTimeout(rest); rest = setTimeout(finish, 100); });
    observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
})"""
"""Until a page draws no more for now: looking takes the time of drawing, and of the thread that answers."""

DIGEST = f"""isAll => {{
    const drawn = ({DRAWN})(isAll);
    let hash = 0;
    for (let at = 0; at < drawn.length; at += 1) hash = (Math.imul(hash, 31) + drawn.charCodeAt(at)) | 0;
    return drawn && `${{drawn.length}} ${{hash}}`;
}}"""


@pytest.fixture
def context(browser: Browser) -> Generator[BrowserContext]:
    with browser.new_context(viewport=SCREEN, locale="en-GB") as context:
        context.add_init_script(CLOSED)
        context.set_default_timeout(TIMEOUT_MS)
        yield context


def reopen(page: Page, log: Released) -> None:
    """Leaves the chat, and opens it anew."""
    page.evaluate("location.hash = ''")
    page.locator("#welcome").wait_for()
    page.evaluate("session => { location.hash = `s=${session}`; }", log.session)


def long_turn(events: Sequence[StoredEvent]) -> list[tuple[int, StoredEvent]]:
    """The last turn, and what follows it: the place of each event among all."""
    start = max(at for at, event in enumerate(events) if event.type == "turn_start")
    return list(enumerate(events))[start - 1 :]


def is_left_out(events: Sequence[StoredEvent], at: int) -> bool:
    """Most pieces within a text or within thoughts, unless GATEWAY_TEST_EVERY_RELOAD is 1."""
    is_within_text = events[at].type in {"text", "thinking"} and events[at + 1].type == events[at].type
    return is_within_text and at % SOME > 0 and os.environ.get(EVERY) != "1"


def difference(live: Page, again: Page, *, is_all: bool) -> str:
    """What is not drawn alike, when both have had time to draw what there is."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        again.evaluate(QUIET)
        if (drawn := again.evaluate(DIGEST, is_all)) and drawn == live.evaluate(DIGEST, is_all):
            return ""
    drawn = [page.evaluate(DRAWN, is_all).split("\n") for page in (live, again)]
    return "\n".join(difflib.unified_diff(drawn[0], drawn[1], "live", "opened anew", lineterm="", n=1))


def test_a_reload_at_any_event_changes_nothing_on_the_screen(context: BrowserContext) -> None:
    """Nor in what is there to be scrolled to, or read out."""
    with released("everything", page=500) as log:
        live, again = context.new_page(), context.new_page()
        live.goto(log.url)
        again.goto(log.url)
        for at, event in long_turn(log.events):
            log.release(event.seq)
            if is_left_out(log.events, at):
                continue
            again.reload(wait_until="commit")

            assert difference(live, again, is_all=True) == "", f"at {event.seq}, {event.type}"


def test_a_chat_that_is_opened_in_the_midst_of_a_turn_looks_as_if_it_had_always_been_open(
    context: BrowserContext,
) -> None:
    """Though it is then put together of several pages of the log, and older turns may not be there yet."""
    with released("everything", page=25) as log:
        live, again = context.new_page(), context.new_page()
        live.goto(log.url)
        again.goto(log.url)
        for at, event in long_turn(log.events):
            log.release(event.seq)
            if is_left_out(log.events, at):
                continue
            reopen(again, log)

            assert difference(live, again, is_all=False) == "", f"at {event.seq}, {event.type}"

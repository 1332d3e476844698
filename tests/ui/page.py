"""The page, opened in a browser, and what a reader does there."""

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, ViewportSize, expect

from tests.loopback import TIMEOUT

WITHOUT = "GATEWAY_TEST_WITHOUT_BROWSER"
TIMEOUT_MS = TIMEOUT * 1000
SCREEN: ViewportSize = {"width": 1280, "height": 720}
EVERY = "GATEWAY_TEST_EVERY_RELOAD"
REMINDER = 30.0  # asyncio swallows what a signal raises while it calls back

CLOSED = """const isPage = location.protocol.startsWith("http") && self.origin !== "null";
    if (isPage && !localStorage.getItem("gateway.settings"))
    localStorage.setItem("gateway.settings", '{"inspector": false}')"""

in_a_browser = [
    pytest.mark.browser,
    pytest.mark.waits,
    pytest.mark.skipif(os.environ.get(WITHOUT) == "1", reason=f"{WITHOUT}=1 leaves the browser out"),
]


@contextmanager
def opened(browser: Browser, url: str, locale: str = "en-GB", *, inspector: bool = False) -> Generator[Page]:
    """The page in a context of its own. `inspector`: as the page has it for a new reader, not closed."""
    with browser.new_context(locale=locale, service_workers="block") as context:
        # On a screen as wide as this one the inspector is there by itself, beside what a test looks for.
        if not inspector:
            context.add_init_script(CLOSED)
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        with watched(page):
            page.goto(url)
            yield page


@contextmanager
def watched(page: Page) -> Generator[None]:
    """A script error of the page, or a refusal by its content policy, fails the test."""
    troubles: list[str] = []

    def on_error(error: Error) -> None:
        troubles.append(str(error))

    def on_line(line: ConsoleMessage) -> None:
        if "Policy" in line.text:
            troubles.append(line.text)

    page.on("pageerror", on_error)
    page.on("console", on_line)
    try:
        yield
    finally:
        page.remove_listener("pageerror", on_error)
        page.remove_listener("console", on_line)
    assert not troubles, "\n".join(troubles)


@contextmanager
def ended_within(seconds: float) -> Generator[None]:
    """Fails what waits longer, where it waits: some of Playwright's calls, such as `evaluate` and `close`,
    know no limit of time."""

    def give_up(*_: object) -> None:
        pytest.fail(f"It has not ended within {seconds:g} seconds.")

    before = signal.signal(signal.SIGALRM, give_up)
    rest, _ = signal.setitimer(signal.ITIMER_REAL, seconds, REMINDER)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, rest, REMINDER if rest else 0)
        signal.signal(signal.SIGALRM, before)


def begin_chat(page: Page) -> None:
    """A new chat, on a screen of the usual size, with nothing left over it or beside it."""
    page.set_viewport_size(SCREEN)
    dialog = page.locator("dialog[open]")
    if dialog.is_visible():
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
    if (inspector := page.get_by_role("button", name="Hide inspector")).is_visible():
        inspector.click()
    page.get_by_role("button", name="New chat").first.click()
    expect(page.locator("#welcome")).to_be_visible()
    page.get_by_label("Message", exact=True).fill("")


def ask(page: Page, question: str) -> None:
    page.get_by_label("Message", exact=True).fill(question)
    page.get_by_label("Message", exact=True).press("Enter")

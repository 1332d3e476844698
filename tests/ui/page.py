"""The page, opened in a browser, and what a reader does there."""

import os
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page

WITHOUT = "GATEWAY_TEST_WITHOUT_BROWSER"
TIMEOUT_MS = 60_000

CLOSED = """if (location.protocol.startsWith("http") && !localStorage.getItem("gateway.settings"))
    localStorage.setItem("gateway.settings", '{"inspector": false}')"""

in_a_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(os.environ.get(WITHOUT) == "1", reason=f"{WITHOUT}=1 leaves the browser out"),
]


@contextmanager
def opened(browser: Browser, url: str, locale: str = "en-GB", *, inspector: bool = False) -> Generator[Page]:
    """The page in a context of its own; a script error or a refusal by its content policy fails the test.
    `inspector`: as the page has it for a new reader, not closed."""
    with browser.new_context(locale=locale) as context:
        # On a screen as wide as this one the inspector is there by itself, beside what a test looks for.
        if not inspector:
            context.add_init_script(CLOSED)
        page = context.new_page()
        troubles: list[str] = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda line: troubles.append(line.text) if "Policy" in line.text else None)
        page.set_default_timeout(TIMEOUT_MS)
        page.goto(url)
        yield page
        assert troubles == []


def ask(page: Page, question: str) -> None:
    page.get_by_label("Message", exact=True).fill(question)
    page.get_by_label("Message", exact=True).press("Enter")

"""A chat on paper: all of its turns, and nothing that is pressed."""

import re
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.loopback import TIMEOUT
from tests.running import Running, gateway_process
from tests.ui.page import in_a_browser, opened
from tests.ui.states import go

pytestmark = in_a_browser

TURNS = 200
WIDE = "x" * 160
ANSWER = f"""## Answer {{number}}

A [link](https://example.org/{{number}}) and https://example.org/bare.

| a | b |
|---|---|
| {WIDE} | 中文 |

```text
{WIDE}
```"""
TITLE = re.compile(rb"/Title \(((?:[^()\\]|\\.)*)\)|/Title <([0-9A-Fa-f]+)>")
HEADINGS = """() => [...document.querySelectorAll(".prose h3")].filter((each) => each.checkVisibility()
    && each.getBoundingClientRect().height > 0).map(({ textContent }) => textContent)"""
PRESSED = "button, textarea, .composer, nav, .inspector"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """With a chat of 200 turns."""
    messages = [
        message
        for number in range(1, TURNS + 1)
        for message in (
            {"role": "user", "content": f"Question {number}"},
            {"role": "assistant", "content": ANSWER.format(number=number)},
        )
    ]
    with gateway_process(tmp_path_factory.mktemp("print")) as gateway:
        body = {"id": "long", "title": "A long chat", "messages": messages}
        httpx2.post(f"{gateway.url}/api/sessions", json=body, timeout=TIMEOUT).raise_for_status()
        yield gateway


@pytest.fixture(scope="module")
def tab(browser: Browser, gateway: Running) -> Generator[Page]:
    with opened(browser, gateway.url) as page:
        page.add_init_script("print = () => { window.isAsked = true; }")
        page.reload()
        yield page


def outline(pdf: bytes) -> list[str]:
    """The headings of a PDF, out of the outline that Chromium writes for it."""
    found = [(plain, coded) for plain, coded in TITLE.findall(pdf)]
    return [
        plain.decode() if plain else bytes.fromhex(coded.decode()).decode("utf-16") for plain, coded in found
    ]


def has_all(pdf: bytes) -> None:
    # A heading at the edge of two pages is told as if it stood on both.
    headings = [found[1] for each in outline(pdf) if (found := re.fullmatch(r"(Answer \d+)\1?", each))]
    assert headings == [f"Answer {number}" for number in range(1, TURNS + 1)]


def test_a_chat_is_printed_with_all_of_its_turns(page: Page) -> None:
    """From its menu: also those that were not read yet, nothing of the frame, light on a dark screen, with
    the addresses of links, and nothing wider than the paper."""
    page.emulate_media(color_scheme="dark")
    go(page, "s=long")
    expect(page.get_by_role("heading", name="Answer 200")).to_be_visible()
    page.locator(".head").get_by_role("button", name="Actions for A long chat").click()
    page.get_by_role("menuitem", name="Print or save as PDF").click()
    page.wait_for_function("() => window.isAsked")
    page.emulate_media(media="print", color_scheme="dark")

    assert page.evaluate(HEADINGS) == [f"Answer {number}" for number in range(1, TURNS + 1)]
    assert [each for each in page.locator(PRESSED).all() if each.is_visible()] == []
    expect(page.get_by_role("heading", name="A long chat", level=1)).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(35, 38, 43)"
    link = page.locator('a[href="https://example.org/7"]')
    assert link.evaluate("(a) => getComputedStyle(a, '::after').content") == '" (" attr(href) ")"' or (
        "example.org/7" in link.evaluate("(a) => getComputedStyle(a, '::after').content")
    )
    bare = page.locator('a[href="https://example.org/bare"]').first
    assert bare.evaluate("(a) => getComputedStyle(a, '::after').content") == "none"
    page.set_viewport_size({"width": 700, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    page.emulate_media(media="screen")
    has_all(page.pdf(outline=True, tagged=True))
    expect(page.locator("#messages")).to_be_visible()


def test_the_keys_for_printing_print_all_of_a_chat(page: Page) -> None:
    go(page, "s=long")
    expect(page.get_by_role("heading", name="Answer 200")).to_be_visible()
    page.evaluate("window.isAsked = false")
    page.keyboard.press("ControlOrMeta+p")
    page.wait_for_function("() => window.isAsked")

    has_all(page.pdf(outline=True, tagged=True))


def test_paper_says_where_turns_are_missing(page: Page) -> None:
    """The browser's own menu prints what the page has: with a line that says so, above what is there."""
    page.reload()
    go(page, "s=long")
    expect(page.get_by_role("heading", name="Answer 200")).to_be_visible()
    assert page.locator(".on-paper").count() == 1
    page.emulate_media(media="print")

    expect(page.locator(".on-paper")).to_contain_text("Print or save as PDF")
    page.emulate_media(media="screen")
    assert "Answer 200" in outline(page.pdf(outline=True, tagged=True))


def test_a_shared_page_is_printed_whole(browser: Browser, gateway: Running, tmp_path: Path) -> None:
    """Even before all of it was drawn on the screen."""
    file = tmp_path / "long.html"
    path = f"{gateway.url}/api/sessions/long/export?format=html"
    file.write_bytes(httpx2.get(path, trust_env=False, timeout=TIMEOUT).content)
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(file.as_uri())
        has_all(page.pdf(outline=True, tagged=True))
        page.emulate_media(media="print")
        assert [each for each in page.locator("button").all() if each.is_visible()] == []

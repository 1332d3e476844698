"""The list of chats, the inbox and the palette, on the page."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.running import Running
from tests.ui.page import in_a_browser, opened

pytestmark = in_a_browser


@pytest.fixture(scope="module")
def tab(browser: Browser, garden: Running) -> Generator[Page]:
    with opened(browser, garden.url) as page:
        yield page


def test_a_chat_that_waits_is_marked_and_decided_from_the_inbox(page: Page, garden: Running) -> None:
    """Also one that another client began; the marks go when it is over."""
    page.request.post(f"{garden.url}/api/sessions", data={"id": "inbox1", "title": "Roses"})
    call = '/call water {"plant": "rose", "litres": 5}\n/then /say watered'
    page.request.post(f"{garden.url}/api/sessions/inbox1/turns", data={"message": call})
    row = page.locator("[data-chat=inbox1]")
    expect(row.locator("[data-state=waiting]")).to_be_visible()
    page.get_by_role("link", name="Inbox").click()
    waiting = page.locator(".page li").filter(has=page.get_by_role("link", name="Roses"))
    waiting.get_by_role("button", name="Approve").click()

    expect(waiting).to_have_count(0)
    expect(row.locator("[data-state=waiting]")).to_have_count(0)
    expect(row.locator("[data-state=unread]")).to_be_visible()
    row.get_by_role("link").click()
    expect(page.locator(".prose")).to_have_text("watered")
    expect(row.locator("[data-state]")).to_have_count(0)


def test_a_chat_is_found_by_what_was_said_and_deleted(page: Page, garden: Running) -> None:
    """The words are marked where they stand; after the question it is gone from the list and the screen."""
    page.request.post(f"{garden.url}/api/sessions", data={"id": "heron1", "title": "Birds"})
    page.request.post(
        f"{garden.url}/api/sessions/heron1/turns",
        data={"message": "/say The heron stands in the reeds"},
        headers={"Accept": "text/event-stream"},
    )
    # What was said is searchable a moment after the turn is over.
    page.wait_for_function(
        "async () => (await (await fetch('api/sessions?q=reeds')).json()).sessions.length > 0"
    )
    page.get_by_role("searchbox").focus()
    page.keyboard.type("reeds")
    row = page.locator("[data-chat=heron1]")
    expect(row.locator(".chat-snippet mark")).to_have_text("reeds")
    row.get_by_role("link").press("Enter")
    expect(page.locator("h1.title")).to_have_text("Birds")
    row.get_by_role("link").press("Delete")
    page.get_by_role("dialog").get_by_role("button", name="Delete it").click()

    expect(row).to_have_count(0)
    expect(page.locator("h1.title")).to_have_text("Chat Gateway")
    assert page.request.get(f"{garden.url}/api/sessions/heron1").status == 404


def test_the_palette_goes_to_a_page_by_a_few_letters(page: Page) -> None:
    """And leaves the page as it was otherwise."""
    expect(page.get_by_role("searchbox")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("skil")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("Skills")
    expect(page.get_by_role("switch", name="Offer water to the model")).to_be_visible()

"""The list of chats, the inbox and the palette, on the page."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.running import Running
from tests.ui.axe import findings
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


def test_a_search_is_narrowed_by_filters(page: Page, garden: Running) -> None:
    """To titles or messages, to a time and to chats that are not archived; without filters all are there."""
    page.request.post(f"{garden.url}/api/sessions", data={"id": "otter1", "title": "Otters"})
    page.request.post(f"{garden.url}/api/sessions", data={"id": "otter2", "title": "Rivers"})
    page.request.post(
        f"{garden.url}/api/sessions/otter2/turns",
        data={"message": "/say Otters swim here"},
        headers={"Accept": "text/event-stream"},
    )
    page.wait_for_function(
        "async () => (await (await fetch('api/sessions?q=otters')).json()).sessions.length > 1"
    )
    page.request.patch(f"{garden.url}/api/sessions/otter1", data={"archived": True})
    by_title, by_message = page.locator("[data-chat=otter1]"), page.locator("[data-chat=otter2]")
    page.get_by_role("searchbox").fill("otters")
    expect(by_title).to_be_visible()
    page.get_by_role("button", name="Filter").click()
    assert findings(page) == []
    page.get_by_label("Look in").select_option("Messages")
    expect(by_title).to_have_count(0)
    expect(by_message).to_be_visible()
    page.get_by_label("Look in").select_option("Titles")
    expect(by_message).to_have_count(0)
    expect(by_title).to_be_visible()
    page.get_by_label("Last used").select_option("Today")
    expect(by_title).to_be_visible()
    page.get_by_role("combobox", name="Chats").select_option("Not archived")
    expect(by_title).to_have_count(0)
    page.get_by_role("button", name="Without filters").click()
    expect(by_title).to_be_visible()
    expect(by_message).to_be_visible()
    page.get_by_role("searchbox").fill("")


def test_the_open_chat_is_seen_in_a_long_list(page: Page, garden: Running) -> None:
    """Also where it was opened by its address."""
    for number in range(30):
        page.request.post(f"{garden.url}/api/sessions", data={"id": f"row{number}", "title": f"Row {number}"})
    expect(page.locator("[data-chat=row29]")).to_be_visible()
    page.evaluate("location.hash = 's=row0'")
    expect(page.locator("[data-chat=row0]")).to_be_in_viewport()


def test_the_palette_goes_to_a_page_by_a_few_letters(page: Page) -> None:
    """And leaves the page as it was otherwise."""
    expect(page.get_by_role("searchbox")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("skil")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("Skills")
    expect(page.get_by_role("switch", name="Offer water to the model")).to_be_visible()

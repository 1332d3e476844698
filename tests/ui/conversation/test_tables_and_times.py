"""What is copied of a table, when messages were sent, and what is left of one that was taken back."""

from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.running import Running, gateway_process
from tests.ui.axe import findings
from tests.ui.page import SCREEN, ask, begin_chat, in_a_browser, opened
from tests.ui.states import saying

pytestmark = in_a_browser


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with gateway_process(tmp_path_factory.mktemp("tables")) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def tab(browser: Browser, running: Running) -> Generator[Page]:
    with opened(browser, running.url) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        yield page


@pytest.fixture
def page(tab: Page) -> Page:
    begin_chat(tab)
    return tab


@pytest.mark.parametrize("width", [SCREEN["width"], 390])
def test_a_table_is_copied_for_a_spreadsheet_as_csv_and_saved(page: Page, width: int) -> None:
    """What a spreadsheet would run is a text in it."""
    ask(page, saying("| 名称 | price |\n|---|---|\n| Rose, red | 5 |\n| =1+1 | -3 |"))
    page.set_viewport_size({"width": width, "height": 720})
    page.locator(".prose .table").hover()
    read = "navigator.clipboard.readText()"
    page.get_by_role("button", name="Copy table for a spreadsheet").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate(read) == "名称\tprice\nRose, red\t5\n'=1+1\t-3"
    page.get_by_role("button", name="Copy table as CSV").click()
    page.wait_for_function(f"async () => (await {read}).includes('\"Rose, red\",5')")
    with page.expect_download() as saving:
        page.get_by_role("button", name="Download table as CSV").click()
    saved = Path(saving.value.path()).read_text(encoding="utf-8-sig")
    assert saved.splitlines() == ["名称,price", '"Rose, red",5', "'=1+1,-3"]
    assert findings(page) == []


def test_a_message_says_when_it_was_sent(page: Page) -> None:
    """By the day as people say it; it is there for who listens, too."""
    ask(page, "/say hello")
    expect(page.locator(".outcome.completed")).to_be_visible()
    time = page.locator(".branching .message-time")
    expect(time).to_contain_text("today")
    page.locator(".question").hover()
    expect(time).to_have_css("opacity", "1")
    expect(page.locator(".actions .message-time")).to_contain_text("today")


def test_a_message_that_was_taken_back_is_gone(page: Page) -> None:
    """From the chat as it is, and as it is opened anew."""
    ask(page, "/pace 3000\n/pieces 30")
    expect(page.locator(".answer")).to_be_visible()
    ask(page, "the second one")
    page.get_by_role("button", name="Do not send").click()
    expect(page.get_by_text("the second one")).to_have_count(0)
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".outcome.cancelled")).to_have_count(1)
    page.reload()
    expect(page.locator(".outcome.cancelled")).to_have_count(1)
    expect(page.locator(".question")).to_have_count(1)
    expect(page.locator("main").get_by_text("the second one")).to_have_count(0)

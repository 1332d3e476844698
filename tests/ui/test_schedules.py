"""The page of schedules in a browser: made, run, looked at, and removed."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.running import Running, gateway_process
from tests.ui.axe import findings
from tests.ui.page import in_a_browser, opened

pytestmark = in_a_browser


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """`gateway dev` with the demo model."""
    with gateway_process(tmp_path_factory.mktemp("schedules")) as gateway:
        yield gateway


@pytest.fixture
def page(browser: Browser, running: Running) -> Generator[Page]:
    """On a small phone."""
    with opened(browser, running.url) as page:
        page.set_viewport_size({"width": 320, "height": 640})
        yield page


def test_a_schedule_is_made_runs_and_leads_to_its_turn(page: Page) -> None:
    """Nothing is in anybody's way meanwhile, nor wider than the screen."""
    page.evaluate("location.hash = 'p=schedules'")
    page.get_by_role("button", name="New schedule").click()
    page.get_by_label("Message", exact=True).fill("/say 早上好")
    page.get_by_label("Name (optional)").fill("Morning 早安")
    page.get_by_text("More options").click()
    page.get_by_label("Time zone").fill("Asia/Shanghai")
    expect(page.locator(".upcoming li")).to_have_count(5)
    expect(page.locator(".upcoming li").first).to_contain_text("08:00")
    assert findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 320

    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("status").filter(has_text="Created: Morning 早安")).to_be_visible()
    expect(page.locator(".switch-card")).to_contain_text("every day at 08:00 (Asia/Shanghai)")
    page.get_by_role("button", name="Run now: Morning 早安").click()
    ended = page.locator(".switch-card li", has_text="completed")
    expect(ended).to_be_visible()
    assert findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 320

    ended.get_by_role("link").click()
    expect(page.locator(".answer .prose", has_text="早上好")).to_be_visible()
    expect(page.locator(".sent-by")).to_have_text("Sent by a schedule")

    page.evaluate("location.hash = 'p=schedules'")
    page.get_by_role("button", name="Delete: Morning 早安").click()
    page.get_by_role("button", name="Delete for good: Morning 早安").click()
    expect(page.locator(".page .empty")).to_be_visible()

"""The page at a gateway of several people, who have keys."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.running import gateway_process
from tests.ui.page import ask, in_a_browser, opened

pytestmark = in_a_browser

ADA = "ada-has-a-key-of-forty-three-characters-000"


@contextmanager
def _adas_page(browser: Browser, folder: Path, **settings: str) -> Generator[Page]:
    """With her key given."""
    keys = {"GATEWAY_API_KEYS": f"ada:{ADA}", **settings}
    with gateway_process(folder, **keys) as gateway, opened(browser, gateway.url) as page:
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("textbox").fill(ADA)
        dialog.get_by_role("textbox").press("Enter")
        expect(dialog).to_have_count(0)
        yield page


def test_a_chat_that_is_begun_has_its_title_its_menu_and_its_row(browser: Browser, tmp_path: Path) -> None:
    """Under the id that the server gave it, which nobody can guess; also after a reload."""
    with _adas_page(browser, tmp_path) as page:
        ask(page, "/say hello")
        for _ in range(2):
            expect(page.locator(".head .title")).to_have_text("/say hello")
            expect(page.locator(".head").get_by_role("button", name="Actions for /say hello")).to_be_visible()
            expect(page.locator('.chat-row [aria-current="page"]')).to_contain_text("/say hello")
            expect(page.get_by_text("unread")).to_have_count(0)
            page.reload()


def test_a_first_message_that_is_refused_leaves_no_chat(browser: Browser, tmp_path: Path) -> None:
    """What was written is still there to be edited."""
    with _adas_page(browser, tmp_path, GATEWAY_MAX_BODY_SIZE="2000") as page:
        page.locator("#input").fill("x" * 3000)
        page.locator("#input").press("Enter")
        expect(page.locator(".refused")).to_be_visible()
        expect(page.locator(".chat-row")).to_have_count(0)
        page.locator(".refused").get_by_role("button", name="Edit").click()
        expect(page.locator("#input")).to_have_value("x" * 3000)

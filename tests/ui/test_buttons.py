"""Each button can be seen and hit: its contrast and its size, in every state of it and of the page."""

from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.product import new_key
from tests.running import Running, gateway_process
from tests.ui.garden import GARDEN
from tests.ui.page import CLOSED, TIMEOUT_MS, in_a_browser, watched
from tests.ui.states import furnish, go, walk

pytestmark = [*in_a_browser, pytest.mark.long]

DESK: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}
FAULTS = (Path(__file__).parent / "button_faults.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    folder = tmp_path_factory.mktemp("buttons")
    (folder / "garden.py").write_text(GARDEN)
    settings = {
        "GATEWAY_SKILL_MODULES": "garden",
        "GATEWAY_TOOL_POLICY": "forbidden=deny",
        "GATEWAY_RETRY_AFTER_CAP": "0.1",
        "GATEWAY_TURN_TIMEOUT": "3600",
        "GATEWAY_ENCRYPTION_KEYS": new_key(),
    }
    with gateway_process(folder, **settings) as gateway:
        furnish(gateway.url)
        yield gateway


@pytest.mark.parametrize("screen", [DESK, PHONE], ids=["desk", "phone"])
def test_every_button_is_seen_and_hit(browser: Browser, running: Running, screen: ViewportSize) -> None:
    """At rest, under the pointer, with the focus, switched off, and where it asks once more; light and dark.
    A finger gets 44 pixels where it goes all the time, and 24 at least."""
    is_phone = screen is PHONE
    found: dict[str, list[str]] = {}
    """States by what is wrong in them."""

    def look(state: str) -> None:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            if faults := page.evaluate(FAULTS, is_phone):
                found[f"{state}, {scheme}"] = faults
        seen.append(state)

    seen: list[str] = []
    with browser.new_context(viewport=screen, has_touch=is_phone, is_mobile=is_phone) as context:
        context.add_init_script(CLOSED)
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        with watched(page):
            page.goto(running.url)
            walk(page, look)
            _confirmations(page, look)
    assert len(seen) >= 20
    assert found == {}


def _confirmations(page: Page, look: Callable[[str], None]) -> None:
    """What removes something for good, when it is asked for."""
    if (dialog := page.locator("dialog[open]")).count():
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
    for place in ("artifacts", "schedules"):
        go(page, f"p={place}")
        page.locator(".page .card").first.get_by_role("button", name="Delete").click()
        expect(page.get_by_role("button", name="Delete for good").first).to_be_visible()
        look(f"{place}, deleting")
    go(page, "s=long")
    page.locator(".head [aria-haspopup=menu]").click()
    look("menu of the chat")
    page.get_by_role("menuitem", name="Delete").click()
    look("deleting the chat")
    page.keyboard.press("Escape")

"""Several chats at once: chosen in the list, or all of them from the settings."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.running import Running, gateway_process
from tests.ui.axe import findings
from tests.ui.page import SCREEN, in_a_browser, opened

pytestmark = in_a_browser

PHONE: ViewportSize = {"width": 390, "height": 844}
TITLES = ("Herons", "Roses", "Reeds", "Ponds")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with gateway_process(tmp_path_factory.mktemp("several")) as running:
        yield running


@pytest.fixture
def page(browser: Browser, gateway: Running) -> Generator[Page]:
    """The list, with a chat of each title."""
    with opened(browser, gateway.url) as page:
        for each in page.request.get(f"{gateway.url}/api/sessions?archived=all").json()["sessions"]:
            page.request.delete(f"{gateway.url}/api/sessions/{each['id']}")
        for title in TITLES:
            page.request.post(f"{gateway.url}/api/sessions", data={"id": title, "title": title})
        page.reload()
        expect(page.locator(".chat-row")).to_have_count(len(TITLES))
        yield page


def titles(page: Page, url: str, archived: str = "false") -> set[str]:
    found = page.request.get(f"{url}/api/sessions?archived={archived}").json()["sessions"]
    return {each["title"] for each in found}


@pytest.mark.parametrize("screen", [SCREEN, PHONE], ids=["wide", "phone"])
def test_several_chats_are_archived_moved_and_deleted(
    page: Page, gateway: Running, screen: ViewportSize
) -> None:
    """What is archived comes back with one button; a question says how many are deleted."""
    page.set_viewport_size(screen)
    if screen == PHONE:
        page.get_by_role("button", name="Show chats").click()
    page.locator("[data-chat=Herons]").hover()
    page.get_by_role("button", name="Actions for Herons").click()
    page.get_by_role("menuitem", name="Choose several").click()
    page.get_by_role("checkbox", name="Choose Roses").check()
    bar = page.get_by_role("toolbar", name="Chosen chats")
    expect(bar).to_contain_text("2 chosen")
    assert findings(page) == []
    bar.get_by_role("button", name="Archive").click()
    expect(page.locator(".chats-notice")).to_contain_text("Archived: 2 chats")
    assert titles(page, gateway.url, "true") == {"Herons", "Roses"}
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".chat-row")).to_have_count(len(TITLES))

    page.locator("[data-chat=Reeds]").hover()
    page.get_by_role("button", name="Actions for Reeds").click()
    page.get_by_role("menuitem", name="Choose several").click()
    bar.get_by_role("button", name="All").click()
    expect(bar).to_contain_text("4 chosen")
    page.get_by_role("checkbox", name="Choose Ponds").uncheck()
    bar.get_by_role("button", name="Move to folder").click()
    page.get_by_role("radio", name="New folder").check()
    page.get_by_role("dialog").get_by_label("Name").fill(f"Birds {screen['width']}")
    page.get_by_role("dialog").get_by_role("button", name="Move", exact=True).click()
    folder = page.locator(".folder").filter(has_text=f"Birds {screen['width']}")
    expect(folder.locator(".chat-row")).to_have_count(3)

    page.locator("[data-chat=Ponds]").hover()
    page.get_by_role("button", name="Actions for Ponds").click()
    page.get_by_role("menuitem", name="Choose several").click()
    bar.get_by_role("button", name="All").click()
    bar.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog", name="Delete 4 chats?")).to_be_visible()
    assert findings(page) == []
    page.get_by_role("button", name="Delete 4 chats").click()
    expect(page.locator(".chat-row")).to_have_count(0)
    assert titles(page, gateway.url, "all") == set()


def test_all_chats_are_archived_and_deleted_from_the_settings(page: Page, gateway: Running) -> None:
    """Each question says how many; archived chats are deleted too."""
    page.keyboard.press("Control+,")
    page.get_by_role("button", name="Archive all chats").click()
    page.get_by_role("dialog", name="Archive 4 chats?").get_by_role("button", name="Archive").click()
    expect(page.locator(".chats-notice")).to_contain_text("Archived: 4 chats")
    assert titles(page, gateway.url) == set()
    page.get_by_role("button", name="Delete all chats").click()
    dialog = page.get_by_role("dialog", name="Delete 4 chats?")
    expect(dialog).to_contain_text("4 of them are archived.")
    dialog.get_by_role("button", name="Delete 4 chats").click()
    expect(dialog).to_have_count(0)
    assert titles(page, gateway.url, "all") == set()

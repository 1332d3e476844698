"""The catalog of skills on the page: seen, filtered, switched, looked at again."""

from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.running import Running
from tests.ui.garden import write_skill
from tests.ui.page import ask, in_a_browser, opened

pytestmark = in_a_browser


@pytest.fixture
def page(browser: Browser, garden: Running) -> Generator[Page]:
    with opened(browser, garden.url) as page:
        yield page


def catalog(page: Page) -> Locator:
    """The open menu."""
    page.get_by_text("Skills", exact=True).click()
    menu = page.locator("#skills")
    expect(menu.get_by_role("switch").first).to_be_visible()
    return menu


def test_every_skill_is_listed_with_its_kind_and_source(page: Page) -> None:
    """Functions and written ones; what a file says of itself is text."""
    menu = catalog(page)
    row = menu.get_by_role("switch", name="tend-roses")

    expect(row).to_contain_text("written · project")
    expect(row).to_contain_text("Tends roses. 照料玫瑰。<b>")
    expect(menu.get_by_role("switch", name="calculate")).to_contain_text("function · built-in")
    expect(row).to_have_attribute("aria-checked", "true")


def test_the_list_can_be_one_kind_only(page: Page) -> None:
    """And says so when there is none of it."""
    menu = catalog(page)
    menu.get_by_label("Kind").select_option("Written")
    expect(menu.get_by_role("switch", name="calculate")).to_have_count(0)
    expect(menu.get_by_role("switch", name="tend-roses")).to_be_visible()
    menu.get_by_label("Kind").select_option("MCP")

    expect(menu.locator("#skill-list")).to_have_text("There are none")


def test_a_switch_holds_after_a_reload(page: Page) -> None:
    """Off is off for everybody, until somebody switches it on again."""
    row = catalog(page).get_by_role("switch", name="tend-roses")
    row.click()
    expect(row).to_have_attribute("aria-checked", "false")
    expect(row).to_be_focused()
    page.reload()
    row = catalog(page).get_by_role("switch", name="tend-roses")
    expect(row).to_have_attribute("aria-checked", "false")
    row.press("Space")

    expect(row).to_have_attribute("aria-checked", "true")


def test_a_switch_that_is_refused_stays_as_it_was(page: Page) -> None:
    """And the reason is told."""
    menu = catalog(page)
    row = menu.get_by_role("switch", name="read_skill")
    row.click()

    expect(menu.locator("#skills-note")).to_have_text("This one cannot be switched off.")
    expect(row).to_have_attribute("aria-checked", "true")


def test_refresh_finds_what_is_new_and_what_is_broken(page: Page, garden_folder: Path) -> None:
    """A new file is there, a broken one is a warning."""
    menu = catalog(page)
    write_skill(garden_folder, "prune-hedges", "Prunes hedges.", "Cut.")
    write_skill(garden_folder, "broken", "''", "Nothing.")
    menu.get_by_role("button", name="Refresh").click()

    expect(menu.get_by_role("switch", name="prune-hedges")).to_be_visible()
    expect(menu.locator("#skill-warnings")).to_contain_text("broken")
    expect(menu.locator("#skills-note")).to_be_empty()


def test_a_skill_that_is_read_is_told_in_the_conversation(page: Page) -> None:
    """And so is one that is refused."""
    ask(page, '/call read_skill {"name": "tend-roses"}\n/then\n/call tend-roses {}\n/then /say done')

    expect(page.locator(".outcome.completed")).to_be_visible()
    expect(page.locator(".skill.read")).to_have_text("Read the skill tend-roses")
    expect(page.locator(".skill.refused")).to_contain_text("tend-roses: ")


@pytest.mark.parametrize(("scope", "where"), [("in this chat", "in chats: 1"), ("always", "in every chat")])
def test_what_was_allowed_for_longer_can_be_taken_back(page: Page, scope: str, where: str) -> None:
    """It is listed with the skills; once it is taken back, the tool asks again."""
    ask(page, "/call current_time {}\n/then /say done")
    card = page.locator(".approval")
    card.get_by_label("Holds").select_option(scope)
    card.get_by_role("button", name="Approve").click()
    expect(page.locator(".outcome.completed")).to_be_visible()
    grant = catalog(page).get_by_role("list", name="Allowed without asking").locator("li")
    grant = grant.filter(has_text="current_time")
    expect(grant).to_contain_text(where)
    grant.get_by_role("button", name="Ask again before current_time runs").click()
    expect(grant).to_have_count(0)
    page.keyboard.press("Escape")

    ask(page, "/call current_time {}")
    expect(card).to_be_visible()


def test_the_catalog_fits_a_phone_and_speaks_chinese(browser: Browser, garden: Running) -> None:
    """The menu is as wide as the screen, and nothing is wider."""
    with opened(browser, garden.url, locale="zh-CN") as page:
        page.set_viewport_size({"width": 360, "height": 740})
        page.get_by_text("技能", exact=True).click()
        expect(page.get_by_role("switch", name="tend-roses")).to_contain_text("文档 · project")
        expect(page.get_by_label("类型")).to_be_visible()

        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        box = page.locator("#skills .sheet").bounding_box()
        assert box is not None
        assert (box["x"] >= 0, box["x"] + box["width"] <= 360) == (True, True)

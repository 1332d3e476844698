"""The memory on the page: seen in the conversation, taken back, listed, changed, forgotten, erased."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.running import Running
from tests.ui.page import ask, in_a_browser, opened

pytestmark = in_a_browser

SCRIPTED = '<img src=x onerror="document.title=1">'


@pytest.fixture
def http(garden: Running) -> Generator[httpx2.Client]:
    with httpx2.Client(base_url=garden.url, trust_env=False) as client:
        yield client


@pytest.fixture(autouse=True)
def nothing_remembered(http: httpx2.Client) -> None:
    for memory in http.get("/api/memory").json()["memories"]:
        http.post(f"/api/memory/{memory['id']}/erase")


@pytest.fixture
def page(browser: Browser, garden: Running) -> Generator[Page]:
    with opened(browser, garden.url) as page:
        yield page


def keep(http: httpx2.Client, content: str, **more: Any) -> dict[str, Any]:
    return http.post("/api/memory", json={"content": content, **more}).json()


def panel(page: Page) -> Locator:
    """The open menu."""
    page.get_by_text("Memory", exact=True).first.click()
    menu = page.locator("#memory")
    expect(menu.locator("#memory-list > li").first).to_be_visible()
    return menu


def whole(menu: Locator, content: str) -> Locator:
    """The row of a memory, opened."""
    row = menu.locator("#memory-list > li").filter(has_text=content)
    row.locator("summary").click()
    expect(row.locator(".whole")).to_contain_text("Versions")
    return row


def test_what_is_remembered_is_told_and_can_be_taken_back(page: Page) -> None:
    """A card says it; Undo forgets it, and it is in no list any more."""
    ask(page, "记住，我喜欢简约的设计风格")
    card = page.locator(".note.memory")
    expect(card).to_contain_text("Remembered: “我喜欢简约的设计风格”")
    expect(page.locator(".outcome.completed")).to_be_visible()
    card.get_by_role("button", name="Undo").click()

    expect(card).to_contain_text("Forgotten again")
    expect(card.get_by_role("button")).to_have_count(0)
    expect(panel(page).locator("#memory-list")).to_have_text("Nothing is remembered yet")


def test_what_is_recalled_is_told_with_the_reason(page: Page, http: httpx2.Client) -> None:
    """A new chat says which memories the model was told and why; the answer names them."""
    memory = keep(http, "我喜欢简约的设计风格", type="preference")
    ask(page, "帮我的咖啡店设计一个logo")
    recalled = page.locator(".recalled").first
    recalled.locator("summary").click()

    expect(recalled).to_contain_text("In the prompt of this chat: 1")
    expect(recalled).to_contain_text("我喜欢简约的设计风格")
    expect(recalled).to_contain_text("preference · importance 3 · told now")
    expect(page.locator(".recalled").nth(1)).to_contain_text("Looked up for this message: 1")
    expect(page.locator(".prose").last).to_contain_text(memory["id"])


def test_a_memory_is_seen_edited_pinned_and_deleted(page: Page, http: httpx2.Client) -> None:
    """What a memory says is text; each change is a version with who made it."""
    keep(http, f"Likes tea.\n{SCRIPTED}", type="preference")
    menu = panel(page)
    row = whole(menu, "Likes tea")
    expect(row.locator(".content")).to_have_text(f"Likes tea.\n{SCRIPTED}")
    row.get_by_role("button", name="Edit").click()
    row.get_by_label("What to remember").fill("喜欢喝咖啡")
    row.get_by_label("Importance").select_option("5")
    row.get_by_role("button", name="Save").click()
    row = menu.locator("#memory-list > li")
    expect(row.locator(".gist")).to_have_text("喜欢喝咖啡")
    expect(row.locator("summary")).to_be_focused()
    row.get_by_role("button", name="Pin", exact=True).click()
    expect(row.locator("summary")).to_contain_text("importance 5 · Pinned")
    expect(row.locator(".whole ol li")).to_have_count(3)
    expect(row.locator(".whole ol")).to_contain_text("2: edited, local")
    row.get_by_role("button", name="Delete").click()

    expect(menu.locator("#memory-list")).to_have_text("Nothing is remembered yet")
    expect(menu.get_by_label("Search what is remembered")).to_be_focused()
    assert http.get("/api/memory").json()["memories"] == []


def test_a_frozen_memory_can_be_used_again(page: Page, http: httpx2.Client) -> None:
    """Both are a click, and the list says how it stands."""
    keep(http, "Works in Oslo")
    row = whole(panel(page), "Works in Oslo")
    row.get_by_role("button", name="Freeze").click()
    expect(row.locator("summary")).to_contain_text("frozen: not recalled")
    row.get_by_role("button", name="Use again").click()

    expect(row.locator("summary")).not_to_contain_text("frozen")


def test_a_suppressed_memory_can_be_used_again(page: Page, http: httpx2.Client) -> None:
    """It is beside Freeze, and the version says why."""
    keep(http, "Works in Oslo")
    row = whole(panel(page), "Works in Oslo")
    row.get_by_role("button", name="Suppress").click()
    expect(row.locator("summary")).to_contain_text("suppressed")
    expect(row.locator(".whole ol li").last).to_contain_text("2: suppressed, local")
    expect(row.locator(".whole ol li").last).to_contain_text("Its user asked for it (suppress).")
    expect(row.get_by_role("button", name="Freeze")).to_have_count(0)
    row.get_by_role("button", name="Use again").click()

    expect(row.locator("summary")).not_to_contain_text("suppressed")


def test_a_memory_is_replaced_by_what_is_true_instead(page: Page, http: httpx2.Client) -> None:
    """Both are listed, and only the new one is used; Cancel changes nothing."""
    old = keep(http, "Works in Oslo")
    menu = panel(page)
    row = whole(menu, "Works in Oslo")
    row.get_by_role("button", name="Replace…").click()
    row.get_by_role("button", name="Cancel").click()
    row.get_by_role("button", name="Replace…").click()
    row.get_by_label("What is true instead").fill("Works in Turku")
    row.get_by_role("button", name="Replace", exact=True).click()

    rows = menu.locator("#memory-list > li")
    expect(rows).to_have_count(2)
    expect(rows.filter(has_text="Works in Oslo").locator("summary")).to_contain_text("replaced")
    expect(rows.first.locator("summary")).to_be_focused()
    replaced = http.get(f"/api/memory/{old['id']}").json()
    new = http.get(f"/api/memory/{replaced['superseded_by']}").json()
    assert (new["content"], new["status"]) == ("Works in Turku", "active")


def test_a_version_tells_its_text_and_its_reason(page: Page, http: httpx2.Client) -> None:
    """The text as text, and only where it changed."""
    memory = keep(http, f"Likes tea {SCRIPTED}", reason="She said so.")
    http.patch(f"/api/memory/{memory['id']}", json={"pinned": True, "reason": "It matters."})
    http.patch(f"/api/memory/{memory['id']}", json={"content": "Likes coffee", "reason": "A slip."})
    versions = whole(panel(page), "Likes coffee").locator(".whole ol li")

    expect(versions.locator(".reason")).to_have_text(["She said so.", "It matters.", "A slip."])
    expect(versions.locator(".was")).to_have_text([f"Likes tea {SCRIPTED}", "Likes coffee"])


def test_the_list_is_searched_and_filtered(page: Page, http: httpx2.Client) -> None:
    """By words in either script, and by what is pinned."""
    keep(http, "我喜欢简约的设计风格")
    keep(http, "Works in Oslo", pinned=True)
    menu = panel(page)
    expect(menu.locator("#memory-list > li")).to_have_count(2)
    expect(menu.get_by_placeholder("Search what is remembered")).to_be_visible()
    menu.get_by_label("Search what is remembered").fill("設計")
    expect(menu.locator("#memory-list > li")).to_have_count(1)
    expect(menu.locator("#memory-list")).to_contain_text("我喜欢简约的设计风格")
    menu.get_by_label("Search what is remembered").fill("bicycle")
    expect(menu.locator("#memory-list")).to_have_text("Nothing found")
    menu.get_by_label("Search what is remembered").fill("")
    menu.get_by_label("Which").select_option("Pinned")

    expect(menu.locator("#memory-list > li")).to_have_count(1)
    expect(menu.locator("#memory-list")).to_contain_text("Works in Oslo")


def test_to_erase_is_asked_for_twice(page: Page, http: httpx2.Client) -> None:
    """Escape and Cancel keep it; the other button removes its versions, too."""
    memory = keep(http, "Lives in Bergen")
    menu = panel(page)
    row = whole(menu, "Lives in Bergen")
    dialog = menu.get_by_role("dialog", name="Erase this for good?")
    row.get_by_role("button", name="Erase…").click()
    expect(dialog).to_contain_text("Lives in Bergen")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    row.get_by_role("button", name="Erase…").click()
    dialog.get_by_role("button", name="Cancel").click()
    expect(row).to_be_visible()
    row.get_by_role("button", name="Erase…").click()
    dialog.get_by_role("button", name="Erase").click()

    expect(menu.locator("#memory-list")).to_have_text("Nothing is remembered yet")
    assert http.get(f"/api/memory/{memory['id']}").status_code == 404


def test_what_was_changed_elsewhere_is_not_overwritten(page: Page, http: httpx2.Client) -> None:
    """The newer version is shown, with the reason."""
    memory = keep(http, "Works in Oslo")
    menu = panel(page)
    whole(menu, "Works in Oslo")
    row = menu.locator("#memory-list > li")
    http.patch(f"/api/memory/{memory['id']}", json={"content": "Works in Turku"})
    row.get_by_role("button", name="Delete").click()

    expect(menu.locator("#memory-note")).to_have_text("It was changed meanwhile. Have a look at it first.")
    expect(row.locator(".gist")).to_have_text("Works in Turku")


def test_what_a_tool_suggests_waits_for_a_person(page: Page) -> None:
    """It is marked, and confirmed with a click."""
    ask(page, "/call gossip {}\n/then /say done")
    expect(page.locator(".outcome.completed")).to_be_visible()
    menu = panel(page)
    menu.get_by_label("Which").select_option("To confirm")
    expect(menu.locator("#memory-note")).to_be_empty()  # the list that was asked for is there
    row = menu.locator("#memory-list > li")
    expect(row.locator(".waits")).to_have_text("To confirm")
    row = whole(menu, "Owns a red bicycle.")
    row.get_by_role("button", name="Confirm").click()

    expect(row.locator(".waits")).to_have_count(0)
    expect(row.locator(".whole ol")).to_contain_text("confirmed, local")


def test_all_of_it_can_be_taken_away(page: Page, http: httpx2.Client) -> None:
    """As a file with a memory a line."""
    keep(http, "Works in Oslo")
    menu = panel(page)
    with page.expect_download() as download:
        menu.get_by_role("button", name="Export").click()

    assert "Works in Oslo" in Path(download.value.path()).read_text(encoding="utf-8")
    expect(menu.locator("#memory-note")).to_have_text("The file is in your downloads.")


def test_the_panel_fits_a_phone_and_speaks_chinese(
    browser: Browser, garden: Running, http: httpx2.Client
) -> None:
    """Nothing is wider than the screen, whatever a memory says."""
    keep(http, "喜欢" + "很" * 300 + "长的句子" + "w" * 300, type="preference")
    with opened(browser, garden.url, locale="zh-CN") as page:
        page.set_viewport_size({"width": 360, "height": 740})
        page.get_by_text("记忆", exact=True).first.click()
        row = page.locator("#memory-list > li")
        expect(row).to_contain_text("偏好 · 重要性 3")
        row.locator("summary").click()
        expect(row.get_by_role("button", name="删除")).to_be_visible()

        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        box = page.locator("#memory .sheet").bounding_box()
        assert box is not None
        assert (box["x"] >= 0, box["x"] + box["width"] <= 360) == (True, True)


def test_the_profile_is_shown_and_written(page: Page, http: httpx2.Client) -> None:
    """A line for each fact; what is no such line is not sent, and a version that is newer is not written
    over but shown."""
    known = http.put("/api/profiles/user/local", json={"fields": {"name": "李雷"}}).json()
    page.get_by_text("Memory", exact=True).first.click()
    page.locator("#profiles > summary").click()
    box = page.get_by_label("About you, in every prompt")
    expect(box).to_have_value("name: 李雷")

    box.fill("no fact")
    page.locator("#profiles").get_by_role("button", name="Save").click()
    expect(page.locator("#memory-note")).to_have_text("A line for each fact: name: value")
    box.fill("name: 李雷\n时区：Asia/Shanghai: +8")
    page.locator("#profiles").get_by_role("button", name="Save").click()
    expect(page.locator("#memory-note")).to_have_text("Saved. New chats know it from the first message.")
    saved = http.get("/api/profiles/user/local").json()
    assert saved["fields"] == {"name": "李雷", "时区": "Asia/Shanghai: +8"}
    assert saved["version"] == known["version"] + 1

    http.put("/api/profiles/user/local", json={"fields": {"name": "韩梅梅"}})
    box.fill("name: somebody")
    page.locator("#profiles").get_by_role("button", name="Save").click()
    expect(box).to_have_value("name: 韩梅梅")
    assert http.get("/api/profiles/user/local").json()["fields"] == {"name": "韩梅梅"}
    http.put("/api/profiles/user/local", json={"fields": {}})


def test_what_is_told_while_the_list_is_fetched_stays(page: Page) -> None:
    """The list that comes later takes away only that it was being fetched."""

    def hold(route: Route) -> None:
        """Until the route is taken away."""

    page.route("**/api/memory?*", hold)
    page.get_by_text("Memory", exact=True).first.click()
    page.locator("#profiles > summary").click()
    page.get_by_label("About you, in every prompt").fill("no fact")
    page.locator("#profiles").get_by_role("button", name="Save").click()
    expect(page.locator("#memory-note")).to_have_text("A line for each fact: name: value")
    page.unroute("**/api/memory?*")  # which lets go of what is held

    expect(page.locator("#memory-list")).to_have_text("Nothing is remembered yet")
    expect(page.locator("#memory-note")).to_have_text("A line for each fact: name: value")

"""Folders, instructions, saved prompts, temporary chats and imports, for somebody who has a key, on a wide
screen and on a phone's."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.history.foreign_exports import CHATGPT, CLAUDE, SCRIPT, zipped
from tests.running import gateway_process
from tests.ui.axe import findings
from tests.ui.page import ask, in_a_browser, opened
from tests.ui.test_with_keys import ADA

pytestmark = in_a_browser

PHONE: ViewportSize = {"width": 390, "height": 844}
WIDE: ViewportSize = {"width": 1280, "height": 720}
both_screens = pytest.mark.parametrize("screen", [WIDE, PHONE], ids=["wide", "phone"])


class Reader:
    """Ada, at the page and at the API."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self._http = (
            page,
            httpx2.Client(base_url=url, headers={"authorization": f"Bearer {ADA}"}, trust_env=False),
        )

    def api(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._http.request(method, path, json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def close(self) -> None:
        self._http.close()

    def open_list(self) -> None:
        """The list of chats, which on a phone lies over the rest."""
        shown = self.page.get_by_role("button", name="Show chats")
        if shown.is_visible():
            shown.click()

    def close_list(self) -> None:
        if (self.page.viewport_size or WIDE)["width"] < 860 and self.page.locator("nav.sidebar").is_visible():
            self.page.locator(".cover").click(position={"x": 370, "y": 400})


@contextmanager
def reading(browser: Browser, folder: Path, screen: ViewportSize) -> Generator[Reader]:
    with (
        gateway_process(folder, GATEWAY_API_KEYS=f"ada:{ADA}", GATEWAY_ADMINS="ada") as gateway,
        opened(browser, gateway.url) as page,
    ):
        page.set_viewport_size(screen)
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("textbox").first.fill(ADA)
        dialog.get_by_role("textbox").first.press("Enter")
        expect(dialog).to_have_count(0)
        expect(page.locator("#welcome")).to_be_visible()
        reader = Reader(page, gateway.url)
        yield reader
        reader.close()


@both_screens
def test_a_chat_goes_into_a_folder_and_the_next_begins_there_with_its_instructions(
    browser: Browser, tmp_path: Path, screen: ViewportSize
) -> None:
    """By the menu alone; the folder has any name, and deleted it leaves its chats."""
    with reading(browser, tmp_path, screen) as reader:
        page = reader.page
        ask(page, "/say herons")
        expect(page.locator(".outcome.completed")).to_have_count(1)
        page.locator(".head").get_by_role("button", name="Actions for").click()
        page.get_by_role("menuitem", name="Move to folder").click()
        page.get_by_role("textbox", name="Name").fill(SCRIPT)
        page.get_by_role("button", name="Move", exact=True).click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        reader.open_list()
        folder = page.locator(".folder")
        expect(folder.locator("[data-chat]")).to_have_count(1)
        expect(page.locator(".chats-list [data-chat]")).to_have_count(1)
        assert findings(page) == []

        folder.get_by_role("button", name="Actions for the folder").click()
        page.get_by_role("menuitem", name="Instructions").click()
        page.get_by_role("textbox", name="Instructions").fill("Talk of birds.")
        assert findings(page) == []
        page.get_by_role("button", name="Save", exact=True).click()
        folder.get_by_role("button", name="Actions for the folder").click()
        page.get_by_role("menuitem", name="New chat here").click()
        reader.close_list()
        expect(page.locator(".beginning")).to_contain_text(f"In {SCRIPT}")
        ask(page, "/say reeds")
        expect(page.locator(".outcome.completed")).to_have_count(1)
        session = page.evaluate("location.hash")[3:]
        made = reader.api("GET", f"/api/sessions/{session}")
        assert made["instructions"] == "Talk of birds."

        reader.open_list()
        expect(folder.locator("[data-chat]")).to_have_count(2)
        folder.get_by_role("button", name="Actions for the folder").click()
        page.get_by_role("menuitem", name="Delete the folder").click()
        page.get_by_role("button", name="Delete it").click()
        expect(folder).to_have_count(0)
        expect(page.locator(".chats-list [data-chat]")).to_have_count(2)


@both_screens
def test_a_chat_has_instructions_of_a_persona_and_they_can_be_changed(
    browser: Browser, tmp_path: Path, screen: ViewportSize
) -> None:
    with reading(browser, tmp_path, screen) as reader:
        page = reader.page
        reader.api("POST", "/api/saved-prompts", {"kind": "persona", "name": SCRIPT, "text": "Be a pirate."})
        page.reload()
        page.locator(".beginning select").select_option(label=SCRIPT)
        expect(page.locator(".beginning")).to_contain_text(SCRIPT)
        assert findings(page) == []
        ask(page, "/say ahoy")
        expect(page.locator(".outcome.completed")).to_have_count(1)
        session = page.evaluate("location.hash")[3:]
        assert reader.api("GET", f"/api/sessions/{session}")["instructions"] == "Be a pirate."

        page.locator(".head").get_by_role("button", name="Actions for").click()
        page.get_by_role("menuitem", name="Instructions").click()
        box = page.get_by_role("textbox", name="Instructions for this chat")
        expect(box).to_have_value("Be a pirate.")
        assert findings(page) == []
        box.fill("Be brief.")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert reader.api("GET", f"/api/sessions/{session}")["instructions"] == "Be brief."


@both_screens
def test_a_prompt_is_saved_and_called_by_its_name(
    browser: Browser, tmp_path: Path, screen: ViewportSize
) -> None:
    """Its fields are filled in before it is written into the message; nothing is sent by that."""
    with reading(browser, tmp_path, screen) as reader:
        page, box = reader.page, reader.page.get_by_label("Message", exact=True)
        box.press_sequentially("/")
        page.get_by_role("option", name="Save a prompt").click()
        page.get_by_role("button", name="New prompt").click()
        page.get_by_label("Name").fill("/weekly")
        page.get_by_label("What it is for").fill(SCRIPT)
        page.get_by_label("Text").fill("/say {{what}} and {{what}}")
        assert findings(page) == []
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".library")).to_contain_text(f"/weekly{SCRIPT}")
        assert findings(page) == []
        page.keyboard.press("Escape")
        box.press_sequentially("/we")
        expect(page.get_by_role("option", selected=True)).to_contain_text("/weekly")
        assert findings(page) == []
        box.press("Enter")
        page.get_by_role("textbox", name="what", exact=True).fill("this")
        page.get_by_role("button", name="Insert").click()
        expect(box).to_have_value("/say this and this")
        expect(page.locator(".turn")).to_have_count(0)


@both_screens
def test_a_temporary_chat_is_marked_and_gone_when_another_is_opened(
    browser: Browser, tmp_path: Path, screen: ViewportSize
) -> None:
    with reading(browser, tmp_path, screen) as reader:
        page = reader.page
        page.get_by_role("button", name="Temporary").click()
        ask(page, "/say quetzal")
        expect(page.locator(".outcome.completed")).to_have_count(1)
        expect(page.locator(".temporary")).to_be_visible()
        page.reload()
        expect(page.locator(".temporary")).to_be_visible()
        assert findings(page) == []
        session = page.evaluate("location.hash")[3:]
        assert reader.api("GET", "/api/sessions")["sessions"] == []
        with page.expect_response(lambda answer: answer.request.method == "DELETE") as ended:
            page.get_by_role("button", name="Delete it now").click()
        assert ended.value.status == 204
        assert session in ended.value.url
        expect(page.locator("#welcome")).to_be_visible()


@both_screens
def test_an_export_of_another_product_is_chosen_from_and_imported(
    browser: Browser, tmp_path: Path, screen: ViewportSize
) -> None:
    """Nothing of it becomes a script or an element, in the list, the title or the messages."""
    hostile = {**CLAUDE, "uuid": "hostile", "name": SCRIPT}
    hostile["chat_messages"] = [{**CLAUDE["chat_messages"][0], "content": [], "text": SCRIPT}]
    file = tmp_path / "export.zip"
    file.write_bytes(zipped(CHATGPT, hostile, {"mapping": None}))
    with reading(browser, tmp_path, screen) as reader:
        page = reader.page
        reader.open_list()
        page.locator("#import-chat").set_input_files(file)
        expect(page.get_by_role("checkbox")).to_have_count(2)
        assert findings(page) == []
        page.get_by_role("button", name="Import 2 chats").click()
        expect(page.get_by_text("2 chats were imported.")).to_be_visible()
        expect(page.locator(".import-reasons")).to_contain_text(
            "no chat of ChatGPT, Claude, LibreChat or Open WebUI"
        )
        assert findings(page) == []
        page.get_by_role("button", name="Close").last.click()
        reader.open_list()
        expect(page.locator("[data-chat]")).to_have_count(2)
        page.get_by_role("link", name=SCRIPT, exact=True).click()
        reader.close_list()
        expect(page.locator("#messages")).to_contain_text("alert(1)")
        assert page.locator("#messages img, #messages script").count() == 0

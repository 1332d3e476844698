"""What people meet who need no developer tools: a greeting of their own, pictures, a form in words."""

import struct
import zlib
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.running import Running, gateway_process
from tests.ui.axe import findings
from tests.ui.page import ask, in_a_browser, opened

pytestmark = in_a_browser

LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4"/></svg>'


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """A gateway that its operator has given a name."""
    folder: Path = tmp_path_factory.mktemp("home")
    (folder / "logo.svg").write_text(LOGO)
    settings = {
        "GATEWAY_PAGE_NAME": "The <b>Millers",
        "GATEWAY_PAGE_LOGO": "logo.svg",
        "GATEWAY_PAGE_GREETING": '{"en": "What shall we do?", "zh-Hans": "今天想做什么？"}',
        "GATEWAY_PAGE_SUGGESTIONS": '["/say dinners", "</script>"]',
        "GATEWAY_PAGE_DEVELOPER": "off",
    }
    with gateway_process(folder, **settings) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def tab(browser: Browser, running: Running) -> Generator[Page]:
    with opened(browser, running.url, inspector=True) as page:
        yield page


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_new_chat_speaks_in_the_operator_s_words(page: Page, theme: str, width: int) -> None:
    """Its name and its messages are text, whatever is in them."""
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 780})
    expect(page).to_have_title("The <b>Millers")
    expect(page.get_by_role("heading", name="The <b>Millers")).to_be_visible()
    expect(page.get_by_role("heading", name="What shall we do?")).to_be_visible()
    assert page.locator(".welcome .logo").evaluate("image => image.complete && image.naturalWidth > 0")
    expect(page.get_by_text("You are talking to the demo model")).to_be_visible()
    expect(page.get_by_role("button", name="</script>")).to_be_visible()
    assert findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.emulate_media(color_scheme="light")


@pytest.mark.parametrize(
    ("locale", "greeting"),
    [("zh-CN", "今天想做什么？"), ("zh-TW", "今天想做什么？"), ("fr-FR", "What shall we do?")],
)
def test_the_greeting_is_of_the_reader_s_language(
    browser: Browser, running: Running, locale: str, greeting: str
) -> None:
    """Or of the one nearest to it."""
    with opened(browser, running.url, locale) as page:
        expect(page.get_by_role("heading", name=greeting)).to_be_visible()


def test_a_suggestion_is_sent_and_no_inspector_opens(page: Page) -> None:
    """Nor do its keys, its command, or what else only developers need."""
    page.get_by_role("button", name="/say dinners").click()
    expect(page.locator(".answer .prose", has_text="dinners")).to_be_visible()
    expect(page.get_by_role("complementary")).to_have_count(0)
    expect(page.get_by_role("button", name="Show inspector")).to_have_count(0)
    page.keyboard.press("Control+Shift+E")
    expect(page.get_by_role("complementary")).to_have_count(0)
    for name in ("Webhooks", "Prompts"):
        expect(page.get_by_role("link", name=name)).to_have_count(0)
    page.keyboard.press("Control+K")
    page.get_by_role("combobox").fill("inspector")
    expect(page.get_by_role("option", name="inspector")).to_have_count(1)  # the search for that word
    page.keyboard.press("Escape")


def test_developer_tools_are_there_when_they_are_switched_on(page: Page) -> None:
    """At once, and by their keys; switched off they are gone, open or not."""
    ask(page, "/say roses")
    page.get_by_role("button", name="Settings").click()
    switch = page.get_by_role("switch", name="Developer tools")
    expect(page.get_by_label("Trace link")).to_have_count(0)
    switch.click()
    expect(page.get_by_label("Trace link")).to_be_visible()
    assert findings(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Webhooks")).to_be_visible()
    expect(page.get_by_role("complementary")).to_have_count(
        0
    )  # by itself it opens where the server is for developers
    page.keyboard.press("Control+Shift+E")
    expect(page.get_by_role("complementary", name="Inspector")).to_be_visible()
    page.get_by_role("button", name="Settings").click()
    switch.click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary")).to_have_count(0)
    page.evaluate("localStorage.removeItem('gateway.settings')")


def picture(name: str, width: int, height: int) -> FilePayload:
    """A PNG of one colour."""
    rows = zlib.compress((b"\0" + b"\x28\x8c\x5a" * width) * height)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", rows),
        (b"IEND", b""),
    )
    content = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return {"name": name, "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n" + content}


@pytest.mark.parametrize("width", [390, 1280])
def test_a_picture_is_small_first_and_looked_at_in_full(page: Page, width: int) -> None:
    """By keys alone; the focus goes back to the small one."""
    page.set_viewport_size({"width": width, "height": 780})
    files = [picture("garden.png", 60, 40), picture("rose.png", 40, 60)]
    page.locator("#composer input[type=file]").set_input_files(files)
    chips = page.locator("#draft-files .thumbnail img")
    expect(chips).to_have_count(2)
    assert chips.first.evaluate("async image => { await image.decode(); return image.naturalWidth }") == 60
    assert findings(page) == []
    ask(page, "/say nice")
    expect(page.locator(".outcome.completed")).to_be_visible()
    small = page.get_by_role("button", name="Enlarge: garden.png")
    expect(small.locator("img")).to_be_visible()
    small.press("Enter")
    dialog = page.get_by_role("dialog", name="garden.png")
    expect(dialog.locator("img")).to_have_attribute("alt", "garden.png")
    expect(dialog.locator("img")).to_be_visible()
    assert findings(page) == []
    page.keyboard.press("ArrowRight")
    dialog = page.get_by_role("dialog", name="rose.png")
    expect(dialog.get_by_role("status").first).to_have_text("2 of 2")
    with page.expect_download() as download:
        dialog.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "rose.png"
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("dialog", name="garden.png")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(small).to_be_focused()
    page.evaluate("location.hash = 'p=artifacts'")
    page.get_by_role("button", name="Enlarge: rose.png").first.click()
    expect(page.get_by_role("dialog", name="rose.png").locator("img")).to_be_visible()
    page.keyboard.press("Escape")


def test_a_pdf_that_cannot_be_shown_is_offered_to_download(page: Page) -> None:
    """Chromium without windows shows none."""
    pdf: FilePayload = {"name": "rules.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4\n%%EOF\n"}
    page.locator("#composer input[type=file]").set_input_files([pdf])
    expect(page.locator("#draft-files .chip.uploading")).to_have_count(0)
    page.evaluate("location.hash = 'p=artifacts'")
    page.get_by_role("button", name="Show: rules.pdf").click()
    expect(page.get_by_text("Your browser cannot show a PDF here.")).to_be_visible()
    with page.expect_download() as download:
        page.locator(".preview").get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "rules.pdf"


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN", "zh-TW"])
def test_a_schedule_is_made_in_words_and_told_in_words(
    browser: Browser, running: Running, locale: str
) -> None:
    """On a phone, in each language."""
    with opened(browser, running.url, locale) as page:
        page.set_viewport_size({"width": 320, "height": 700})
        page.evaluate("location.hash = 'p=schedules'")
        page.locator(".page-bar button").first.click()
        expect(page.locator("input.cron")).to_have_count(0)
        page.locator(".schedule-form textarea").fill("/say 早")
        page.locator(".schedule-form select").first.select_option("weekly")
        page.locator(".weekdays input").last.check()
        expect(page.locator(".upcoming li")).to_have_count(5)
        assert findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        page.locator(".schedule-form .primary").click()
        said = {
            "en-GB": "every Monday and Sunday at 08:00",
            "zh-CN": "每周一和周日 08:00",
            "zh-TW": "每週一和週日 08:00",
        }
        expect(page.locator(".switch-card").first).to_contain_text(said[locale])

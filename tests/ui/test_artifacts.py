"""Files beside a message, and large results, on the page."""

import base64
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.running import Running, gateway_process
from tests.ui.page import ask, in_a_browser, opened

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
HOSTILE = '<img src="x" onerror="document.title=1">春天\n'
MOST = 1_000_000

pytestmark = in_a_browser


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """`gateway dev` that keeps no large files."""
    folder = tmp_path_factory.mktemp("artifacts")
    with gateway_process(folder, GATEWAY_ARTIFACT_MAX_SIZE=str(MOST)) as gateway:
        yield gateway


@pytest.fixture
def page(browser: Browser, running: Running) -> Generator[Page]:
    with opened(browser, running.url) as page:
        yield page


def attach(page: Page, name: str, content: bytes, mime: str = "text/plain") -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    chooser.value.set_files([{"name": name, "mimeType": mime, "buffer": content}])


def give(page: Page, how: str, place: str, name: str, text: str) -> None:
    """A file that comes with a drop or a paste."""
    page.locator(place).evaluate(
        """(element, [how, name, text]) => {
            const data = new DataTransfer();
            data.items.add(new File([text], name, { type: "text/plain" }));
            const more = { bubbles: true, cancelable: true };
            element.dispatchEvent(how === "paste"
                ? new ClipboardEvent(how, { ...more, clipboardData: data })
                : new DragEvent(how, { ...more, dataTransfer: data }));
        }""",
        [how, name, text],
    )


def test_files_go_with_a_message_and_stay_with_it(page: Page) -> None:
    """Chosen, dropped or pasted: an image is seen, another file is a name, and what they hold stays data; so
    it is after a reload, and each can be saved as it was."""
    attach(page, "点.png", DOT, "image/png")
    give(page, "drop", "#events", "spring <b>.txt", HOSTILE)
    give(page, "paste", "#input", "orders.json", '{"orders": []}')
    expect(page.locator("#tray .chip .name")).to_have_text(["点.png", "spring <b>.txt", "orders.json"])
    ask(page, "What is in these?")

    expect(page.locator(".outcome.completed")).to_be_visible()
    expect(page.locator("#tray")).to_be_hidden()
    for _ in range(2):
        question = page.locator(".question")
        expect(question).to_contain_text("What is in these?")
        expect(question.get_by_role("img", name="点.png")).to_be_visible()
        expect(question.locator(".chip .name")).to_have_text(["spring <b>.txt", "orders.json"])
        with page.expect_download() as download:
            question.get_by_role("button", name="Download: spring <b>.txt").click()
        assert Path(download.value.path()).read_text() == HOSTILE
        page.reload()
    assert page.title() == "Chat Gateway"


def test_a_file_that_is_refused_keeps_the_message_back(page: Page) -> None:
    """What was typed stays, the reason stands at the file, and without it the message goes."""
    page.get_by_label("Message", exact=True).fill("/say got it")
    attach(page, "large.bin", b"\0" * (MOST + 1))
    expect(page.locator(".chip.trouble")).to_contain_text("The file is too large.")
    page.get_by_role("button", name="Send").click()

    expect(page.locator("#tray-note")).to_contain_text("Not sent")
    expect(page.get_by_label("Message", exact=True)).to_have_value("/say got it")
    expect(page.locator(".question")).to_have_count(0)
    page.get_by_role("button", name="Remove large.bin").click()
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".prose")).to_have_text("got it")
    expect(page.locator(".question")).to_have_text("/say got it")


def test_a_message_waits_for_its_files(page: Page) -> None:
    """It goes by itself when the last one is there."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/artifacts?*", hold)
    page.get_by_label("Message", exact=True).fill("/say read")
    with page.expect_request("**/api/artifacts?*"):
        attach(page, "说明.txt", "春天".encode())
    page.get_by_label("Message", exact=True).press("Enter")
    expect(page.locator("#tray-note")).to_have_text("Uploading…")
    expect(page.locator(".question")).to_have_count(0)
    expect(page.get_by_label("Message", exact=True)).to_have_value("/say read")
    held[0].continue_()

    expect(page.locator(".question .name")).to_have_text("说明.txt")
    expect(page.locator(".prose")).to_have_text("read")


def test_a_large_result_is_a_card_that_shows_it_in_parts(browser: Browser, running: Running) -> None:
    """In Chinese and on a phone too: what it is, its beginning, more of it, and all of it as a file; the same
    after a reload."""
    with opened(browser, running.url, locale="zh-CN") as page:
        page.set_viewport_size({"width": 360, "height": 740})
        ask(page, "给我2000条示例订单")
        expect(page.locator(".outcome.completed")).to_be_visible()
        page.reload()
        card = page.locator(".artifact")
        expect(card).to_have_count(1)
        expect(card.locator("small").first).to_contain_text("JSON · 2,002 行 / 4")
        card.get_by_role("button", name="显示", exact=False).click()
        text = card.locator("pre")
        expect(text).to_contain_text('"A-00001"')
        shown = text.inner_text()
        card.get_by_role("button", name="显示更多").click()
        expect(card.locator(".artifact-more small")).to_contain_text("共 2,002 行")
        expect(text).not_to_have_text(shown)
        with page.expect_download() as download:
            card.get_by_role("button", name="下载").click()

        whole = Path(download.value.path()).read_text()
        assert whole.startswith(text.text_content() or "nothing")
        assert download.value.suggested_filename.endswith(".json")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

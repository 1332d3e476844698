"""Files beside a message, and large results, on the page."""

import base64
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, Route, expect

from tests.running import Running, gateway_process
from tests.ui.page import ask, in_a_browser, opened

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
HOSTILE = '<img src="x" onerror="document.title=1">春天\n'
MAX_SIZE = 1_000_000
QUOTA = 1_600_000

pytestmark = in_a_browser


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """`gateway dev` that keeps no large files, and not many."""
    folder = tmp_path_factory.mktemp("artifacts")
    limits = {"GATEWAY_ARTIFACT_MAX_SIZE": str(MAX_SIZE), "GATEWAY_ARTIFACT_QUOTA": str(QUOTA)}
    with gateway_process(folder, **limits) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def tab(browser: Browser, running: Running) -> Generator[Page]:
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


def pressed(page: Page, button: Locator) -> FloatRect | None:
    """Where `button` is while a mouse holds it down."""
    button.evaluate("element => { element.onpointerdown = () => { element.dataset.pressed = ''; }; }")
    while button.get_attribute("data-pressed") is None:  # what moves meanwhile is missed
        button.hover()
        page.mouse.up()
        page.mouse.down()
    return button.bounding_box()


def kept(page: Page) -> dict[str, str]:
    """The paths of the reader's artifacts by their names."""
    path = page.url.partition("#")[0] + "api/artifacts"
    newest_first = page.request.get(path).json()["artifacts"]
    return {each["name"]: f"{path}/{each['ref']}" for each in reversed(newest_first)}


def test_files_go_with_a_message_and_stay_with_it(page: Page) -> None:
    """Chosen, dropped or pasted: an image is seen, another file is a name, and what they hold stays data; so
    it is after a reload, and each can be saved as it was. One that was deleted says so, also when it is
    pressed while an image comes and the answer is set, and when it is drawn anew."""
    attach(page, "点.png", DOT, "image/png")
    give(page, "drop", "main", "spring <b>.txt", HOSTILE)
    give(page, "paste", "#input", "or\u202eders.json", '{"orders": []}')
    expect(page.locator("#draft-files .chip .name")).to_have_text(["点.png", "spring <b>.txt", "orders.json"])
    ask(page, "What is in these?")

    expect(page.locator(".outcome.completed")).to_be_visible()
    expect(page.locator("#draft-files")).to_be_hidden()
    question = page.locator(".question")
    for _ in range(2):
        expect(page.locator(".plain")).to_have_count(0)  # else its end comes back to the screen
        expect(question).to_contain_text("What is in these?")
        expect(question.get_by_role("img", name="点.png")).to_be_visible()
        expect(question.locator(".chip .name")).to_have_text(["点.png", "spring <b>.txt", "orders.json"])
        with page.expect_download() as download:
            question.get_by_role("button", name="Download: spring <b>.txt").click()
        assert Path(download.value.path()).read_text() == HOSTILE
        page.reload()
    refs = kept(page)
    assert page.request.delete(refs["orders.json"]).ok
    coming: list[Route] = []

    def hold(route: Route) -> None:
        coming.append(route)

    page.route(f"**{refs['点.png'].rpartition('/')[2]}*", hold)
    with page.expect_request("**/api/artifacts/*"):
        page.reload()
    deleted = page.get_by_role("button", name="Download: orders.json")
    at = pressed(page, deleted)
    coming.pop().continue_()
    expect(question.get_by_role("img", name="点.png")).to_be_visible()
    expect(page.locator(".plain")).to_have_count(0)
    assert deleted.bounding_box() == at
    page.mouse.up()
    gone = page.locator(".attached .gone")
    expect(gone).to_have_text("orders.jsonThis file is no longer there.")
    expect(gone.locator("button")).to_have_count(0)
    page.get_by_role("button", name="New chat").first.click()
    expect(gone).to_have_count(0)
    page.go_back()
    expect(gone).to_have_text("orders.jsonThis file is no longer there.")
    assert page.title().endswith("Chat Gateway")


def test_what_is_pressed_stays_under_the_pointer_while_an_answer_grows(page: Page) -> None:
    """The list follows the answer to its end, but not between the two halves of a click."""
    page.set_viewport_size({"width": 800, "height": 420})
    attach(page, "notes.txt", b"notes")
    ask(page, "/pace 20 /pieces 400")
    answer = page.locator(".prose")
    expect(answer).to_contain_text("001")
    button = page.get_by_role("button", name="Download: notes.txt")
    at = pressed(page, button)
    expect(answer).to_contain_text("199")
    assert button.bounding_box() == at
    with page.expect_download():
        page.mouse.up()
    expect(page.locator(".outcome.completed")).to_be_in_viewport()


def test_a_file_that_is_refused_keeps_the_message_back(page: Page) -> None:
    """What was typed stays, the reason stands at the file, and without it the message goes."""
    page.get_by_label("Message", exact=True).fill("/say got it")
    attach(page, "large.bin", b"\0" * (MAX_SIZE + 1))
    expect(page.locator(".chip.trouble")).to_contain_text("Too large: a file has at most 1.0 MB.")
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    page.get_by_role("button", name="Send").click()

    expect(page.locator("#draft-note")).to_contain_text("Not sent")
    expect(page.get_by_label("Message", exact=True)).to_have_value("/say got it")
    expect(page.locator(".question")).to_have_count(0)
    page.get_by_role("button", name="Remove large.bin").click()
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".prose")).to_have_text("got it")
    expect(page.locator(".question")).to_have_text("/say got it")


def test_where_there_is_no_room_files_can_be_deleted(page: Page) -> None:
    """On the page of files; after one is deleted, the file that had no room is uploaded. A
    result that has none says so at its call, also after a reload."""
    attach(page, "half.bin", b"\0" * (QUOTA // 2))
    expect(page.locator(".chip.uploading")).to_have_count(0)
    attach(page, "other.bin", b"\1" * (QUOTA // 2))
    expect(page.locator(".chip.trouble")).to_contain_text("storage is full")
    page.get_by_role("button", name="Make room").click()
    page.get_by_role("button", name="Delete: half.bin").click()
    page.locator(".dangerous").click()
    expect(page.get_by_text("half.bin", exact=True)).to_have_count(0)
    page.go_back()

    expect(page.locator(".chip.trouble")).to_contain_text("half.binThis file is no longer there.")
    expect(page.locator("#draft-files .chip:not(.trouble):not(.uploading)")).to_contain_text(
        "other.bin800.0 KB"
    )
    page.get_by_role("button", name="Remove half.bin").click()
    attach(page, "more.bin", b"\2" * 700_000)
    expect(page.locator("#draft-files .chip:not(.trouble):not(.uploading)")).to_have_count(2)
    ask(page, "Give me 2000 sample orders")
    expect(page.locator(".outcome.completed")).to_be_visible()
    expect(page.locator(".call .note")).to_contain_text("The whole result could not be kept.")
    page.reload()
    expect(page.locator(".call .note")).to_contain_text("The whole result could not be kept.")
    for name, path in kept(page).items():
        assert not name.endswith(".bin") or page.request.delete(path).ok


def test_a_message_whose_file_is_gone_can_be_mended(page: Page) -> None:
    """It says which file, and comes back to be written anew. Each chat has its own draft, and a file that
    goes with no message does not stay."""
    attach(page, "说明.txt", "夏天".encode())
    attach(page, "more.txt", b"more")
    expect(page.locator(".chip.uploading")).to_have_count(0)
    assert page.request.delete(kept(page)["说明.txt"]).ok
    ask(page, "/say read")
    expect(page.locator(".refused > .why")).to_contain_text("说明.txt: This file is no longer there.")
    page.locator(".refused").get_by_role("button", name="Edit").click()
    page.get_by_role("button", name="Remove 说明.txt").click()
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".prose")).to_have_text("read")

    page.get_by_label("Message", exact=True).fill("to be continued")
    attach(page, "mine.txt", b"mine")
    page.get_by_role("button", name="New chat").first.click()
    expect(page.get_by_label("Message", exact=True)).to_have_value("")
    expect(page.locator("#draft-files")).to_be_hidden()
    page.go_back()
    expect(page.get_by_label("Message", exact=True)).to_have_value("to be continued")
    expect(page.locator("#draft-files .name")).to_have_text("mine.txt")
    assert "mine.txt" in kept(page)
    with page.expect_response(lambda answer: answer.request.method == "DELETE"):
        page.get_by_role("button", name="Remove mine.txt").click()
    assert "mine.txt" not in kept(page)


def test_a_message_waits_for_its_files(page: Page) -> None:
    """It goes by itself when the last one is there, but not when one is removed."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/artifacts?*", hold)
    page.get_by_label("Message", exact=True).fill("/say read")
    with page.expect_request("**/api/artifacts?*"):
        attach(page, "说明.txt", "春天".encode())
    page.get_by_label("Message", exact=True).press("Enter")
    expect(page.locator("#draft-note")).to_have_text("Uploading…")
    page.get_by_role("button", name="Remove 说明.txt").click()
    expect(page.locator("#draft-note")).to_contain_text("Not sent")
    with page.expect_request("**/api/artifacts?*"):
        attach(page, "说明.txt", "春天".encode())
    page.get_by_label("Message", exact=True).press("Enter")
    expect(page.locator("#draft-note")).to_have_text("Uploading…")
    expect(page.locator(".question")).to_have_count(0)
    expect(page.get_by_label("Message", exact=True)).to_have_value("/say read")
    held[-1].continue_()

    expect(page.locator(".question .name")).to_have_text("说明.txt")
    expect(page.locator(".prose")).to_have_text("read")


def test_a_large_result_is_a_card_that_shows_it_in_parts(browser: Browser, running: Running) -> None:
    """In Chinese and on a phone too: what it is, its beginning, more of it, and all of it as a file; the same
    after a reload."""
    with opened(browser, running.url, locale="zh-CN") as page:
        page.set_viewport_size({"width": 360, "height": 740})
        page.locator("#input").fill("给我2000条示例订单")
        page.locator("#input").press("Enter")
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

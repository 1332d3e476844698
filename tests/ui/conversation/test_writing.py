"""How a message is written: long texts, files of all kinds, folders, several tabs, keyboards on glass."""

import codecs
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.artifacts.files import jpeg, pdf, png
from tests.running import Running, gateway_process
from tests.ui.page import ask, begin_chat, in_a_browser, opened

pytestmark = in_a_browser

MAX_BODY = 200_000
LONG = "一行很长的文字 and a line of words.\n" * 700
FAMILY = "👨‍👩‍👧 家庭.txt"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with gateway_process(
        tmp_path_factory.mktemp("writing"),
        GATEWAY_MAX_BODY_SIZE=str(MAX_BODY),
        GATEWAY_ADAPTER_BODY_SIZE=str(MAX_BODY),
    ) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def tab(browser: Browser, running: Running) -> Generator[Page]:
    with opened(browser, running.url) as page:
        yield page


def choose(page: Page, *files: tuple[str, bytes]) -> None:
    page.locator("input[type=file][multiple]").set_input_files(
        [{"name": name, "mimeType": "", "buffer": content} for name, content in files]
    )


def paste(page: Page, text: str, *files: tuple[str, str]) -> None:
    """As a browser does it: the text comes into the field unless the page takes it."""
    page.locator("#input").evaluate(
        """(field, [text, files]) => {
            const data = new DataTransfer();
            for (const [name, type] of files) data.items.add(new File(["of " + name], name, { type }));
            if (text) data.setData("text/plain", text);
            field.focus();
            const more = { bubbles: true, cancelable: true, clipboardData: data };
            const isLeft = field.dispatchEvent(new ClipboardEvent("paste", more));
            if (isLeft) document.execCommand("insertText", false, text);
        }""",
        [text, [[*each] for each in files]],
    )


def chips(page: Page) -> Locator:
    return page.locator("#draft-files .chip")


CANNOT = {
    "en-GB": [
        "text, 2 lines",
        "Text, 1 line: some characters are damaged, and the model sees marks there.",
        "700 lines: the model gets the beginning, and can read on.",
        "The model cannot read this text’s encoding: save it as UTF-8.",
        "The model does not see pictures of this kind: send it as PNG or JPEG.",
        "picture, seen smaller",
        "The model cannot look at a picture of this size: make it smaller.",
        "3 pages",
        "The model cannot read it: it is locked with a password.",
        "300 pages are too many for the model: send it in parts.",
        "The model cannot read this kind of file.",
    ],
    "zh-CN": [
        "文字，2 行",
        "文字，1 行：有字符已损坏，模型在那里只看到替代符号。",
        "700 行：模型先读到开头，可继续往下读。",
        "模型读不了这段文字的编码：请存为 UTF-8。",
        "模型看不到这种图片：请改用 PNG 或 JPEG。",
        "图片，缩小后查看",
        "图片尺寸太大，模型无法查看：请缩小后再发。",
        "3 页",
        "文件有密码保护，模型无法读取。",
        "共 300 页，超出模型的上限：请分几次发送。",
        "模型无法读取这类文件。",
    ],
    "zh-TW": [
        "文字，2 行",
        "文字，1 行：有字元已損壞，模型在那裡只看到替代符號。",
        "700 行：模型先讀到開頭，可繼續往下讀。",
        "模型讀不了這段文字的編碼：請存成 UTF-8。",
        "模型看不到這種圖片：請改用 PNG 或 JPEG。",
        "圖片，縮小後檢視",
        "圖片尺寸太大，模型無法檢視：請縮小後再傳。",
        "3 頁",
        "檔案有密碼保護，模型無法讀取。",
        "共 300 頁，超出模型的上限：請分幾次傳送。",
        "模型無法讀取這類檔案。",
    ],
}


@pytest.mark.parametrize("locale", CANNOT)
def test_a_chip_says_what_the_model_gets_of_a_file_and_so_does_the_turn(
    browser: Browser, running: Running, locale: str
) -> None:
    """Before it is sent, and after; the files go without a word beside them."""
    with opened(browser, running.url, locale) as page:
        choose(
            page,
            ("表格.txt", codecs.BOM_UTF16_LE + "姓名\t城市\n李雷\t上海\n".encode("utf-16-le")),
            ("截断.log", ("字" * 200).encode()[:-1]),
            ("long.txt", LONG.encode()),
            ("简体.txt", "这是一段简体中文的文字。\n".encode("gb18030") * 9),
            ("IMG_0001.HEIC", b"\0\0\0\x18ftypheic" + bytes(200)),
            ("照片.jpg", jpeg(4000, 3000)),
            ("panorama.png", png(9000, 100)),
            ("報告.pdf", pdf(3)),
            ("secret.pdf", pdf(locked=True)),
            ("book.pdf", pdf(300)),
            ("song.mp3", b"ID3\x04" + bytes(200)),
        )
        expect(chips(page)).to_have_count(11)
        for number, words in enumerate(CANNOT[locale]):
            expect(chips(page).nth(number)).to_contain_text(words)
        expect(page.locator("#draft-files .chip.less")).to_have_count(8)

        page.locator("#send").click()

        question = page.locator(".question")
        expect(question.locator(".attached li")).to_have_count(11)
        expect(page.locator(".outcome.completed")).to_be_visible()
        shown = [words for number, words in enumerate(CANNOT[locale]) if number not in {0, 5, 7}]
        for _ in range(2):
            expect(question.locator(".told")).to_have_text(shown)
            page.reload()
        expect(page.locator(".head .title")).to_have_text("表格.txt")


def test_a_file_alone_is_a_message(page: Page) -> None:
    choose(page, (FAMILY, b"three\n"))
    expect(chips(page).locator(".name")).to_have_text([FAMILY])
    expect(chips(page)).to_contain_text("text, 1 line")
    page.locator("#input").press("Enter")

    question = page.locator(".question")
    expect(page.locator(".outcome.completed")).to_be_visible()
    expect(question.locator(".name")).to_have_text([FAMILY])
    expect(page.locator(".prose")).to_contain_text(FAMILY)
    expect(page.locator(".head .title")).to_have_text(FAMILY)
    page.get_by_role("button", name="Edit", exact=True).click()
    expect(page.locator("form.branching").get_by_role("button", name="Send")).to_be_enabled()


def test_a_long_text_is_offered_as_a_file_and_nothing_of_it_is_lost(page: Page) -> None:
    field, offer = page.locator("#input"), page.locator("#draft-offers")
    field.fill("before  after")
    field.evaluate("field => field.setSelectionRange(7, 7)")
    paste(page, LONG)
    expect(offer).to_contain_text(f"A long text: {len(LONG):,} characters.")
    expect(field).to_have_value(f"before {LONG} after")

    offer.get_by_role("button", name="Attach as a file").click()
    expect(field).to_have_value("before  after")
    expect(chips(page)).to_contain_text(["Pasted text.txt"])
    expect(chips(page)).to_contain_text(["700 lines"])
    offer.get_by_role("button", name="Undo").click()
    expect(field).to_have_value(f"before {LONG} after")
    expect(chips(page)).to_have_count(0)

    field.fill("")
    paste(page, LONG)
    offer.get_by_role("button", name="Keep as text").click()
    expect(offer).to_be_hidden()
    expect(field).to_have_value(LONG)
    field.fill("")
    paste(page, "short\n" * 20)
    expect(offer).to_be_hidden()


def test_a_message_over_the_limit_says_so_and_can_be_a_file(page: Page) -> None:
    ask(page, "长" * 70_000)
    why = page.locator(".question.refused .why")
    expect(why).to_contain_text("The message is too long: 70,000 of at most 66,600 characters")
    why.get_by_role("button", name="Edit").click()
    page.locator("#draft-offers").get_by_role("button", name="Attach as a file").click()
    expect(chips(page)).to_contain_text(["1 line"])
    expect(page.locator("#input")).to_have_value("")
    chips(page).locator("button.icon").click()
    expect(chips(page)).to_have_count(0)


@pytest.mark.parametrize(
    ("text", "files", "attached"),
    [
        ("报告 v2.txt", [("报告 v2.txt", "text/plain")], ["报告 v2.txt"]),
        ("/Users/li/a.txt\n/Users/li/b.txt", [("a.txt", ""), ("b.txt", "")], ["a.txt", "b.txt"]),
        ("file:///home/li/%E5%A0%B1%E5%91%8A.txt", [("報告.txt", "")], ["報告.txt"]),
        ("", [("image.png", "image/png")], ["image.png"]),
        ("姓名\t城市\n李雷\t上海", [("image.png", "image/png")], []),
        ("image", [("image.png", "image/png")], []),
    ],
)
def test_a_file_that_was_copied_is_pasted_as_a_file_and_a_table_as_text(
    page: Page, text: str, files: list[tuple[str, str]], attached: list[str]
) -> None:
    paste(page, text, *files)

    expect(chips(page).locator(".name")).to_have_text(attached)
    expect(page.locator("#input")).to_have_value("" if attached else text)
    for button in page.locator("#draft-files button.icon").all()[::-1]:
        button.click()


def test_a_folder_that_is_dropped_brings_its_files(page: Page, tmp_path: Path) -> None:
    """With the folder in each name; what is hidden stays out, and an empty folder says so."""
    for name in ("文档/b.txt", "文档/inner/a.md", "文档/.git/config", "empty/.DS_Store"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("words")
    drop(page, tmp_path / "文档")
    expect(chips(page).locator(".name")).to_have_text(["文档 › b.txt", "文档 › inner › a.md"])
    expect(chips(page)).to_contain_text(["text, 1 line", "text, 1 line"])
    for button in page.locator("#draft-files button.icon").all()[::-1]:
        button.click()

    drop(page, tmp_path / "empty")
    expect(page.locator("#draft-note")).to_have_text("There are no files in this folder.")

    (tmp_path / "many").mkdir()
    for number in range(25):
        (tmp_path / "many" / f"{number:02}.txt").write_text("words")
    drop(page, tmp_path / "many")
    expect(page.locator("#draft-note")).to_have_text("A message has at most 20 files.")
    expect(chips(page)).to_have_count(20)
    for button in page.locator("#draft-files button.icon").all()[::-1]:
        button.click()


def drop(page: Page, path: Path) -> None:
    """Chromium's own drag, of what is on the disk."""
    session = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, "x": 500, "y": 300, "data": data})
    session.detach()


def test_two_tabs_write_one_draft_and_nothing_is_written_over(page: Page, running: Running) -> None:
    """A tab that says nothing itself follows; where both have words each keeps its own and is offered the
    other's, also after a reload, and what was sent in one is gone from the other."""
    first = page.locator("#input")
    second_tab = page.context.new_page()
    second_tab.goto(running.url)
    second_tab.get_by_role("button", name="New chat").first.click()
    second, offer = second_tab.locator("#input"), second_tab.locator("#draft-offers")
    first.fill("草稿A")
    expect(second).to_have_value("草稿A")
    second.press_sequentially(" and more")
    expect(first).to_have_value("草稿A and more")
    first.fill("草稿A")
    expect(second).to_have_value("草稿A and more")

    second.fill("草稿B")
    expect(first).to_have_value("草稿A")
    expect(page.locator("#draft-offers")).to_contain_text("Written in another tab: “草稿B”")
    page.reload()
    expect(first).to_have_value("草稿A")
    expect(page.locator("#draft-offers")).to_contain_text("“草稿B”")
    page.locator("#draft-offers").get_by_role("button", name="Take that instead").click()
    expect(first).to_have_value("草稿B")
    expect(page.locator("#draft-offers")).to_contain_text("“草稿A”")
    page.locator("#draft-offers").get_by_role("button", name="Leave it there").click()

    expect(offer).to_be_hidden()
    first.press("Enter")
    expect(page.locator(".outcome.completed")).to_be_visible()
    expect(second).to_have_value("")
    second_tab.close()
    begin_chat(page)


def test_a_keyboard_on_glass_does_not_cover_the_composer(page: Page) -> None:
    """As on iOS, where it leaves the page as high as it was: what is seen of it is told, and two fingers are
    no keyboard."""
    page.set_viewport_size({"width": 390, "height": 844})
    seen = """([height, top, scale]) => {
        for (const [name, value] of Object.entries({ height, offsetTop: top, scale }))
            Object.defineProperty(visualViewport, name, { value, configurable: true });
        visualViewport.dispatchEvent(new Event("resize"));
    }"""
    composer = page.locator("#composer")
    page.evaluate(seen, [508, 0, 1])
    box = composer.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 508
    page.evaluate(seen, [508, 120, 1])
    moved = composer.bounding_box()
    assert moved is not None
    assert box["y"] + 120 == moved["y"]
    page.evaluate(seen, [422, 0, 2])
    assert page.evaluate("document.documentElement.style.cssText") == ""
    page.evaluate(seen, [844, 0, 1])
    whole = composer.bounding_box()
    assert whole is not None
    assert whole["y"] + whole["height"] > 780


SAFARI_ENTER = """field => field.dispatchEvent(
    new KeyboardEvent("keydown", { key: "Enter", keyCode: 229, bubbles: true, cancelable: true }))"""
COMPOSING = """(field, key) => field.dispatchEvent(
    new KeyboardEvent("keydown", { key, isComposing: true, bubbles: true, cancelable: true }))"""


@pytest.mark.parametrize(
    "where", ["message", "edit", "rename", "search", "palette", "memory", "schedule", "settings"]
)
def test_a_key_of_an_input_method_does_nothing_in_any_field(page: Page, where: str) -> None:
    """Chinese words are chosen by Enter, which Safari tells by its code alone; Escape leaves the choice."""
    ask(page, "/say hello")
    expect(page.locator(".outcome.completed")).to_be_visible()
    if where == "edit":
        page.get_by_role("button", name="Edit", exact=True).click()
    elif where == "rename":
        page.locator(".chat-row a[aria-current]").press("F2")
    elif where == "palette":
        page.keyboard.press("Control+k")
    elif where in {"memory", "schedule"}:
        page.get_by_role("link", name={"memory": "Memory", "schedule": "Schedules"}[where]).click()
        if where == "schedule":
            page.get_by_role("button", name="New schedule").click()
    elif where == "settings":
        page.get_by_role("button", name="Settings").first.click()
    field = page.locator(
        {
            "message": "#input",
            "edit": "form.branching textarea",
            "search": "#chat-search",
            "memory": "main :is(input, textarea):visible",
            "schedule": ":is(main, dialog[open]) :is(input[type=text], textarea):visible",
        }.get(where, "dialog[open] :is(input, select):visible")
    ).first
    if where == "message":
        field.fill("你好")
    expect(field).to_be_visible()
    before = page.url, page.locator(".question").count(), page.locator("dialog[open]").count()

    assert field.evaluate(SAFARI_ENTER) is False
    heard = page.evaluate("() => { window.heard = []; addEventListener('keydown', e => heard.push(e.key)); }")
    for key in ("Enter", "Escape", "ArrowDown", "F2"):
        assert field.evaluate(COMPOSING, key) is True

    assert heard is None
    assert page.evaluate("heard") == []
    assert (page.url, page.locator(".question").count(), page.locator("dialog[open]").count()) == before
    if where == "message":
        expect(field).to_have_value("你好")
    if before[2]:
        page.keyboard.press("Escape")

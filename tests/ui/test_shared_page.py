"""A chat as a file of its own, opened from a disk with no network: drawn as the page draws it."""

import json
import re
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.loopback import TIMEOUT
from tests.running import Running, gateway_process
from tests.ui.axe import findings
from tests.ui.page import TIMEOUT_MS, in_a_browser, opened, watched
from tests.ui.states import PROSE, go

pytestmark = in_a_browser

MARKDOWN = Path(__file__).resolve().parents[2] / "web" / "app" / "conversation" / "markdown"
ROW = re.compile(r'^\s*\[("(?:[^"\\]|\\.)*"), ', re.MULTILINE)
DRAWN = """() => [...document.querySelectorAll("article.turn")].map((turn) => [...turn.querySelectorAll(
    ".prose")].map((prose) => {
        const copy = prose.cloneNode(true);
        for (const button of copy.querySelectorAll("button:not(.footnote)")) button.remove();
        return copy.innerHTML.replace(/ (?:id|aria-describedby)="[^"]*"/g, "");
    }))"""
"""The Markdown of each turn, without what is pressed there."""
PRINT_ALL = "dispatchEvent(new Event('beforeprint'))"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def written() -> list[str]:
    """What models write, as the tests of the parser have it, and a text with all kinds of things."""
    rows = ROW.findall((MARKDOWN / "as-models-write.test.ts").read_text(encoding="utf-8"))
    assert len(rows) > 50
    return [PROSE, *(json.loads(row) for row in rows)]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with gateway_process(tmp_path_factory.mktemp("shared")) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def http(gateway: Running) -> Generator[httpx2.Client]:
    with httpx2.Client(base_url=gateway.url, trust_env=False, timeout=TIMEOUT) as http:
        yield http


def seed(http: httpx2.Client, session: str, answers: list[str], title: str) -> None:
    """A chat with these answers."""
    messages = [
        message
        for number, answer in enumerate(answers, 1)
        for message in (
            {"role": "user", "content": f"Question {number}"},
            {"role": "assistant", "content": answer},
        )
    ]
    http.post("/api/sessions", json={"id": session, "title": title, "messages": messages}).raise_for_status()


def ask(http: httpx2.Client, session: str, **body: object) -> None:
    accept = {"Accept": "text/event-stream"}
    started = http.post(f"/api/sessions/{session}/turns", json=body, headers=accept)
    assert "event: done" in started.text


def kept(http: httpx2.Client, folder: Path, session: str, more: str = "") -> str:
    """The address of the file that a chat is shared as."""
    found = http.get(f"/api/sessions/{session}/export?format=html{more}")
    assert found.status_code == 200, found.text
    file = folder / f"{session}.html"
    file.write_bytes(found.content)
    return file.as_uri()


@pytest.fixture
def offline(browser: Browser) -> Generator[Page]:
    """A tab that fails where anything but a file is asked for, and where a script or the policy complains."""
    asked: list[str] = []
    with browser.new_context(locale="en-GB", offline=True) as context:
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.on("request", lambda request: asked.append(request.url))
        with watched(page):
            yield page
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def is_whole(page: Page) -> None:
    expect(page.locator("#messages")).to_have_attribute("aria-busy", "false")


def test_a_shared_page_is_drawn_as_the_page(
    browser: Browser, gateway: Running, http: httpx2.Client, offline: Page, tmp_path: Path
) -> None:
    """Each text of models that the parser is tested with, element by element: formulas, code, tables."""
    texts = written()
    seed(http, "models", texts, "As models write")
    offline.goto(kept(http, tmp_path, "models"))
    is_whole(offline)
    offline.evaluate(PRINT_ALL)
    shared = offline.evaluate(DRAWN)

    assert len(shared) == len(texts)
    with opened(browser, gateway.url) as page:
        go(page, "s=models")
        while page.locator(".older").count():
            page.locator(".scroll").evaluate("(list) => { list.scrollTop = 0; }")
        page.evaluate(PRINT_ALL)
        page.wait_for_function(
            f"(shared) => JSON.stringify(({DRAWN})()) === JSON.stringify(shared)", arg=shared
        )


def test_a_shared_page_shows_what_happened(http: httpx2.Client, offline: Page, tmp_path: Path) -> None:
    """Questions, files by their names, pictures, tools and sources folded; nothing that was thought."""
    http.post("/api/sessions", json={"id": "all", "title": "玫瑰 & <b>more</b>"}).raise_for_status()
    files = [{"name": "玫瑰.png", "data": PNG, "mime": "image/png"}, {"name": "a.txt", "text": "words"}]
    ask(http, "all", message="/think SECRET\n/say seen", attachments=files)
    ask(http, "all", message="How do I resume a stream? And what is 17*23?")
    ask(http, "all", message="/fault http_529")
    offline.goto(kept(http, tmp_path, "all"))
    is_whole(offline)

    expect(offline.get_by_role("heading", level=1)).to_have_text("玫瑰 & <b>more</b>")
    assert offline.title() == "玫瑰 & <b>more</b>"
    expect(offline.locator("article")).to_have_count(3)
    picture = offline.locator(".attached img")
    assert picture.evaluate("({ naturalWidth }) => naturalWidth") == 1
    expect(offline.locator(".attached .name")).to_have_text(["玫瑰.png", "a.txt"])
    tools = offline.locator("details.tool")
    assert tools.count() >= 1
    expect(tools.first.locator("pre").first).not_to_be_visible()
    tools.first.locator("summary").click()
    expect(tools.first.locator("pre").first).to_be_visible()
    expect(offline.locator("details.found").first).to_be_visible()
    expect(offline.locator(".note.error")).to_be_visible()
    assert "SECRET" not in offline.locator(".answer").first.inner_text()
    assert offline.locator("details.thinking").count() == 0
    assert offline.locator("article button:not(.copy)").count() == 0


@pytest.mark.parametrize(
    ("asked", "locale", "says"),
    [
        ("", "zh-TW", "列印或另存為 PDF…"),
        ("", "de-DE", "Print or save as PDF…"),
        ("&language=zh-Hans", "en-GB", "打印或另存为 PDF…"),
    ],
)
def test_a_shared_page_speaks_the_language_of_its_reader(  # noqa: PLR0917 - fixtures, and a table
    browser: Browser, http: httpx2.Client, tmp_path: Path, asked: str, locale: str, says: str
) -> None:
    """Unless one was chosen when it was made."""
    if http.get("/api/sessions/tongue").status_code == 404:
        seed(http, "tongue", ["你好"], "Tongue")
    address = kept(http, tmp_path, "tongue", asked)
    with browser.new_context(locale=locale) as context:
        page = context.new_page()
        page.goto(address)
        expect(page.get_by_role("button", name=says)).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark"), (320, "light")])
def test_everybody_can_read_a_shared_page(
    http: httpx2.Client, offline: Page, tmp_path: Path, width: int, scheme: str
) -> None:
    """Nothing that axe finds, no scrolling sideways."""
    if http.get("/api/sessions/read").status_code == 404:
        seed(http, "read", [PROSE, "short"], "Read " + "long" * 30)
        ask(http, "read", message="How do I resume a stream? And what is 17*23?")
    offline.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    offline.set_viewport_size({"width": width, "height": 800})
    offline.goto(kept(http, tmp_path, "read"))
    is_whole(offline)

    # The policy of the page refuses what axe would add: it looks from a world of its own.
    assert findings(offline) == []
    assert offline.evaluate("document.documentElement.scrollWidth") <= width


def test_a_replay_shows_when_things_happened(
    http: httpx2.Client, gateway: Running, offline: Page, tmp_path: Path
) -> None:
    """All turns of all branches, what an attempt had said that was made anew, thinking, costs, and timings as
    the inspector has them."""
    from gateway.session_pages.reader_page import ReaderPage, load_reader

    http.post("/api/sessions", json={"id": "replayed", "title": "Replayed"}).raise_for_status()
    ask(http, "replayed", message="/think hm\n/say one")
    ask(http, "replayed", message="/pieces 5 /fault clean_truncation once")
    ask(http, "replayed", message="/say anew", parent_turn_id="root")
    events = http.get("/api/sessions/replayed/events?limit=1000", headers={"accept": "application/json"})
    page = ReaderPage(load_reader(), http.get("/api/sessions/replayed").json(), replay=True)
    file = tmp_path / "replayed.html"
    parts = [page.begin(), *page.events(events.json()["events"]), page.pictures(), page.end()]
    file.write_text("".join(parts), encoding="utf-8")
    offline.goto(file.as_uri())
    is_whole(offline)

    expect(offline.locator("article")).to_have_count(3)
    expect(offline.locator("details.thinking")).to_have_count(1)
    expect(offline.locator(".turn-facts").last).to_contain_text("another branch, from the beginning")
    withdrawn = offline.locator(".withdrawn-text")
    expect(withdrawn).to_have_count(1)
    withdrawn.locator("summary").click()
    expect(withdrawn.locator("del")).not_to_be_empty()
    timings = offline.locator(".timings").first
    timings.locator("summary").first.click()
    expect(timings.locator(".waterfall > li").first).to_be_visible()
    assert findings(offline) == []


def test_a_damaged_page_shows_what_is_left(http: httpx2.Client, offline: Page, tmp_path: Path) -> None:
    """And says that something is missing: a mail program cut it, somebody wrote in it."""
    seed(http, "torn", ["one", "two", "three"], "Torn")
    file = Path(kept(http, tmp_path, "torn").removeprefix("file://"))
    file.write_text(file.read_text("utf-8").replace('"text":"two"}', '"text":"tw'), encoding="utf-8")
    offline.goto(file.as_uri())
    is_whole(offline)

    expect(offline.get_by_role("alert")).to_contain_text("damaged")
    expect(offline.locator(".prose")).to_have_text(["one", "three"])

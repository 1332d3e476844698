"""What the page offers for long chats: compression and undo, archives, export and import, replay."""

import gzip
import json
import re
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.loopback import TIMEOUT
from tests.running import Running, gateway_process
from tests.ui.page import in_a_browser, opened
from tests.ui.states import go

pytestmark = in_a_browser

UNDONE = "Undone: the model no longer gets this summary."
FILLER = "The garden has many trees and a river runs through it. " * 14


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, demo_url: str) -> Generator[Running]:
    """A gateway whose demo model can be told what to write, and whose window a few pages fill."""
    model = {"ANTHROPIC_BASE_URL": demo_url, "ANTHROPIC_API_KEY": "any"}
    window = {"GATEWAY_CONTEXT_WINDOW": "10000", "GATEWAY_COMPRESS_AT": "0.5"}
    with gateway_process(tmp_path_factory.mktemp("long"), **model, **window) as gateway:
        yield gateway


@pytest.fixture
def http(running: Running) -> Generator[httpx2.Client]:
    with httpx2.Client(base_url=running.url, trust_env=False, timeout=TIMEOUT) as client:
        yield client


def converse(http: httpx2.Client, session: str, *messages: str) -> None:
    for message in messages:
        asked = {"session_id": session, "message": f"{message}\n/say noted {session}"}
        assert "event: done" in http.post("/api/chat", json=asked).text


@pytest.fixture(scope="module")
def tab(browser: Browser, running: Running) -> Generator[Page]:
    with opened(browser, running.url) as page:
        yield page


def choose(page: Page, action: str) -> None:
    """An entry of the menu of the chat on the screen."""
    page.locator(".head").get_by_role("button", name=re.compile("^Actions for")).click()
    page.get_by_role("menuitem", name=action).click()


def drawn(page: Page, answers: int) -> str:
    """The conversation as it is read, once all of it is there."""
    expect(page.locator(".outcome.completed")).to_have_count(answers)
    expect(page.locator(".plain")).to_have_count(0)
    return page.locator("#messages").inner_text()


def test_a_chat_is_compressed_and_everything_stays_on_the_screen(page: Page, http: httpx2.Client) -> None:
    """A card tells of it, with the summary and the messages; the same after a reload, and a second one has a
    card and messages of its own. The versions are undone, which the cards say, and put in force again."""
    converse(http, "long1", *(f"My flight number is CA98{number}. {FILLER}" for number in (1, 2, 3)))
    go(page, "s=long1")
    drawn(page, 3)
    choose(page, "What the model sees")
    page.get_by_role("button", name="Compress now").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("status")).to_contain_text("Messages 1 to 4 are a summary now.")
    expect(dialog.locator("[aria-pressed=true]")).to_contain_text("Version 1")
    page.keyboard.press("Escape")
    cards = page.locator(".note.compression")
    expect(cards).to_contain_text("Messages 1–4 archived, ")
    before = drawn(page, 3)
    page.reload()
    assert drawn(page, 3) == before

    converse(http, "long1", *(f"My seat is 1{row}. {FILLER}" for row in "ABC"))
    http.post("/api/sessions/long1/compress").raise_for_status()
    expect(cards).to_have_count(2)
    cards.first.get_by_role("button", name="Summary").click()
    expect(cards.first.locator(".summary")).to_contain_text("My flight number is CA981.")
    for card, positions in ((cards.first, range(1, 5)), (cards.last, range(5, 11))):
        with page.expect_download() as download:
            card.get_by_role("button", name="Messages as a file").click()
        lines = gzip.decompress(Path(download.value.path()).read_bytes()).splitlines()
        assert [json.loads(line)["position"] for line in lines] == [*positions]

    choose(page, "What the model sees")
    page.get_by_role("button", name="Every message, word for word").click()
    expect(dialog.get_by_role("status")).to_have_text("The model sees every message again.")
    assert "active" not in http.get("/api/sessions/long1/compressions").json()
    expect(cards.filter(has_text=UNDONE)).to_have_count(2)
    page.reload()
    expect(cards.filter(has_text=UNDONE)).to_have_count(2)
    choose(page, "What the model sees")
    page.get_by_role("button", name="Version 2").click()
    expect(dialog.locator("[aria-pressed=true]")).to_contain_text("Version 2")
    expect(cards.filter(has_text=UNDONE)).to_have_count(0)


def test_a_compression_that_fails_says_why(page: Page, http: httpx2.Client, demo_url: str) -> None:
    """In the dialog and on a card, and every message is still there."""
    converse(http, "long2", *(f"My flight number is CA98{number}. {FILLER}" for number in (1, 2, 3)))
    go(page, "s=long2")
    drawn(page, 3)
    httpx2.post(f"{demo_url}/demo/summaries", json={"next": ["/say No.\n/stop refusal"] * 4}, trust_env=False)
    choose(page, "What the model sees")
    page.get_by_role("button", name="Compress now").click()

    expect(page.get_by_role("dialog").get_by_role("status")).to_have_text(
        "The model refused to write a summary."
    )
    expect(page.locator(".note.compression.trouble")).to_have_text(
        "Not compressed. Nothing has changed. The model refused to write a summary."
    )
    expect(page.locator(".question")).to_have_count(3)
    httpx2.post(f"{demo_url}/demo/summaries", json={"next": []}, trust_env=False)


def test_an_archived_chat_looks_as_before_and_is_replayed_and_travels(
    page: Page, http: httpx2.Client, tmp_path: Path
) -> None:
    """What is in archive files is drawn as it was; the replay draws all of it again in its place, and what
    happens meanwhile comes afterwards; the exported file brings the chat back, once."""
    converse(http, "long3", "/say first", "/say second")
    go(page, "s=long3")
    before = drawn(page, 2)
    choose(page, "What the model sees")
    page.get_by_role("button", name="Move to archive storage").click()
    expect(page.get_by_role("dialog").get_by_role("status")).to_contain_text(
        "You can read everything as before."
    )
    page.reload()
    assert drawn(page, 2) == before

    page.get_by_role("button", name="Show inspector").click()
    page.get_by_role("tab", name="Replay").click()
    page.get_by_role("button", name="Replay this chat").click()
    page.get_by_label("Speed").select_option("50×")
    expect(page.get_by_text("A replay: nothing can be sent.")).to_be_visible()
    expect(page.locator(".question")).to_have_text(
        ["/say first\n/say noted long3", "/say second\n/say noted long3"]
    )
    converse(http, "long3", "/say meanwhile")
    expect(page.locator(".question")).to_have_count(2)
    page.get_by_role("button", name="End the replay").click()
    expect(page.locator(".outcome.completed")).to_have_count(3)

    with page.expect_download() as download:
        choose(page, "Export as a file to import")
    file = tmp_path / "long3.jsonl"
    download.value.save_as(file)
    page.locator("#import-chat").set_input_files(file)
    expect(page.locator(".chats-notice")).to_contain_text("This chat is here already.")
    http.delete("/api/sessions/long3").raise_for_status()
    page.get_by_role("button", name="New chat").click()
    page.locator("#import-chat").set_input_files(file)
    expect(page.locator(".chats-notice")).to_contain_text("Imported: ")
    drawn(page, 3)
    assert page.url.endswith("#s=long3")

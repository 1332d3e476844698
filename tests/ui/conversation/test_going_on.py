"""How a conversation goes on: the rest of an answer, another chat from here, words that are quoted, keys."""

import json
from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.running import Running, gateway_process
from tests.ui.conversation.chat import place_of
from tests.ui.page import ask, begin_chat, in_a_browser, opened

pytestmark = in_a_browser

MANY_LINES = "\n".join(f"line {number}: 一行日志 and what a log says of it" for number in range(20_000))
FASTEST_OF = 10
KEY_MS = 50
SELECT = """element => {
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
}"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with gateway_process(tmp_path_factory.mktemp("going_on")) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def tab(browser: Browser, running: Running) -> Generator[Page]:
    with opened(browser, running.url) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        yield page


@pytest.fixture
def page(tab: Page) -> Page:
    begin_chat(tab)
    return tab


def answered(page: Page, text: str, answers: int = 1) -> None:
    ask(page, f"/say {text}")
    expect(page.locator(".outcome.completed")).to_have_count(answers)


def test_the_rest_of_a_stopped_answer_is_asked_for_with_a_button(page: Page) -> None:
    """The button is there for the last answer alone, and not below one that is whole."""
    ask(page, "/pieces 5000 /pace 20")
    expect(page.locator(".prose")).to_contain_text("003")
    page.keyboard.press("Escape")
    go_on = page.get_by_role("button", name="Continue", exact=True)
    go_on.click()

    expect(page.locator(".question").last).to_have_text("Please go on exactly where you stopped.")
    expect(page.locator(".outcome.completed")).to_have_count(1)
    expect(go_on).to_have_count(0)


def test_an_answer_that_was_cut_off_at_its_limit_can_go_on(page: Page) -> None:
    ask(page, "/say half of it\n/stop max_tokens")
    expect(page.get_by_role("button", name="Continue", exact=True)).to_be_visible()


def test_another_chat_goes_on_from_an_answer_and_this_one_stays(page: Page) -> None:
    """It has what was said up to there, and the name of the chat."""
    answered(page, "one")
    answered(page, "two", 2)
    before = place_of(page)
    page.get_by_role("button", name="Continue in another chat").first.click()

    expect(page.locator(".head .title")).to_have_text("/say one (copy)")
    expect(page.locator(".prose")).to_have_text(["one"])
    expect(page.locator(".outcome")).to_have_text("From another chat or app")
    assert place_of(page) != before
    ask(page, "/say three")
    expect(page.locator(".prose")).to_have_text(["one", "three"])
    kept = page.request.get(f"{before}/events?limit=1000", headers={"Accept": "application/json"}).json()
    assert [each["data"]["input"] for each in kept["events"] if each["type"] == "turn_start"] == [
        "/say one",
        "/say two",
    ]


def test_words_of_an_answer_are_quoted_in_the_next_message(page: Page) -> None:
    answered(page, "The heron waits.")
    page.locator("#input").fill("Look:")
    page.locator(".prose p").evaluate(SELECT)
    page.get_by_role("button", name="Quote").click()

    expect(page.locator("#input")).to_have_value("Look:\n\n> The heron waits.\n\n")
    expect(page.locator("#input")).to_be_focused()
    expect(page.get_by_role("button", name="Quote")).to_have_count(0)


def test_a_message_that_waits_comes_back_to_be_edited(page: Page) -> None:
    """Nothing of it is lost, nobody answers it, and it does not stay in the chat as a stopped turn."""
    ask(page, "/pieces 5000 /pace 20")
    expect(page.locator(".prose")).to_contain_text("003")
    ask(page, "/say too early")
    page.locator(".pending").get_by_role("button", name="Edit").click()

    expect(page.locator("#input")).to_have_value("/say too early")
    expect(page.locator(".pending")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator(".outcome.cancelled")).to_have_count(1)
    expect(page.locator(".question")).to_have_count(1)
    expect(page.locator(".prose")).to_have_count(1)


def test_arrow_up_in_an_empty_field_changes_the_last_question(page: Page) -> None:
    """In one with words it is the key that it always is."""
    answered(page, "one")
    page.locator("#input").fill("words")
    page.locator("#input").press("ArrowUp")
    expect(page.locator("form.branching")).to_have_count(0)
    page.locator("#input").fill("")
    page.locator("#input").press("ArrowUp")
    expect(page.locator("form.branching textarea")).to_be_focused()
    expect(page.locator("form.branching textarea")).to_have_value("/say one")


def test_keys_copy_the_last_answer_and_begin_a_temporary_chat(page: Page) -> None:
    answered(page, "a **word**")
    page.keyboard.press("Control+Shift+C")
    expect(page.locator(".chats-notice")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "a **word**"
    page.keyboard.press("Control+Shift+X")
    expect(page.get_by_role("button", name="Temporary")).to_have_attribute("aria-pressed", "true")


def test_where_enter_starts_a_new_line_ctrl_and_enter_send(page: Page) -> None:
    """As it is chosen in the settings; the hint below the field says so."""
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("radio", name="Starts a new line, with Ctrl it sends").check()
    page.keyboard.press("Escape")
    field = page.locator("#input")
    field.fill("/say one")
    field.press("Enter")
    expect(field).to_have_value("/say one\n")
    expect(page.locator(".hint")).to_have_text("Ctrl+Enter sends, Enter starts a new line")
    field.press("Control+Enter")
    expect(page.locator(".prose")).to_have_text(["one"])

    page.get_by_role("button", name="Settings").click()
    page.get_by_role("radio", name="Sends the message").check()
    page.keyboard.press("Escape")
    answered(page, "two", 2)


def test_an_address_brings_a_message_along_and_does_not_send_it(browser: Browser, running: Running) -> None:
    """In a new chat, whichever was open last; the address does not keep it."""
    with opened(browser, running.url) as page:
        answered(page, "one")
        page.goto(f"{running.url}/?q=%E9%B9%AD%20and%20herons")
        expect(page.locator("#input")).to_have_value("鹭 and herons")
        expect(page.locator("#welcome")).to_be_visible()
        expect(page.locator(".question")).to_have_count(0)
        assert "q=" not in page.url


def test_twenty_thousand_lines_that_are_pasted_leave_the_field_quick(page: Page) -> None:
    """They are a file at once, which can be text again. A key is answered as in an empty field."""
    paste = """([text]) => {
        const data = new DataTransfer();
        data.setData("text/plain", text);
        const field = document.querySelector("#input");
        field.focus();
        const more = { bubbles: true, cancelable: true, clipboardData: data };
        field.dispatchEvent(new ClipboardEvent("paste", more));
    }"""
    page.evaluate(paste, [MANY_LINES])
    expect(page.locator("#draft-offers")).to_contain_text("The long text is a file now.")
    expect(page.locator("#draft-files .chip")).to_contain_text(["20,000 lines"])
    expect(page.locator("#input")).to_have_value("")
    took: list[float] = page.evaluate(
        """async count => {
            const field = document.querySelector("#input");
            const took = [];
            for (let at = 0; at < count; at += 1) {
                const from = performance.now();
                document.execCommand("insertText", false, "字");
                field.getBoundingClientRect();
                took.push(performance.now() - from);
                await new Promise(requestAnimationFrame);
            }
            return took;
        }""",
        FASTEST_OF,
    )
    assert min(took) < KEY_MS, took
    expect(page.locator("#input")).to_have_value("字" * FASTEST_OF)
    page.locator("#draft-files .chip button.icon").click()


def test_a_file_of_before_is_asked_about_in_a_new_chat(page: Page) -> None:
    made = page.request.post(
        page.url.split("/#")[0].rstrip("/") + "/api/artifacts?raw=1&name=herons.txt",
        data=b"Herons wade.",
        headers={"Content-Type": "text/plain"},
    )
    assert made.ok, json.dumps(made.json())
    page.get_by_role("link", name="Files").click()
    page.get_by_role("button", name="Ask about it: herons.txt").click()
    expect(page.locator("#draft-files .chip")).to_contain_text(["herons.txt"])
    ask(page, "/say read")
    expect(page.locator(".question .attached")).to_contain_text("herons.txt")

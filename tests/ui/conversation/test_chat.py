"""The page in a real browser, against a real gateway."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.relay import relaying
from tests.running import Running, gateway_process
from tests.ui.conversation.chat import event_types
from tests.ui.page import ask, in_a_browser, opened

pytestmark = in_a_browser


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """`gateway dev` with the demo model."""
    with gateway_process(tmp_path_factory.mktemp("page")) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def tab(browser: Browser, running: Running) -> Generator[Page]:
    with opened(browser, running.url) as page:
        yield page


def pieces(count: int) -> str:
    """What the demo answers to `/pieces`: numbered words."""
    return " ".join(f"{number:03d}" for number in range(count))


def test_a_question_is_answered_and_its_events_are_shown(page: Page) -> None:
    """The answer appears with its tool calls, and each event of the turn is in the side panel."""
    ask(page, "How do I resume a stream? And what is 17*23?")

    expect(page.locator(".outcome.completed")).to_be_visible()
    expect(page.locator(".question")).to_have_text("How do I resume a stream? And what is 17*23?")
    expect(page.locator(".answer")).to_contain_text("Last-Event-ID")
    expect(page.locator(".answer strong", has_text="391")).to_be_visible()
    expect(page.locator(".step.tool .state")).to_have_text(["done", "done"])
    expect(page.locator(".step.found")).to_have_count(1)
    shown = event_types(page)
    assert (shown[0], shown[-1]) == ("turn_start", "done")
    assert (shown.count("tool_call"), shown.count("tool_result"), shown.count("retrieval")) == (2, 2, 1)
    expect(page.get_by_role("button", name="Send")).to_be_visible()


def test_a_reload_in_the_middle_loses_nothing(page: Page) -> None:
    """After a reload in the middle of an answer the whole answer is there, once."""
    ask(page, "/pieces 60 /pace 30")
    expect(page.locator(".prose")).to_contain_text("005")
    page.reload()

    expect(page.locator(".outcome.completed")).to_be_visible()
    expect(page.locator(".prose")).to_have_text(pieces(60))
    expect(page.locator(".question")).to_have_count(1)
    assert event_types(page) == ["turn_start", "iteration_start", "text", "iteration_end", "done"]


def test_a_reload_changes_nothing_on_the_screen(page: Page) -> None:
    """Outcomes, errors, withdrawn attempts, sources, calls, memories: all is drawn from the log."""
    asked = (
        "How do I resume a stream? And what is 17*23?",
        "/fault http_529",
        "/pieces 5 /fault clean_truncation once",
        "记住，我喜欢简约的设计风格",
        "Give me 2000 sample orders",
        "/say $5 and $x^2$ **重点：**\n\n| a |\n|-|\n| b |",
    )
    for count, question in enumerate(asked, 1):
        ask(page, question)
        expect(page.locator(".outcome")).to_have_count(count)
    drawn = page.locator("#messages")
    expect(drawn.locator(".plain")).to_have_count(0)
    expect(drawn.locator("math")).to_be_visible()
    before = drawn.inner_text()
    page.reload()
    expect(page.locator(".outcome")).to_have_count(len(asked))
    expect(drawn.locator(".plain")).to_have_count(0)
    expect(drawn.locator("math")).to_be_visible()

    assert drawn.inner_text() == before


def test_a_reload_after_the_answer_shows_the_conversation(page: Page) -> None:
    """What was said is there again from the session's messages, in order and with its tool calls."""
    ask(page, "What is 17*23?")
    expect(page.locator(".outcome.completed")).to_be_visible()
    ask(page, "/say the second answer")
    expect(page.locator(".outcome.completed")).to_have_count(2)
    page.reload()

    expect(page.locator(".question")).to_have_text(["What is 17*23?", "/say the second answer"])
    expect(page.locator(".answer").first).to_contain_text("391")
    expect(page.locator(".answer .prose").last).to_have_text("the second answer")
    expect(page.locator(".step.tool .state")).to_have_text(["done"])


def test_stop_stops_the_turn(page: Page) -> None:
    """Stop ends a long answer; what had come stays, and the next question can be asked."""
    ask(page, "/pieces 5000 /pace 20")
    expect(page.locator(".prose")).to_contain_text("003")
    page.get_by_role("button", name="Stop").click()

    expect(page.locator(".outcome.cancelled")).to_contain_text("Stopped")
    expect(page.locator(".prose")).to_contain_text("003")
    ask(page, "/say next")
    expect(page.locator(".answer").last).to_contain_text("next")


def test_a_double_click_asks_once(page: Page) -> None:
    """Two quick presses of Send make one turn."""
    page.get_by_label("Message").fill("/pieces 10 /pace 10")
    page.locator("#composer").evaluate("form => { form.requestSubmit(); form.requestSubmit(); }")

    expect(page.locator(".outcome.completed")).to_be_visible()
    expect(page.locator(".question")).to_have_count(1)
    assert event_types(page).count("turn_start") == 1


def test_a_lost_connection_is_resumed(browser: Browser, running: Running) -> None:
    """However often the stream is cut off in the middle of an answer, the answer is there whole and once."""
    with (
        relaying(running.url, cuts=(2000, 1500, 4000)) as relay,
        opened(browser, relay.url) as page,
    ):
        ask(page, "/pieces 60 /pace 10")

        expect(page.locator(".outcome.completed")).to_be_visible()
        expect(page.locator(".prose")).to_have_text(pieces(60))
        assert relay.cuts == []


def test_a_failed_attempt_is_dropped(page: Page) -> None:
    """What a superseded attempt had streamed disappears when the next one begins."""
    ask(page, "/pieces 5 /fault clean_truncation once")

    expect(page.locator(".outcome")).to_be_visible()
    expect(page.locator(".prose")).to_have_text(pieces(5))
    assert "iteration_superseded" in event_types(page)


def test_an_error_is_told_in_words(page: Page) -> None:
    """A failed turn says why, and offers to try again when that may help."""
    ask(page, "/fault http_529")

    expect(page.locator(".note.error")).to_contain_text("Trying again may help.")
    expect(page.locator(".outcome.failed")).to_be_visible()


def test_markup_in_an_answer_stays_text(page: Page) -> None:
    """HTML in an answer is shown, not run, and only http links become links."""
    ask(
        page,
        "/say <img src=x onerror=alert(1)> [bad](javascript:alert(1)) [good](https://example.org/) `<b>`",
    )

    expect(page.locator(".outcome.completed")).to_be_visible()
    expect(page.locator(".prose")).to_contain_text("<img src=x onerror=alert(1)> bad good")
    assert page.locator(".prose img, .prose b").count() == 0
    assert page.locator(".prose a").evaluate_all("links => links.map(link => [link.href, link.rel])") == [
        ["https://example.org/", "noopener noreferrer nofollow"]
    ]


def test_enter_does_not_send_while_a_word_is_composed(page: Page) -> None:
    """Enter that chooses a Chinese word belongs to the input method."""
    box = page.get_by_label("Message")
    box.fill("ni hao")
    composing = (
        "new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true, cancelable: true})"
    )
    taken = box.evaluate(f"box => !box.dispatchEvent({composing})")

    assert not taken
    expect(page.locator(".question")).to_have_count(0)
    expect(box).to_have_value("ni hao")


def test_chats_can_be_left_and_found_again(page: Page) -> None:
    """A new chat is empty; Back leads to the former one, with how it ended."""
    ask(page, "/say remember the heron")
    expect(page.locator(".outcome.completed")).to_be_visible()
    page.get_by_role("button", name="New chat").first.click()
    expect(page.locator(".question")).to_have_count(0)
    expect(page.locator("#welcome")).to_be_visible()
    page.go_back()

    expect(page.locator(".answer .prose")).to_have_text("remember the heron")
    expect(page.locator(".answer .outcome.completed")).to_contain_text("tokens")


def test_a_session_that_is_gone_is_told(page: Page, running: Running) -> None:
    """An address with an unknown session opens a new chat and says so."""
    page.goto("about:blank")  # else only the fragment changes
    page.goto(f"{running.url}/#s=s_unknown")

    expect(page.locator(".conversation > .note")).to_have_text("This chat is no longer there.")
    expect(page.locator("#welcome")).to_be_visible()


def test_a_message_waits_for_the_answer_that_is_on_its_way(page: Page) -> None:
    """It is shown as waiting, and asked by itself; it can be taken back, or have the answer stopped."""
    ask(page, "/pieces 5000 /pace 20")
    expect(page.locator(".prose")).to_contain_text("003")
    ask(page, "/say taken back")
    page.locator(".pending").get_by_role("button", name="Do not send").click()
    expect(page.locator(".pending")).to_have_count(0)
    ask(page, "/say next")
    page.locator(".pending").get_by_role("button", name="Send now").click()

    expect(page.locator(".outcome.completed")).to_have_count(1)
    expect(page.locator(".prose").first).to_contain_text("003")
    expect(page.locator(".prose").last).to_have_text("next")
    expect(page.locator(".pending")).to_have_count(0)


@pytest.mark.parametrize("slow", ["sessions/s_*", "events?*", "branches"])
def test_what_is_asked_while_the_history_is_fetched_comes_after_it(page: Page, slow: str) -> None:
    """It waits, in its place; both turns are there with how they ended."""
    ask(page, "/say one")
    expect(page.locator(".outcome.completed")).to_be_visible()

    def hold(route: Route) -> None:
        """Until the route is taken away."""

    page.route(f"**/{slow}", hold)
    with page.expect_request(f"**/{slow}"):
        page.reload()
    with page.expect_response("**/turns"):
        ask(page, "/say two")
    page.unroute(f"**/{slow}")  # which lets go of what is held

    expect(page.locator(".outcome.completed")).to_have_count(2)
    expect(page.locator(".question")).to_have_text(["/say one", "/say two"])
    expect(page.locator(".prose")).to_have_text(["one", "two"])
    expect(page.locator(".branching")).to_have_count(2)
    expect(page.locator(".pending")).to_have_count(0)


def test_escape_stops_the_answer(page: Page) -> None:
    """Wherever the focus is, while nothing else wants it."""
    ask(page, "/pieces 5000 /pace 20")
    expect(page.locator(".prose")).to_contain_text("003")
    page.keyboard.press("Escape")

    expect(page.locator(".outcome.cancelled")).to_be_visible()


def test_a_message_is_sent_when_the_connection_is_back(page: Page) -> None:
    """Once, also when the page was loaded anew meanwhile; the draft that came after it stays."""
    ask(page, "/say one")
    expect(page.locator(".outcome.completed")).to_be_visible()

    def refuse(route: Route) -> None:
        route.abort("internetdisconnected")

    page.route("**/turns", refuse)
    ask(page, "/say two")
    expect(page.locator(".pending")).to_contain_text("Sent when the connection is back.")
    page.get_by_label("Message", exact=True).fill("to be continued")
    page.reload()
    expect(page.locator(".pending")).to_contain_text("/say two")
    page.unroute("**/turns")

    expect(page.locator(".outcome.completed")).to_have_count(2)
    expect(page.locator(".prose")).to_have_text(["one", "two"])
    expect(page.locator(".pending")).to_have_count(0)
    expect(page.get_by_label("Message", exact=True)).to_have_value("to be continued")


def test_a_long_chat_stays_at_its_end_and_leads_back_there(page: Page) -> None:
    """While it grows, until the reader scrolls up; then a button leads to the newest message."""
    page.set_viewport_size({"width": 420, "height": 420})
    ask(page, "/pieces 500 /pace 1")
    expect(page.locator(".outcome.completed")).to_be_in_viewport()
    page.locator(".scroll").hover()
    page.mouse.wheel(0, -700)
    newest = page.get_by_title("Jump to the newest message")
    newest.click()

    expect(newest).to_have_count(0)
    expect(page.locator(".outcome.completed")).to_be_in_viewport()


HEIGHTS = """async () => {
    const scroller = document.querySelector(".scroll");
    const question = scroller.querySelector(".question");
    const frames = async () => {
        for (let passed = 0; passed < 2; passed += 1) await new Promise(requestAnimationFrame);
    };
    await frames();
    const heights = [question.getBoundingClientRect().height];
    while (scroller.scrollTop > 0) {
        scroller.scrollTop -= scroller.clientHeight;
        await frames();
    }
    return [...heights, question.getBoundingClientRect().height];
}"""
"""Of the question, as it is and once all of it has been on the screen."""


def test_a_long_question_is_as_tall_unseen_as_seen(page: Page) -> None:
    """What is on the screen stays where it is when the reader goes up, or loads the page anew."""
    ask(page, "/say tall\n" + "some words of a long question, 和几个汉字. " * 450)
    expect(page.locator(".outcome.completed")).to_be_visible()
    page.reload()
    expect(page.locator(".outcome.completed")).to_be_in_viewport()

    unseen, seen = page.evaluate(HEIGHTS)
    assert unseen == seen > 5_000


SCROLLED = """async () => {
    const scroller = document.querySelector(".scroll");
    const frame = () => new Promise(requestAnimationFrame);
    for (let passed = 0; passed < 2; passed += 1) await frame(); // all of what came before is told
    const top = scroller.scrollTop;
    const scrolled = new Promise((done) => scroller.addEventListener("scroll", done, { once: true }));
    scroller.scrollTop -= 40;
    if (scroller.scrollTop === top) return "nothing to scroll to"; // of which no event tells
    await scrolled;
    await frame();
    const button = [...document.querySelectorAll("[aria-label='Copy message']")].at(-1);
    const { x, y } = button.getBoundingClientRect();
    return document.elementFromPoint(x + 5, y + 5).closest("button")?.ariaLabel;
}"""


def test_a_click_is_heard_while_the_chat_scrolls(page: Page) -> None:
    """It does all the time below an answer that grows."""
    page.set_viewport_size({"width": 800, "height": 400})
    ask(page, "/pieces 400 /pace 1")
    expect(page.locator(".outcome.completed")).to_be_visible()
    ask(page, "/say below it")
    expect(page.locator(".outcome.completed")).to_have_count(2)
    page.get_by_role("button", name="Copy message").last.scroll_into_view_if_needed()
    page.wait_for_function("() => document.querySelector('.scroll').scrollTop > 40")

    assert page.evaluate(SCROLLED) == "Copy message"

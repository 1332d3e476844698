"""A person's say in tool calls, on the page: asked for, given, refused, and told."""

import json
import re
from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.running import Running
from tests.ui.conversation.chat import announced, event_types, place_of
from tests.ui.page import ask, in_a_browser, opened

pytestmark = in_a_browser

CALL = '/call water {"plant": "玫瑰 <b>", "litres": 5}'


@pytest.fixture(scope="module")
def tab(browser: Browser, garden: Running) -> Generator[Page]:
    with opened(browser, garden.url) as page:
        yield page


def asked(page: Page, question: str = f"{CALL}\n/then /say watered") -> Locator:
    """The card that a question leads to."""
    ask(page, question)
    card = page.locator(".approval")
    expect(card).to_be_visible()
    return card


def deny_elsewhere(page: Page, reason: str | None = None) -> None:
    """What another client does, without this page."""
    place = place_of(page)
    (asked,) = page.request.get(
        f"{place}/events?types=approval_request", headers={"Accept": "application/json"}
    ).json()["events"]
    decided = page.request.post(
        f"{place}/turns/{asked['turn_id']}/approvals/{asked['tool_call_id']}",
        data={"decision": "deny", "reason": reason},
    )
    assert decided.status == 200


def test_a_call_with_effects_waits_for_a_yes(page: Page) -> None:
    """The card shows the tool, its arguments as they are, why it asks and how long; Approve lets it run."""
    card = asked(page)
    expect(card.get_by_role("heading")).to_have_text("water needs your approval")
    expect(card.locator("pre")).to_have_text('{\n  "plant": "玫瑰 <b>",\n  "litres": 5\n}')
    expect(card).to_contain_text("It may change something.")
    expect(card.locator(".time")).to_have_text(re.compile("2[34] hours left"))
    expect(announced(page)).to_have_text("water needs your approval")
    assert page.locator("#messages b").count() == 1  # the tool's name; what the model wrote is no markup
    card.get_by_role("button", name="Approve").click()

    expect(page.locator(".outcome.completed")).to_be_visible()
    expect(card).to_have_count(0)
    expect(page.locator(".decision")).to_have_text("Approved by local")
    expect(page.locator(".prose")).to_have_text("watered")
    page.locator(".step.tool summary").first.click()
    expect(page.locator(".result")).to_have_text("玫瑰 <b> got 5 l")
    shown = event_types(page)
    assert shown.index("approval_request") < shown.index("approval_response") < shown.index("tool_result")


def test_the_steps_of_a_tool_are_folded_into_its_call(page: Page) -> None:
    """Each with its time, and what went wrong."""
    asked(page).get_by_role("button", name="Approve").click()
    expect(page.locator(".outcome.completed")).to_be_visible()
    page.locator(".step.tool summary").first.click()
    steps = page.locator(".steps")
    expect(steps.locator("li").first).to_be_hidden()
    steps.get_by_text("Steps: 2").click()

    expect(steps.locator("li").nth(0)).to_contain_text("open the valve")
    expect(steps.locator("li").nth(1)).to_contain_text("look for snails")
    expect(steps.locator("li.trouble")).to_contain_text("LookupError")


def test_a_no_comes_with_its_reason(page: Page) -> None:
    """The model is told why, and the conversation shows it."""
    card = asked(page)
    card.get_by_label("Tell the model why").fill("It rains 下雨了")
    card.get_by_role("button", name="Deny").click()

    expect(page.locator(".decision.denied")).to_have_text("Denied by local: It rains 下雨了")
    expect(page.locator(".step.tool .state")).to_have_text("denied")
    expect(page.locator(".outcome.completed")).to_be_visible()
    page.locator(".step.tool summary").click()
    expect(page.locator(".result")).to_contain_text("It rains 下雨了")


def test_arguments_can_be_edited_before_the_yes(page: Page) -> None:
    """What is no JSON object is refused in the card; what does not fit the tool, by the server."""
    card = asked(page)
    card.get_by_role("button", name="Edit arguments").click()
    box = card.get_by_label("Arguments (JSON)")
    expect(box).to_be_focused()
    expect(card.get_by_label("Allow")).to_be_disabled()
    approve = card.get_by_role("button", name="Approve")
    for wrong, message in (
        ("{", "This is not JSON"),
        ("[1]", "The arguments must be a JSON object"),
        ('{"plant": "rose", "litres": "5"}', "litres"),
    ):
        box.fill(wrong)
        approve.click()
        expect(card.get_by_role("alert")).to_contain_text(message)
        expect(approve).to_be_enabled()
    box.fill('{"plant": "rose", "litres": 2}')
    approve.click()

    expect(page.locator(".decision")).to_have_text("Approved by local, with edited arguments")
    expect(page.locator(".step.tool summary").first).to_contain_text("rose, 2")
    page.locator(".step.tool summary").first.click()
    expect(page.locator(".result")).to_contain_text("rose got 2 l")


def test_escape_in_a_field_ends_the_edit_and_not_the_turn(page: Page) -> None:
    """Escape, or Cancel, leaves edited arguments; in any field but the message's it stops nothing."""
    card = asked(page)
    for leave in ("escape", "cancel"):
        card.get_by_role("button", name="Edit arguments").click()
        card.locator("textarea").fill('{"plant": "rose"}')
        if leave == "escape":
            page.keyboard.press("Escape")
        else:
            card.get_by_role("button", name="Cancel").click()
        expect(card.locator("pre")).to_have_text('{\n  "plant": "玫瑰 <b>",\n  "litres": 5\n}')
    card.get_by_role("textbox").press("Escape")
    expect(page.locator("#stop")).to_be_enabled()

    page.locator("#input").press("Escape")
    expect(page.locator(".outcome.cancelled")).to_be_visible()


def test_long_numbers_keep_their_digits(page: Page) -> None:
    """Beyond 2^53, where a number of JavaScript is rounded: shown, edited and told as they are."""
    card = asked(page, '/call transfer {"cents": 9007199254740993}\n/then /say done')
    expect(card.locator("pre")).to_have_text('{\n  "cents": 9007199254740993\n}')
    card.get_by_role("button", name="Edit arguments").click()
    box = card.get_by_label("Arguments (JSON)")
    expect(box).to_have_value('{\n  "cents": 9007199254740993\n}')
    box.fill('{"cents": 9007199254740995}')
    card.get_by_role("button", name="Approve").click()

    expect(page.locator(".outcome.completed")).to_be_visible()
    page.locator(".step.tool summary").first.click()
    expect(page.locator(".step.tool summary").first).to_contain_text("9007199254740995")
    expect(page.locator(".result")).to_contain_text("moved 9007199254740995")
    page.reload()
    expect(page.locator(".step.tool summary").first).to_contain_text("9007199254740995")


def test_a_browser_that_rounds_numbers_says_so(browser: Browser, garden: Running) -> None:
    """What would be sent back rounded cannot be edited; as it stands it can be approved."""
    with opened(browser, garden.url) as page:
        page.add_init_script("delete JSON.rawJSON")
        page.reload()
        card = asked(page, '/call transfer {"cents": 9007199254740993}\n/then /say done')
        expect(card).to_contain_text("This browser shows long numbers rounded.")
        expect(card.get_by_role("button", name="Edit arguments")).to_be_disabled()
        card.get_by_role("button", name="Approve").click()

        page.locator(".step.tool summary").first.click()
        expect(page.locator(".result")).to_have_text("moved 9007199254740993")


def test_a_yes_may_hold_for_the_chat(page: Page) -> None:
    """The second call of the same tool is not asked about any more."""
    card = asked(page, f"{CALL}\n/then\n{CALL}\n/then /say both")
    card.get_by_label("Allow").select_option("in this chat")
    card.get_by_role("button", name="Approve").click()

    expect(page.locator(".outcome.completed")).to_be_visible()
    expect(page.locator(".decision")).to_have_text(
        ["Approved by local, for this chat", "Approved before, for this chat"]
    )
    assert event_types(page).count("approval_request") == 1


def test_a_reload_shows_the_waiting_card_again(page: Page) -> None:
    """The turn is still open, and can be approved as before."""
    asked(page)
    page.reload()
    expect(page.locator(".approval")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.locator(".approval").get_by_role("button", name="Approve").click()

    expect(page.locator(".outcome.completed")).to_be_visible()
    expect(page.locator(".prose")).to_have_text("watered")
    page.reload()
    expect(page.locator(".prose")).to_have_text("watered")
    expect(page.locator(".approval")).to_have_count(0)


def test_a_decision_from_elsewhere_closes_the_card(page: Page) -> None:
    """Whoever decides, every open page tells it."""
    asked(page)
    deny_elsewhere(page, "not now")

    expect(page.locator(".approval")).to_have_count(0)
    expect(page.locator(".decision.denied")).to_have_text("Denied by local: not now")
    expect(page.locator(".outcome.completed")).to_be_visible()


def test_a_decision_that_comes_too_late_is_told(page: Page) -> None:
    """The server has another decision already, which this page has not heard of."""
    card = asked(page)
    page.route(
        "**/approvals/*",
        lambda route: route.fulfill(
            status=409, json={"error": {"code": "conflict", "message": "ada decided before: denied."}}
        ),
    )
    card.get_by_role("button", name="Approve").click()

    expect(card.get_by_role("alert")).to_have_text("Somebody has decided this already, or the time is up.")
    page.unroute("**/approvals/*")
    deny_elsewhere(page)
    expect(page.locator(".decision.denied")).to_have_text("Denied by local")


def test_stop_ends_a_turn_that_waits(page: Page) -> None:
    """The card goes, the call is marked, and the next question can be asked."""
    asked(page)
    page.get_by_role("button", name="Stop").click()

    expect(page.locator(".outcome.cancelled")).to_be_visible()
    expect(page.locator(".approval")).to_have_count(0)
    expect(page.locator(".step.tool .state")).to_have_text("stopped")
    ask(page, "/say next")
    expect(page.locator(".answer").last).to_contain_text("next")


def test_a_rule_is_named_and_a_refusal_by_rule_asks_nobody(page: Page) -> None:
    """The policy of the server: one tool asks although it only reads, another never runs."""
    card = asked(page, "/call current_time {}\n/call forbidden {}\n/then /say both")
    expect(card).to_contain_text("The tool policy says so: current_*=ask")
    expect(page.locator(".decision.denied")).to_have_text("Denied by the tool policy")
    card.get_by_role("button", name="Approve").click()

    expect(page.locator(".outcome.completed")).to_be_visible()
    expect(page.locator(".step.tool .state")).to_have_text(["done", "denied"])


def test_what_cannot_be_seen_is_written_out(page: Page) -> None:
    """Letters without a shape, or that turn the reading around, do not hide what is approved."""
    plant = "a\u202eb\u200bc\U000e0041\u3164\uffa0\u115f\u1160\u180e\ufe0f\U000e0100\u034f\x85"
    invisible = json.dumps({"plant": plant, "litres": 1}, ensure_ascii=False)
    card = asked(page, f"/call water {invisible}\n/then /say done")

    escaped = json.dumps(plant)  # where everything but ASCII is escaped
    expect(card.locator("pre")).to_contain_text(escaped)


def test_the_card_fits_a_phone_and_works_by_keyboard(browser: Browser, garden: Running) -> None:
    """Nothing is wider than the screen; Tab reaches all, Enter approves."""
    with opened(browser, garden.url, locale="zh-CN") as page:
        page.set_viewport_size({"width": 360, "height": 740})
        page.locator("#input").fill(CALL.replace("玫瑰", "很长的名字" * 40) + "\n/then /say 好的")
        page.locator("#input").press("Enter")
        card = page.locator(".approval")
        expect(card.get_by_role("heading")).to_have_text("water 需要你的批准")
        expect(card).to_contain_text("它可能会更改某些内容。")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        card.get_by_role("button", name="修改参数").focus()
        page.keyboard.press("Tab")
        expect(card.get_by_role("button", name="批准", exact=True)).to_be_focused()
        for name in ("允许范围", "拒绝", "告诉模型原因"):
            page.keyboard.press("Tab")
            expect(page.locator(":focus")).to_have_accessible_name(name)
        card.get_by_label("允许范围").select_option("仅此一次")
        card.get_by_role("button", name="批准", exact=True).press("Enter")

        expect(page.locator(".decision")).to_have_text("local 已批准")
        expect(page.locator(".outcome.completed")).to_be_visible()


def test_a_call_that_another_app_runs_is_shown_as_waiting(page: Page) -> None:
    """The page cannot run it: it says what is waited for, and goes on with the result."""
    ask(page, "/say hi")
    expect(page.locator(".outcome.completed")).to_be_visible()
    place = place_of(page)
    tool = {"name": "locate", "input_schema": {"type": "object"}}
    message = {"message": "/call locate {}\n/then /say over", "tools": [tool]}
    turn = page.request.post(f"{place}/turns", data=message).json()["turn_id"]
    waiting = page.locator(".call .client")
    expect(waiting).to_have_text("locate runs in the app that sent this message: waiting for its result.")
    (called,) = page.request.get(
        f"{place}/events?types=tool_call", headers={"Accept": "application/json"}
    ).json()["events"]
    given = page.request.post(
        f"{place}/turns/{turn}/tool_results/{called['tool_call_id']}", data={"content": "Basel"}
    )

    assert given.status == 200
    expect(page.locator(".prose").last).to_have_text("over")
    expect(waiting).to_have_count(0)
    expect(page.locator(".call .result")).to_contain_text("Basel")

"""A question is asked anew, or otherwise, on the page; what was there before can be gone back to."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.running import Running
from tests.ui.page import ask, in_a_browser, opened

pytestmark = [*in_a_browser]


@pytest.fixture(scope="module")
def tab(browser: Browser, garden: Running) -> Generator[Page]:
    with opened(browser, garden.url) as page:
        yield page


def button(page: Page, name: str, at: int = -1) -> None:
    page.locator(".turn").nth(at).get_by_role("button", name=name).click()


def test_an_answer_is_asked_for_anew_and_the_former_one_shown_again(page: Page) -> None:
    """Each is one of two, told below the answer; the question stays as it is, also after a reload."""
    ask(page, "/say one")
    expect(page.locator(".outcome.completed")).to_have_count(1)
    ask(page, "What is 17*23?")
    expect(page.locator(".outcome.completed")).to_have_count(2)

    page.locator(".answer").last.get_by_role("button", name="Regenerate").click()
    expect(page.locator(".answer .variants")).to_have_text("‹2/2›")
    expect(page.locator(".question")).to_have_text(["/say one", "What is 17*23?"])
    expect(page.locator(".answer").last).to_contain_text("391")
    expect(page.locator(".outcome.completed")).to_have_count(2)
    button(page, "Earlier variant")
    expect(page.locator(".answer .variants")).to_have_text("‹1/2›")
    page.reload()
    expect(page.locator(".answer .variants")).to_have_text("‹1/2›")
    button(page, "Later variant")
    expect(page.locator(".answer .variants")).to_have_text("‹2/2›")
    expect(page.locator(".variants button:disabled")).to_have_text(["›"])


def test_a_question_is_changed(page: Page) -> None:
    """The first one too: what came after it is in the other branch."""
    ask(page, "/say one")
    expect(page.locator(".outcome.completed")).to_have_count(1)
    ask(page, "/say two")
    expect(page.locator(".outcome.completed")).to_have_count(2)

    button(page, "Edit", 0)
    expect(page.locator(".question")).to_have_text(["/say two"])  # the form stands in the place of the first
    page.locator(".branching textarea").fill("/say three")
    button(page, "Send", 0)
    expect(page.locator(".question")).to_have_text(["/say three"])
    expect(page.locator(".prose")).to_have_text(["three"])
    expect(page.locator(".outcome.completed")).to_have_count(1)
    ask(page, "/say four")
    expect(page.locator(".outcome.completed")).to_have_count(2)
    button(page, "Earlier variant", 0)
    expect(page.locator(".question")).to_have_text(["/say one", "/say two"])
    ask(page, "/say five")
    expect(page.locator(".prose")).to_have_text(["one", "two", "five"])


def test_a_change_is_given_up(page: Page) -> None:
    """Nothing is sent."""
    ask(page, "/say one")
    expect(page.locator(".outcome.completed")).to_be_visible()

    button(page, "Edit")
    page.locator(".branching textarea").fill("/say other")
    button(page, "Cancel")

    expect(page.locator(".branching textarea")).to_have_count(0)
    expect(page.locator(".question")).to_have_text(["/say one"])


@pytest.mark.parametrize("is_late", [False, True])
def test_another_tab_follows_to_the_branch(page: Page, browser: Browser, *, is_late: bool) -> None:
    """What it shows is what comes before the new turn, also where its branches were not loaded yet."""
    ask(page, "/say one")
    expect(page.locator(".outcome.completed")).to_be_visible()

    def hold(route: Route) -> None:
        """Until the route is taken away."""

    with opened(browser, page.url) as other:
        if is_late:
            other.route("**/branches", hold)
            with other.expect_request("**/branches"):
                other.reload()
        expect(other.locator(".question")).to_have_text(["/say one"])
        button(page, "Edit")
        page.locator(".branching textarea").fill("/say other")
        button(page, "Send")
        expect(page.locator(".branching .variants")).to_have_text("‹2/2›")
        other.unroute("**/branches")  # which lets go of what is held

        expect(other.locator(".question")).to_have_text(["/say other"])
        expect(other.locator(".prose")).to_have_text(["other"])
        expect(other.locator(".branching .variants")).to_have_text("‹2/2›")


@pytest.mark.parametrize(("locale", "label"), [("zh-CN", "重新回答"), ("en-GB", "Regenerate")])
def test_the_words_are_those_of_the_reader(browser: Browser, page: Page, locale: str, label: str) -> None:
    """In Chinese, too."""
    ask(page, "/say one")
    expect(page.locator(".outcome.completed")).to_be_visible()
    with opened(browser, page.url, locale) as other:
        expect(other.locator(".answer").get_by_role("button", name=label)).to_be_visible()

"""What those who look after a gateway do on the page, and what everybody has there of usage and links."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect

from gateway.client import GatewayClient
from tests.running import Running, gateway_process
from tests.ui.axe import findings
from tests.ui.page import ask, in_a_browser, opened

pytestmark = in_a_browser

ROOT, ADA = (f"{name}-has-a-key-of-forty-three-characters-000" for name in ("root", "ada"))
HOSTILE = "<img src=x onerror=alert(1)>"
WIDTHS = ((1280, "light"), (390, "dark"), (320, "light"))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with gateway_process(
        tmp_path_factory.mktemp("admins"),
        GATEWAY_API_KEYS=f"root:{ROOT},ada:{ADA}",
        GATEWAY_ADMINS="root",
        GATEWAY_LIMITS="user:tokens=5M/month",
    ) as gateway:
        yield gateway


@contextmanager
def page_of(browser: Browser, running: Running, key: str = ROOT, locale: str = "en-GB") -> Generator[Page]:
    with opened(browser, running.url, locale) as page:
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("textbox").first.fill(key)
        dialog.get_by_role("textbox").first.press("Enter")
        expect(dialog).to_have_count(0)
        yield page


def go(page: Page, name: str) -> None:
    page.evaluate(f"location.hash = 'p={name}'")


def looks_right(page: Page) -> None:
    """For those who cannot see it, and on every width."""
    for width, scheme in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        assert findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="light")


def test_a_person_sees_what_they_used(browser: Browser, running: Running) -> None:
    """By way of the settings; a cost that nobody knows is unknown; the table can be had."""
    with page_of(browser, running, ADA) as page:
        ask(page, "/say hello")
        expect(page.get_by_text("hello").last).to_be_visible()
        expect(page.get_by_role("button", name="Stop")).to_have_count(0)  # it counts once it is over
        page.get_by_role("button", name="Settings").click()
        page.get_by_role("dialog").get_by_role("button", name="Usage").click()
        expect(page.locator(".usage-sum")).to_contain_text("Answers")
        expect(page.locator(".usage-sum")).to_contain_text("unknown")
        expect(page.get_by_role("region", name="Chats that cost most")).to_contain_text("/say hello")
        expect(page.get_by_role("region", name="Limits")).to_contain_text("user:tokens/month")
        looks_right(page)
        with page.expect_download() as download:
            page.get_by_role("button", name="Download as CSV").click()
        assert download.value.suggested_filename.startswith("usage-ada-")
        page.get_by_role("button", name="Settings").click()
        expect(page.get_by_role("dialog").get_by_role("button", name="Administration")).to_have_count(0)


def test_an_admin_looks_after_users_keys_and_limits(browser: Browser, running: Running) -> None:
    """A key is shown once, with a name that means nothing to the page; revoked, it opens nothing."""
    with page_of(browser, running) as page:
        go(page, "admin")
        expect(page.get_by_role("region", name="Users")).to_contain_text("root")
        looks_right(page)
        page.get_by_role("button", name="Keys", exact=True).click()
        page.get_by_role("button", name="New key").click()
        page.get_by_label("What it is for").fill(HOSTILE)
        page.get_by_label("User (yours if empty)").fill("carl")
        looks_right(page)
        page.get_by_role("button", name="Make the key").click()
        secret = page.locator(".page-note code").inner_text()
        with GatewayClient(running.url, secret) as client:
            assert client.ask("GET", "/api/me")["user_id"] == "carl"
        expect(page.get_by_role("region", name="Keys")).to_contain_text(HOSTILE)
        looks_right(page)
        page.get_by_role("button", name=f"Revoke: {HOSTILE}").click()
        looks_right(page)
        page.get_by_role("button", name="Revoke for good").click()
        expect(page.get_by_role("status").filter(has_text="Revoked.")).to_be_visible()
        expect(page.get_by_text(HOSTILE)).to_have_count(1)  # in the note with the key itself

        page.get_by_role("button", name="Limits", exact=True).click()
        page.get_by_label("Rules").fill("nonsense")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".status-line.trouble")).to_contain_text("nonsense")
        page.get_by_label("Rules").fill("user=carl:turns=1/day")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("They hold from the next message on.")).to_be_visible()
        looks_right(page)

        page.get_by_role("button", name="Health", exact=True).click()
        expect(page.get_by_text("Everything works.")).to_be_visible()
        looks_right(page)
        page.get_by_role("button", name="Audit", exact=True).click()
        expect(page.get_by_role("region", name="Audit")).to_contain_text("limit.change")
        looks_right(page)


def test_an_mcp_server_inside_is_refused_on_the_page(browser: Browser, running: Running) -> None:
    with page_of(browser, running) as page:
        go(page, "admin")
        page.get_by_role("button", name="MCP servers").click()
        page.get_by_role("button", name="Add a server").click()
        page.get_by_label("Name", exact=False).first.fill("it")
        page.get_by_label("Address").fill("http://169.254.169.254/mcp")
        page.get_by_label("Headers").fill("no header")
        expect(page.get_by_role("alert")).to_contain_text("Name: value")
        looks_right(page)
        page.get_by_label("Headers").fill("")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".status-line.trouble")).to_contain_text("public web")


def test_a_link_is_made_opened_by_another_and_ended(browser: Browser, running: Running) -> None:
    """Who opens it gives a key, reads, and goes on in a chat of their own; ended, there is nothing."""
    with page_of(browser, running) as page:
        ask(page, "/say The cat sleeps on the piano.")
        expect(page.get_by_text("The cat sleeps on the piano.").last).to_be_visible()
        page.locator(".head").get_by_role("button", name="Actions for").click()
        page.get_by_role("menuitem", name="Share a link").click()
        page.get_by_role("button", name="Make the link").click()
        address = page.locator(".link-made code").inner_text()
        looks_right(page)
        page.get_by_role("dialog").get_by_role("button", name="Close").click()

        with opened(
            browser, address, inspector=True
        ) as other:  # its script wants a storage, which none has there
            dialog = other.get_by_role("dialog")
            dialog.get_by_role("textbox").first.fill(ADA)
            dialog.get_by_role("textbox").first.press("Enter")
            other.wait_for_url("**/s/*")
            expect(other.get_by_text("The cat sleeps on the piano.").last).to_be_visible()
            assert findings(other) == []
            other.get_by_role("link", name="Continue in a chat of my own").click()
            expect(other.locator(".answer").last).to_contain_text("The cat sleeps on the piano.")
            ask(other, "/say And the dog beside it.")
            expect(other.locator(".answer").last).to_contain_text("And the dog beside it.")

        go(page, "links")
        expect(page.locator(".page .card")).to_contain_text("opened 2 times")
        looks_right(page)
        page.get_by_role("button", name="End the link").click()
        expect(page.get_by_text("The link is ended.")).to_be_visible()
        assert page.request.get(address, headers={"x-api-key": ROOT}).status == 404


def test_the_prompt_is_written_and_taken_back(browser: Browser, running: Running) -> None:
    with page_of(browser, running) as page:
        go(page, "prompts")
        page.get_by_role("button", name="Try an edit of identity.md").click()
        editor = page.locator("textarea.code")
        editor.fill("You are 小助手.")
        page.get_by_label("What for").fill("a name")
        looks_right(page)
        page.get_by_role("button", name="Save for everybody").click()
        expect(page.get_by_text("It holds from the next message on.")).to_be_visible()
        expect(page.get_by_role("region", name="Components")).to_contain_text("written here")
        page.get_by_text("Versions").first.click()
        page.get_by_text("What it changed").click()
        expect(page.locator("ins")).to_contain_text("小助手")
        looks_right(page)
        page.get_by_role("button", name="Use the file again").click()
        expect(page.get_by_role("region", name="Components")).not_to_contain_text("written here")


def test_the_words_are_there_in_every_language(browser: Browser, running: Running) -> None:
    for locale, heading in (("zh-CN", "用户"), ("zh-TW", "使用者")):
        with page_of(browser, running, locale=locale) as page:
            go(page, "admin")
            expect(page.locator(".page nav button").first).to_have_text(heading)
            looks_right(page)

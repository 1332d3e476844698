"""The page at a gateway of several people, who have keys."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.running import gateway_process
from tests.ui.axe import findings
from tests.ui.page import ask, in_a_browser, opened, watched

pytestmark = in_a_browser

ADA = "ada-has-a-key-of-forty-three-characters-000"
BOB = "bob-has-a-key-of-forty-three-characters-000"


@contextmanager
def _page_of(browser: Browser, url: str, key: str) -> Generator[Page]:
    """With their key given."""
    with opened(browser, url) as page:
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("textbox").fill(key)
        dialog.get_by_role("textbox").press("Enter")
        expect(dialog).to_have_count(0)
        yield page


@contextmanager
def _adas_page(browser: Browser, folder: Path, **settings: str) -> Generator[Page]:
    keys = {"GATEWAY_API_KEYS": f"ada:{ADA}", **settings}
    with gateway_process(folder, **keys) as gateway, _page_of(browser, gateway.url, ADA) as page:
        yield page


def test_a_chat_that_is_begun_has_its_title_its_menu_and_its_row(browser: Browser, tmp_path: Path) -> None:
    """Under the id that the server gave it, which nobody can guess; also after a reload."""
    with _adas_page(browser, tmp_path) as page:
        ask(page, "/say hello")
        for _ in range(2):
            expect(page.locator(".head .title")).to_have_text("/say hello")
            expect(page.locator(".head").get_by_role("button", name="Actions for /say hello")).to_be_visible()
            expect(page.locator('.chat-row [aria-current="page"]')).to_contain_text("/say hello")
            expect(page.get_by_text("unread")).to_have_count(0)
            page.reload()


def test_a_first_message_that_is_refused_leaves_no_chat(browser: Browser, tmp_path: Path) -> None:
    """What was written is still there to be edited."""
    with _adas_page(browser, tmp_path, GATEWAY_MAX_BODY_SIZE="2000") as page:
        page.locator("#input").fill("x" * 3000)
        page.locator("#input").press("Enter")
        expect(page.locator(".refused")).to_be_visible()
        expect(page.locator(".chat-row")).to_have_count(0)
        page.locator(".refused").get_by_role("button", name="Edit").click()
        expect(page.locator("#input")).to_have_value("x" * 3000)


def test_a_key_that_the_browser_keeps_is_given_once(browser: Browser, tmp_path: Path) -> None:
    """The whole story of a person with it: a chat, its name, another tab, a file, a memory, and out again. No
    script reads the key, or the cookie."""
    with (
        gateway_process(tmp_path, GATEWAY_API_KEYS=f"ada:{ADA}") as gateway,
        opened(browser, gateway.url) as page,
    ):
        dialog = page.get_by_role("dialog", name="Enter your API key")
        dialog.get_by_label("Keep me signed in on this browser").check()
        assert findings(page) == []
        dialog.get_by_role("textbox").fill("a-wrong-key-of-forty-three-characters-00000")
        dialog.get_by_role("textbox").press("Enter")
        expect(dialog.get_by_role("alert")).to_contain_text("not valid")
        dialog.get_by_label("Keep me signed in on this browser").check()
        dialog.get_by_role("textbox").fill(ADA)
        dialog.get_by_role("textbox").press("Enter")
        expect(page.get_by_text("Signed in as ada")).to_be_visible()

        ask(page, "/say hello")
        expect(page.locator(".outcome.completed")).to_be_visible()
        page.locator(".head").get_by_role("button", name="Actions for /say hello").click()
        page.get_by_role("menuitem", name="Rename").click()
        page.get_by_role("textbox", name="Title").fill("Greetings")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".head .title")).to_have_text("Greetings")
        page.reload()
        expect(page.locator(".head .title")).to_have_text("Greetings")

        tab = page.context.new_page()
        with watched(tab):
            tab.goto(page.url)
            expect(tab.locator(".prose")).to_have_text("hello")
            expect(tab.get_by_role("dialog")).to_have_count(0)
            kept = tab.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
            assert ADA not in kept
            assert "gateway_sign_in" not in kept
            note = FilePayload(name="note.txt", mimeType="text/plain", buffer=b"roses")
            tab.locator("input[type=file][multiple]").set_input_files([note])
            ask(tab, "/say read it")
            expect(tab.locator(".outcome.completed")).to_have_count(2)
            tab.get_by_role("link", name="Files").click()
            card = tab.locator(".card", has_text="note.txt")
            card.get_by_role("link", name="its chat").click()
            expect(tab.locator(".prose")).to_have_text(["hello", "read it"])
            tab.get_by_role("link", name="Memory").click()
            expect(tab.get_by_text("Nothing is remembered yet")).to_be_visible()

        page.get_by_role("button", name="Sign out").click()
        expect(dialog).to_be_visible()
        assert page.context.cookies(gateway.url) == []
        tab.reload()
        expect(tab.get_by_role("dialog", name="Enter your API key")).to_be_visible()


def test_what_is_shared_is_found_says_whose_it_is_and_is_only_read(browser: Browser, tmp_path: Path) -> None:
    """Ada shares a chat in the dialog; Bob accepts, finds it, and cannot write, until she lets him."""
    with (
        gateway_process(tmp_path, GATEWAY_API_KEYS=f"ada:{ADA},bob:{BOB}") as gateway,
        _page_of(browser, gateway.url, ADA) as ada,
    ):
        ask(ada, "/say a heron")
        expect(ada.locator(".outcome.completed")).to_be_visible()
        ada.locator(".head").get_by_role("button", name="Actions for /say a heron").click()
        ada.get_by_role("menuitem", name="Share with people").click()
        sharing = ada.get_by_role("dialog")
        sharing.get_by_role("combobox", name="Project").select_option("New project…")
        sharing.get_by_role("textbox", name="Name of the project").fill("Apollo")
        sharing.get_by_role("button", name="Create").click()
        sharing.get_by_role("textbox", name="Invite a user").fill("bob")
        sharing.get_by_role("button", name="Invite").click()
        expect(sharing.get_by_text("reader · invited")).to_be_visible()
        sharing.get_by_role("radio", name="Members can read it They").click()
        expect(sharing.get_by_role("radio", name="Members can read it They")).to_be_checked()
        assert findings(ada) == []
        ada.keyboard.press("Escape")
        expect(ada.locator(".whose")).to_have_text("Shared in Apollo")
        ada.get_by_role("button", name="Apollo", exact=True).click()
        expect(ada.locator(".chat-row")).to_contain_text("Shared in Apollo")

        with _page_of(browser, gateway.url, BOB) as bob:
            bob.get_by_role("button", name="Accept Apollo").click()
            bob.get_by_role("button", name="Shared with me").click()
            bob.locator(".chat-row", has_text="ada · Apollo").get_by_role("link").click()
            expect(bob.locator(".whose")).to_have_text("ada · Apollo · read only")
            expect(bob.locator(".prose")).to_have_text("a heron")
            expect(bob.get_by_text("You may read this chat. Ask ada to let you write.")).to_be_visible()
            for refused in ("Message", "Edit", "Regenerate", "Good answer"):
                expect(bob.get_by_label(refused, exact=True)).to_have_count(0)
            bob.locator(".head").get_by_role("button", name="Actions for /say a heron").click()
            expect(bob.get_by_role("menuitem", name="Who shares this chat")).to_be_visible()
            for refused in ("Rename", "Delete", "Archive", "Pin"):
                expect(bob.get_by_role("menuitem", name=refused)).to_have_count(0)
            assert findings(bob) == []
            bob.keyboard.press("Escape")
            bob.get_by_role("searchbox").fill("heron")
            expect(bob.locator(".chat-row", has_text="ada · Apollo")).to_be_visible()
            bob.get_by_role("searchbox").fill("")
            shared = bob.url
            bob.get_by_role("button", name="Continue in another chat").click()
            expect(bob.locator(".head .title")).to_have_text("/say a heron (copy)")
            expect(bob.locator('.chat-row [aria-current="page"]')).to_contain_text("(copy)")
            expect(bob.locator(".whose")).to_have_count(0)
            bob.goto(shared)

            ada.locator(".whose").click()
            sharing.get_by_role("combobox", name="Role of bob").select_option("editor")
            sharing.get_by_role("radio", name="owners and editors can write").click()
            expect(sharing.get_by_role("radio", name="owners and editors can write")).to_be_checked()
            bob.reload()
            ask(bob, "/say and a reed")
            expect(bob.locator(".prose")).to_have_text(["a heron", "and a reed"])

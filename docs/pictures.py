"""`make pictures`: renders the pictures of the documents, from conversations with the demo model."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import httpx2
from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

from tests.running import gateway_process
from tests.stories.test_home_example import household

FOLDER = Path(__file__).parent / "pictures"
LARGEST = 200_000
"""Bytes of a picture: README is read on a phone, too."""
SIZE = ViewportSize(width=1440, height=860)
EARLIER = {
    "trip": ("Offsite in Basel", "What time is it in Basel?"),
    "cat": ("My cat Tofu", "My cat is called Tofu."),
    "orders": ("Orders of the week", "Show me 10000 sample orders"),
    "style": ("A plain style", "Remember that I like a plain design style."),
}


def talk(url: str) -> None:
    """The chats that stand in the list."""
    with httpx2.Client(base_url=url, timeout=60) as http:
        for session, (title, message) in EARLIER.items():
            http.post("/api/chat", json={"session_id": session, "message": message}).raise_for_status()
            http.patch(f"/api/sessions/{session}", json={"title": title}).raise_for_status()
        http.post("/api/sessions", json={"id": "resume", "title": "How streams resume"}).raise_for_status()


def ask(page: Page, question: str) -> None:
    box = page.get_by_label("Message", exact=True)
    box.fill(question)
    box.press("Enter")


def converse(page: Page) -> None:
    """An answer from documents, and a call that waits for a person, beside the inspector."""
    ask(page, "How do I resume a stream? And what is 17*23?")
    expect(page.get_by_role("button", name="Good answer")).to_have_count(1)
    ask(page, "Note that the door code is 4711.")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Hide inspector")).to_be_visible()  # there is room for it
    page.get_by_role("combobox", name="Turn").select_option(index=0)
    timeline = page.get_by_role("list", name="What took time in this turn")
    expect(timeline.get_by_role("button", name="calculate")).to_be_visible()
    expect(page.get_by_role("link", name="Inbox 1")).to_be_visible()


def take(page: Page, picture: Path) -> None:
    """A picture that is not too large."""
    page.screenshot(path=picture, animations="disabled")
    if picture.stat().st_size > LARGEST:
        sys.exit(f"{picture} has {picture.stat().st_size:,} bytes; {LARGEST:,} are allowed.")


def live(page: Page) -> None:
    """A question, a good night in Chinese, and a door that a person opens."""
    page.get_by_label("Message", exact=True).wait_for()
    for person, message, button in (
        ("UANNA", "@gateway When are the bins collected?", None),
        ("ULI", "@gateway 晚安", None),
        ("UANNA", "@gateway Please open the front door for the plumber.", "Approve"),
    ):
        answers = page.locator("li.bot:not(:has(.actions), .streaming)")
        answered = answers.count()
        page.get_by_label("You are").select_option(person)
        ask(page, message)
        if button is not None:
            expect(page.get_by_role("button", name=button)).to_be_visible()
            return
        expect(answers).to_have_count(answered + 1)


def main() -> None:
    """Writes `page-light.png`, `page-dark.png` and `home.png`."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("Chromium is not installed (Debian: apt-get install chromium).")
    FOLDER.mkdir(exist_ok=True)
    expect.set_options(timeout=60_000)
    with (
        tempfile.TemporaryDirectory() as folder,
        gateway_process(Path(folder)) as gateway,
        household(Path(folder)) as home,
        sync_playwright() as playwright,
    ):
        talk(gateway.url)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, locale="en-GB", reduced_motion="reduce")
        page.goto(f"{gateway.url}/#s=resume")
        converse(page)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            take(page, FOLDER / f"page-{scheme}.png")
        page = browser.new_page(viewport={**SIZE, "height": 1040}, color_scheme="light")
        page.goto(home.slack)
        live(page)
        take(page, FOLDER / "home.png")


if __name__ == "__main__":
    main()

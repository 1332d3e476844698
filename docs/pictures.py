"""`make pictures`: renders the pictures of the documents, from conversations with the demo model."""

import os
import shutil
import struct
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx2
from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

from tests.running import gateway_process, limited_gateway_process
from tests.stories.test_home_example import household

FOLDER = Path(__file__).parent / "pictures"
LARGEST = 200_000
"""Bytes of a picture: README is read on a phone, too."""
LARGEST_FILM = 1_200_000
"""Bytes of the moving picture."""
SIZE = ViewportSize(width=1440, height=860)
FILM_SIZE = ViewportSize(width=760, height=520)
MAX_FRAMES, FRAME_MS, LAST_MS = 20, 450, 4000
"""The moving picture: so many frames at most, each for so long, the last one for longer."""
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


def film(page: Page) -> list[bytes]:
    """Turns as they happen: a question, a call, the answer while it is written; then a call that waits."""
    frames = [page.screenshot()]
    for question, ended in (
        ("How do I resume a stream? And what is 17*23?", page.get_by_role("button", name="Good answer")),
        ("Note that the door code is 4711.", page.get_by_role("button", name="Approve", exact=True)),
    ):
        ask(page, question)
        while not ended.is_visible() and len(frames) < MAX_FRAMES:
            page.wait_for_timeout(FRAME_MS / 2)  # a picture takes as long again
            frames.append(page.screenshot())
        expect(ended).to_be_visible()
        frames.append(page.screenshot())
    return frames


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Type and data of each chunk."""
    place = 8
    while place < len(png):
        (length,) = struct.unpack_from(">I", png, place)
        yield png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        place += length + 12


def animated(frames: Sequence[bytes]) -> bytes:
    """An APNG (https://www.w3.org/TR/png-3/) of pictures of one size and kind, shown again and again."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    frames = [frame for place, frame in enumerate(frames) if place == 0 or frame != frames[place - 1]]
    head = dict(chunks(frames[0]))[b"IHDR"]
    written = [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", head), chunk(b"acTL", struct.pack(">II", len(frames), 0))]
    number = 0
    for place, frame in enumerate(frames):
        shown = LAST_MS if place == len(frames) - 1 else FRAME_MS
        control = struct.pack(">I8s8xHH2x", number, head[:8], shown, 1000)
        written.append(chunk(b"fcTL", control))
        number += 1
        data = b"".join(data for kind, data in chunks(frame) if kind == b"IDAT")
        if place == 0:
            written.append(chunk(b"IDAT", data))
            continue
        written.append(chunk(b"fdAT", struct.pack(">I", number) + data))
        number += 1
    return b"".join([*written, chunk(b"IEND", b"")])


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
    """Writes `page-light.png`, `page-dark.png`, `turn.png`, which moves, and `home.png`."""
    found = map(shutil.which, ("chromium", "google-chrome", "chromium-headless-shell"))
    chromium = os.environ.get("CHROMIUM") or next(filter(None, found), None)
    if chromium is None:
        sys.exit("Chromium is not installed (Debian: apt-get install chromium).")
    FOLDER.mkdir(exist_ok=True)
    expect.set_options(timeout=60_000)
    with (
        tempfile.TemporaryDirectory() as folder,
        gateway_process(Path(folder)) as gateway,
        tempfile.TemporaryDirectory() as other,
        limited_gateway_process(Path(other), None) as unhurried,
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
        page = browser.new_page(viewport=FILM_SIZE, locale="en-GB", color_scheme="light")
        page.goto(unhurried.url)
        moving = animated(film(page))
        if len(moving) > LARGEST_FILM:
            sys.exit(f"The moving picture has {len(moving):,} bytes; {LARGEST_FILM:,} are allowed.")
        (FOLDER / "turn.png").write_bytes(moving)
        page = browser.new_page(viewport={**SIZE, "height": 1040}, color_scheme="light")
        page.goto(home.slack)
        live(page)
        take(page, FOLDER / "home.png")


if __name__ == "__main__":
    main()

"""`make pictures`: renders the pictures of the documents, from conversations with the demo model, in
English and Chinese, which takes a font (Debian: fonts-noto-cjk)."""

import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx2
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from tests.running import gateway_process, limited_gateway_process
from tests.stories.test_home_example import household

FOLDER = Path(__file__).parent / "pictures"
LARGEST = 200_000
"""Bytes of a picture: README is read on a phone, too."""
LARGEST_FILM = 1_600_000
"""Bytes of a moving picture."""
SIZE = ViewportSize(width=1440, height=860)
FILM_SIZE = ViewportSize(width=760, height=520)
MAX_FRAMES, FRAME_MS, LAST_MS = 20, 450, 4000
"""The moving picture: so many frames at most, each for so long, the last one for longer."""


@dataclass(frozen=True)
class Told:
    """What is said in one language. `earlier`: the chats that stand in the list, by their ids, each with its
    title and message."""

    locale: str
    suffix: str
    earlier: Mapping[str, tuple[str, str]]
    title: str
    question: str
    note: str


ENGLISH = Told(
    "en-GB",
    "",
    {
        "trip": ("Offsite in Basel", "What time is it in Basel?"),
        "cat": ("My cat Tofu", "My cat is called Tofu."),
        "orders": ("Orders of the week", "Show me 10000 sample orders"),
        "style": ("A plain style", "Remember that I like a plain design style."),
    },
    "How streams resume",
    "How do I resume a stream? And what is 17*23?",
    "Note that the door code is 4711.",
)
CHINESE = Told(
    "zh-CN",
    "-zh",
    {
        "time": ("几点开会", "现在几点？"),
        "name": ("自我介绍", "我叫林晓舟"),
        "orders": ("本周的订单", "给我一万条示例订单"),
        "style": ("简约的设计风格", "记住，我喜欢简约的设计风格"),
    },
    "怎么恢复一个流",
    "怎么恢复一个流？17*23 等于多少？",
    "记一下：门禁密码是 4711",
)


def talk(url: str, told: Told) -> None:
    """The chats that stand in the list."""
    with httpx2.Client(base_url=url, timeout=60) as http:
        for session, (title, message) in told.earlier.items():
            http.post("/api/chat", json={"session_id": session, "message": message}).raise_for_status()
            http.patch(f"/api/sessions/{session}", json={"title": title}).raise_for_status()
        http.post("/api/sessions", json={"id": "resume", "title": told.title}).raise_for_status()


def ask(page: Page, question: str) -> None:
    box = page.locator("#input")
    box.fill(question)
    box.press("Enter")


def converse(page: Page, told: Told) -> None:
    """An answer from documents, and a call that waits for a person, beside the inspector."""
    ask(page, told.question)
    expect(page.locator(".outcome.completed")).to_have_count(1)
    ask(page, told.note)
    expect(page.locator(".approval .primary")).to_be_visible()
    page.locator(".inspect-head select").select_option(index=0)  # there is room for the inspector
    expect(page.locator(".waterfall button", has_text="calculate")).to_be_visible()
    expect(page.locator(".chats-pages .count")).to_have_text("1")


def take(page: Page, picture: Path) -> None:
    """A picture that is not too large."""
    page.screenshot(path=picture, animations="disabled")
    if picture.stat().st_size > LARGEST:
        sys.exit(f"{picture} has {picture.stat().st_size:,} bytes; {LARGEST:,} are allowed.")


def film(page: Page, told: Told) -> list[bytes]:
    """Turns as they happen: a question, a call, the answer while it is written; then a call that waits."""
    frames = [page.screenshot()]
    for question, ended in (
        (told.question, page.locator(".outcome.completed")),
        (told.note, page.locator(".approval .primary")),
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


def page_and_film(browser: Browser, told: Told) -> None:
    """Writes `page-light.png`, `page-dark.png` and `turn.png`, which moves, in one language."""
    with tempfile.TemporaryDirectory() as folder, gateway_process(Path(folder)) as gateway:
        talk(gateway.url, told)
        page = browser.new_page(viewport=SIZE, locale=told.locale, reduced_motion="reduce")
        page.goto(f"{gateway.url}/#s=resume")
        converse(page, told)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            take(page, FOLDER / f"page-{scheme}{told.suffix}.png")
    with tempfile.TemporaryDirectory() as folder, limited_gateway_process(Path(folder), None) as unhurried:
        page = browser.new_page(viewport=FILM_SIZE, locale=told.locale, color_scheme="light")
        page.goto(unhurried.url)
        moving = animated(film(page, told))
    if len(moving) > LARGEST_FILM:
        sys.exit(f"The moving picture has {len(moving):,} bytes; {LARGEST_FILM:,} are allowed.")
    (FOLDER / f"turn{told.suffix}.png").write_bytes(moving)


def has_chinese_font() -> bool:
    fc_list = shutil.which("fc-list")
    if fc_list is None:
        return True  # not a system that can be asked
    command = [fc_list, ":lang=zh-cn", "family"]
    found = subprocess.run(command, check=False, capture_output=True)  # noqa: S603 - a program of the system's
    return found.stdout.strip() != b""


def main() -> None:
    """Writes the page and a turn in each language, and `home.png`."""
    found = map(shutil.which, ("chromium", "google-chrome", "chromium-headless-shell"))
    chromium = os.environ.get("CHROMIUM") or next(filter(None, found), None)
    if chromium is None:
        sys.exit("Chromium is not installed (Debian: apt-get install chromium).")
    if not has_chinese_font():
        sys.exit("There is no font for Chinese (Debian: apt-get install fonts-noto-cjk).")
    FOLDER.mkdir(exist_ok=True)
    expect.set_options(timeout=60_000)
    with (
        tempfile.TemporaryDirectory() as folder,
        household(Path(folder)) as home,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for told in (ENGLISH, CHINESE):
            page_and_film(browser, told)
        page = browser.new_page(viewport={**SIZE, "height": 1040}, color_scheme="light")
        page.goto(home.slack)
        live(page)
        take(page, FOLDER / "home.png")


if __name__ == "__main__":
    main()

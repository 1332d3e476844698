"""The states in which a reader meets the page, gone through one after the other."""

import json
from collections.abc import Callable

import httpx2
from playwright.sync_api import Page, expect

from tests.loopback import TIMEOUT

PROSE = """## Heading 标题

A *slanted* and a **strong** word, `code`, ~~gone~~, a [link](https://example.org/), *重点*, a note[^1].

> Quoted, and then

1. one
2. two
   - [x] done
   - [ ] open

| left | 中间 | right |
|:-----|:----:|------:|
| a | b | 1,000 |

```python
def area(radius: float) -> float:
    return 3.14159 * radius**2  # a long comment that is wider than a phone is, so that the block scrolls
```

$$\\int_0^1 x^2 \\,dx = \\frac{1}{3}$$

سلام دنیا، این یک پاسخ است.

[^1]: The note."""

WATER = '/call water {"plant": "rose", "litres": 5}\n/then /say watered'
LONG = f"喜欢{'很' * 300}长的句子{'w' * 300}"  # which a line has to be broken within
SLOW = "/pace 60000\n/pieces 30"  # longer than all walks take


def furnish(url: str) -> None:
    """Chats, memories and files for all states, at the gateway `url`."""
    with httpx2.Client(base_url=url, trust_env=False, timeout=TIMEOUT) as http:
        for session, title in (
            ("long", "玫瑰和苍鹭 · A long talk about roses, herons and the reeds they stand in"),
            ("waits", "Waits"),
            ("slow", "Slow"),
        ):
            http.post("/api/sessions", json={"id": session, "title": title}).raise_for_status()
        for message in (
            saying(PROSE),
            "How do I resume a stream? And what is 17*23?",
            "记住，我喜欢简约的设计风格",
            "Give me 2000 sample orders",
            "/pieces 5 /fault clean_truncation once",
            '/call forbidden {}\n/call calculate {"expression": "1/0"}\n/then /say both',
            "/fault http_529",
        ):
            http.post(
                "/api/sessions/long/turns", json={"message": message}, headers={"Accept": "text/event-stream"}
            ).raise_for_status()
        http.post("/api/sessions/long/compress").raise_for_status()
        http.post("/api/sessions/waits/turns", json={"message": WATER}).raise_for_status()
        http.post("/api/memory", json={"content": LONG, "type": "preference"}).raise_for_status()
        http.post("/api/sessions/slow/turns", json={"message": SLOW}).raise_for_status()
        schedule = {"message": LONG, "cron": "0 8 1 1 *", "timezone": "Asia/Shanghai"}
        http.post("/api/schedules", json=schedule).raise_for_status()
        table = b"name,count\nroses,5\nherons,2\n"
        http.post("/api/artifacts?raw=1&name=table.csv", content=table).raise_for_status()


def saying(text: str) -> str:
    """What the demo model is told so that it says just that, in as many lines as it has."""
    block: dict[str, object] = {"index": 0}
    events = (
        {"type": "content_block_start", **block, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", **block, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", **block},
    )
    return "\n".join([*(f"/raw {json.dumps(each)}" for each in events), "/stop end_turn"])


def go(page: Page, place: str) -> None:
    page.evaluate("place => { location.hash = place; }", place)


def walk(page: Page, look: Callable[[str], None]) -> None:
    """Calls `look` with the name of each state while the page is in it. The page is a new chat of a gateway
    that was furnished; its words may be of any language."""
    expect(page.locator("#welcome")).to_be_visible()
    look("new chat")
    _conversation(page, look)
    _waiting(page, look)
    _inspector(page, look)
    for name, ready in (
        ("inbox", ".page .approval"),
        ("memory", ".page .card"),
        ("skills", ".page .card"),
        ("artifacts", ".page .card"),
        ("schedules", ".page .card"),
        ("prompts", ".page"),
    ):
        go(page, f"p={name}")
        expect(page.locator(ready).first).to_be_visible()
        if name == "memory":
            page.locator(".page .cards summary").first.click()
            expect(page.locator(".page .about")).to_be_visible()
        if name == "schedules":
            page.locator(".page-bar button").first.click()
            expect(page.locator(".upcoming li").first).to_be_visible()
        if name == "prompts":
            page.locator("tbody button").first.click()
            page.locator("textarea.code").fill("Be brief.")
            page.locator(".page-form [type=submit]").click()
            expect(page.locator(".page .card .table-scroll")).to_be_visible()
        look(name)
    _dialogs(page, look)


def _open_long(page: Page) -> None:
    """The chat with everything in it, its end on the screen and nothing moving any more."""
    go(page, "s=long")
    expect(page.locator(".note.compression .choices")).to_be_visible()  # nothing comes after it
    expect(page.locator(".outcome.failed")).to_be_visible()
    expect(page.locator(".plain")).to_have_count(0)


def _conversation(page: Page, look: Callable[[str], None]) -> None:
    _open_long(page)
    look("error")
    for step in page.locator("details.step, details.steps").all():
        step.evaluate("step => { step.open = true; }")
    page.locator(".artifact button").first.click()
    expect(page.locator(".artifact pre, .artifact table").first).to_be_visible()
    look("calls and sources")
    page.locator("#messages h4, #messages h3").first.scroll_into_view_if_needed()
    expect(page.locator("math")).to_be_visible()
    expect(page.locator(".plain")).to_have_count(0)
    look("conversation")
    page.locator(".turn", has=page.locator("math")).locator(".branching button").first.click()
    page.locator(".branching textarea").wait_for()
    look("question changed")
    page.keyboard.press("Escape")


def _waiting(page: Page, look: Callable[[str], None]) -> None:
    go(page, "s=slow")
    expect(page.locator("#stop")).to_be_visible()
    page.locator("#input").fill("/say later")
    page.locator("#send").click()  # on a phone Enter begins a line
    expect(page.locator(".pending button").first).to_be_visible()
    page.locator("#input").fill("draft 草稿")
    look("streaming, a message waits")
    go(page, "s=waits")
    expect(page.locator(".approval")).to_be_visible()
    look("approval")
    page.locator(".approval > button").click()
    expect(page.locator(".approval textarea")).to_be_visible()
    look("approval, edited")


def _inspector(page: Page, look: Callable[[str], None]) -> None:
    _open_long(page)
    page.keyboard.press("Control+Shift+E")
    tabs = page.locator(".inspect [role=tab]")
    tabs.first.wait_for()
    page.locator(".inspect-head select").select_option(index=1)
    for at, (name, ready) in enumerate(
        (
            ("timeline", ".inspect-panel [aria-expanded]"),
            ("prompt", ".inspect-panel details, .inspect-panel table"),
            ("usage", ".inspect-panel table"),
            ("events", ".inspect-panel [role=option]"),
        )
    ):
        tabs.nth(at).click()
        found = page.locator(ready).first
        expect(found).to_be_visible()
        if name in ("timeline", "events"):
            found.click()
        look(name)
    tabs.nth(4).click()
    page.locator(".replay .primary").click()
    expect(page.locator(".player input[type=range]")).to_be_visible()
    page.locator(".player button").nth(2).click()
    look("replay")
    page.locator(".replay .sources button").first.click()
    expect(page.locator(".player")).to_have_count(0)
    page.keyboard.press("Control+Shift+E")


def _dialogs(page: Page, look: Callable[[str], None]) -> None:
    go(page, "s=waits")
    expect(page.locator(".approval")).to_be_visible()
    page.locator(".head button:has(svg.lucide-settings)").click()
    expect(page.locator("dialog fieldset").first).to_be_visible()
    expect(page.locator("dialog #provider-key")).to_be_visible()
    look("settings")
    page.keyboard.press("Escape")
    page.locator("#input").press("Control+k")
    expect(page.locator("dialog.palette [role=option]").first).to_be_visible()
    look("palette")
    page.keyboard.press("Escape")
    page.locator("main").press("?")
    expect(page.locator("dialog.keys")).to_be_visible()
    look("keys")
    page.keyboard.press("Escape")
    page.locator(".head [aria-haspopup=menu]").click()
    expect(page.locator("[role=menuitem]").first).to_be_visible()
    look("menu")
    page.locator("[role=menuitem]").nth(2).click()
    expect(page.locator("dialog[open]")).to_be_visible()
    look("compressions")
    page.keyboard.press("Escape")
    page.locator(".head [aria-haspopup=menu]").click()
    page.locator("[role=menuitem]").last.click()
    expect(page.locator("dialog[open] .dangerous")).to_be_visible()
    look("delete")
    page.keyboard.press("Escape")
    page.locator("main").press("/")
    page.keyboard.type("roses")
    expect(page.locator(".chats-list mark").first).to_be_visible()
    look("search")
    page.keyboard.press("Escape")

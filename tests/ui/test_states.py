"""Nothing is in the way of anybody, in whatever state the page is."""

from collections.abc import Generator
from dataclasses import dataclass, field

import httpx2
import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from tests.loopback import TIMEOUT
from tests.product import new_key
from tests.running import Running, gateway_process
from tests.ui.axe import findings
from tests.ui.garden import GARDEN
from tests.ui.page import in_a_browser, opened
from tests.ui.states import furnish, saying, walk

pytestmark = [*in_a_browser, pytest.mark.long]

DESK: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 320, "height": 640}  # also a screen of 1280 at 400 %
ENLARGED: ViewportSize = {"width": 640, "height": 400}  # a screen of 1280 by 800 at 200 %

PERSIAN = """## شعر و فهرست

این یک پاسخ با `code` و English است.

1. یک
2. دو
   - [x] انجام شد

> نقل قول

| نام | شمار |
|-----|------|
| گل | 5 |

```python
print("سلام")
```

English, with סלום in it."""


GOES_ON = """document.getAnimations().some(({ effect, playState }) =>
    playState === "running" && effect.getComputedTiming().endTime === Infinity)"""
WIDTH = """async () => {
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
    return document.documentElement.scrollWidth;
}"""
"""How wide all of the page is, once it has been drawn as the screen is now."""
RIGHT_TO_LEFT = ["h3 rtl", "p rtl", "ol rtl", "ul rtl", "blockquote rtl", "p rtl", "table rtl"]
DIRECTIONS = "all => all.map(each => `${each.localName} ${getComputedStyle(each).direction}`)"
ROOM_AT_THE_RIGHT = "all => all.map(each => parseFloat(getComputedStyle(each).paddingRight))"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """A gateway with something in each place."""
    folder = tmp_path_factory.mktemp("states")
    (folder / "garden.py").write_text(GARDEN)
    settings = {
        "GATEWAY_SKILL_MODULES": "garden",
        "GATEWAY_TOOL_POLICY": "forbidden=deny",
        "GATEWAY_RETRY_AFTER_CAP": "0.1",
        "GATEWAY_TURN_TIMEOUT": "3600",
        "GATEWAY_ENCRYPTION_KEYS": new_key(),  # keys of the provider are taken
    }
    with gateway_process(folder, **settings) as gateway:
        furnish(gateway.url)
        yield gateway


@dataclass
class Seen:
    """What was found in each state on the way through them, the next one only after all of this one."""

    rules_broken: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    widths: dict[str, int] = field(default_factory=dict[str, int])
    moving: list[str] = field(default_factory=list[str])
    moving_though_reduced: list[str] = field(default_factory=list[str])


@pytest.fixture(scope="module")
def seen(browser: Browser, running: Running) -> Seen:
    """At a desk. All rules in the light; in the dark only the contrasts are others."""
    seen = Seen()

    def look(state: str) -> None:
        page.emulate_media(reduced_motion="reduce")
        if page.evaluate(GOES_ON):
            seen.moving_though_reduced.append(state)
        page.emulate_media(reduced_motion="no-preference")
        if page.evaluate(GOES_ON):
            seen.moving.append(state)
        seen.widths[state] = page.evaluate(WIDTH)
        page.emulate_media(color_scheme="light")
        found = findings(page)
        page.emulate_media(color_scheme="dark")
        seen.rules_broken[state] = [*found, *(f"dark: {line}" for line in findings(page, ["color-contrast"]))]

    with opened(browser, running.url) as page:
        page.set_viewport_size(DESK)
        walk(page, look)
    return seen


def test_axe_finds_nothing_in_any_state_light_or_dark(seen: Seen) -> None:
    """Nothing that WCAG 2.2 AA or good practice forbids."""
    assert len(seen.rules_broken) >= 20
    assert {state: lines for state, lines in seen.rules_broken.items() if lines} == {}


def test_nothing_moves_where_that_is_not_wanted(seen: Seen) -> None:
    """No state has an animation that goes on, though some have one for those who do not mind."""
    assert seen.moving_though_reduced == []
    assert "streaming, a message waits" in seen.moving


def test_nothing_is_wider_than_the_screen(browser: Browser, running: Running, seen: Seen) -> None:
    """What is wide scrolls within itself; nor is anything cut off at the edge of the screen, be it small or
    enlarged."""
    found: dict[str, int] = {}

    def look(state: str) -> None:
        for screen in (PHONE, ENLARGED, PHONE) if state != "menu" else (PHONE,):
            page.set_viewport_size(screen)
            found[f"{state} on {screen['width']}"] = page.evaluate(WIDTH) - screen["width"]

    with opened(browser, running.url) as page:
        page.set_viewport_size(PHONE)
        walk(page, look)
        page.reload()
        page.set_viewport_size(ENLARGED)  # which takes a menu away
        page.locator(".head [aria-haspopup=menu]").click()
        expect(page.locator("[role=menuitem]").first).to_be_visible()
        found[f"menu on {ENLARGED['width']}"] = page.evaluate(WIDTH) - ENLARGED["width"]

    found |= {f"{state} at a desk": width - DESK["width"] for state, width in seen.widths.items()}
    assert len(found) == 3 * len(seen.widths)
    assert {state: beyond for state, beyond in found.items() if beyond > 0} == {}


@pytest.mark.parametrize("screen", [DESK, PHONE], ids=["desk", "phone"])
def test_text_from_right_to_left_is_set_so(browser: Browser, running: Running, screen: ViewportSize) -> None:
    """Lists and quotes have their marks at the right, within the answer, and tables begin there; code and
    what is around stay as they are, and a question is where questions are."""
    session = f"persian-{screen['width']}"
    with httpx2.Client(base_url=running.url, trust_env=False, timeout=TIMEOUT) as http:
        http.post("/api/sessions", json={"id": session})
        for message in (saying(PERSIAN), "درباره گل بگو", "/say done"):
            stream = {"Accept": "text/event-stream"}
            http.post(f"/api/sessions/{session}/turns", json={"message": message}, headers=stream)
    with opened(browser, f"{running.url}/#s={session}") as page:
        page.set_viewport_size(screen)
        expect(page.locator(".outcome.completed")).to_have_count(3)
        expect(page.locator(".plain")).to_have_count(0)
        answer = page.locator(".prose").first
        directions = answer.locator("h3, p, ol, ul, blockquote, table, pre").evaluate_all(DIRECTIONS)
        room = answer.locator("ol, ul, blockquote").evaluate_all(ROOM_AT_THE_RIGHT)
        columns = answer.locator("th").evaluate_all("all => all.map(cell => cell.getBoundingClientRect().x)")
        questions = page.locator(".question").evaluate_all(
            "all => all.map(q => q.getBoundingClientRect().right)"
        )

        assert directions == [*RIGHT_TO_LEFT, "pre ltr", "p ltr"]
        assert all(space > 12 for space in room)
        assert columns == sorted(columns, reverse=True)
        assert len(set(questions)) == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= screen["width"]

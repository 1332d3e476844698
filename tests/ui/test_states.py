"""Nothing is in the way of anybody, in whatever state the page is."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, ViewportSize

from tests.running import Running, gateway_process
from tests.ui.axe import findings
from tests.ui.garden import GARDEN
from tests.ui.page import in_a_browser, opened
from tests.ui.states import furnish, walk

pytestmark = [*in_a_browser, pytest.mark.long]

DESK: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 320, "height": 640}  # also a screen of 1280 at 400 %


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """A gateway with something in each place."""
    folder = tmp_path_factory.mktemp("states")
    (folder / "garden.py").write_text(GARDEN)
    settings = {
        "GATEWAY_SKILL_MODULES": "garden",
        "GATEWAY_TOOL_POLICY": "forbidden=deny",
        "GATEWAY_RETRY_AFTER_CAP": "0.1",
    }
    with gateway_process(folder, **settings) as gateway:
        furnish(gateway.url)
        yield gateway


def test_axe_finds_nothing_in_any_state_light_or_dark(browser: Browser, running: Running) -> None:
    """All rules in the light; in the dark only the contrasts are others."""
    found: dict[str, list[str]] = {}

    def look(state: str) -> None:
        page.emulate_media(color_scheme="light")
        found[state] = findings(page)
        page.emulate_media(color_scheme="dark")
        found[state] += [f"dark: {line}" for line in findings(page, ["color-contrast"])]

    with opened(browser, running.url) as page:
        page.set_viewport_size(DESK)
        walk(page, look)

    assert len(found) >= 20
    assert {state: lines for state, lines in found.items() if lines} == {}


def test_nothing_is_wider_than_a_small_phone(browser: Browser, running: Running) -> None:
    """What is wide scrolls within itself; nor is anything cut off at the edge of the screen."""
    found: dict[str, int] = {}

    def look(state: str) -> None:
        found[state] = page.evaluate("document.documentElement.scrollWidth")

    with opened(browser, running.url) as page:
        page.set_viewport_size(PHONE)
        walk(page, look)

    assert {state: width for state, width in found.items() if width > PHONE["width"]} == {}

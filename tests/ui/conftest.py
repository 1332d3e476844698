"""The browser of the page's tests, and a gateway that several of them share."""

import os
import shutil
from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.running import Running, gateway_process
from tests.ui.garden import GARDEN, write_skill
from tests.ui.page import EVERY, TIMEOUT_MS, WITHOUT, begin_chat, ended_within, watched

# Each window else loads two pages for the address bar's suggestions: more than a test's own page costs. The
# rest is what Playwright turns off: of two such flags the last one counts.
OFF = [
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
]
FLAGS = [
    f"--disable-features={','.join(OFF)}",
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")
"""The first that there is: the same engine without windows takes a fifth less CPU."""
SECONDS = 3600.0 if os.environ.get(EVERY) == "1" else 300.0
"""What a test may take, and its fixtures before and after it: less than what ends its process (MAX_SECONDS of
the Makefile). All reloads take minutes."""
KEPT = "[document.body.innerText, JSON.stringify(localStorage)]"


def _limit(item: pytest.Item) -> AbstractContextManager[None]:
    return ended_within(SECONDS) if item.get_closest_marker("browser") else nullcontext()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    with _limit(item):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    with _limit(item):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    with _limit(item):
        yield


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """Chromium, which must be there: a page that nobody has opened is not tested."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if path is None:
        pytest.fail(
            "The page is tested in Chromium. Install it (Debian: apt-get install chromium-headless-shell), "
            f"or leave it out with {WITHOUT}=1.",
            pytrace=False,
        )
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(tab: Page, request: pytest.FixtureRequest) -> Generator[Page]:
    """A new chat in the `tab` that the tests of a file share: opening one costs more CPU than most of them.
    After a test that failed, what the tab shows and keeps is told, and it is as a new one."""
    failed = request.session.testsfailed
    begin_chat(tab)
    url = tab.url.partition("#")[0]
    try:
        with watched(tab):
            yield tab
    finally:
        if has_failed := request.session.testsfailed > failed:
            request.node.add_report_section("teardown", "tab", "\n".join([tab.url, *tab.evaluate(KEPT)]))
            tab.evaluate("localStorage.clear()")
        tab.unroute_all()
        if has_failed or not tab.url.startswith(url):
            tab.goto("about:blank")  # else only the fragment changes
            tab.goto(url)


@pytest.fixture(scope="session")
def garden_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the garden's tools and skills are."""
    folder = tmp_path_factory.mktemp("garden")
    (folder / "garden.py").write_text(GARDEN)
    write_skill(folder, "tend-roses", "Tends roses. 照料玫瑰。<b>", "Water them.")
    return folder


@pytest.fixture(scope="session")
def garden(garden_folder: Path) -> Generator[Running]:
    """A gateway with tools that have effects, a written skill, and rules for two tools."""
    settings = {
        "GATEWAY_SKILL_MODULES": "garden",
        "GATEWAY_SKILLS_DIR": str(garden_folder / "skills"),
        "GATEWAY_TOOL_POLICY": "forbidden=deny,current_*=ask",
        "GATEWAY_TRUSTED_TOOLS": "!gossip",
    }
    with gateway_process(garden_folder, **settings) as gateway:
        yield gateway

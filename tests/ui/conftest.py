"""The browser of the page's tests."""

import os
import shutil
from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.ui.page import PATIENCE_MS, WITHOUT

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """Chromium, which must be there: a page that nobody has opened is not tested."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.fail(
            "The page is tested in Chromium. Install it (Debian: apt-get install chromium), "
            f"or leave it out with {WITHOUT}=1.",
            pytrace=False,
        )
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()

"""The page as an app: what it says of itself to be installed, and that it opens without a connection."""

import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.relay import relaying
from tests.running import gateway_process
from tests.ui.axe import findings
from tests.ui.page import TIMEOUT_MS, ask, in_a_browser

pytestmark = in_a_browser

KEPT = """async () => {
    const found = [];
    for (const name of await caches.keys())
        for (const { url } of await (await caches.open(name)).keys())
            found.push(url.slice(location.origin.length));
    return found.sort();
}"""
IS_KEPT = """async () => {
    for (const name of await caches.keys()) if (await (await caches.open(name)).match("/")) return true;
    return false;
}"""


@pytest.fixture
def page(browser: Browser) -> Generator[Page]:
    """Of a browser that lets the page keep itself."""
    with browser.new_context(locale="en-GB") as context:
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        yield page


def kept(page: Page) -> None:
    """Waits until the page is kept."""
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    page.wait_for_function(IS_KEPT)


def test_the_page_opens_without_a_connection_and_what_is_written_there_stays(
    page: Page, tmp_path: Path
) -> None:
    """Of the API nothing is kept: neither chats nor who the reader is."""
    with gateway_process(tmp_path) as gateway:
        page.goto(gateway.url)
        kept(page)
        ask(page, "/say roses")
        expect(page.locator(".answer .prose", has_text="roses")).to_be_visible()
        page.reload()
        expect(page.locator(".answer .prose", has_text="roses")).to_be_visible()
        places = page.evaluate(KEPT)
        assert [place for place in places if not re.fullmatch(r"/|/assets/[\w.-]+", place)] == []
        assert "/" in places

        page.context.set_offline(True)
        page.reload()
        expect(page.get_by_role("main")).to_be_visible()
        expect(page.locator(".offline")).to_contain_text("No connection")
        page.get_by_label("Message", exact=True).fill("water them")
        assert findings(page) == []
        page.reload()
        expect(page.get_by_label("Message", exact=True)).to_have_value("water them")

        page.context.set_offline(False)
        page.reload()
        expect(page.locator(".answer .prose", has_text="roses")).to_be_visible()


def test_a_new_server_s_page_is_never_an_old_one(page: Page, tmp_path: Path) -> None:
    """The document comes from the server whenever there is one."""
    with gateway_process(tmp_path, GATEWAY_PAGE_NAME="Before") as gateway, relaying(gateway.url) as relay:
        page.goto(relay.url)
        kept(page)
        expect(page).to_have_title("Before")
        gateway.stop()
        page.reload()
        expect(page).to_have_title("Before")  # nobody answers
        with gateway_process(tmp_path, GATEWAY_PAGE_NAME="After") as newer:
            relay.upstream = ("127.0.0.1", int(newer.url.rpartition(":")[2]))
            page.reload()
            expect(page).to_have_title("After")
            expect(page.get_by_role("heading", name="After")).to_be_visible()


def test_a_page_that_somebody_else_puts_there_is_not_kept(page: Page, tmp_path: Path) -> None:
    """As a proxy's, to sign in."""
    with gateway_process(tmp_path) as gateway:
        page.goto(gateway.url)
        kept(page)
        page.context.route(
            re.compile(r":\d+/$"),
            lambda route: route.fulfill(body="<h1>Sign in</h1>", content_type="text/html"),
        )
        page.reload()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        page.context.unroute_all()
        page.context.set_offline(True)
        page.reload()
        expect(page.get_by_role("main")).to_be_visible()


def test_a_browser_can_install_it(page: Page, tmp_path: Path) -> None:
    """It finds nothing wrong with the manifest, and the icons are what that says of them."""
    with gateway_process(tmp_path, GATEWAY_PAGE_NAME="Garden") as gateway:
        page.goto(gateway.url)
        session = page.context.new_cdp_session(page)
        manifest = session.send("Page.getAppManifest")
        assert manifest["errors"] == []
        assert '"Garden"' in manifest["data"]
        sizes = page.evaluate(
            """async () => {
                const { icons } = await (await fetch("./manifest.webmanifest")).json();
                return await Promise.all(icons.map(async ({ src, sizes }) => {
                    const image = new Image();
                    image.src = src;
                    await image.decode();
                    return `${image.naturalWidth}x${image.naturalHeight}` === sizes;
                }));
            }"""
        )
        assert sizes == [True, True, True]


def test_notifications_are_asked_for_when_they_are_switched_on(page: Page, tmp_path: Path) -> None:
    """Not before. Refused, the switch is off and says why."""
    page.add_init_script(
        "window.asked = 0;"
        "Notification.requestPermission = async () => { window.asked += 1; return window.answer }"
    )
    with gateway_process(tmp_path) as gateway:
        page.goto(gateway.url)
        page.get_by_role("button", name="Settings").click()
        switch = page.get_by_role("switch", name="Notifications")
        expect(switch).not_to_be_checked()
        assert page.evaluate("asked") == 0
        page.evaluate("window.answer = 'denied'")
        switch.click()
        expect(page.get_by_role("alert")).to_contain_text("does not let this page notify you")
        expect(switch).not_to_be_checked()
        assert findings(page) == []
        page.evaluate("window.answer = 'granted'")
        switch.click()
        expect(switch).to_be_checked()
        assert page.evaluate("asked") == 2
        switch.click()
        expect(switch).not_to_be_checked()
        assert page.evaluate("asked") == 2

"""The page of webhooks in a browser: one is added, tested, told of an answer, and removed."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Page, expect
from standardwebhooks.webhooks import Webhook

from gateway.client import GatewayClient
from tests.cli.test_webhooks import listening
from tests.loopback import TIMEOUT
from tests.running import Running, gateway_process
from tests.ui.axe import findings
from tests.ui.page import in_a_browser, opened

pytestmark = in_a_browser


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """`gateway dev` with the demo model, which may post to this machine."""
    with gateway_process(tmp_path_factory.mktemp("webhooks"), GATEWAY_WEBHOOK_HOSTS="127.0.0.1") as gateway:
        yield gateway


@pytest.fixture
def page(browser: Browser, running: Running) -> Generator[Page]:
    """On a small phone."""
    with opened(browser, running.url) as page:
        page.set_viewport_size({"width": 320, "height": 640})
        yield page


def test_a_webhook_is_added_and_told(page: Page, running: Running) -> None:
    """Its secret verifies what is posted. Nothing is in anybody's way, nor wider than the screen."""
    with listening(200) as (address, posts):
        page.evaluate("location.hash = 'p=webhooks'")
        page.get_by_role("button", name="New webhook").click()
        page.get_by_label("Address").fill(address)
        assert findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        page.get_by_role("button", name="Add", exact=True).click()
        secret = page.locator(".page-note code").inner_text()

        page.get_by_role("button", name=f"Test: {address}").click()
        expect(page.get_by_role("status").filter(has_text="Delivered: 200")).to_be_visible()
        with GatewayClient(running.url) as client:
            client.start_turn(client.create_session()["id"], "/say 早上好")
        told = [posts.get(timeout=TIMEOUT) for _ in range(2)]
        assert [Webhook(secret).verify(body, headers)["type"] for headers, body in told] == [
            "webhook.test",
            "turn.finished",
        ]

        page.get_by_role("button", name=f"Deliveries: {address}").click()
        arrived = page.locator(".about li", has_text="an answer is finished, delivered, 1 try")
        while not arrived.is_visible():
            page.locator(".about").get_by_role("button", name="Refresh").click()
        assert findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        page.get_by_role("button", name=f"Delete: {address}").click()
        page.get_by_role("button", name=f"Delete for good: {address}").click()
        expect(page.locator(".page .empty")).to_be_visible()

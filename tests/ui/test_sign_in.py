"""Sign-in on the page, at a real OpenID provider."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.cli.test_mcp_login import gateway_with_server
from tests.identity_provider import provider_process
from tests.running import gateway_process
from tests.ui.axe import findings
from tests.ui.page import ask, in_a_browser, opened

pytestmark = in_a_browser


def test_somebody_signs_in_chats_and_signs_out(browser: Browser, tmp_path: Path) -> None:
    """At the provider and back to the chat of the link; no script of the page reads the cookie."""
    with provider_process(ada={}) as provider:
        settings = {
            "GATEWAY_OIDC_ISSUER": provider,
            "GATEWAY_OIDC_CLIENT_ID": "page",
            "GATEWAY_OIDC_CLIENT_SECRET": "known-to-both",
        }
        with gateway_process(tmp_path, **settings) as gateway, opened(browser, gateway.url) as page:
            dialog = page.get_by_role("dialog", name="Sign in")
            expect(dialog).to_be_visible()
            assert findings(page) == []
            dialog.get_by_role("link", name="Sign in").click()
            page.wait_for_url(f"{provider}/**")
            page.get_by_role("button", name="ada").click()

            page.wait_for_url(f"{gateway.url}/**")
            expect(page.get_by_text("Signed in as ada")).to_be_visible()
            ask(page, "/say hello ada")
            expect(page.locator(".prose")).to_have_text("hello ada")
            cookies = {cookie.get("name"): cookie for cookie in page.context.cookies(gateway.url)}
            assert cookies["gateway_sign_in"].get("httpOnly")
            assert "gateway_sign_in" not in page.evaluate("document.cookie")

            page.get_by_role("button", name="Sign out").click()
            page.wait_for_url(f"{provider}/**")
            assert [each.get("name") for each in page.context.cookies(gateway.url)] == []
            page.goto(gateway.url)
            expect(page.get_by_role("dialog", name="Sign in")).to_be_visible()


def test_the_operator_signs_the_gateway_in_to_an_mcp_server(browser: Browser, tmp_path: Path) -> None:
    """A button beside what needs it, to the server's own page, and back to the skills with its tools."""
    with (
        gateway_with_server(tmp_path) as (gateway, _),
        opened(browser, f"{gateway.url}/#p=skills") as page,
    ):
        button = page.get_by_role("button", name="Sign in it")
        expect(button).to_be_visible()
        assert findings(page) == []
        button.click()
        page.wait_for_url(f"{gateway.url}/#p=skills")
        expect(page.get_by_text("mcp__it__who").first).to_be_visible()
        expect(button).to_have_count(0)

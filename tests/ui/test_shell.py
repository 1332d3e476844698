"""The frame of the page: its address, its parts on wide and narrow screens, its settings, what it loads."""

import re
from base64 import b64encode
from collections.abc import Generator
from hashlib import sha256
from pathlib import Path
from typing import Literal

import httpx2
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.relay import relaying
from tests.running import Running, gateway_process
from tests.ui.axe import findings
from tests.ui.page import ask, in_a_browser, opened

KEY = "0123456789abcdef"
SCREENS = {"wide": (1280, 800), "narrow": (390, 800), "narrowest": (320, 640)}

pytestmark = in_a_browser


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """`gateway dev` with the demo model."""
    with gateway_process(tmp_path_factory.mktemp("shell")) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def session(running: Running) -> str:
    """A chat with one turn that is over."""
    with httpx2.Client(base_url=running.url, trust_env=False) as http:
        session = http.post("/api/sessions", json={}).json()["id"]
        http.post(f"/api/sessions/{session}/turns", json={"message": "What is 17*23?"})
        with http.stream("GET", f"/api/sessions/{session}/events", timeout=60) as events:
            assert any(line == "event: done" for line in events.iter_lines())
    return session


@pytest.fixture(scope="module")
def tab(browser: Browser, running: Running) -> Generator[Page]:
    with opened(browser, running.url) as page:
        yield page


def test_everything_comes_from_below_the_path_of_the_page(
    browser: Browser, running: Running, session: str
) -> None:
    """Behind a proxy that gives the gateway a prefix, the page asks for nothing else, nor of another host."""
    asked: list[str] = []
    with relaying(running.url, prefix="/tools/chat") as relay, opened(browser, "about:blank") as page:
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{relay.url}/#s={session}")
        expect(page.locator(".answer .prose", has_text="391")).to_be_visible()

        assert asked
        assert [url for url in asked if not url.startswith((f"{relay.url}/", "blob:"))] == []


@pytest.mark.parametrize("screen", ["wide", "narrow"])
def test_the_frame_is_there_before_the_script_has_come(page: Page, running: Running, screen: str) -> None:
    """With room for the chats where they will stand; the script draws over it."""

    def hold(route: Route) -> None:
        """Until the route is taken away."""

    width, height = SCREENS[screen]
    page.set_viewport_size({"width": width, "height": height})
    page.route("**/assets/index-*.js", hold)
    page.goto(running.url, wait_until="commit")

    expect(page.locator(".head", has_text="Chat Gateway")).to_be_visible()
    expect(page.locator(".sidebar")).to_be_visible(visible=screen == "wide")
    expect(page.get_by_role("main")).to_have_count(0)
    page.unroute("**/assets/index-*.js")  # which lets go of what is held
    expect(page.get_by_role("main")).to_be_visible()
    expect(page.locator(".app")).to_have_count(1)


def test_no_script_or_style_can_run_that_is_not_of_the_gateway(page: Page, running: Running) -> None:
    """The policy names the gateway, and the digest of the one script within the page; there is no style or
    handler."""
    policy = httpx2.get(running.url, trust_env=False).headers["content-security-policy"]

    assert "unsafe" not in policy
    within = page.locator("script:not([src])")
    digest = b64encode(sha256((within.text_content() or "").encode()).digest()).decode()
    assert within.count() == 1
    assert f"script-src 'self' 'sha256-{digest}'; style-src 'self';" in policy
    assert page.locator("style").count() == 0


@pytest.mark.parametrize(("chosen", "system"), [("dark", "light"), ("light", "dark")])
def test_the_scheme_that_was_chosen_is_there_before_the_script(
    browser: Browser, running: Running, chosen: str, system: Literal["light", "dark"]
) -> None:
    """Nothing is painted in the system's scheme first."""
    with browser.new_context(color_scheme=system) as context:
        context.add_init_script(f"""localStorage.setItem("gateway.settings", '{{"theme": "{chosen}"}}')""")
        page = context.new_page()
        page.route("**/assets/index-*.js", lambda _: None)
        page.goto(running.url, wait_until="commit")
        expect(page.locator(".head", has_text="Chat Gateway")).to_be_visible()
        paper = {"dark": "rgb(21, 23, 26)", "light": "rgb(250, 249, 246)"}[chosen]
        expect(page.locator("body")).to_have_css("background-color", paper)
        page.unroute_all(behavior="ignoreErrors")


def test_the_files_of_the_page_are_kept_and_their_names_asked_for_again(running: Running) -> None:
    """What is named by its content never changes; the page itself is sent where it did."""
    with httpx2.Client(base_url=running.url, trust_env=False) as http:
        page = http.get("/")
        known = http.get("/", headers={"if-none-match": page.headers["etag"]})
        name = "/" + re.findall(r'src="\./(assets/[^"]+)"', page.text)[0]
        script = http.get(name)
        plain = http.get(name, headers={"accept-encoding": "identity"})

    assert (page.headers["content-type"], page.headers["cache-control"]) == (
        "text/html; charset=utf-8",
        "no-cache",
    )
    assert (known.status_code, known.content) == (304, b"")
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert (script.headers["content-encoding"], plain.headers.get("content-encoding")) == ("gzip", None)
    assert int(script.headers["content-length"]) < len(plain.content) / 2
    assert script.content == plain.content
    assert script.headers["content-type"] == plain.headers["content-type"]


def test_back_leads_to_the_place_before(page: Page, session: str) -> None:
    """A chat has the address it always had; leaving it for a new one can be taken back."""
    page.evaluate("id => { location.hash = `s=${id}`; }", session)
    expect(page.locator(".answer .prose", has_text="391")).to_be_visible()
    page.get_by_role("button", name="New chat").click()
    expect(page.locator(".answer")).to_have_count(0)
    assert "#" not in page.url

    page.go_back()

    expect(page.locator(".answer .prose", has_text="391")).to_be_visible()
    assert page.url.endswith(f"#s={session}")


def test_the_last_chat_is_opened_again(page: Page, running: Running, session: str) -> None:
    """Also from an address without one; not after a new chat was begun."""
    page.evaluate("id => { location.hash = `s=${id}`; }", session)
    expect(page.locator(".answer .prose", has_text="391")).to_be_visible()

    page.goto("about:blank")
    page.goto(running.url)
    expect(page.locator(".answer .prose", has_text="391")).to_be_visible()
    page.get_by_role("button", name="New chat").click()
    page.goto("about:blank")
    page.goto(running.url)

    expect(page.get_by_role("main")).to_be_visible()
    assert "#" not in page.url


def test_theme_and_language_are_chosen_and_kept(page: Page) -> None:
    """At once, and after a reload."""
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("radio", name="Dark").check()
    page.get_by_role("radio", name="繁體中文").check()
    for _ in range(2):
        expect(page.locator("html")).to_have_attribute("lang", "zh-Hant")
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        assert page.evaluate("getComputedStyle(document.body).colorScheme") == "dark"
        page.reload()

    page.get_by_role("button", name="設定", exact=True).click()
    page.get_by_role("radio", name="跟隨瀏覽器").check()

    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize(
    ("locale", "language"), [("zh-CN", "zh-Hans"), ("zh-TW", "zh-Hant"), ("fr-FR", "en")]
)
def test_the_page_speaks_the_language_of_the_browser(
    browser: Browser, running: Running, locale: str, language: str
) -> None:
    """Simplified or traditional Chinese, else English."""
    with opened(browser, running.url, locale) as page:
        expect(page.locator("html")).to_have_attribute("lang", language)


def test_on_a_narrow_screen_the_chats_lie_over_the_conversation(page: Page) -> None:
    """They are taken away by Escape, and the focus is back where it was."""
    page.set_viewport_size({"width": 390, "height": 800})
    chats = page.get_by_role("navigation", name="Chats")
    expect(chats).to_have_count(0)
    page.get_by_role("button", name="Show chats").click()
    expect(chats).to_be_visible()
    assert page.evaluate("document.querySelector('main').inert")

    page.keyboard.press("Escape")

    expect(chats).to_have_count(0)
    expect(page.get_by_role("button", name="Show chats")).to_be_focused()


def test_the_inspector_is_there_where_there_is_room(browser: Browser, running: Running, session: str) -> None:
    """Beside a chat, not beside an empty one; who closes it has it closed after a reload, too."""
    inspector = "Inspector"
    with opened(browser, running.url, inspector=True) as page:
        page.set_viewport_size({"width": 1280, "height": 800})
        expect(page.get_by_role("textbox", name="Message")).to_be_visible()
        expect(page.get_by_role("complementary", name=inspector)).to_have_count(0)
        page.evaluate("id => { location.hash = `s=${id}`; }", session)
        expect(page.get_by_role("complementary", name=inspector)).to_be_visible()
        page.set_viewport_size({"width": 1240, "height": 800})
        expect(page.get_by_role("complementary", name=inspector)).to_have_count(0)
        page.set_viewport_size({"width": 1280, "height": 800})
        page.get_by_role("button", name="Hide inspector").click()
        page.reload()
        expect(page.locator(".answer .prose", has_text="391")).to_be_visible()
        expect(page.get_by_role("complementary", name=inspector)).to_have_count(0)


def test_another_model_answers_where_several_are_offered(
    browser: Browser, demo_url: str, tmp_path: Path
) -> None:
    """The one that is chosen for a chat stays its model, also after a reload."""
    settings = {"ANTHROPIC_BASE_URL": demo_url, "ANTHROPIC_API_KEY": "demo", "GATEWAY_MODEL": "medium"}
    with (
        gateway_process(tmp_path, **settings, GATEWAY_ALLOWED_MODELS="small,large") as gateway,
        opened(browser, gateway.url) as page,
    ):
        page.get_by_role("combobox", name="Model").select_option("large")
        ask(page, "What is 17*23?")
        expect(page.locator(".outcome.completed")).to_be_visible()
        page.reload()
        expect(page.get_by_role("combobox", name="Model")).to_have_value("large")
        with httpx2.Client(base_url=gateway.url, trust_env=False) as http:
            assert [each["model"] for each in http.get("/api/turns").json()["turns"]] == ["large"]


def test_a_key_is_asked_for_and_kept_in_the_tab(browser: Browser, tmp_path: Path) -> None:
    """Again after a wrong one; it is sent from then on, and a reload needs none. Who signs out takes along
    what they wrote."""
    with (
        gateway_process(tmp_path, GATEWAY_API_KEYS=f"ada:{KEY}") as gateway,
        opened(browser, gateway.url) as page,
    ):
        for key, hint in (
            ("wrong-wrong-wrong", "This tab keeps it until it is closed."),
            (KEY, "This key is not valid. Check it, or try another one."),
        ):
            expect(page.get_by_role("dialog")).to_contain_text(hint)
            page.get_by_label("API key", exact=True).fill(key)
            page.get_by_label("API key", exact=True).press("Enter")
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert page.evaluate("sessionStorage.getItem('gateway.key')") == KEY
        ask(page, "/say hello ada")
        expect(page.locator(".prose")).to_have_text("hello ada")
        assert KEY not in page.evaluate("JSON.stringify(localStorage)")

        page.reload()

        message = page.get_by_role("textbox", name="Message")
        message.fill("nobody else's business")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.get_by_role("button", name="Settings", exact=True).click()
        expect(page.get_by_text("Signed in as ada")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("API key", exact=True)).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0
        assert "business" not in page.evaluate("JSON.stringify(localStorage)")


def test_a_lost_connection_is_told_and_comes_back(browser: Browser, running: Running, session: str) -> None:
    """The line goes by itself when the gateway is there again."""
    with (
        relaying(running.url, cuts=(200,)) as relay,
        opened(browser, f"{relay.url}/#s={session}") as page,
    ):
        expect(page.locator(".answer .prose", has_text="391")).to_be_visible()
        page.context.set_offline(True)
        relay.cuts = [0] * 100
        for followed in list(relay.open):
            followed.close()
        expect(page.get_by_text("No connection, trying again…")).to_be_visible()

        relay.cuts = []
        page.context.set_offline(False)

        expect(page.get_by_text("No connection, trying again…")).to_have_count(0)


@pytest.mark.parametrize("screen", ["narrow", "narrowest"])
def test_nothing_is_in_the_way_of_anybody(
    browser: Browser, running: Running, session: str, screen: str
) -> None:
    """axe finds nothing in a new chat, an old one, the settings, the chats and the inspector, light or dark;
    no screen is too narrow for what is on it. A wide one is gone through in test_states.py."""
    width, height = SCREENS[screen]
    found: dict[str, list[str]] = {}

    def look(state: str) -> None:
        page.emulate_media(color_scheme="light")
        found[state] = findings(page)
        page.emulate_media(color_scheme="dark")
        found[f"{state}, dark"] = findings(page, ["color-contrast"])
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    with opened(browser, running.url) as page:
        page.set_viewport_size({"width": width, "height": height})
        expect(page.get_by_role("textbox").first).to_be_visible()
        look("new chat")
        page.evaluate("id => { location.hash = `s=${id}`; }", session)
        expect(page.locator(".answer .prose", has_text="391")).to_be_visible()
        look("chat")
        page.get_by_role("button", name="Settings", exact=True).first.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        look("settings")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Show inspector").click()
        expect(page.get_by_role("complementary").get_by_role("tabpanel")).to_be_visible()
        look("inspector")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Show chats").click()
        expect(page.get_by_role("navigation", name="Chats")).to_be_visible()
        look("chats")

    assert {name: lines for name, lines in found.items() if lines} == {}

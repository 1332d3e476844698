"""What others wrote runs and opens nothing on the page, and asks no other host for anything, wherever it is
shown."""

import json
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.loopback import TIMEOUT
from tests.recorded import lines
from tests.running import Running, gateway_process
from tests.ui.garden import write_skill
from tests.ui.page import in_a_browser, opened
from tests.ui.states import go, saying

pytestmark = in_a_browser

MARKUP = (
    "<script>hit()</script>",
    "<img src=x onerror=hit()>",
    "<svg onload=hit()><script href=https://evil.example/a.js /></svg>",
    "<a href=javascript:hit()>a</a>",
    "<iframe srcdoc='<script>parent.hit()</script>'></iframe>",
    "<details open ontoggle=hit()>",
    "<style>@import 'https://evil.example/a.css'</style>",
    "<base href=https://evil.example/>",
    '<math><mtext><mglyph><svg><mtext><textarea><path id="</textarea><img onerror=hit() src=1>">',
)
MARKDOWN = (
    "[a](javascript:hit()) [a](JaVa&#10;Script:hit()) [a](data:text/html,<script>hit()</script>)",
    "[a](vbscript:hit()) [a](blob:https://evil.example/1) [a](file:///etc/passwd)",
    "![a](https://evil.example/a.png) ![a](javascript:hit()) ![a](data:image/svg+xml,<svg onload=hit()>)",
    '<javascript:hit()> <https://evil.example/"onmouseover="hit()> javascript:hit()',
    "[ref]\n\n[ref]: javascript:hit()",
    "[^<img src=x onerror=hit()>]\n\n[^<img src=x onerror=hit()>]: <img src=x onerror=hit()>",
    r"$\href{javascript:hit()}{x}$ $\url{javascript:hit()}$ $\htmlData{onclick=hit()}{x}$",
    r"$\includegraphics{https://evil.example/a.png}$ $\htmlStyle{background:url(//evil.example)}{x}$",
    '```mermaid\ngraph TD; A["<img src=x onerror=hit()>"]; click A "javascript:hit()"\n```',
    "```html\n<img src=x onerror=hit()>\n```",
    "| <img src=x onerror=hit()> |\n|-|\n| [a](javascript:hit()) |",
)
ALL = "\n\n".join([*MARKUP, *MARKDOWN])
SHORT = "".join(MARKUP[:2])
TOOLS = f"""
from gateway.tools.base import ToolContext
from gateway.tools.function import Progress, tool


@tool(effect="read_only")
async def parrot(text: str, progress: Progress, context: ToolContext) -> str:
    \'\'\'Says {SHORT} again.\'\'\'
    progress(text, 0.5)
    with context.step(text):
        return text


@tool(effect="effectful")
async def water(plant: str) -> str:
    \'\'\'Waters.\'\'\'
    return plant
"""
HANDLERS = "[onerror], [onload], [ontoggle], [srcdoc], img[src^=http]"
RUNNING = f"script, base, style, link, object, embed, iframe, {HANDLERS}"
WATCH = """
    window.hits = []; window.hit = () => hits.push("script");
    addEventListener("securitypolicyviolation", ({ violatedDirective }) => hits.push(violatedDirective));
"""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """With tools and a skill of people who mean harm."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "hostile_tools.py").write_text(TOOLS)
    write_skill(folder, "hostile", SHORT, ALL)
    settings = {"GATEWAY_SKILL_MODULES": "hostile_tools", "GATEWAY_SKILLS_DIR": str(folder / "skills")}
    with gateway_process(folder, **settings) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def session(gateway: Running) -> str:
    """A chat in whose title, messages, calls, results, files, memories and ratings it is."""
    session = "hostile"
    svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="parent.hit()"><script>hit()</script></svg>'
    files = [("a.svg", svg), (f"{SHORT}.csv", f"name,{SHORT}\n=cmd|' /C calc'!A0,\"{SHORT}\"\n")]
    attached = [{"name": name, "text": text} for name, text in [*files, ("a.html", ALL), ("a.md", ALL)]]
    calls = f"/call parrot {json.dumps({'text': ALL})}\n/call read_skill {json.dumps({'name': 'hostile'})}"
    path = f"/api/sessions/{session}"
    with httpx2.Client(base_url=gateway.url, trust_env=False, timeout=TIMEOUT) as http:
        http.post("/api/sessions", json={"id": session, "title": f"hostile {SHORT}"}).raise_for_status()
        http.post("/api/memory", json={"content": f"Likes {ALL[:300]}"}).raise_for_status()
        for turn in (
            {"message": saying(ALL)},
            {"message": f"/think {SHORT}\n{calls}\n/then\n/say done"},
            {"message": "What is in these?", "attachments": attached},
        ):
            started = http.post(f"{path}/turns", json=turn, headers={"Accept": "text/event-stream"})
            assert "event: done" in started.text
        (rated, *_) = http.get("/api/turns").json()["turns"]
        said = {"rating": "down", "reason": SHORT}
        http.post(f"{path}/turns/{rated['turn_id']}/feedback", json=said).raise_for_status()
        waits = f"/call water {json.dumps({'plant': ALL})}"
        http.post(f"{path}/turns", json={"message": waits}).raise_for_status()
    return session


@pytest.fixture(scope="module")
def surprises() -> list[str]:
    """What asks, or opens a window, on the page."""
    return []


@pytest.fixture(scope="module")
def asked() -> list[str]:
    """What the page requests."""
    return []


@pytest.fixture(scope="module")
def tab(browser: Browser, gateway: Running, asked: list[str], surprises: list[str]) -> Generator[Page]:
    with opened(browser, "about:blank") as page:
        page.add_init_script(WATCH)
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: surprises.append(dialog.message))
        page.on("popup", lambda popup: surprises.append(popup.url))
        page.goto(gateway.url)
        yield page


@pytest.fixture
def page(page: Page, gateway: Running, asked: list[str], surprises: list[str]) -> Generator[Page]:
    """Fails where something ran or was opened, where the content policy had to refuse something, or where
    another host was asked."""
    asked.clear()
    surprises.clear()
    yield page
    assert page.evaluate("hits") == []
    assert surprises == []
    assert [url for url in asked if not url.startswith((f"{gateway.url}/", "blob:", "about:", "file:"))] == []


def is_harmless(page: Page) -> None:
    """None of it became an element that could do anything, though it is all there to be read."""
    links = page.locator("a").evaluate_all("links => links.map(({ protocol }) => protocol)")
    assert set(links) <= {"http:", "https:", "mailto:"}
    assert page.locator("body").locator(RUNNING).count() == 0
    assert page.evaluate("hits") == []


def test_it_would_run_where_it_is_taken_for_markup(browser: Browser, gateway: Running) -> None:
    """So that what the other tests look for is something that happens: the policy of the page refuses it."""
    with browser.new_context() as context:
        page = context.new_page()
        page.add_init_script(WATCH)
        page.goto(gateway.url)
        page.evaluate("text => { document.body.innerHTML = text; }", ALL)

        page.wait_for_function("hits.length > 2")
        assert page.locator("body").locator(RUNNING).count() > 2


def test_a_conversation_runs_nothing(page: Page, session: str) -> None:
    """Text, thinking, calls, results, names of files, ratings, and what a person is to approve."""
    go(page, f"s={session}")
    expect(page.locator(".approval pre")).to_contain_text("onerror=hit()")
    expect(page.locator(".reason")).to_contain_text("<script>hit()</script>")
    expect(page.locator("pre.result", has_text="mglyph")).to_have_count(2)
    for step in page.locator("details.step").all():
        step.evaluate("step => { step.open = true; }")
    page.locator(".prose").first.scroll_into_view_if_needed()
    expect(page.locator(".prose", has_text="mglyph").first).to_be_visible()
    expect(page.locator(".plain")).to_have_count(0)
    is_harmless(page)
    for link in page.locator("#messages .prose span.label").all():
        link.click()

    is_harmless(page)


def test_the_inspector_runs_nothing(page: Page, session: str) -> None:
    """Each turn's timeline, the prompt that was sent, the usage, and the raw log."""
    go(page, f"s={session}")
    expect(page.locator(".approval")).to_be_visible()
    page.get_by_role("button", name="Show inspector").click()
    turns = page.locator(".inspect-head select")
    expect(turns.locator("option")).to_have_count(4)
    for turn in range(turns.locator("option").count()):
        turns.select_option(index=turn)
        for tab in ("Timeline", "Prompt", "Usage", "Events"):
            page.get_by_role("tab", name=tab).click()
            expect(page.locator(".inspect-panel").locator("li, table, [role=option]").first).to_be_visible()
            folds = page.locator(".inspect-panel :is([aria-expanded], [role=option])")
            for at in range(min(folds.count(), 8)):
                folds.nth(at).click()
            for fold in page.locator(".inspect-panel details").all():
                fold.evaluate("fold => { fold.open = true; }")
            is_harmless(page)


def test_the_preview_of_a_prompt_runs_nothing(page: Page, session: str) -> None:
    """With what is remembered, what is asked, and what a component is to become."""
    go(page, "p=prompts")
    page.locator(".page-form select").select_option(session)
    page.locator(".page-form input[type=text]").fill(SHORT)
    page.locator("tbody button").first.click()
    page.locator("textarea.code").fill(ALL)
    page.locator(".page-form .primary[type=submit]").click()
    for fold in page.locator(".page details").all():
        fold.evaluate("fold => { fold.open = true; }")
    expect(page.locator(".page .card pre", has_text="mglyph").first).to_be_visible()

    is_harmless(page)


def test_a_chat_that_is_shared_runs_nothing(
    page: Page, gateway: Running, session: str, tmp_path: Path
) -> None:
    """The page of it, opened from where it was kept: in its text as in its title and its data."""
    shared = tmp_path / "shared.html"
    found = httpx2.get(f"{gateway.url}/api/sessions/{session}/export?format=html", trust_env=False)
    shared.write_text(found.text)
    page.goto(shared.as_uri())
    for fold in page.locator("details").all():
        fold.evaluate("fold => { fold.open = true; }")

    expect(page.locator(".prose", has_text="mglyph").first).to_be_visible()
    assert page.locator(f"#root :is({RUNNING})").count() == 0
    assert page.locator("body > *").evaluate_all("all => all.map(({ localName }) => localName)") == [
        *("div", "noscript", "script", "script", "script", "script", "script", "script"),
    ]
    links = page.locator("a").evaluate_all("links => links.map(({ protocol }) => protocol)")
    assert set(links) <= {"http:", "https:", "mailto:"}
    assert page.evaluate("hits") == []


@pytest.mark.parametrize("name", ["memory", "artifacts", "skills", "inbox"])
def test_a_page_runs_nothing(page: Page, session: str, name: str) -> None:
    """Previews of files included."""
    go(page, f"p={name}")
    expect(page.locator(".page .cards > li").first).to_be_visible()
    for fold in page.locator(".page details").all():
        fold.evaluate("fold => { fold.open = true; }")
    if name == "artifacts":
        shows = page.locator(".page .card").get_by_role("button", name="Show")
        for _ in range(shows.count()):
            shows.first.click()
        expect(page.locator(".page td", has_text="onerror=hit()").first).to_be_visible()

    is_harmless(page)


def test_a_file_that_is_played_runs_nothing(page: Page, tmp_path: Path, session: str) -> None:
    """Whatever the types, names and texts of its events; nor does the raw log of the inspector."""
    events = [json.loads(line) for line in lines("tools")]
    for event in events:
        if event["type"] in ("tool_call", "tool_result"):
            event["data"]["name"] = SHORT
        if event["type"] == "text":
            event["data"]["text"] = ALL
        if event["type"] == "tool_progress":
            event["type"] = SHORT
    exported = tmp_path / "hostile.jsonl"
    exported.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    page.get_by_role("button", name="Show inspector").click()
    page.get_by_role("tab", name="Replay").click()
    page.get_by_label("Open a file…").set_input_files(exported)
    expect(page.locator(".player")).to_be_visible()
    page.get_by_role("slider").press("End")
    expect(page.locator("#messages .outcome").first).to_be_visible()
    is_harmless(page)
    page.get_by_role("tab", name="Events").click()
    expect(page.locator(".events [role=option]").first).to_be_visible()

    is_harmless(page)
    page.get_by_role("tab", name="Replay").click()
    page.get_by_role("button", name="End the replay").click()


def test_the_list_of_chats_runs_nothing(page: Page, session: str) -> None:
    """Titles, what a search finds in a chat, and the palette."""
    expect(page.locator(f"[data-chat={session}]")).to_contain_text("<script>hit()</script>")
    page.get_by_role("searchbox").fill("mglyph")
    expect(page.locator(".chat-snippet mark").first).to_be_visible()
    is_harmless(page)
    page.get_by_role("searchbox").fill("")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("hostile")

    expect(page.locator("dialog [role=option]", has_text="onerror=hit()").first).to_be_visible()
    is_harmless(page)

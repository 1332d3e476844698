"""The pages of docs/frontend.md, as they stand there, in a browser and on an origin of their own."""

import functools
import re
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.clients.programs import NODE, needs_npm
from tests.loopback import TIMEOUT, free_port
from tests.running import gateway_process
from tests.ui.page import in_a_browser, opened

pytestmark = in_a_browser

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
HERE = "http://127.0.0.1:8000"
KEY = "a-made-up-secret-of-ada"


def blocks(language: str) -> list[str]:
    text = (ROOT / "docs" / "frontend.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


class Quiet(SimpleHTTPRequestHandler):
    """Says nothing of what it serves."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served_folder(folder: Path) -> Generator[str]:
    """The folder, as `python3 -m http.server` serves it."""
    handler = functools.partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", free_port()), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@contextmanager
def shown(browser: Browser, folder: Path, page: str, **settings: str) -> Generator[Page]:
    """The page, whose gateway allows its origin."""
    site = folder / "site"
    site.mkdir(exist_ok=True)
    with (
        served_folder(site) as url,
        gateway_process(folder, GATEWAY_CORS_ORIGINS=url, **settings) as gateway,
    ):
        (site / "index.html").write_text(
            page.replace(HERE, gateway.url).replace("SECRET", KEY), encoding="utf-8"
        )
        with opened(browser, f"{url}/index.html") as found:
            yield found


def say(page: Page, message: str) -> None:
    page.locator("input").fill(message)
    page.locator("input").press("Enter")


def goes_through_a_conversation(page: Page) -> None:
    """Answers, a call, a decision, a reload that changes nothing, and Stop."""
    say(page, "What is 17*23?")
    expect(page.locator("section").first).to_contain_text("completed")
    expect(page.locator("section").first).to_contain_text("391")
    say(page, "Note that the door code is 4711.")
    page.get_by_role("button", name="approve").click()
    second = page.locator("section").nth(1)
    expect(second).to_contain_text("approved by")
    expect(second).to_contain_text("completed")
    before = page.locator("main").inner_text()
    page.reload()
    expect(page.locator("section").nth(1)).to_contain_text("completed")
    assert page.locator("main").inner_text() == before
    stops(page)


def stops(page: Page) -> None:
    say(page, "/pieces 5000 /pace 20")
    last = page.locator("section").last
    expect(last).to_contain_text("/pieces 5000")
    page.locator("#stop").click()
    expect(last).to_contain_text("cancelled")


def test_the_page_with_eventsource(browser: Browser, tmp_path: Path) -> None:
    """One file, on another origin, without a key."""
    (page,) = blocks("html")
    with shown(browser, tmp_path, page) as found:
        goes_through_a_conversation(found)


def test_the_page_with_fetch_and_a_key(browser: Browser, tmp_path: Path) -> None:
    """The same with what is to be put in place of EventSource."""
    (page,), (follow, _) = blocks("html"), blocks("js")
    kept, _, rest = page.partition("const source")
    page = f"{kept}{follow}</script>{rest.partition('</script>')[2]}"
    page = page.replace("const headers = {", 'const headers = { authorization: "Bearer SECRET",', 1)
    with shown(browser, tmp_path, page, GATEWAY_API_KEYS=f"ada:{KEY}") as found:
        goes_through_a_conversation(found)


@needs_npm
def test_the_page_with_the_client(browser: Browser, tmp_path: Path) -> None:
    """The client as the page says that it is built; it asks for the key."""
    (tmp_path / "site").mkdir()
    compiler = WEB / "node_modules" / "typescript" / "bin" / "tsc"
    out = tmp_path / "site" / "client"
    command = [NODE, compiler, "-p", WEB / "client" / "tsconfig.build.json", "--outDir", out]
    subprocess.run(command, check=True, timeout=TIMEOUT)
    (html,), (_, program) = blocks("html"), blocks("js")
    page = f'{html.partition("<script")[0]}<script type="module">{program}</script>'
    page = page.replace('prompt("Key?") ?? undefined', f'"{KEY}"')
    with shown(browser, tmp_path, page, GATEWAY_API_KEYS=f"ada:{KEY}") as found:
        say(found, "What is 17*23?")
        expect(found.locator("section").first).to_contain_text("391")
        expect(found.locator("section").first).to_contain_text("completed")
        expect(found).to_have_title("live")
        stops(found)


@needs_npm
def test_the_page_in_react(browser: Browser, tmp_path: Path) -> None:
    """The client as npm would install it, bundled with React by Vite as the page stands there."""
    modules = tmp_path / "app" / "node_modules"
    (modules / "@chat-gateway").mkdir(parents=True)
    for name in ("react", "react-dom", "scheduler", "vite"):
        (modules / name).symlink_to(WEB / "node_modules" / name)
    packed = packed_client(tmp_path)
    with tarfile.open(packed) as archive:
        archive.extractall(modules / "@chat-gateway", filter="data")
    (modules / "@chat-gateway" / "package").rename(modules / "@chat-gateway" / "client")
    (program,), page = blocks("jsx"), '<!doctype html><body><script type="module" src="main.jsx"></script>'
    (tmp_path / "app" / "index.html").write_text(page, encoding="utf-8")
    (built := tmp_path / "app" / "dist").mkdir()
    with (
        served_folder(built) as url,
        gateway_process(tmp_path, GATEWAY_CORS_ORIGINS=url) as gateway,
    ):
        (tmp_path / "app" / "main.jsx").write_text(program.replace(HERE, gateway.url), encoding="utf-8")
        build = [NODE, WEB / "node_modules" / "vite" / "bin" / "vite.js", "build", "--target", "es2022"]
        subprocess.run(build, cwd=tmp_path / "app", check=True, capture_output=True, timeout=2 * TIMEOUT)
        with opened(browser, f"{url}/index.html") as found:
            goes_through_a_conversation(found)


def packed_client(folder: Path) -> Path:
    """What `npm pack` makes of web/client, its sources copied so that nothing is built among them."""
    copied = folder / "client"
    shutil.copytree(WEB / "client", copied, ignore=shutil.ignore_patterns("dist", "tests", "node_modules"))
    (copied / "node_modules").symlink_to(WEB / "node_modules")
    compiler = WEB / "node_modules" / "typescript" / "bin" / "tsc"
    subprocess.run([NODE, compiler, "-p", copied / "tsconfig.build.json"], check=True, timeout=TIMEOUT)
    npm = NODE.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [NODE, npm, "pack", "--offline", "--pack-destination", folder]
    subprocess.run(command, cwd=copied, check=True, capture_output=True, timeout=TIMEOUT)
    return next(folder.glob("*.tgz"))

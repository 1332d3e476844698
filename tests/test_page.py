"""The page as an operator names it: its document, its logo, what makes it an app."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway.app import build_app
from gateway.page import BUILT, MAX_LOGO_SIZE
from tests.harness import Client, running_gateway, settings_for
from tests.product import SettingsError, load_settings

pytestmark = pytest.mark.anyio
needs_page = pytest.mark.skipif(not (BUILT / "index.html").exists(), reason="the page is not built")

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><script>alert(1)</script></svg>'
PNG = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x20\x00\x00\x00\x10\x08\x06\x00\x00\x00"
    b"\x00\x00\x00\x00\x00\x00\x00\x00IEND\xaeB`\x82"
)
HOSTILE = '"></title><script>alert("x")</script>'


async def told(client: Client) -> dict[str, Any]:
    """What the page is told of itself."""
    page = (await client.get("/")).text
    found = re.search(r'<meta name="page-settings" content="(.*?)">', page)
    assert found is not None
    return orjson.loads(unescape(found[1]))


@needs_page
async def test_a_page_without_settings_has_the_product_s_name_and_its_own_words(
    shared_client: Client,
) -> None:
    """A server is for people: developer tools are shown to who asks for them."""
    assert await told(shared_client) == {
        "name": "Chat Gateway",
        "logo": False,
        "greeting": None,
        "suggestions": None,
        "developer": False,
    }
    assert (await shared_client.get("/logo")).status_code == 404


@needs_page
async def test_what_the_operator_writes_stands_in_the_page_as_text(tmp_path: Path, demo_url: str) -> None:
    """Also where it looks like the end of a script."""
    (tmp_path / "logo.svg").write_bytes(SVG)
    given = settings_for(
        tmp_path,
        demo_url,
        page_name=HOSTILE,
        page_greeting={"en": HOSTILE, "zh-Hans": "你好"},
        page_suggestions=(HOSTILE, "Plan dinners"),
        page_developer="on",
        page_logo=tmp_path / "logo.svg",
    )
    async with running_gateway(given) as client:
        page = (await client.get("/")).text
        assert page.count("</script>") == page.count("<script")
        assert HOSTILE not in page
        title = re.search(r"<title>(.*?)</title>", page)
        assert title is not None
        assert unescape(title[1]) == HOSTILE
        assert '<link rel="icon" href="./logo">' in page
        assert await told(client) == {
            "name": HOSTILE,
            "logo": True,
            "greeting": {"en": HOSTILE, "zh-Hans": "你好"},
            "suggestions": [HOSTILE, "Plan dinners"],
            "developer": True,
        }


@pytest.mark.parametrize(
    ("content", "mime", "icons"),
    [(SVG, "image/svg+xml", ["any"]), (PNG, "image/png", ["32x16", "192x192", "512x512", "512x512"])],
    ids=["svg", "small png"],
)
async def test_a_logo_runs_nothing_and_is_the_app_s_icon(
    tmp_path: Path, demo_url: str, content: bytes, mime: str, icons: list[str]
) -> None:
    """Its type is what its bytes say, whatever the file is called; a small one has others beside it."""
    (tmp_path / "logo.txt").write_bytes(content)
    given = settings_for(tmp_path, demo_url, page_name="Garden", page_logo=tmp_path / "logo.txt")
    async with running_gateway(given) as client:
        logo = await client.get("/logo")
        assert (logo.content, logo.headers["content-type"]) == (content, mime)
        assert logo.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        again = await client.get("/logo", **{"if-none-match": logo.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        manifest = (await client.get("/manifest.webmanifest")).json()
        assert (manifest["name"], manifest["display"], manifest["start_url"]) == (
            "Garden",
            "standalone",
            "./",
        )
        assert [icon["sizes"] for icon in manifest["icons"]] == icons
        assert manifest["icons"][0] == {"src": "./logo", "sizes": icons[0], "type": mime}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read"),
        (b"<html><svg></svg></html>", "no PNG, JPEG, WebP or SVG"),
        (b"GIF89a\x01\x00\x01\x00", "no PNG, JPEG, WebP or SVG"),
        (b"\x89PNG\r\n\x1a\n", "no PNG, JPEG, WebP or SVG"),
        (SVG + b" " * MAX_LOGO_SIZE, "larger than 524,288 bytes"),
    ],
    ids=["absent", "html", "gif", "cut png", "large"],
)
def test_a_logo_that_is_none_stops_the_start(tmp_path: Path, content: bytes | None, why: str) -> None:
    """With the setting's name and the reason."""
    path = tmp_path / "logo.svg"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match=f"GATEWAY_PAGE_LOGO is .*{why}"):
        build_app(settings_for(tmp_path, "http://127.0.0.1:9", page_logo=path))


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("NAME", " ", "GATEWAY_PAGE_NAME: must have at least 1 character"),
        ("NAME", "x" * 61, "GATEWAY_PAGE_NAME: must have at most 60 characters"),
        ("GREETING", '{"fr": "Salut"}', "'en', 'zh-Hans' or 'zh-Hant'"),
        ("GREETING", "{Hello", "begins with { and is not valid JSON"),
        ("GREETING", "two\nlines", "must be one line"),
        ("SUGGESTIONS", '["a", "b\\u0000"]', "must be one line"),
        ("SUGGESTIONS", "{}", "must have at least one of en, zh-Hans, zh-Hant"),
        ("SUGGESTIONS", str(["a"] * 9).replace("'", '"'), "at most 8"),
        ("SUGGESTIONS", "Plan dinners", "must be a list"),
        ("DEVELOPER", "yes", "GATEWAY_PAGE_DEVELOPER"),
    ],
)
def test_words_of_the_page_that_are_wrong_are_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, why: str
) -> None:
    """At the start, not on somebody's screen."""
    monkeypatch.setenv(f"GATEWAY_PAGE_{name}", value)
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert why in str(refused.value)


@pytest.mark.parametrize("greeting", ["2026", "Hello {you}", "[Hi]"])
def test_a_greeting_of_the_environment_is_taken_as_it_stands(
    monkeypatch: pytest.MonkeyPatch, greeting: str
) -> None:
    """Only what begins with { is JSON."""
    monkeypatch.setenv("GATEWAY_PAGE_GREETING", greeting)
    assert load_settings().page_greeting == greeting

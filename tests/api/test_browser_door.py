"""What a browser may do: pages of other sites reach nothing, and whatever is answered keeps it strict."""

from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest

from tests.harness import Client, running_gateway
from tests.product import Settings

pytestmark = pytest.mark.anyio

STRICT = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
ALLOWED: dict[str, Any] = {"cors_origins": ("https://chat.example",)}


@pytest.fixture
async def listed(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    async with running_gateway(settings.model_copy(update=ALLOWED)) as client:
        yield client


async def answers(client: Client) -> list[httpx2.Response]:
    """One of each kind that no handler or another one makes."""
    made = await client.post("/api/artifacts", {"text": "<script>1</script>", "name": "x.html"})
    asked = [
        ("GET", "/"),
        ("DELETE", "/"),
        ("GET", "/nothing"),
        ("GET", "/assets/none.js"),
        ("PUT", "/assets/none.js"),
        ("GET", "/openapi.json"),
        ("GET", "/healthz"),
        ("GET", "/metrics"),
        ("GET", "/auth/callback"),
        ("PUT", "/api/sessions"),
        ("OPTIONS", "/api/sessions"),
        ("GET", "/api/sessions/unknown"),
        ("GET", f"/api/artifacts/{made.json()['ref']}"),
        ("GET", "/v1/models/unknown"),
        ("GET", "/a2a"),
    ]
    found = [await client.http.request(method, path) for method, path in asked]
    return [*found, await client.get("/api/sessions", host="evil.example")]


async def test_every_answer_keeps_browsers_strict(client: Client) -> None:
    """Of the API, the page, its files and other dialects, also what is refused."""
    for response in await answers(client):
        where = (response.request.method, str(response.request.url), response.status_code)
        assert {name: response.headers.get(name) for name in STRICT} == STRICT, where
        assert "default-src 'none'" in response.headers["content-security-policy"], where
        assert response.headers["x-request-id"], where


@pytest.mark.parametrize("path", ["/", "/api/sessions", "/healthz", "/openapi.json", "/assets/a.js"])
@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example"},
        {"host": "evil@127.0.0.1"},
        {"host": ""},
        {"origin": "null"},
        {"origin": "https://evil.example"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
    ],
    ids=str,
)
async def test_nothing_is_there_for_pages_of_other_sites(
    shared_client: Client, path: str, headers: dict[str, str]
) -> None:
    """Neither by a name that was pointed at this machine, nor as an image or a script."""
    assert (await shared_client.get(path, **headers)).status_code == 403


async def test_a_link_on_another_site_leads_here(shared_client: Client) -> None:
    followed = await shared_client.get(
        "/healthz", **{"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    )

    assert followed.status_code == 200


async def test_only_listed_origins_read_answers(listed: Client) -> None:
    """By their exact names, and without credentials."""
    preflight = {"access-control-request-method": "POST", "access-control-request-headers": "x-api-key"}
    for origin, status in (
        ("https://chat.example", 200),
        ("https://chat.example.evil.example", 400),
        ("http://chat.example", 400),
        ("null", 400),
    ):
        asked = await listed.http.request("OPTIONS", "/api/chat", headers={"origin": origin} | preflight)
        got = await listed.get("/api/sessions", origin=origin)
        told = "access-control-allow-origin"
        assert (asked.status_code, got.status_code) == (status, 200 if status == 200 else 403), origin
        assert (asked.headers.get(told), got.headers.get(told)) == (
            (origin, origin) if status == 200 else (None, None)
        )
        assert "access-control-allow-credentials" not in asked.headers


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
async def test_what_a_form_can_send_changes_nothing(shared_client: Client, kind: str) -> None:
    """A browser asks nobody before it sends these."""
    sent = await shared_client.http.post("/api/sessions", content="{}", headers={"content-type": kind})

    assert sent.status_code == 400
    assert (await shared_client.get("/api/sessions")).json() == {"sessions": []}


@pytest.mark.parametrize(
    ("mime", "content"),
    [
        ("text/html", "<script>alert(1)</script>"),
        ("image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'),
        ("text/javascript", "alert(1)"),
        ("application/xhtml+xml", '<html xmlns="http://www.w3.org/1999/xhtml"><script>1</script></html>'),
    ],
)
async def test_what_was_uploaded_cannot_run_as_a_page(shared_client: Client, mime: str, content: str) -> None:
    """It is a file to keep, of no kind that a browser runs, in a sandbox of its own."""
    made = await shared_client.post("/api/artifacts", {"text": content, "name": "x", "mime": mime})
    got = await shared_client.get(f"/api/artifacts/{made.json()['ref']}")

    assert got.text == content
    assert got.headers["content-type"].startswith(("text/plain", "application/octet-stream"))
    assert got.headers["content-disposition"].startswith("attachment")
    assert got.headers["content-security-policy"].startswith("sandbox")


async def test_a_chat_that_is_exported_is_a_file_to_keep(client: Client) -> None:
    session = await client.session()

    for form in ("html", "markdown", "jsonl"):
        got = await client.get(f"/api/sessions/{session}/export?format={form}")
        assert got.headers["content-disposition"].startswith("attachment"), got.text

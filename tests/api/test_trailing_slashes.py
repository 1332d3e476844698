"""A path that ends in a slash is the one without it: for routes, rights and refusals, at every door."""

from typing import Any

import pytest
from pydantic import SecretStr

from tests.adapters.plain_clients import ASKING, NATIVE
from tests.api.route_samples import ROUTES, cases, nobodys
from tests.api.test_request_framing import answers
from tests.harness import Client, running_gateway
from tests.product import Settings

pytestmark = pytest.mark.anyio

SECRET = "ada-secret-0123456789"
KEYS = SecretStr(f"ada:{SECRET}")
VARYING = {"date", "ratelimit", "request-id", "server-timing", "x-request-id", "content-length"}


@pytest.mark.parametrize("who", ["nobody", "a member"])
async def test_every_route_answers_the_same_with_a_slash(settings: Settings, who: str) -> None:
    """Status, refusal and header fields; nobody gets further by it, and nobody is sent elsewhere."""
    keys = {"x-api-key": SECRET} if who == "a member" else {}
    async with running_gateway(settings.model_copy(update={"api_keys": KEYS})) as client:
        for route in ROUTES:
            asked = next(cases(route)).request(nobodys())
            if who == "a member" and (route.method != "GET" or "{" not in route.path):
                continue  # else the first would have done what the second asks for
            headers = {**asked.pop("headers", {}), **keys}
            url = asked.pop("url")
            plain = await client.http.request(**asked, url=url, headers=headers)
            slash = await client.http.request(**asked, url=f"{url}/", headers=headers)
            about = f"{route.method} {route.path}"

            assert slash.status_code == plain.status_code, about
            assert not slash.is_redirect
            assert slash.headers.keys() - VARYING == plain.headers.keys() - VARYING, about
            if not route.does.is_open and who != "a member":
                assert slash.status_code == 401, about


@pytest.mark.parametrize("door", ASKING)
async def test_every_dialect_is_found_with_a_slash(client: Client, door: str) -> None:
    """A turn is asked for behind a proxy that ends TLS, below a prefix; the log says by which dialect."""
    await client.post("/api/sessions", {"id": "s"})
    path, body, headers = ASKING[door]("s", "/say hi", "m")
    proxied = {"x-forwarded-proto": "https", "x-forwarded-prefix": "/gw", **headers}

    answer = await client.http.post(f"{path}/", json=body, headers={**proxied, "accept": "text/event-stream"})

    assert answer.status_code == 200, answer.text
    started = (await client.events("s"))[0]["data"]
    assert started.get("dialect", NATIVE) == door


async def test_mcp_is_found_with_a_slash(client: Client) -> None:
    """As its clients are often told to ask for it."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}

    answer = await client.http.post("/mcp/", json=call, headers=headers)

    assert answer.status_code == 200
    assert "manage_memory" in answer.text


async def test_a_method_that_a_route_has_not_is_the_same_refusal(client: Client) -> None:
    """With the methods that it has."""
    plain, slash = [await client.http.patch(f"/v1/messages{end}") for end in ("", "/")]

    assert (slash.status_code, slash.headers["allow"]) == (405, plain.headers["allow"])
    assert slash.json()["type"] == plain.json()["type"] == "error"


@pytest.mark.parametrize(
    "path",
    [
        "//",
        "//evil.example/",
        "///evil.example/%2e%2e/",
        "/api/sessions//",
        "/api//sessions/",
        "/\\evil.example/",
        "/%2f%2fevil.example/",
        "/assets",
        "/assets/",
        "/assets//",
        "/nowhere/",
        "/api/sessions%2f",
        "/v1/messages/%2f",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
async def test_no_path_leads_elsewhere(settings: Settings, path: str, method: str) -> None:
    """Several slashes, encoded ones, and hosts in a path are no routes: never a redirect, and no way past
    who is asked who they are."""
    async with running_gateway(settings.model_copy(update={"api_keys": KEYS})) as client:
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        )
        answer = (await answers(client.url, head.encode())).lower()

    assert b"\r\nlocation:" not in answer
    assert answer.split(b" ")[1] in (b"400", b"401", b"404", b"405"), answer


async def test_probes_and_the_page_are_where_they_were(client: Client) -> None:
    """The probes answer with a slash too; the page is at the slash, its files below it."""
    for path in ("/healthz/", "/readyz/", "/openapi.json/"):
        assert (await client.get(path)).status_code == 200
    answers: list[Any] = [await client.get(path) for path in ("/", "/nowhere")]
    assert answers[0].status_code in (200, 404)  # 404: it is not built
    assert "page" in answers[0].text.lower() or answers[0].status_code == 200
    assert answers[1].status_code == 404

"""The gateway's sign-in to MCP servers, over its API: who may, who may come back, and what is stored."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gateway.tools.mcp import reconnecting_server
from tests.harness import Client, running_gateway, settings_for
from tests.loopback import TIMEOUT
from tests.mcp_servers.authorization_server import AuthorizationServer, gone_through, guarded
from tests.product import new_key

pytestmark = pytest.mark.anyio

ADA, BOB, EVE = ({"authorization": f"Bearer {name}-0123456789abcdef"} for name in ("ada", "bob", "eve"))
KEYS = ",".join(f"{name}:{name}-0123456789abcdef" for name in ("ada", "bob", "eve"))
SERVERS, SIGN_IN, SIGN_INS = "/api/mcp/servers", "/api/mcp/servers/it/sign-in", "/api/mcp/sign-ins"
LOOPBACK = {"redirect_uri": "http://127.0.0.1:1/callback"}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here has to wait as long as a person would let it."""
    monkeypatch.setattr(reconnecting_server, "PAUSES", (0.05,))


@asynccontextmanager
async def gateway(
    folder: Path, **given: Any
) -> AsyncGenerator[tuple[httpx2.AsyncClient, AuthorizationServer]]:
    async with guarded() as it:
        settings: dict[str, Any] = {
            "api_keys": KEYS,
            "admins": ["ada", "eve"],
            "encryption_keys": new_key(),
            "mcp_servers": {"it": {"url": f"{it.url}/mcp"}},
        }
        async with running_gateway(
            settings_for(folder, "http://127.0.0.1:9", **(settings | given))
        ) as client:
            yield http(client), it


def http(client: Client) -> httpx2.AsyncClient:
    return client.http


async def status(client: httpx2.AsyncClient) -> dict[str, Any]:
    (row,) = (await client.get(SERVERS, headers=ADA)).json()["servers"]
    return row


async def until(client: httpx2.AsyncClient, wanted: str) -> dict[str, Any]:
    async with asyncio.timeout(TIMEOUT):
        while (row := await status(client))["status"] != wanted:
            await asyncio.sleep(0.02)
    return row


def stored(folder: Path) -> list[str]:
    with closing(sqlite3.connect(f"file:{folder / 'gateway.db'}?mode=ro", uri=True)) as database:
        return [secret for (secret,) in database.execute("SELECT secret FROM mcp_sign_ins")]


async def test_the_browser_that_began_comes_back_and_the_gateway_is_signed_in(tmp_path: Path) -> None:
    """Once; what is stored is encrypted, and no answer has a token."""
    async with gateway(tmp_path) as (client, it):
        assert (await status(client))["status"] == "needs_sign_in"
        begun = await client.post(SIGN_IN, headers=ADA, json={})
        assert begun.status_code == 200, begun.text
        cookie = begun.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        came = await gone_through(begun.json()["url"])
        callback = it.registered[0]["redirect_uris"][0]
        assert callback.endswith("/auth/mcp/callback")
        client.cookies.clear()
        nobody = await client.get("/auth/mcp/callback", params=came)
        assert (nobody.status_code, "not begun here" in nobody.text) == (409, True)

        begun = await client.post(SIGN_IN, headers=ADA, json={})
        came = await gone_through(begun.json()["url"])
        back = await client.get("/auth/mcp/callback", params=came)
        assert (back.status_code, back.headers["location"]) == (303, "/#p=skills")
        row = await until(client, "connected")
        assert row["is_signed_in"]
        assert row["tools"] == 1
        again = await client.get("/auth/mcp/callback", params=came)
        assert again.status_code == 409
        answers = begun.text + back.text + str(row)
        secrets = stored(tmp_path)

        out = await client.delete(SIGN_IN, headers=ADA)
        assert out.status_code == 204
        assert not (await until(client, "needs_sign_in"))["is_signed_in"]
        assert stored(tmp_path) == []
    assert len(secrets) == 1
    assert secrets[0].startswith("enc1.")
    assert not [word for word in ("access-", "refresh-") if word in answers + str(secrets)]


async def test_a_program_on_loopback_brings_the_code_of_its_own_user(tmp_path: Path) -> None:
    """Nobody else's, be it an operator too."""
    async with gateway(tmp_path) as (client, _):
        for who, wanted in ((EVE, 409), (ADA, 200)):
            begun = await client.post(SIGN_IN, headers=ADA, json=LOOPBACK)
            came = await gone_through(begun.json()["url"])
            done = await client.post(SIGN_INS, headers=who, json=came)
            assert done.status_code == wanted, done.text
        assert done.json() == {"name": "it"}
        await until(client, "connected")


@pytest.mark.parametrize("is_revoked", [False, True])
async def test_who_may_not_any_more_does_not_come_back(tmp_path: Path, is_revoked: bool) -> None:
    """A key that was revoked while its operator was at the authorization server signs in no more."""
    async with gateway(tmp_path) as (client, _):
        made = await client.post("/api/keys", headers=ADA, json={"name": "k", "role": "admin"})
        assert made.status_code == 201, made.text
        key = {"authorization": f"Bearer {made.json()['key']}"}
        begun = await client.post(SIGN_IN, headers=key, json={})
        came = await gone_through(begun.json()["url"])
        if is_revoked:
            assert (await client.delete(f"/api/keys/{made.json()['id']}", headers=ADA)).status_code == 204
        back = await client.get("/auth/mcp/callback", params=came)
        if is_revoked:
            assert (back.status_code, "has ended" in back.text) == (409, True)
        else:
            assert back.status_code == 303, back.text
        assert len(stored(tmp_path)) == (0 if is_revoked else 1)


@pytest.mark.parametrize(
    "redirect_uri",
    ["https://evil.example", "http://evil.test", "http://127.0.0.1.evil.example", "http://a@127.0.0.1/", "x",
     "http://127.0.0.1:99999/", "http://127.0.0.1:1/a b", "http://127.0.0.1:1/a\n"],
)  # fmt: skip
async def test_nobody_is_sent_back_elsewhere(tmp_path: Path, redirect_uri: str) -> None:
    async with gateway(tmp_path) as (client, it):
        refused = await client.post(SIGN_IN, headers=ADA, json={"redirect_uri": redirect_uri})
        assert (refused.status_code, it.registered) == (400, [])


async def test_only_the_operator_signs_in(tmp_path: Path) -> None:
    async with gateway(tmp_path) as (client, _):
        for answer in (
            await client.get(SERVERS, headers=BOB),
            await client.post(SIGN_IN, headers=BOB, json={}),
            await client.post(SIGN_INS, headers=BOB, json={"state": "a"}),
            await client.delete(SIGN_IN, headers=BOB),
        ):
            assert answer.status_code == 403
        missing = await client.post("/api/mcp/servers/other/sign-in", headers=ADA, json={})
        assert missing.status_code == 404


async def test_without_a_key_to_encrypt_with_nothing_is_begun(tmp_path: Path) -> None:
    """As for keys of users: the answer says what the operator does."""
    async with gateway(tmp_path, encryption_keys="") as (client, it):
        refused = await client.post(SIGN_IN, headers=ADA, json={})
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "encryption_off")
        assert it.registered == []
        assert (await status(client))["status"] == "needs_sign_in"


async def test_an_authorization_server_that_hangs_does_not_hold_up_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gateway serves, and says that a sign-in is needed."""
    from gateway.tools.mcp import oauth_requests

    monkeypatch.setattr(oauth_requests, "TIMEOUT", 0.5)
    async with gateway(tmp_path) as (client, it):
        it.fault = "hang"
        refused = await client.post(SIGN_IN, headers=ADA, json={})
        assert refused.status_code == 409
        assert "cannot be asked" in refused.json()["error"]["message"]
        assert (await client.get("/healthz")).status_code == 200

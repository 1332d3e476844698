"""A key that a browser keeps in a cookie, so that its user gives it once."""

from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from tests.harness import Client, running_gateway
from tests.product import Settings

pytestmark = pytest.mark.anyio

ADA, BOB, APP = (f"{name}-secret-0123456789" for name in ("ada", "bob", "app"))
OWN: dict[str, Any] = {
    "api_keys": SecretStr(f"ada:{ADA},bob:{BOB},app:{APP}"),
    "admins": ("ada",),
    "delegate_keys": ("app",),
}
PAGE = {"sec-fetch-site": "same-origin"}


@pytest.fixture
async def guarded(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    async with running_gateway(settings.model_copy(update=OWN)) as client:
        yield client


async def keep(client: Client, key: str) -> httpx2.Response:
    client.http.cookies.clear()
    return await client.post("/auth/keep-key", authorization=f"Bearer {key}")


async def asked(client: Client, **headers: str) -> tuple[int, str]:
    """Who asks with nothing but the cookie, or the code of the refusal."""
    response = await client.get("/api/me", **headers)
    body = response.json()
    return response.status_code, body["user_id"] if response.status_code == 200 else body["error"]["code"]


async def test_a_key_is_given_once_and_its_user_is_known_until_they_sign_out(
    guarded: Client, settings: Settings
) -> None:
    """The cookie is for this server and no script; nothing that is stored has the key, or the cookie."""
    refused = await guarded.get("/api/me")
    assert refused.json()["error"]["details"] == {"keeps_keys": True}

    kept = await keep(guarded, ADA)

    assert kept.status_code == 204
    (cookie,) = kept.headers.get_list("set-cookie")
    assert {"HttpOnly", "SameSite=lax", "Path=/", "Max-Age=2592000"} <= set(cookie.split("; "))
    assert ADA not in cookie
    value = cookie.partition("=")[2].partition(";")[0]
    me = (await guarded.get("/api/me")).json()
    assert (me["user_id"], me["signed_in"], me["is_admin"]) == ("ada", True, True)
    stored = [path.read_bytes() for path in settings.data_dir.rglob("*") if path.is_file()]
    for secret in (ADA, value.partition(".")[0], value.rpartition(".")[2]):
        assert all(secret.encode() not in content for content in stored)
    entries = (await guarded.get("/api/audit?action=sign_in.keep")).json()["entries"]
    assert [(each["actor"], each["result"]) for each in entries] == [("ada", "done")]

    out = await guarded.post("/auth/sign-out", **PAGE)

    assert out.json() == {"url": "/"}
    assert await asked(guarded, cookie=f"gateway_sign_in={value}") == (401, "unauthorized")


async def test_only_the_page_itself_changes_something_by_that_cookie(guarded: Client) -> None:
    """A page of another site cannot, nor have a browser keep a key that it was not given."""
    await keep(guarded, ADA)
    across = await guarded.post("/api/sessions", {}, **{"sec-fetch-site": "cross-site"})
    assert (across.status_code, across.json()["error"]["code"]) == (403, "cross_site")
    assert (await guarded.post("/api/sessions", {}, **PAGE)).status_code == 201
    again = await guarded.post("/auth/keep-key", **PAGE)
    assert (again.status_code, again.json()["error"]["code"]) == (400, "invalid_request")


async def test_a_made_key_ends_with_its_cookie_and_its_scopes_hold(guarded: Client) -> None:
    """Being an admin with another key widens neither; revoked, it is gone at once."""
    body = {"name": "tablet", "user": "ada", "scopes": ["read"]}
    made = (await guarded.post("/api/keys", body, authorization=f"Bearer {ADA}")).json()
    assert (await keep(guarded, made["key"])).status_code == 204
    me = (await guarded.get("/api/me")).json()
    assert (me["user_id"], me["scopes"], me["is_admin"]) == ("ada", ["read"], False)
    assert (await guarded.post("/api/sessions", {}, **PAGE)).status_code == 403

    revoked = await guarded.http.delete(f"/api/keys/{made['id']}", headers={"authorization": f"Bearer {ADA}"})

    assert revoked.status_code == 204
    assert await asked(guarded) == (401, "unauthorized")


@pytest.mark.parametrize("keys", [f"bob:{BOB}", f"ada:another-{ADA},bob:{BOB}"])
async def test_a_key_that_the_settings_lost_or_changed_is_kept_no_longer(
    settings: Settings, keys: str
) -> None:
    """After a restart its cookie is worth nothing, and neither is one with another user's name."""
    async with running_gateway(settings.model_copy(update=OWN)) as client:
        await keep(client, ADA)
        value = client.http.cookies["gateway_sign_in"]
        random, _, proof = value.split(".")
        assert await asked(client, cookie=f"gateway_sign_in={random}.bob.{proof}") == (
            401,
            "unauthorized",
        )
    changed = {**OWN, "api_keys": SecretStr(f"{keys},app:{APP}")}
    async with running_gateway(settings.model_copy(update=changed)) as client:
        assert await asked(client, cookie=f"gateway_sign_in={value}") == (401, "unauthorized")


async def test_a_key_that_acts_for_others_is_not_kept(guarded: Client) -> None:
    """A browser is one person's."""
    refused = await guarded.post("/auth/keep-key", authorization=f"Bearer {APP}", **{"x-user-id": "carla"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "key_not_kept")
    assert (await keep(guarded, "wrong-secret-0123456789")).status_code == 401


async def test_an_operator_lets_no_browser_keep_keys(settings: Settings) -> None:
    async with running_gateway(settings.model_copy(update={**OWN, "keep_keys_for": 0})) as client:
        assert "details" not in (await client.get("/api/me")).json()["error"]
        refused = await keep(client, ADA)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "key_not_kept")


async def test_over_tls_it_is_a_cookie_of_this_very_host(settings: Settings) -> None:
    """Which a sibling host can neither read nor put there."""
    given = {**OWN, "page_url": "https://chat.example.org"}
    async with running_gateway(settings.model_copy(update=given)) as client:
        kept = await keep(client, ADA)
        (cookie,) = kept.headers.get_list("set-cookie")
        assert cookie.startswith("__Host-gateway_sign_in=")
        assert "Secure" in cookie.split("; ")
        assert "Domain" not in cookie

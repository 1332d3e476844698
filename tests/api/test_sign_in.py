"""Sign-in on the page, at a real OpenID provider, as a browser does it."""

import base64
import hashlib
from collections.abc import AsyncGenerator, Generator
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx2
import pytest
from pydantic import SecretStr

from tests.harness import Client, running_gateway
from tests.identity_provider import issuing, provider_process
from tests.product import Settings

pytestmark = pytest.mark.anyio

OWN = {"sec-fetch-site": "same-origin"}


@pytest.fixture(scope="module")
def provider() -> Generator[str]:
    with provider_process(ada={"groups": ["staff"]}, guest={"groups": ["guests"]}) as url:
        yield url


def given(provider: str, **more: Any) -> dict[str, Any]:
    return {
        "oidc_issuer": provider,
        "oidc_client_id": "page",
        "oidc_client_secret": SecretStr("known to both: %&"),
        "oidc_roles": ("staff=member",),
        "admins": ("ada",),
    } | more


@pytest.fixture
async def guarded(settings: Settings, provider: str, anyio_backend: str) -> AsyncGenerator[Client]:
    async with running_gateway(settings.model_copy(update=given(provider))) as client:
        yield client


async def returned(client: Client, user: str, to: str = "/") -> str:
    """The path, with its query, with which that user comes back from the provider."""
    begun = await client.get("/auth/sign-in?to=" + to)
    assert begun.status_code == 303, begun.text
    async with httpx2.AsyncClient(trust_env=False) as there:
        answer = await there.post(begun.headers["location"], data={"sub": user})
    back = urlsplit(answer.headers["location"])
    assert f"{back.scheme}://{back.netloc}" == client.url
    return f"{back.path}?{back.query}"


async def sign_in(client: Client, user: str, to: str = "/") -> httpx2.Response:
    return await client.get(await returned(client, user, to))


async def test_somebody_signs_in_asks_and_signs_out(guarded: Client, settings: Settings) -> None:
    """Their cookie is for this server alone and no script, and the database has no part of it."""
    refused = await guarded.get("/api/me")
    assert (refused.status_code, refused.json()["error"]["details"]) == (
        401,
        {"sign_in": "/auth/sign-in", "keeps_keys": True},
    )

    answer = await sign_in(guarded, "ada", "/sessions?q=1")

    assert (answer.status_code, answer.headers["location"]) == (303, "/sessions?q=1")
    cookies = [cookie for cookie in answer.headers.get_list("set-cookie") if "gateway_sign_in=" in cookie]
    assert len(cookies) == 1
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(cookies[0].split("; "))
    me = (await guarded.get("/api/me")).json()
    assert (me["user_id"], me["signed_in"], me["is_admin"]) == ("ada", True, True)
    value = cookies[0].partition("=")[2].partition(";")[0].encode()
    assert len(value) == 43
    files = [path for path in settings.data_dir.rglob("*") if path.is_file()]
    assert all(value not in path.read_bytes() for path in files)

    entries = (await guarded.get("/api/audit?action=sign_in.create")).json()["entries"]
    assert [(each["actor"], each["result"]) for each in entries] == [("ada", "done")]

    out = await guarded.post("/auth/sign-out", **OWN)
    there = urlsplit(out.json()["url"])
    assert there.path == "/oauth2/end_session"
    assert parse_qs(there.query)["post_logout_redirect_uri"] == [guarded.url + "/"]
    assert "gateway_sign_in" not in guarded.http.cookies
    late = await guarded.get("/api/me", cookie=f"gateway_sign_in={value.decode()}")
    assert (late.status_code, late.json()["error"]["code"]) == (401, "signed_out")


async def test_a_code_counts_only_in_the_browser_that_began(guarded: Client) -> None:
    """Otherwise a link could sign somebody in as somebody else. And it counts once."""
    path = await returned(guarded, "mallory")
    guarded.http.cookies.clear()
    assert (await guarded.get(path)).status_code == 401
    mine = await returned(guarded, "ada")
    mixed = parse_qs(urlsplit(mine).query)
    assert (await guarded.get(f"/auth/callback?code={mixed['code'][0]}&state=other")).status_code == 401

    path = await returned(guarded, "ada")
    kept = dict(guarded.http.cookies)
    assert (await guarded.get(path)).status_code == 303
    again = await guarded.get(path, cookie="; ".join(f"{name}={value}" for name, value in kept.items()))
    assert again.status_code == 401
    assert "Try again" in again.text or "refused" in again.text


async def test_whoever_has_no_role_or_says_no_is_not_signed_in(guarded: Client) -> None:
    answer = await sign_in(guarded, "guest")
    assert (answer.status_code, "gives a role" in answer.text) == (401, True)
    denied = await guarded.get("/auth/callback?error=access_denied&session_state=x&state=<script>")
    assert (denied.status_code, "<script>" in denied.text) == (401, False)
    assert (await guarded.get("/api/me")).status_code == 401


@pytest.mark.parametrize(
    "to",
    [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "javascript:alert(1)",
        "/%0d%0aA:b",
        "",
    ],
)
async def test_nobody_is_sent_to_another_page(guarded: Client, to: str) -> None:
    answer = await sign_in(guarded, "ada", to)

    assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_a_cookie_changes_nothing_for_other_pages(guarded: Client) -> None:
    """Neither of other sites nor of sibling hosts, nor without a word of the browser. Keys need no origin."""
    await sign_in(guarded, "ada")
    for headers in (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "null"},
        {},
    ):
        refused = await guarded.post("/api/sessions", {}, **headers)
        assert refused.status_code == 403, headers
    for headers in (OWN, {"origin": guarded.url}):
        assert (await guarded.post("/api/sessions", {}, **headers)).status_code == 201
    assert (await guarded.get("/api/sessions")).status_code == 200


async def test_a_cookie_that_is_no_sign_in_or_there_twice_is_nobodys(guarded: Client) -> None:
    """One that a sibling host has put beside ours decides nothing, nor does one of any length or form."""
    answer = await sign_in(guarded, "ada")
    good = answer.headers["set-cookie"].partition(";")[0]
    guarded.http.cookies.clear()
    for cookie in (
        f"{good}; gateway_sign_in={'A' * 43}",
        f"gateway_sign_in={'A' * 43}; {good}",
        f"gateway_sign_in={'A' * 43}",
        f"gateway_sign_in={'A' * 20_000}",
        "gateway_sign_in=",
        f"{good}A",
        f"gateway_sign_in={good.partition('=')[2]}%00",
    ):
        refused = await guarded.get("/api/me", cookie=cookie)
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "signed_out"), cookie[:80]
    assert (await guarded.get("/api/me", cookie=f"{good}; {good}; other=1")).status_code == 200


async def test_a_key_is_made_by_who_is_signed_in_and_decides_beside_the_cookie(guarded: Client) -> None:
    await sign_in(guarded, "ada")
    key = (await guarded.post("/api/keys", {"name": "k", "scopes": ["read"]}, **OWN)).json()["key"]

    me = (await guarded.get("/api/me", authorization=f"Bearer {key}")).json()
    assert (me["scopes"], me["signed_in"]) == (["read"], False)
    wrong = await guarded.get("/api/me", authorization="Bearer wrong-key-0123456789")
    assert wrong.status_code == 401


async def test_the_provider_is_asked_with_pkce_state_and_nonce(guarded: Client) -> None:
    """What answers them stays in the browser."""
    begun = await guarded.get("/auth/sign-in")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(begun.headers["location"]).query).items()}
    state, nonce, verifier, _ = guarded.http.cookies["gateway_signing_in"].split(".")

    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    assert (asked["state"], asked["nonce"]) == (state, nonce)
    assert (asked["code_challenge"], asked["code_challenge_method"]) == (challenge, "S256")
    assert asked["redirect_uri"] == guarded.url + "/auth/callback"


async def test_over_tls_cookies_are_secure_and_the_address_is_the_settings(
    settings: Settings, provider: str, anyio_backend: str
) -> None:
    """Whatever host the request names."""
    more = given(provider, page_url="https://chat.example.org")
    async with running_gateway(settings.model_copy(update=more)) as client:
        begun = await client.get("/auth/sign-in", host="evil.example")
    cookie = begun.headers["set-cookie"]
    assert cookie.startswith("__Host-gateway_signing_in=")
    assert "Secure" in cookie.split("; ")
    asked = parse_qs(urlsplit(begun.headers["location"]).query)
    assert asked["redirect_uri"] == ["https://chat.example.org/auth/callback"]


async def test_with_an_https_page_only_the_cookie_of_this_very_host_counts(
    settings: Settings, provider: str, anyio_backend: str
) -> None:
    """One without `__Host-` may be a sibling host's, or of whoever is on the way, who would sign a
    browser in as somebody else."""
    async with running_gateway(settings.model_copy(update=given(provider))) as client:
        answer = await sign_in(client, "ada")
        value = answer.headers["set-cookie"].partition("=")[2].partition(";")[0]
        client.http.cookies.clear()
        refused = await client.get("/api/me", cookie=f"__Host-gateway_sign_in={value}")
    assert refused.status_code == 401
    more = given(provider, page_url="https://chat.example.org")
    async with running_gateway(settings.model_copy(update=more)) as client:
        host = {"host": "chat.example.org"}
        planted = await client.get("/api/me", cookie=f"gateway_sign_in={value}", **host)
        own = {"cookie": f"__Host-gateway_sign_in={value}", **host}
        both = f"gateway_sign_in={'A' * 43}; __Host-gateway_sign_in={value}"
        assert planted.status_code == 401
        assert (await client.get("/api/me", **own)).json()["user_id"] == "ada"
        assert (await client.get("/api/me", cookie=both, **host)).json()["signed_in"] is True

        for origin, status in (
            ("https://chat.example.org", 201),
            ("HTTPS://CHAT.EXAMPLE.ORG", 201),
            ("http://chat.example.org", 403),
            ("https://chat.example.org:444", 403),
            ("https://chat.example.org.evil.example", 403),
            ("ftp://chat.example.org", 403),
        ):
            asked = await client.post("/api/sessions", {}, **own, origin=origin)
            assert asked.status_code == status, origin


async def test_on_loopback_the_page_has_no_tls(guarded: Client) -> None:
    """An https page of the same name is another one."""
    await sign_in(guarded, "ada")
    other = guarded.url.replace("http:", "https:")
    assert (await guarded.post("/api/sessions", {}, origin=other)).status_code == 403
    assert (await guarded.post("/api/sessions", {}, origin=guarded.url)).status_code == 201


async def test_without_a_setting_another_host_is_not_believed(guarded: Client) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "[::1].evil.example", "127.0.0.1@evil.example"):
        assert (await guarded.get("/auth/sign-in", host=host)).status_code == 403, host


async def test_a_provider_that_is_away_is_said_so(settings: Settings, anyio_backend: str) -> None:
    more = given("http://127.0.0.1:1")
    async with running_gateway(settings.model_copy(update=more)) as client:
        answer = await client.get("/auth/sign-in")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "identity_provider_unavailable")


async def test_a_sign_in_ends_with_its_time_and_when_it_is_idle(
    settings: Settings, provider: str, anyio_backend: str
) -> None:
    """Below what the settings allow, so that nobody waits: an idle time of nothing."""
    for more in ({"sign_in_lifetime": 0.0}, {"sign_in_idle": 0.0}):
        async with running_gateway(settings.model_copy(update=given(provider, **more))) as client:
            path = await returned(client, "ada")
            cookie = (await client.get(path)).headers.get_list("set-cookie")[0].partition(";")[0]
            late = await client.get("/api/me", cookie=cookie)
            assert (late.status_code, late.json()["error"]["code"]) == (401, "signed_out"), more


async def test_a_token_of_another_sign_in_client_or_time_signs_nobody_in(
    settings: Settings, anyio_backend: str
) -> None:
    """Though the provider signed it; and the verifier that it is asked with is the one of the challenge."""
    async with issuing() as issuer:
        more = given(issuer.url, oidc_roles=())
        async with running_gateway(settings.model_copy(update=more)) as client:
            for claims, status in (
                ({}, 303),
                ({"nonce": "another"}, 401),
                ({"nonce": None}, 401),
                ({"aud": "another"}, 401),
                ({"azp": "another"}, 401),
                ({"exp": 1_000_000_000}, 401),
                ({"iss": "https://login.example.org"}, 401),
            ):
                begun = await client.get("/auth/sign-in")
                asked = dict(parse_qsl(urlsplit(begun.headers["location"]).query))
                whole: dict[str, Any] = {"aud": "page", "nonce": asked["nonce"]} | claims
                issuer.id_token = issuer.token(**whole)
                answer = await client.get(f"/auth/callback?code=c&state={asked['state']}")
                assert answer.status_code == status, claims
                digest = hashlib.sha256(issuer.form["code_verifier"].encode()).digest()
                assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == asked["code_challenge"]

"""Users whom a proxy names: from listed addresses, and from no others."""

from typing import Any

import pytest
from pydantic import SecretStr

from gateway.auth.trusted_proxies import TrustedProxies
from gateway.wiring.authentication import open_authentication
from tests.harness import running_gateway
from tests.product import Settings, SettingsError

pytestmark = pytest.mark.anyio

KEY = "bob-secret-0123456789"
NAMED = {"x-forwarded-user": "ada", "x-forwarded-groups": "guests, staff", "x-org": "team"}


def given(settings: Settings, *proxies: str, **more: Any) -> Settings:
    update: dict[str, Any] = {
        "trusted_proxies": proxies,
        "proxy_roles_header": "X-Forwarded-Groups",
        "proxy_tenant_header": "X-Org",
        "proxy_roles": ("staff=reader",),
    }
    return settings.model_copy(update=update | more)


async def test_a_listed_proxy_names_user_tenant_and_roles(settings: Settings) -> None:
    more = {"api_keys": SecretStr(f"bob:{KEY}")}
    async with running_gateway(given(settings, "127.0.0.0/8", **more)) as client:
        me = (await client.get("/api/me", **NAMED)).json()
        assert (me["user_id"], me["roles"], me["scopes"]) == ("team/ada", ["reader"], ["read"])
        assert (await client.post("/api/sessions", {}, **NAMED)).status_code == 403

        keyed = await client.get("/api/me", **NAMED, authorization=f"Bearer {KEY}")
        assert keyed.json()["user_id"] == "bob"
        assert (await client.get("/api/me")).status_code == 401
        none = await client.get("/api/me", **NAMED | {"x-forwarded-groups": "guests"})
        assert (none.status_code, none.json()["error"]["code"]) == (401, "no_role")
        twice = await client.http.get("/api/me", headers=[*NAMED.items(), ("X-Forwarded-User", "eva")])
        assert twice.status_code == 400
        rebound = await client.get("/api/me", **NAMED, host="evil.example")
        assert rebound.status_code == 403


async def test_the_same_headers_from_elsewhere_are_no_credentials(settings: Settings) -> None:
    """Also with X-Forwarded-For, which is as easily said."""
    async with running_gateway(given(settings, "10.1.0.0/16")) as client:
        for more in ({}, {"x-forwarded-for": "10.1.0.7", "forwarded": "for=10.1.0.7"}):
            answer = await client.get("/api/me", **NAMED | more)
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")


async def test_addresses_are_those_of_the_ranges(settings: Settings) -> None:
    """With IPv4 in IPv6; an address that is none is not trusted."""
    proxies = TrustedProxies(given(settings, "10.1.0.0/16", "2001:db8::7"))
    trusted = ["10.1.2.3", "::ffff:10.1.2.3", "2001:db8::7"]
    for address in (*trusted, "10.2.0.1", "2001:db8::8", "", None):
        assert (await proxies.identify(NAMED, address) is not None) == (address in trusted), address


@pytest.mark.parametrize(
    "more",
    [
        {"trusted_proxies": ("10.1.0.0/99",)},
        {"trusted_proxies": ("proxy.example.org",)},
        {"trusted_proxies": ("0.0.0.0/0",)},
        {"proxy_user_header": "X-User-Id"},
        {"proxy_roles_header": "Cookie"},
        {"proxy_roles": ("staff=owner",)},
    ],
)
def test_settings_that_would_let_anybody_in_are_refused(settings: Settings, more: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        open_authentication(given(settings, "10.1.0.7").model_copy(update=more))


@pytest.mark.parametrize(
    "other",
    [
        {"api_keys": SecretStr(f"bob:{KEY}")},
        {"oidc_issuer": "https://login.example.org", "oidc_audience": ("gateway",)},
    ],
)
def test_proxies_beside_others_who_sign_in_are_believed_about_users_only_where_that_is_said(
    settings: Settings, other: dict[str, Any]
) -> None:
    """Who lists one for its addresses alone must not let in anybody who sends X-Forwarded-User through it."""
    proxied = settings.model_copy(update=other | {"trusted_proxies": ("10.1.0.7",)})
    with pytest.raises(SettingsError, match="GATEWAY_PROXY_USER_HEADER"):
        open_authentication(proxied)
    for said in (
        {"proxy_user_header": "none"},
        {"proxy_user_header": "X-Forwarded-User"},
        {"proxy_roles_header": "X-Forwarded-Groups"},
        {"proxy_tenant_header": "X-Org"},
    ):
        open_authentication(proxied.model_copy(update=said))
    open_authentication(settings.model_copy(update={"trusted_proxies": ("10.1.0.7",)}))

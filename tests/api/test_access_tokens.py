"""Access tokens of an identity provider: which hold, for whom, and what its absence does."""

import asyncio
import base64
import time
from collections.abc import AsyncGenerator
from typing import Any

import orjson
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey
from pydantic import SecretStr

from gateway.auth.access_tokens import CLOCK_SKEW, MAX_TOKEN, AccessTokens
from gateway.auth.claims import ClaimMapping
from gateway.auth.failed_attempts import MAX_FAILURES
from gateway.auth.identity_provider import ASKED_EVERY, KEPT_FOR, LIFETIME, IdentityProvider
from gateway.errors import NotAuthenticated, ProviderUnavailable
from gateway.wiring.authentication import open_authentication
from tests.harness import Client, Clock, running_gateway
from tests.identity_provider import AUDIENCE, Issuer, issuing
from tests.product import Settings, SettingsError

pytestmark = pytest.mark.anyio

KEY = "bob-secret-0123456789"


@pytest.fixture
async def issuer(anyio_backend: str) -> AsyncGenerator[Issuer]:
    async with issuing() as issuer:
        yield issuer


@pytest.fixture
async def guarded(settings: Settings, issuer: Issuer) -> AsyncGenerator[Client]:
    """A gateway for members, admins and the tenants of that issuer, and for Bob's key."""
    given = {
        "oidc_issuer": issuer.url,
        "oidc_audience": (AUDIENCE,),
        "oidc_roles_claim": "realm_access.roles",
        "oidc_roles": ("staff=member", "bosses=admin"),
        "oidc_tenant_claim": "org",
        "api_keys": SecretStr(f"bob:{KEY}"),
    }
    async with running_gateway(settings.model_copy(update=given)) as client:
        yield client


def staff(**claims: Any) -> dict[str, Any]:
    return {"org": "team", "realm_access": {"roles": ["staff", "others"]}} | claims


async def asked(client: Client, token: str) -> tuple[int, str]:
    """The status, and the user or the code of the refusal."""
    response = await client.get("/api/me", authorization=f"Bearer {token}")
    body = response.json()
    return response.status_code, body["user_id"] if response.is_success else body["error"]["code"]


async def test_claims_name_user_tenant_and_roles(guarded: Client, issuer: Issuer) -> None:
    """And keys go on to hold beside tokens."""
    token = issuer.token(**staff())
    me = (await guarded.get("/api/me", authorization=f"Bearer {token}")).json()

    assert (me["user_id"], me["tenant"], me["roles"]) == ("team/ada", "team", ["member"])
    boss = issuer.token(**staff(sub="ada", realm_access={"roles": "bosses"}))
    assert "admin" in (await guarded.get("/api/me", authorization=f"Bearer {boss}")).json()["scopes"]
    status, user = await asked(guarded, issuer.token(**staff(sub="ada@example.org")))
    assert status == 200
    assert user.startswith("team/sha256.")
    assert await asked(guarded, KEY) == (200, "bob")


def forged(issuer: Issuer, header: dict[str, Any], **claims: Any) -> str:
    """A token with that header and no signature."""
    whole = {"iss": issuer.url, "aud": AUDIENCE, "sub": "ada", "exp": time.time() + 300, **staff(), **claims}
    parts = (base64.urlsafe_b64encode(orjson.dumps(part)).rstrip(b"=").decode() for part in (header, whole))
    return ".".join((*parts, ""))


async def test_tokens_that_do_not_hold_are_refused_by_name(guarded: Client, issuer: Issuer) -> None:
    now = int(time.time())
    other = RSAKey.generate_key(2048, {"kid": "first"})
    public = issuer.keys[0].as_pem(private=False)
    shared = OctKey.import_key(base64.b64encode(public), {"kid": "first"})
    good = issuer.token(**staff())
    bad = {
        "signed by somebody else": issuer.token(other, **staff()),
        "none": forged(issuer, {"alg": "none"}),
        "the public key as a secret": issuer.token(shared, "HS256", **staff()),
        "an algorithm that is not listed": issuer.token(alg="RS512", **staff()),
        "another gateway's": issuer.token(**staff(aud="others")),
        "for nobody": issuer.token(**staff(aud=None)),
        "another issuer's": issuer.token(**staff(iss="https://example.org")),
        "not yet": issuer.token(**staff(nbf=now + CLOCK_SKEW + 30)),
        "for good": issuer.token(**staff(exp=None)),
        "a part changed": good[:-20] + ("A" if good[-20] != "A" else "B") + good[-19:],
    }
    for name, token in bad.items():
        if name == "the public key as a secret":
            assert jwt.decode(token, shared, algorithms=["HS256"]).claims["sub"] == "ada"
        assert await asked(guarded, token) == (401, "token_invalid"), name


async def test_what_the_provider_signed_locks_nobody_out(guarded: Client, issuer: Issuer) -> None:
    """A frontend may go on to send a token that has expired."""
    for code, claims in (
        ("token_expired", {"exp": int(time.time()) - CLOCK_SKEW - 30}),
        ("token_without_user", {"sub": None}),
        ("token_without_user", {"org": "a/b"}),
        ("no_role", {"realm_access": {"roles": ["guests"]}}),
    ):
        for _ in range(MAX_FAILURES):
            assert await asked(guarded, issuer.token(**staff(**claims))) == (401, code)


async def test_clocks_may_differ_by_a_minute(guarded: Client, issuer: Issuer) -> None:
    now = int(time.time())
    for claims in ({"exp": now - CLOCK_SKEW + 20}, {"nbf": now + CLOCK_SKEW - 20}):
        assert await asked(guarded, issuer.token(**staff(**claims))) == (200, "team/ada")


async def test_two_tokens_or_a_huge_one_are_refused_unread(guarded: Client, issuer: Issuer) -> None:
    token = issuer.token(**staff())

    twice = await guarded.http.get(
        "/api/me", headers=[("authorization", f"Bearer {token}"), ("authorization", f"Bearer {KEY}")]
    )
    assert (twice.status_code, twice.json()["error"]["code"]) == (400, "invalid_request")
    both = await guarded.get("/api/me", **{"authorization": f"Bearer {token}", "x-api-key": KEY})
    assert (both.status_code, both.json()["error"]["code"]) == (401, "token_invalid")
    assert await asked(guarded, issuer.token(**staff(name="a" * MAX_TOKEN))) == (401, "token_invalid")


async def test_whoever_tries_a_token_again_and_again_is_locked_out_alone(
    guarded: Client, issuer: Issuer
) -> None:
    """Others from there are not: neither with a token that nobody has sent before, nor with a wrong one."""
    wrong = forged(issuer, {"alg": "none"}, n=1)
    answers = [await asked(guarded, wrong) for _ in range(15)]

    assert answers == [(401, "token_invalid")] * MAX_FAILURES + [(429, "locked_out")] * 5
    assert await asked(guarded, forged(issuer, {"alg": "none"}, n=2)) == (401, "token_invalid")
    assert (await asked(guarded, issuer.token(**staff())))[0] == 200


def tokens(issuer: Issuer, clock: Clock) -> tuple[AccessTokens, IdentityProvider]:
    provider = IdentityProvider(issuer.url, clock=clock)
    claims = ClaimMapping(issuer.url, "sub", None, "groups", {})
    return AccessTokens(provider, claims, [AUDIENCE], ["RS256", "ES256"]), provider


async def user_of(ways: AccessTokens, token: str) -> str:
    who = await ways.identify({"authorization": f"Bearer {token}"}, None)
    assert who is not None
    return who.user_id


async def test_a_new_key_is_asked_for_once_in_a_while(issuer: Issuer) -> None:
    """However many tokens name key ids that there are not."""
    clock = Clock()
    ways, provider = tokens(issuer, clock)
    assert await user_of(ways, issuer.token()) == "ada"
    issuer.keys.append(ECKey.generate_key("P-256", {"kid": "second"}))

    for number in range(50):
        with pytest.raises(NotAuthenticated):
            await user_of(ways, issuer.token(alg="ES256", kid=f"made-up-{number}"))
    assert issuer.asked.count("/keys") == 1
    clock.now += ASKED_EVERY
    found = await asyncio.gather(*(user_of(ways, issuer.token(alg="ES256", sub=f"u{n}")) for n in range(20)))
    assert found == [f"u{number}" for number in range(20)]
    assert issuer.asked.count("/keys") == 2
    await provider.close()


async def test_known_keys_serve_while_the_provider_is_away_but_not_for_good(issuer: Issuer) -> None:
    clock = Clock()
    ways, provider = tokens(issuer, clock)
    await user_of(ways, issuer.token())
    issuer.away = True

    clock.now += KEPT_FOR - 1
    assert await user_of(ways, issuer.token(sub="bob")) == "bob"
    clock.now += ASKED_EVERY
    with pytest.raises(ProviderUnavailable):
        await user_of(ways, issuer.token(sub="carla"))
    issuer.away = False
    clock.now += ASKED_EVERY
    assert await user_of(ways, issuer.token(sub="carla")) == "carla"
    await provider.close()


async def test_nobody_waits_for_a_slow_provider_whose_key_is_known(issuer: Issuer) -> None:
    """The keys are old enough to be asked for again, and the answer does not come."""
    clock = Clock()
    ways, provider = tokens(issuer, clock)
    await user_of(ways, issuer.token())
    issuer.held = asyncio.Event()

    clock.now += LIFETIME
    assert await user_of(ways, issuer.token(sub="bob")) == "bob"
    issuer.held.set()
    await provider.close()


async def test_a_provider_that_was_never_there_is_no_fault_of_the_token(settings: Settings) -> None:
    """503, so that clients try again instead of asking for another token."""
    async with issuing() as issuer:
        token = issuer.token()
    given = {"oidc_issuer": issuer.url, "oidc_audience": (AUDIENCE,)}
    async with running_gateway(settings.model_copy(update=given)) as client:
        assert await asked(client, token) == (503, "identity_provider_unavailable")


@pytest.mark.parametrize(
    "given",
    [
        {"oidc_issuer": "http://login.example.org"},
        {"oidc_issuer": None},
        {"oidc_audience": ()},
        {"oidc_jwks_url": "http://login.example.org/keys"},
        {"oidc_algorithms": ("RS256", "none")},
        {"oidc_algorithms": ("HS256",)},
        {"oidc_algorithms": ()},
        {"oidc_roles": ("staff=owner",)},
    ],
)
def test_settings_that_would_not_hold_are_refused(settings: Settings, given: dict[str, Any]) -> None:
    whole = {"oidc_issuer": "https://login.example.org", "oidc_audience": (AUDIENCE,)} | given
    with pytest.raises(SettingsError):
        open_authentication(settings.model_copy(update=whole))

"""Keys that are made while the gateway runs: what they open, what they do not, and how they end."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from pydantic import SecretStr

from gateway.auth.failed_attempts import network_of
from tests.harness import Client, running_gateway
from tests.product import Settings, now_ms

pytestmark = pytest.mark.anyio

ADA, BOB = (f"{name}-secret-0123456789" for name in ("ada", "bob"))
OWN = {"api_keys": SecretStr(f"ada:{ADA},bob:{BOB}"), "admins": ("ada",)}
WRONG = f"cgk_{'0' * 16}_{'A' * 43}"


@pytest.fixture
async def guarded(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    """Ada is an admin, Bob is not."""
    async with running_gateway(settings.model_copy(update=OWN)) as client:
        yield client


def with_key(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


async def made(client: Client, by: str = ADA, **body: Any) -> dict[str, Any]:
    response = await client.post("/api/keys", {"name": "a script", **body}, **with_key(by))
    assert response.status_code == 201, response.text
    return response.json()


async def refusal(client: Client, path: str, key: str, **body: Any) -> tuple[int, str]:
    response = await (client.post(path, body, **with_key(key)) if body else client.get(path, **with_key(key)))
    return response.status_code, response.json()["error"]["code"]


async def test_a_key_is_shown_once_and_asks_as_its_user(guarded: Client, settings: Settings) -> None:
    """With Bearer as with x-api-key; the database has no part of its secret."""
    key = await made(guarded, user="carla", tenant="team")

    for headers in (with_key(key["key"]), {"x-api-key": key["key"]}):
        me = (await guarded.get("/api/me", **headers)).json()
        assert (me["user_id"], me["tenant"], me["roles"]) == ("team/carla", "team", ["member"])
    listed = (await guarded.get("/api/keys?everybody=true", **with_key(ADA))).json()["keys"]
    assert [each["id"] for each in listed] == [key["id"]]
    assert "used_at" in listed[0]
    assert key["key"] not in str(listed)
    secret = key["key"][len("cgk_") + 16 + 1 :].encode()
    assert all(secret not in path.read_bytes() for path in settings.data_dir.rglob("*") if path.is_file())


async def test_a_key_does_no_more_than_its_scopes(guarded: Client) -> None:
    """Also one of a user who is an admin with another."""
    key = (await made(guarded, scopes=["read"]))["key"]

    assert (await guarded.get("/api/sessions", **with_key(key))).status_code == 200
    assert await refusal(guarded, "/api/chat", key, message="hi") == (403, "forbidden")
    assert await refusal(guarded, "/api/keys?everybody=true", key) == (403, "forbidden")


async def test_a_revoked_or_expired_key_is_as_unknown_as_any(guarded: Client) -> None:
    """At once where it was revoked, and in the same words."""
    gone, short = await made(guarded), await made(guarded, expires_at=now_ms() + 500)
    assert (await guarded.get("/api/me", **with_key(gone["key"]))).status_code == 200
    revoked = await guarded.http.delete(f"/api/keys/{gone['id']}", headers=with_key(ADA))
    assert revoked.status_code == 204
    while now_ms() <= short["expires_at"]:
        await asyncio.sleep(0.05)

    forged = gone["key"][:-1] + ("A" if gone["key"][-1] != "A" else "B")
    answers = {
        ((await guarded.get("/api/me", **with_key(key))).json()["error"]["message"])
        for key in (gone["key"], short["key"], forged, WRONG, "cgk_", gone["key"] + "x")
    }
    assert len(answers) == 1


async def test_nobody_makes_a_key_that_may_more_than_they_do(guarded: Client) -> None:
    for body in (
        {"user": "ada"},
        {"role": "admin"},
        {"role": "service"},
        {"user": "bob", "tenant": "team"},
        {"scopes": ["admin"]},
    ):
        status, code = await refusal(guarded, "/api/keys", BOB, name="more", **body)
        assert (status, code) in {(403, "forbidden"), (400, "invalid_request")}, body
    stored = (await made(guarded, BOB))["key"]
    assert await refusal(guarded, "/api/keys", stored, name="a copy") == (403, "key_makes_no_keys")
    service = (await made(guarded, user="desk", role="service"))["key"]
    response = await guarded.post("/api/keys", {"name": "n"}, **with_key(service), **{"x-user-id": "eva"})
    assert (response.status_code, response.json()["error"]["code"]) == (403, "key_makes_no_keys")


async def test_who_finds_a_key_neither_erases_its_user_nor_takes_their_calls_over(guarded: Client) -> None:
    """That needs the scope admin, a key that is not stored, or a sign-in; a service's may no more."""
    stored = with_key((await made(guarded, BOB))["key"])
    service = with_key((await made(guarded, user="desk", role="service"))["key"]) | {"x-user-id": "eva"}
    asked = (
        ("POST", "/api/me/erasure", {"confirm": "bob"}),
        ("PUT", "/api/provider-key", {"key": "sk-ant-of-somebody-else-01"}),
        ("DELETE", "/api/provider-key", None),
    )

    for who in (stored, service):
        for method, path, body in asked:
            refused = await guarded.http.request(method, path, json=body, headers=who)
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_with_this_key"), path
    admins = with_key((await made(guarded, role="admin"))["key"])
    own = await guarded.http.request(*asked[0][:2], json={"confirm": "bob"}, headers=with_key(BOB))
    assert (await guarded.http.delete("/api/provider-key", headers=admins)).status_code == 204
    assert own.status_code == 202


async def test_an_admin_of_a_tenant_makes_and_ends_keys_of_that_tenant_alone(guarded: Client) -> None:
    lead = (await made(guarded, user="lead", tenant="team", role="admin"))["key"]
    other = await made(guarded, user="eva", tenant="others")
    theirs = await made(guarded, lead, user="carl")

    assert theirs["user_id"] == "team/carl"
    assert (await refusal(guarded, "/api/keys", lead, name="n", user="eva", tenant="others"))[0] == 403
    listed = (await guarded.get("/api/keys?everybody=true", **with_key(lead))).json()["keys"]
    assert {each["tenant"] for each in listed} == {"team"}
    gone = await guarded.http.delete(f"/api/keys/{other['id']}", headers=with_key(lead))
    never = await guarded.http.delete(f"/api/keys/{'0' * 16}", headers=with_key(lead))
    assert (gone.status_code, never.status_code) == (404, 404)
    assert gone.json()["error"]["code"] == never.json()["error"]["code"] == "key_not_found"


async def test_a_service_with_a_stored_key_acts_for_users_that_it_names(guarded: Client) -> None:
    service = (await made(guarded, user="desk", tenant="team", role="service"))["key"]

    me = (await guarded.get("/api/me", **with_key(service), **{"x-user-id": "eva"})).json()

    assert me["user_id"] == "team/desk.eva"
    assert await refusal(guarded, "/api/sessions", service) == (400, "user_required")


async def test_a_gateway_without_accounts_takes_keys_and_stays_open(client: Client) -> None:
    """On loopback: the local user, who is an admin, needs none."""
    made = (await client.post("/api/keys", {"name": "a script", "user": "carla"})).json()

    assert (await client.get("/api/me", **with_key(made["key"]))).json()["user_id"] == "carla"
    assert (await client.get("/api/me")).json()["user_id"] == "local"
    assert (await client.get("/api/me", **with_key(WRONG))).status_code == 401


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::ffff", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("a:socket", "a:socket"),
    ],
)
def test_the_addresses_of_a_network_of_ipv6_are_counted_as_one(address: str, counted: str) -> None:
    """Who has one has 2**64 of them; an IPv4 address is counted alone, also where it is written as IPv6."""
    assert network_of(address) == counted

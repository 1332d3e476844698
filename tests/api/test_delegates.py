"""A frontend with users of its own: one key that names whom it acts for, and nothing that crosses."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from gateway.auth.authentication import Authentication
from gateway.auth.identity_fields import USER_FIELDS
from gateway.auth.static_keys import StaticKeys, key_of
from gateway.errors import Forbidden
from gateway.ids import is_user
from tests.harness import Client, running_gateway, text_of
from tests.loopback import TIMEOUT
from tests.product import InvalidRequest, Settings, SettingsError

pytestmark = pytest.mark.anyio

DESK, SHOP, ANNA = (f"{name}-secret-0123456789" for name in ("desk", "shop", "anna"))
KEYS = f"desk:{DESK},shop:{SHOP},anna:{ANNA}"
DELEGATES = ("desk", "shop")


@pytest.fixture
async def guarded(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    own = {"api_keys": SecretStr(KEYS), "delegate_keys": DELEGATES, "admins": ("anna",)}
    async with running_gateway(settings.model_copy(update=own)) as client:
        yield client


def acting(user: str, key: str = DESK, header: str = "x-user-id") -> dict[str, str]:
    return {"x-api-key": key, header: user}


def user_of(headers: dict[str, str]) -> str:
    return asyncio.run(Authentication((StaticKeys(KEYS, DELEGATES),)).identify(headers)).user_id


async def refused(client: Client, *headers: tuple[str, str]) -> tuple[int, str]:
    response = await client.http.get("/api/sessions", headers=list(headers))
    return response.status_code, response.json()["error"]["code"]


async def test_nothing_crosses_between_two_users_behind_one_key(guarded: Client) -> None:
    """Sessions, turns, memories, artifacts, repeated messages: each user has their own, as with a key of
    their own. So has a user of the same name behind another key, and a key of that name."""
    others = [acting("bert"), acting("anna", SHOP), {"x-api-key": ANNA}]
    hers = acting("anna")
    said = await guarded.all_frames("/api/chat", {"message": "/say hers", "session_id": "s"}, hers)
    turn_id = said[-1].data["turn_id"]
    memory = await guarded.post("/api/memory", {"content": "Anna's cat is called Minka."}, **hers)
    kept = await guarded.http.post(
        "/api/artifacts", content=b"Minka's papers", headers=hers | {"content-type": "text/plain"}
    )
    assert (memory.status_code, kept.status_code) == (201, 201), kept.text
    memory_id, ref = memory.json()["id"], kept.json()["ref"]
    same = {"message": "/say again", "client_message_id": "m1"}
    first = (await guarded.all_frames("/api/chat", same, hers))[-1].data

    for other in others:
        for path in (
            "/api/sessions/s",
            f"/api/sessions/s/turns/{turn_id}",
            f"/api/turns/{turn_id}",
            "/api/sessions/s/export",
            f"/api/memory/{memory_id}",
            f"/api/artifacts/{ref}",
        ):
            assert ((await guarded.get(path, **other)).status_code, path) == (404, path)
        assert (await guarded.get("/api/sessions", **other)).json()["sessions"] == []
        assert (await guarded.get("/api/memory", **other)).json()["memories"] == []
        assert (await guarded.get("/api/artifacts", **other)).json()["artifacts"] == []
        assert (await guarded.get("/api/sessions?q=hers", **other)).json()["sessions"] == []
        assert "Minka" not in (await guarded.get("/api/prompts/preview?message=Minka", **other)).text
        found = await guarded.post("/api/memory/retrieve", {"query": "cat Minka"}, **other)
        assert "Minka" not in found.text
        same_name = await guarded.all_frames("/api/chat", {"message": "/say hi", "session_id": "s"}, other)
        assert "hers" not in str(same_name)
        repeated = (await guarded.all_frames("/api/chat", same, other))[-1].data
        assert repeated["session_id"] != first["session_id"]
        deleted = await guarded.http.delete(f"/api/memory/{memory_id}", headers=other)
        assert deleted.status_code == 404

    again = (await guarded.all_frames("/api/chat", same, hers))[-1].data
    assert again["turn_id"] == first["turn_id"]
    assert len((await guarded.get("/api/sessions", **hers)).json()["sessions"]) == 2
    assert "Minka" in (await guarded.get("/api/prompts/preview", **hers)).text
    assert text_of([frame.data for frame in said if not frame.event.startswith("stream_")]) == "hers"


async def test_a_delegate_names_its_user_and_others_name_nobody(guarded: Client) -> None:
    """Without a user, or with what a frontend writes for one that it does not know, all users would share one
    memory; a plain key that names another would act for them."""
    key = ("x-api-key", DESK)
    nobody = ["", "null", "None", "undefined", "{{LIBRECHAT_USER_ID}}", "${user}", "x" * 257]
    for value in nobody:
        assert await refused(guarded, key, ("x-user-id", value)) == (400, "user_required"), value
    assert await refused(guarded, key) == (400, "user_required")
    assert await refused(guarded, key, ("x-user-id", "a"), ("x-openwebui-user-id", "b")) == (
        400,
        "user_required",
    )
    for header in ("x-user-id", "x-openwebui-user-id"):
        assert await refused(guarded, ("x-api-key", ANNA), (header, "bert")) == (403, "not_a_delegate")
        assert await refused(guarded, (header, "bert")) == (401, "unauthorized")
        assert await refused(guarded, key, (header, "a"), (header, "a")) == (400, "invalid_request")
        assert await refused(guarded, key, (header, "a"), (header.upper(), "b")) == (400, "invalid_request")
        assert header in USER_FIELDS
    said = (await guarded.get("/api/sessions", **{"x-api-key": DESK})).json()["error"]["message"]
    assert "X-User-Id" in said
    assert (await guarded.http.get("/healthz", headers={"x-user-id": "bert"})).status_code == 200


async def test_without_keys_nobody_can_be_named(client: Client) -> None:
    """A frontend that forwards its users to a gateway without keys would give them one memory."""
    response = await client.get("/api/sessions", **{"x-openwebui-user-id": "bert"})

    assert (response.status_code, response.json()["error"]["code"]) == (403, "not_a_delegate")


def test_an_id_names_its_user_and_anything_else_a_hash() -> None:
    """Either header, in any case; nothing of a foreign id can be a path, another key or another user."""
    assert user_of(acting("anna")) == "desk.anna"
    assert user_of(acting("anna", header="x-openwebui-user-id")) == "desk.anna"
    assert user_of(acting("anna") | {"x-openwebui-user-id": "anna"}) == "desk.anna"
    assert user_of({"x-api-key": ANNA}) == "anna"
    foreign = [
        "anna@example.org",
        "../anna",
        "shop.anna",
        "a/b",
        "an na",
        "Ã¤nna",
        "%2e%2e",
        "x" * 200,
        "a, b",
        "anna\xa0",
        "\x85anna",
    ]
    named = {user_of(acting(each)) for each in foreign}
    assert len(named) == len(foreign)
    assert all(each.startswith("desk.sha256.") and "/" not in each for each in named)
    assert user_of(acting("a@b", SHOP)).rpartition(".")[2] != user_of(acting("a@b")).rpartition(".")[2]
    hashed = user_of(acting("anna@example.org"))
    assert user_of(acting(hashed.removeprefix("desk."))) != hashed


@given(st.lists(st.text(st.characters(max_codepoint=255), min_size=1, max_size=64), min_size=2, max_size=2))
def test_two_names_are_one_user_only_where_they_are_the_same(given_names: Sequence[str]) -> None:
    """Whatever they are: a user of one key, and never a key's own or another's."""
    found: list[str] = []
    with suppress(InvalidRequest):
        found = [user_of(acting(name)) for name in given_names]
    if not found:
        return
    first, second = (name.strip(" \t") for name in given_names)
    assert (found[0] == found[1]) == (first == second)
    assert all(is_user(each) and key_of(each) == "desk" and each != "desk" for each in found)


def test_a_delegate_has_a_key() -> None:
    """A name that is no key's is a mistake that would let users share one memory."""
    with pytest.raises(SettingsError, match="GATEWAY_DELEGATE_KEYS: dask is no name"):
        StaticKeys(KEYS, ("dask",))
    with pytest.raises(Forbidden):
        asyncio.run(Authentication((StaticKeys(KEYS),)).identify(acting("anna")))


async def test_an_admins_name_behind_a_delegate_is_no_admin(guarded: Client) -> None:
    """Only the key of that name is."""
    asked: list[Any] = [
        await guarded.http.patch("/api/skills/calculator", json={"enabled": False}, headers=headers)
        for headers in (acting("anna"), {"x-api-key": ANNA})
    ]

    assert asked[0].status_code == 403
    assert asked[1].status_code != 403


async def test_a_user_may_repeat_who_they_are_where_a_request_asks_for_it(guarded: Client) -> None:
    """By the id that they have here."""
    own = await guarded.get("/api/memory?user_id=desk.anna", **acting("anna"))
    other = await guarded.get("/api/memory?user_id=desk.bert", **acting("anna"))

    assert own.status_code == 200, own.text
    assert other.status_code == 403


async def test_turns_are_bounded_for_each_user_and_for_all_of_a_key(settings: Settings) -> None:
    """One user, or one frontend, leaves room for the others."""
    own: dict[str, Any] = {"api_keys": SecretStr(KEYS), "delegate_keys": DELEGATES}
    limits = {"max_turns_per_user": 1, "max_turns_per_key": 2}
    async with running_gateway(settings.model_copy(update=own | limits)) as client:

        async def begin(headers: dict[str, str]) -> tuple[int, str | None]:
            session = (await client.post("/api/sessions", **headers)).json()["id"]
            body = {"message": "/pieces 2000 /pace 5"}
            response = await client.post(f"/api/sessions/{session}/turns", body, **headers)
            return response.status_code, response.json().get("error", {}).get("code")

        found = [await begin(each) for each in (acting("a"), acting("a"), acting("b"), acting("c"))]
        assert found == [(202, None), (429, "user_busy"), (202, None), (429, "key_busy")]
        again = await client.get("/api/sessions", **acting("a"))
        session = again.json()["sessions"][-1]["id"]
        body = {"message": "/say more", "on_conflict": "interrupt"}
        instead = await client.post(f"/api/sessions/{session}/turns", body, **acting("a"))
        assert instead.status_code == 202, instead.text
        assert await begin(acting("a", SHOP)) == (202, None)
        assert await begin({"x-api-key": ANNA}) == (202, None)


@pytest.mark.parametrize(
    "lines",
    [
        b"X-User-Id: anna\r\n bob",
        b"X-User-Id : anna",
        b"X_User_Id: anna",
        b"X-User-Id: anna\nX-User-Id: bob",
        b"X-User-Id: anna\rX-User-Id: bob",
        b"X-User-Id: an\0na",
        b"X-User-Id: \xa0",
        b"X-User-Id: anna\r\nx-user-id: anna",
        b"X-User-Id: anna\r\nX-OpenWebUI-User-Id: bob",
    ],
)
async def test_a_header_that_two_readers_could_read_differently_names_nobody(
    guarded: Client, lines: bytes
) -> None:
    """As it comes over a socket: folded, doubled, misspelt, cut by odd line ends."""
    address = urlsplit(guarded.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    head = b"POST /api/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nx-api-key: %s\r\n" % DESK.encode()
    writer.write(head + lines + b"\r\n\r\n")
    async with asyncio.timeout(TIMEOUT):
        status = await reader.readline()
    writer.close()

    assert status.startswith(b"HTTP/1.1 400 ")
    for user in ("anna", "bob", "anna bob"):
        assert (await guarded.get("/api/sessions", **acting(user))).json()["sessions"] == []

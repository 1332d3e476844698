"""Ids of sessions: what is derived cannot be guessed, and who has one is not told to those who try."""

import hashlib
from collections.abc import AsyncGenerator

import pytest
from pydantic import SecretStr

from gateway.auth.failed_attempts import MAX_FAILURES
from gateway.settings import Settings
from tests.harness import Client, events, running_gateway

pytestmark = pytest.mark.anyio

ADA, BOB = ({"x-api-key": f"{name}-secret-0123456789"} for name in ("ada", "bob"))
KEYS = SecretStr("ada:ada-secret-0123456789,bob:bob-secret-0123456789")


@pytest.fixture
async def guarded(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    async with running_gateway(settings.model_copy(update={"api_keys": KEYS, "admins": ("ada",)})) as client:
        yield client


async def session_of(client: Client, who: dict[str, str], message_id: str) -> str:
    body = {"message": "/say hi", "client_message_id": message_id}
    return events(await client.all_frames("/api/chat", body, who))[0]["session_id"]


async def test_the_session_of_a_message_cannot_be_taken_before_it_is_there(
    guarded: Client, settings: Settings
) -> None:
    """It is the same for a repeated message, and follows from nothing that others know."""
    known = "s_" + hashlib.sha256(b"ada\0m-1").hexdigest()[:32]
    assert (await guarded.post("/api/sessions", {"id": known}, **BOB)).status_code == 201

    session = await session_of(guarded, ADA, "m-1")

    assert session not in {known, await session_of(guarded, BOB, "m-1")}
    assert await session_of(guarded, ADA, "m-1") == session


async def test_the_session_of_a_message_is_the_same_after_a_restart(settings: Settings) -> None:
    found: set[str] = set()
    for _ in range(2):
        async with running_gateway(settings) as client:
            found.add(await session_of(client, {}, "m-1"))

    assert len(found) == 1


async def test_an_id_of_ones_own_and_one_of_another_are_refused_in_the_same_words(guarded: Client) -> None:
    """By each way to choose one."""
    await guarded.post("/api/sessions", {"id": "hers"}, **ADA)
    await guarded.post("/api/sessions", {"id": "his"}, **BOB)

    refused = [
        await guarded.post("/api/sessions", {"id": "his"}, **BOB),
        await guarded.post("/api/sessions", {"id": "hers"}, **BOB),
        await guarded.post("/api/chat", {"session_id": "hers", "message": "hi"}, **BOB),
        await guarded.post(
            "/api/sessions", {"id": "hers", "messages": [{"role": "user", "content": "hi"}]}, **BOB
        ),
    ]

    told = {(each.status_code, each.json()["error"]["message"].replace("hers", "his")) for each in refused}
    assert told == {(409, "The session id his cannot be had: choose another one, or none.")}


async def test_whoever_tries_many_ids_of_others_is_stopped_and_told_of(guarded: Client) -> None:
    """Their own sessions go on, and so does everybody else; each refusal is in the audit."""
    for number in range(MAX_FAILURES):
        await guarded.post("/api/sessions", {"id": f"hers-{number}"}, **ADA)
    await guarded.post("/api/sessions", {"id": "his"}, **BOB)

    tried = [
        (await guarded.post("/api/sessions", {"id": f"hers-{number}"}, **BOB)).status_code
        for number in range(MAX_FAILURES)
    ]
    unknown, by_chat, file, given, without = (
        await guarded.post("/api/sessions", {"id": "never"}, **BOB),
        await guarded.post("/api/chat", {"session_id": "never", "message": "hi"}, **BOB),
        await guarded.http.post(
            "/api/sessions/import",
            content=(await guarded.get("/api/sessions/his/export", **BOB)).content,
            headers=BOB | {"content-type": "application/x-ndjson"},
        ),
        await guarded.post("/api/sessions", {"id": "never"}, **ADA),
        await guarded.post("/api/sessions", **BOB),
    )
    own = await guarded.all_frames("/api/chat", {"session_id": "his", "message": "/say hi"}, BOB)

    assert tried == [409] * MAX_FAILURES
    assert [each.status_code for each in (unknown, by_chat, file)] == [429] * 3
    assert unknown.json()["error"]["code"] == "locked_out"
    assert int(unknown.headers["retry-after"]) > 0
    assert [given.status_code, without.status_code] == [201, 201]
    assert events(own)[-1]["type"] == "done"
    entries = (await guarded.get("/api/audit?actor=bob&action=session.create", **ADA)).json()["entries"]
    assert {each["result"] for each in entries} >= {"refused:conflict", "refused:locked_out"}


async def test_an_own_id_may_be_asked_for_as_often_as_one_likes(guarded: Client) -> None:
    """A client that makes its session at each start is no guesser."""
    answers = [
        (await guarded.post("/api/sessions", {"id": "main"}, **ADA)).status_code
        for _ in range(MAX_FAILURES + 3)
    ]

    assert answers == [201] + [409] * (MAX_FAILURES + 2)
    assert (await guarded.post("/api/sessions", {"id": "other"}, **ADA)).status_code == 201

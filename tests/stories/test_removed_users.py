"""A user is removed while their turn runs: an erasure stops it; it goes on when a key is revoked or a sign-in
ends, of which the user who stays reads the answer later."""

import asyncio
from typing import Any

import pytest
from pydantic import SecretStr

from gateway.settings import Settings
from tests.harness import TIMEOUT, Client, running_gateway, text_of, the
from tests.identity_provider import provider_process
from tests.postgres import on_both_engines
from tests.stories.teams import OWN, PEOPLE, browsers, given, sign_in

pytestmark = [pytest.mark.anyio, pytest.mark.long]

ADA, BOB = ({"x-api-key": f"{name}-secret-0123456789"} for name in ("ada", "bob"))
WITH_KEYS: dict[str, Any] = {
    "api_keys": SecretStr("ada:ada-secret-0123456789,bob:bob-secret-0123456789"),
    "admins": ("ada",),
}
LONG = "/pieces 60\n/pace 25"
"""It is answered while somebody is removed, and comes to its end by itself."""
ENDLESS = "/pieces 2000\n/pace 10"


async def until_it_ends(client: Client, session: str, turn: str, **who: str) -> list[dict[str, Any]]:
    frames = await client.all_frames(f"/api/sessions/{session}/events?turn_id={turn}", None, who)
    return [frame.data for frame in frames if not frame.event.startswith("stream_")]


@on_both_engines
async def test_a_turn_of_somebody_who_is_erased_is_cancelled(settings: Settings) -> None:
    """Their stream, which was open, ends with that; from the request on they are refused, and in the end
    there is neither turn nor session."""
    async with running_gateway(settings.model_copy(update=WITH_KEYS)) as client:
        body = {"message": ENDLESS, "session_id": "s"}
        seen = list[dict[str, Any]]()
        async with asyncio.timeout(TIMEOUT), client.frames("/api/chat", body, BOB) as frames:
            async for frame in frames:
                seen.append(frame.data)
                if frame.event == "text" and not client.app.state.being_erased.users:
                    asked = await client.post("/api/users/bob/erasure", {"confirm": "bob"}, **ADA)
                    assert asked.status_code == 202, asked.text
                    refused = await client.get("/api/sessions", **BOB)
                    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "being_erased")
        async with asyncio.timeout(TIMEOUT):
            while (report := (await client.get("/api/users/bob/erasure", **ADA)).json())["state"] != "done":
                await asyncio.sleep(0.1)
        session = await client.get("/api/sessions/s", **BOB)
        turn = await client.get(f"/api/turns/{seen[0]['turn_id']}", **BOB)

    assert report["found"]["turns"] == 1
    assert the(seen, "done")["status"] == "cancelled"
    assert (session.status_code, turn.status_code) == (404, 404)


@on_both_engines
async def test_a_turn_goes_on_when_the_key_that_began_it_is_revoked(settings: Settings) -> None:
    """Nothing more comes in with that key; the user reads the whole answer with another."""
    async with running_gateway(settings.model_copy(update=WITH_KEYS)) as client:
        made = (await client.post("/api/keys", {"name": "script"}, **BOB)).json()
        script = {"x-api-key": made["key"]}
        assert (await client.post("/api/sessions", {"id": "s"}, **script)).status_code == 201
        begun = (await client.post("/api/sessions/s/turns", {"message": LONG}, **script)).json()
        assert (await client.http.delete(f"/api/keys/{made['id']}", headers=BOB)).status_code == 204
        running = (await client.get(f"/api/turns/{begun['turn_id']}", **BOB)).json()
        refused = await client.post(f"/api/turns/{begun['turn_id']}/cancel", **script)
        seen = await until_it_ends(client, "s", begun["turn_id"], **BOB)

    assert (running["status"], refused.status_code) == ("running", 401)
    assert (the(seen, "done")["status"], bool(text_of(seen))) == ("completed", True)


@on_both_engines
async def test_a_turn_goes_on_when_the_sign_in_that_began_it_ends(settings: Settings) -> None:
    """The browser is signed out while the answer comes; who signs in again has all of it."""
    with provider_process(**PEOPLE) as provider:
        async with running_gateway(given(settings, provider)) as client, browsers(client) as people:
            ada = people["ada"]
            assert (await sign_in(ada)).status_code == 303
            session = (await ada.post("/api/sessions", {})).json()["id"]
            begun = (await ada.post(f"/api/sessions/{session}/turns", {"message": LONG})).json()
            assert (await ada.post("/auth/sign-out")).status_code == 200
            refused = await ada.get(f"/api/turns/{begun['turn_id']}")
            assert (await sign_in(ada)).status_code == 303
            seen = await until_it_ends(ada.browser, session, begun["turn_id"], **OWN)

    assert refused.status_code == 401
    assert (the(seen, "done")["status"], bool(text_of(seen))) == ("completed", True)

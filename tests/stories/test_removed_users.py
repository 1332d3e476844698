"""A user is erased while their turn runs. What ends with a key or a sign-in: test_ended_access.py."""

import asyncio
from typing import Any

import pytest
from pydantic import SecretStr

from tests.harness import TIMEOUT, running_gateway
from tests.postgres import on_both_engines
from tests.product import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.long, pytest.mark.waits]

ADA, BOB = ({"x-api-key": f"{name}-secret-0123456789"} for name in ("ada", "bob"))
WITH_KEYS: dict[str, Any] = {
    "api_keys": SecretStr("ada:ada-secret-0123456789,bob:bob-secret-0123456789"),
    "admins": ("ada",),
}
ENDLESS = "/pieces 2000\n/pace 10"


@on_both_engines
async def test_a_turn_of_somebody_who_is_erased_is_cancelled(settings: Settings) -> None:
    """Their stream, which was open, ends and says so; from the request on they are refused, and in the end
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
    assert seen[-1]["code"] == "access_ended"
    assert (session.status_code, turn.status_code) == (404, 404)

"""Keys, and what belongs to whom."""

from collections.abc import AsyncGenerator

import pytest
from pydantic import SecretStr

from gateway.api.url_table import ENDPOINTS
from tests.harness import Client, running_gateway
from tests.product import Settings

pytestmark = pytest.mark.anyio

ANNA, BERT = "anna-secret-0123456789", "bert-secret-0123456789"


@pytest.fixture
async def guarded(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    keys = SecretStr(f"anna:{ANNA},bert:{BERT}")
    async with running_gateway(settings.model_copy(update={"api_keys": keys})) as client:
        yield client


async def test_without_a_key_or_with_a_wrong_one_nothing_is_told(guarded: Client) -> None:
    """401 with a hint; the same for both header forms, and for two keys that disagree."""
    tries = [
        {},
        {"authorization": "Bearer wrong"},
        {"x-api-key": "wrong"},
        {"authorization": f"Bearer {ANNA}", "x-api-key": BERT},
        {"authorization": f"Basic {ANNA}"},
    ]
    for headers in tries:
        response = await guarded.get("/api/sessions", **headers)
        assert (response.status_code, response.json()["error"]["code"]) == (401, "unauthorized")


@pytest.mark.parametrize("header", ["authorization", "x-api-key"])
async def test_either_header_lets_its_owner_in(guarded: Client, header: str) -> None:
    """Bearer and x-api-key name the same user."""
    value = f"Bearer {ANNA}" if header == "authorization" else ANNA
    made = await guarded.post("/api/sessions", {"id": "hers"}, **{header: value})
    seen = await guarded.get("/api/sessions/hers", **{"x-api-key": ANNA})

    assert [made.status_code, seen.status_code] == [201, 200]


async def test_another_users_session_is_as_absent_as_one_that_never_was(guarded: Client) -> None:
    """Every route with a session in its path answers 404 to everybody but the owner."""
    anna, bert = {"x-api-key": ANNA}, {"x-api-key": BERT}
    await guarded.post("/api/sessions", {"id": "hers"}, **anna)
    frames = await guarded.all_frames("/api/sessions/hers/turns", {"message": "/say hi"}, anna)
    turn = frames[-1].data["turn_id"]
    assert (await guarded.post("/api/session/summary", {"session_id": "hers"}, **anna)).status_code == 201
    bodies = {
        "/api/sessions/{session_id}/turns": {"message": "hi"},
        "/api/sessions/{session_id}": {"title": "x"},
        "/api/sessions/{session_id}/turns/{turn_id}/feedback": {"rating": "up"},
        "/api/sessions/{session_id}/turns/{turn_id}/approvals/{tool_call_id}": {"decision": "approve"},
        "/api/sessions/{session_id}/turns/{turn_id}/tool_results/{tool_call_id}": {"content": "Basel"},
    }

    checked = 0
    for each in ENDPOINTS:
        if "{session_id}" in each.path or "{turn_id}" in each.path:
            path = each.path.format(
                session_id="hers", turn_id=turn, version=0, branch=0, tool_call_id="toolu_1"
            )
            response = await guarded.http.request(
                each.method, path, json=bodies.get(each.path, {}), headers=bert
            )
            assert (404, each.path) == (response.status_code, each.path)
            assert response.json()["error"]["code"] in {
                "session_not_found",
                "turn_not_found",
                "summary_not_found",
                "approval_not_found",
                "tool_call_not_found",
            }
            checked += 1

    assert checked >= 8
    for listing, name in (
        ("/api/sessions", "sessions"),
        ("/api/session/summaries", "summaries"),
        ("/api/turns", "turns"),
    ):
        assert (await guarded.get(listing, **bert)).json()[name] == []
    assert (await guarded.get("/api/session/summaries?user_id=anna", **bert)).status_code == 403
    summary = await guarded.post("/api/session/summary", {"session_id": "hers"}, **bert)
    assert summary.status_code == 404
    own = await guarded.post("/api/sessions", {"id": "hers"}, **bert)
    assert own.status_code == 201
    (listed,) = (await guarded.get("/api/sessions", **bert)).json()["sessions"]
    assert listed["id"] == own.json()["id"]


async def test_the_keys_appear_nowhere(guarded: Client, settings: Settings) -> None:
    """Neither the database nor an error keeps a secret."""
    await guarded.post("/api/chat", {"message": "/say hi"}, **{"x-api-key": ANNA})
    refused = await guarded.get("/api/sessions", **{"x-api-key": ANNA + "x"})

    assert ANNA not in refused.text
    for file in settings.data_dir.rglob("*"):
        assert file.is_dir() or ANNA.encode() not in file.read_bytes()

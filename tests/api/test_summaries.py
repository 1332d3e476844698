"""Summaries of conversations that a client brings along."""

from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from tests.harness import Client, running_gateway, text_of
from tests.product import Settings

pytestmark = pytest.mark.anyio

SAID = [
    {"role": "user", "content": "The launch of project Kingfisher is on 14 March. 发布会在台北。"},
    {"role": "assistant", "content": "Noted."},
]


async def summarised(client: Client, **body: Any) -> dict[str, Any]:
    response = await client.post("/api/session/summary", body)
    assert response.status_code == 201, response.text
    return response.json()


async def test_a_conversation_that_comes_along_is_summarised(client: Client) -> None:
    """With its project and what was done; the summary is kept under a session that is made for it, and a new
    session of that project is shown it."""
    made = await summarised(
        client,
        messages=SAID,
        trajectory=[{"step": "search", "found": "Hall K-77"}, "booked it"],
        userId="local",
        projectId="kingfisher",
    )

    assert "14 March" in str(made["summary"])
    read = (await client.get(f"/api/session/summary/{made['session_id']}")).json()
    assert read == made
    assert read["project_id"] == "kingfisher"
    events = await client.chat("When is the launch?", session_id="next", project_id="kingfisher")
    assert "14 March" in (await client.get("/api/sessions/next")).json()["carried_context"]
    assert text_of(events)


async def test_what_was_done_is_told_after_what_was_said(client: Client, demo_url: str) -> None:
    """The steps of a trajectory, in any form, are the end of the conversation that the model reads."""
    for trajectory in ("Booked hall K-77.", ["searched", {"found": "K-77"}], {"start": "x", "end": "K-77"}):
        await summarised(client, messages=SAID, trajectory=trajectory)

    async with httpx2.AsyncClient() as http:
        asked = (await http.get(f"{demo_url}/demo/requests?limit=3")).json()["requests"]
    read = [str(each["body"]["messages"]) for each in asked]
    assert ["[3] assistant" in each and "K-77" in each for each in read[-3:]] == [True] * 3


async def test_the_session_may_be_named_and_is_made_once(client: Client) -> None:
    """A later conversation under the same id takes the place of the former; a text is a conversation too."""
    await summarised(client, sessionId="mine", messages=SAID)
    again = await summarised(client, sessionId="mine", messages="User: The launch moved to 2 April.")

    assert again["session_id"] == "mine"
    assert "2 April" in str((await client.get("/api/session/summary/mine")).json()["summary"])
    assert [each["id"] for each in (await client.get("/api/sessions")).json()["sessions"]] == ["mine"]


async def test_a_session_with_a_record_keeps_it(client: Client) -> None:
    """Its messages stay what they are; a summary of the record can be made at any time."""
    await client.chat("My cat is called Tofu.", session_id="s")
    await summarised(client, session_id="s", messages=SAID)

    record = await summarised(client, session_id="s")

    assert "Tofu" in str(record["summary"])
    assert "14 March" not in str(record["summary"])


async def test_what_cannot_be_summarised_is_refused(settings: Settings) -> None:
    """Nothing at all, somebody else's, another project than the session's, and what goes with messages alone;
    no session is made for it."""
    keys = SecretStr("anna:anna-secret-0123456789,bert:bert-secret-0123456789")
    anna, bert = ({"x-api-key": f"{name}-secret-0123456789"} for name in ("anna", "bert"))
    async with running_gateway(settings.model_copy(update={"api_keys": keys})) as client:
        await client.http.post("/api/sessions", json={"id": "a", "projectId": "p"}, headers=anna)
        await client.http.post("/api/sessions", json={"id": "b"}, headers=bert)
        bodies: list[tuple[int, dict[str, Any]]] = [
            (400, {}),
            (400, {"messages": []}),
            (400, {"messages": [{"role": "system", "content": "x"}]}),
            (400, {"session_id": "a", "trajectory": "x"}),
            (400, {"messages": SAID, "trajectory": 5}),
            (403, {"messages": SAID, "userId": "bert"}),
            (404, {"session_id": "nowhere"}),
            (409, {"messages": SAID, "session_id": "a", "projectId": "q"}),
        ]
        for status, body in bodies:
            answer = await client.http.post("/api/session/summary", json=body, headers=anna)
            assert (answer.status_code, body) == (status, body), answer.text
        listed = (await client.http.get("/api/sessions", headers=anna)).json()["sessions"]
        assert len(listed) == 1

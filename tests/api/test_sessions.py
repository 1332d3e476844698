"""Sessions over HTTP: made, found, renamed, removed."""

import pytest

from tests.harness import Client, running_gateway, the
from tests.product import Settings

pytestmark = pytest.mark.anyio


async def test_a_session_takes_its_own_id_and_a_title(client: Client) -> None:
    """The id may be the client's; a second one of the same id is a conflict."""
    made = await client.post("/api/sessions", {"id": "trip-2026", "title": "去日本的旅行"})
    again = await client.post("/api/sessions", {"id": "trip-2026"})

    assert (made.status_code, made.headers["location"]) == (201, "/api/sessions/trip-2026")
    assert {"id": "trip-2026", "title": "去日本的旅行", "head": 0}.items() <= made.json().items()
    assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")


async def test_the_first_message_names_an_unnamed_session(client: Client) -> None:
    """The title is the first line of the first message, until somebody gives another."""
    await client.chat("How are you?\n\nTell me more.", session_id="mine")
    named = (await client.get("/api/sessions/mine")).json()["title"]
    await client.http.patch("/api/sessions/mine", json={"title": "Small talk"})

    assert named == "How are you?"
    assert (await client.get("/api/sessions/mine")).json()["title"] == "Small talk"


async def test_the_list_pages_through_everything_newest_first(client: Client) -> None:
    """Following `next` shows each session once, the last used first."""
    for number in range(7):
        await client.post("/api/sessions", {"id": f"s{number}"})
    await client.chat("/say hi", session_id="s2")
    seen, path = [], "/api/sessions?limit=3"
    while path:
        page = (await client.get(path)).json()
        seen += [session["id"] for session in page["sessions"]]
        path = f"/api/sessions?limit=3&before={page['next']}" if "next" in page else ""

    assert seen[0] == "s2"
    assert 7 == len(seen) == len(set(seen))


@pytest.mark.parametrize(
    ("query", "found"), [("北京", {"a"}), ("100%", {"b"}), ("weather", {"a"}), ("_", set())]
)
async def test_search_finds_words_in_titles_and_messages(client: Client, query: str, found: set[str]) -> None:
    """Signs that mean something to a database are plain text here."""
    await client.post("/api/sessions", {"id": "a", "title": "北京 weather"})
    await client.chat("/say sure of 100% of it", session_id="b")

    await client.app.state.indexer.settled()
    page = (await client.http.get("/api/sessions", params={"q": query})).json()

    assert found == {session["id"] for session in page["sessions"]}


async def test_a_deleted_session_is_gone_with_all_that_belongs_to_it(client: Client) -> None:
    """Afterwards every route of it is 404, and the id is free for a new one that starts at seq 1."""
    await client.chat("/say hi", session_id="mine")
    deleted = await client.http.delete("/api/sessions/mine")
    gone = [
        await client.get(f"/api/sessions/mine{path}") for path in ("", "/events", "/messages", "/snapshot")
    ]
    events = await client.chat("/say again", session_id="mine")

    assert deleted.status_code == 204
    assert [response.status_code for response in gone] == [404] * 4
    assert events[0]["seq"] == 1


async def test_a_session_with_a_running_turn_is_not_deleted(client: Client) -> None:
    """409 until the turn is over."""
    session = await client.session()
    await client.begin(session, "/pieces 300\n/pace 10")

    refused = await client.http.delete(f"/api/sessions/{session}")

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "turn_in_progress")


async def test_a_turn_can_be_read_while_it_runs_and_after(client: Client) -> None:
    """Its status, outcome and the range of its events."""
    events = await client.chat("/say hi")
    session, turn = events[0]["session_id"], events[0]["turn_id"]

    read = (await client.get(f"/api/sessions/{session}/turns/{turn}")).json()

    expected = {"status": "done", "outcome": "completed", "first_seq": 1, "last_seq": events[-1]["seq"]}
    assert expected.items() <= read.items()


async def test_a_request_chooses_among_the_allowed_models(settings: Settings) -> None:
    """The choice is in turn_start and reaches the model; others are refused by name."""
    allowed = settings.model_copy(update={"allowed_models": ("claude-haiku-5-5",)})
    async with running_gateway(allowed) as client:
        events = await client.chat("/say hi", model="claude-haiku-5-5")
        refused = await client.post("/api/chat", {"message": "hi", "model": "other"})

    assert the(events, "turn_start")["model"] == "claude-haiku-5-5"
    assert refused.json()["error"]["details"]["models"] == ["claude-sonnet-5-5", "claude-haiku-5-5"]


async def test_retrieval_events_can_be_switched_off(settings: Settings) -> None:
    """The tool still searches and answers; only the event is left out."""
    quiet = settings.model_copy(update={"retrieval_events": False})
    async with running_gateway(quiet) as client:
        events = await client.chat("How do I resume a stream?")

    assert any(event["type"] == "tool_result" for event in events)
    assert not any(event["type"] == "retrieval" for event in events)

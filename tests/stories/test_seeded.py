"""A session begins with a history that the client brings along."""

from typing import Any

import pytest

from gateway.history.transcript import problems
from tests.harness import Client, types
from tests.invariants import violations
from tests.product import Message
from tests.record import read_records

pytestmark = pytest.mark.anyio

HISTORY: list[dict[str, Any]] = [
    {"role": "user", "content": "Where is 上海?"},
    {"role": "assistant", "content": "In China."},
    {"role": "assistant", "content": "On the coast."},
    {"role": "user", "content": "And"},
    {"role": "user", "content": "Paris?"},
    {"role": "assistant", "content": "x" * 20_000},
]


async def seeded(client: Client, **more: Any) -> dict[str, Any]:
    made = await client.post("/api/sessions", {"messages": HISTORY, **more})
    assert made.status_code == 201, made.text
    return made.json()


async def test_the_session_goes_on_from_there(client: Client) -> None:
    """The model sees what was brought along, in valid form, and the next turn follows it."""
    session = (await seeded(client))["id"]
    await client.chat("/say over", session_id=session)
    database = client.app.state.settings.database_path
    assert [problem for each in read_records(database) for problem in violations(each)] == []

    messages = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
    assert [each["role"] for each in messages] == ["user", "assistant"] * 3
    assert messages[1]["content"] == [{"type": "text", "text": "In China.\n\nOn the coast."}]
    assert [block["text"] for block in messages[2]["content"]] == ["And", "Paris?"]
    assert messages[3]["content"] == [{"type": "text", "text": "x" * 20_000}]
    assert problems([Message(each["role"], each["content"]) for each in messages[:-1]]) == []


async def test_its_turns_are_marked_and_cost_nothing_that_is_known(client: Client) -> None:
    """They are in the log as others are, but that nothing says what they took."""
    session = await seeded(client, id="s", title=None)
    events = await client.events("s")

    assert session["title"] == "Where is 上海?"
    assert types(events) == [
        "turn_start", "iteration_start", "text", "iteration_end", "done",
        "turn_start", "done",
        "turn_start", "iteration_start", "text", "iteration_end", "done",
    ]  # fmt: skip
    starts = [each for each in events if each["type"] == "turn_start"]
    assert all(each["data"]["seeded"] is True for each in starts)
    assert not any("usage" in each["data"] or "cost" in each["data"] for each in events)
    pieces = [each["data"]["text"] for each in events if each["type"] == "text"]
    assert [len(each) for each in pieces] == [24, 16_384, 20_000 - 16_384]
    turn = (await client.get(f"/api/turns/{starts[0]['turn_id']}")).json()
    assert turn | {"origin": "seeded", "status": "done", "outcome": "completed"} == turn
    assert "usage" not in turn
    assert (await client.chat("/say hi", session_id="s"))[0]["data"].get("seeded") is None


async def test_what_was_brought_along_can_be_asked_otherwise(client: Client) -> None:
    """Its turns are branched from as others are."""
    session = (await seeded(client))["id"]
    first = (await client.events(session))[0]["turn_id"]
    await client.chat("/say over", session_id=session, parent_turn_id=first)

    messages = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
    assert [each["content"][0]["text"] for each in messages][2:] == ["/say over", "over"]
    assert len(messages) == 4


async def test_files_come_along(client: Client) -> None:
    """A text is read by the model; the artifact is the session's, and goes with it."""
    note = {"name": "note.txt", "text": "The code is 4711."}
    history = [{"role": "user", "content": "Read this", "attachments": [note]}]
    made = await client.post("/api/sessions", {"id": "s", "messages": history})
    assert made.status_code == 201, made.text

    [message] = (await client.get("/api/sessions/s/messages")).json()["messages"]
    assert "4711" in message["content"][0]["text"]
    start = (await client.events("s"))[0]
    [file] = start["data"]["attachments"]
    found = (await client.get("/api/artifacts")).json()["artifacts"]
    assert [each["ref"] for each in found] == [file["ref"]]
    await client.http.delete("/api/sessions/s")
    assert (await client.get("/api/artifacts")).json()["artifacts"] == []


async def test_a_history_of_another_form_is_refused(client: Client) -> None:
    """With a sentence, and nothing is made."""
    note = {"name": "note.txt", "text": "x"}
    wrong = [
        [{"role": "assistant", "content": "Hello!"}, *HISTORY],
        [{"role": "system", "content": "Be brief."}],
        [{"role": "user", "content": " "}],
        [*HISTORY, {"role": "assistant", "content": "x", "attachments": [note]}],
        [{"role": "user", "content": "x", "attachments": [{"ref": "ART-nothing000"}]}],
        [HISTORY[0]] * 1001,
    ]
    for history in wrong:
        refused = await client.post("/api/sessions", {"id": "s", "messages": history})
        assert refused.status_code in {400, 404}, refused.text
    assert (await client.get("/api/sessions")).json()["sessions"] == []
    assert (await client.get("/api/artifacts")).json()["artifacts"] == []
    await seeded(client, id="s")
    again = await client.post("/api/sessions", {"id": "s", "messages": HISTORY})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")


async def test_a_long_history_is_an_archived_one(client: Client) -> None:
    """It is read and copied as any other."""
    history = [
        {"role": role, "content": f"{role} {number} " + "y" * 1_000}
        for number in range(400)
        for role in ("user", "assistant")
    ]
    made = await client.post("/api/sessions", {"id": "s", "messages": history})
    assert made.status_code == 201, made.text

    messages = (await client.get("/api/sessions/s/messages")).json()["messages"]
    assert [each["content"][0]["text"] for each in messages] == [each["content"] for each in history]
    log = await client.events("s")
    assert [each["seq"] for each in log] == list(range(1, len(log) + 1))
    state = client.app.state.settings
    assert list((state.data_dir / "blobs").rglob("messages-1-*")) != []
    assert [problem for each in read_records(state.database_path) for problem in violations(each)] == []

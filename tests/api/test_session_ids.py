"""Ids of sessions: they cannot be guessed, and what a user calls a session is theirs alone."""

import hashlib
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import orjson
import pytest
from pydantic import SecretStr

from gateway.auth import LOCAL_USER
from gateway.service.session_ids import SessionIds
from gateway.storage.sessions.access import SessionAccess
from tests.harness import Client, events, running_gateway
from tests.product import Settings

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


async def made(client: Client, who: dict[str, str], name: str) -> str:
    answer = await client.post("/api/sessions", {"id": name}, **who)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


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


async def test_two_users_call_their_sessions_the_same(guarded: Client) -> None:
    """By each way to choose a name; each has theirs alone, by the name and by its id."""
    hers, his = await made(guarded, ADA, "notes"), await made(guarded, BOB, "notes")
    assert len({hers, his, "notes"}) == 3

    for who, session, message in ((ADA, hers, "one"), (BOB, his, "two")):
        body = {"message": f"/say {message}", "session_id": "notes"}
        assert events(await guarded.all_frames("/api/chat", body, who))[0]["session_id"] == session
        for name in ("notes", session):
            told = (await guarded.get(f"/api/sessions/{name}/messages", **who)).text
            assert (message in told, "one" in told, "two" in told) == (True, who is ADA, who is BOB)
        assert [each["id"] for each in (await guarded.get("/api/sessions", **who)).json()["sessions"]] == [
            session
        ]
    given = {
        "id": "told",
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}],
    }
    seeded = [await guarded.post("/api/sessions", given, **who) for who in (ADA, BOB)]
    assert [each.status_code for each in seeded] == [201, 201]
    summarised = {"session_id": "summed", "messages": [{"role": "user", "content": "It is May."}]}
    sums = [await guarded.post("/api/session/summary", summarised, **who) for who in (ADA, BOB)]
    assert [each.status_code for each in sums] == [201, 201]
    assert len({each.json()["session_id"] for each in sums}) == 2


async def test_an_id_of_somebody_else_may_be_a_name_of_ones_own(guarded: Client) -> None:
    """It leads to one's own session, and what has that id stays where it is: nothing can be told or taken."""
    hers = await session_of(guarded, ADA, "m-1")

    his = await made(guarded, BOB, hers)
    taken = await guarded.post("/api/sessions", {"id": hers}, **ADA)

    assert his != hers
    assert (await guarded.get(f"/api/sessions/{hers}", **BOB)).json()["id"] == his
    assert (await guarded.get(f"/api/sessions/{hers}", **ADA)).json()["id"] == hers
    assert taken.status_code == 409
    assert (
        taken.json()["error"]["message"]
        == f"The session id {hers} cannot be used: choose another one, or leave it out."
    )


async def test_ones_own_name_is_had_once(guarded: Client) -> None:
    """Asked for again it is refused in the words of who asks, as often as they like."""
    await made(guarded, ADA, "main")

    answers = [await guarded.post("/api/sessions", {"id": "main"}, **ADA) for _ in range(15)]

    assert {each.status_code for each in answers} == {409}
    assert {each.json()["error"]["message"] for each in answers} == {
        "The session id main cannot be used: choose another one, or leave it out."
    }
    gone = await guarded.get("/api/sessions/never", **ADA)
    assert gone.json()["error"]["message"] == "There is no session never."


async def test_whatever_names_a_session_takes_the_name(guarded: Client) -> None:
    """Bodies, queries and headers, of all dialects; what is answered has the id."""
    session = await made(guarded, ADA, "notes")
    await guarded.all_frames("/api/chat", {"message": "/say one", "session_id": "notes"}, ADA)

    artifact = await guarded.post("/api/artifacts", {"text": "x", "session_id": "notes"}, **ADA)
    listed = await guarded.get("/api/artifacts?session_id=notes", **ADA)
    schedule = await guarded.post(
        "/api/schedules", {"message": "hi", "cron": "0 8 1 1 *", "session_id": "notes"}, **ADA
    )
    preview = await guarded.get("/api/prompts/preview?session_id=notes", **ADA)
    hold = await guarded.post("/api/holds", {"session_id": "notes", "reason": "n"}, **ADA)
    said = {"messages": [{"role": "user", "content": "/say two"}]}
    chat = await guarded.post("/v1/chat/completions", said, **ADA | {"x-session-id": "notes"})
    run = {
        "threadId": "notes",
        "runId": "r",
        "messages": [{"id": "m", "role": "user", "content": "/say three"}],
    }
    await guarded.post("/ag-ui", run, **ADA)

    assert artifact.json()["session_id"] == session
    assert [each["ref"] for each in listed.json()["artifacts"]] == [artifact.json()["ref"]]
    assert schedule.json()["session_id"] == session
    assert preview.status_code == 200
    assert hold.json()["subject_id"] == session
    assert chat.headers["x-session-id"] == session
    told = (await guarded.get("/api/sessions/notes/messages", **ADA)).text
    assert all(word in told for word in ("one", "two", "three"))
    (own,) = (await guarded.get("/api/sessions", **ADA)).json()["sessions"]
    assert own["id"] == session
    audited = (await guarded.get("/api/audit?action=session.create", **ADA)).json()["entries"]
    assert {each.get("subject_id") for each in audited} == {session}


async def test_an_import_has_an_id_of_its_importers_own(guarded: Client) -> None:
    """Whether the id in the file is somebody's, or nobody's: the same answers."""
    await made(guarded, ADA, "notes")
    file = (await guarded.get("/api/sessions/notes/export", **ADA)).content
    hers = orjson.loads(file.splitlines()[0])["id"]

    async def imported(who: dict[str, str]) -> tuple[int, Any]:
        headers = who | {"content-type": "application/x-ndjson"}
        answer = await guarded.http.post("/api/sessions/import", content=file, headers=headers)
        return answer.status_code, answer.json()

    his, again, own = await imported(BOB), await imported(BOB), await imported(ADA)
    assert (await guarded.http.delete("/api/sessions/notes", headers=ADA)).status_code == 204
    restored = await imported(ADA)

    assert [his[0], again[0], own[0], restored[0]] == [201, 409, 409, 201]
    assert len({hers, his[1]["id"], restored[1]["id"]}) == 3
    for who, answer in ((BOB, his), (ADA, restored)):
        assert (await guarded.get(f"/api/sessions/{hers}", **who)).json()["id"] == answer[1]["id"]


async def test_sessions_of_before_keep_the_ids_that_were_chosen(settings: Settings) -> None:
    """As a gateway without keys gives them, whose user is alone."""
    async with running_gateway(settings) as client:
        assert await made(client, {}, "notes") == "notes"
    keys = SecretStr("local:the-secret-of-local-user,bob:bob-secret-0123456789")
    async with running_gateway(settings.model_copy(update={"api_keys": keys})) as client:
        local = {"x-api-key": "the-secret-of-local-user"}
        assert (await client.get("/api/sessions/notes", **local)).json()["id"] == "notes"
        assert (await client.get("/api/sessions/notes", **BOB)).status_code == 404
        assert await made(client, BOB, "notes") != "notes"


class Asked:
    """Projects that note what they are asked for. Ada has a session of the id `hers`."""

    def __init__(self) -> None:
        self.questions: list[str] = []

    async def access(self, session_id: str, user_id: str) -> SessionAccess | None:
        self.questions.append(session_id)
        return SessionAccess("ada") if (session_id, user_id) == ("hers", "ada") else None

    def kinds(self) -> Sequence[bool]:
        return [len(each) == 34 for each in self.questions]


async def test_it_takes_the_same_way_to_find_nothing_of_others_and_nothing_at_all() -> None:
    """The same questions to storage, in the same order: no time tells of an id."""
    ways: list[Sequence[bool]] = []
    for name in ("hers", "never"):
        asked = Asked()
        ids = SessionIds(asked, b"secret")  # pyright: ignore[reportArgumentType] - it asks no more
        assert await ids.find("bob", name) == name
        assert (await ids.new("bob", name)).startswith("s_")
        ways.append(asked.kinds())

    assert ways[0] == ways[1] == [False, True, False]


async def test_the_local_user_is_asked_for_nothing() -> None:
    """Who is alone has names as they are, and no request takes longer for it."""
    asked = Asked()
    ids = SessionIds(asked, b"secret")  # pyright: ignore[reportArgumentType] - as above

    assert await ids.find(LOCAL_USER.user_id, "x") == await ids.new(LOCAL_USER.user_id, "x") == "x"
    assert asked.questions == []

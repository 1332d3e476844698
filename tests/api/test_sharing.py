"""Sessions that are shared in a project: who reads them, who may do no more, and when it ends."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from gateway.api.url_table import ENDPOINTS
from tests.api.team import GUARDED, ROOT, Team, code
from tests.harness import Client, running_gateway, the
from tests.loopback import TIMEOUT
from tests.postgres import on_both_engines
from tests.product import Settings

pytestmark = pytest.mark.anyio

SECRET = "Ada's favourite dish is peanut soup."
QUESTION = "What is my favourite dish?"
SAVES = '/call manage_memory {"action": "save", "content": "The launch of the rocket is in May."}'
BODIES: dict[str, Any] = {
    "/turns": {"message": "mine"},
    "/feedback": {"rating": "up"},
    "/approvals/{tool_call_id}": {"decision": "approve"},
    "/tool_results/{tool_call_id}": {"content": "mine"},
}
OWNERS_MAY = ("PATCH", "DELETE")
"""With the session itself."""


@pytest.fixture
async def guarded(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    async with running_gateway(settings.model_copy(update=GUARDED)) as client:
        yield client


async def test_members_read_what_is_shared_and_nobody_else_does(guarded: Client) -> None:
    """In the list of the project, and by each way to read a session; until then it is Ada's alone, also where
    it is in the project."""
    team = await Team(guarded).begin()
    await team.chat("ada", "/say hello", "s")
    await team.share("s", shared="none")
    listed = f"/api/sessions?project_id={team.project}"
    assert (await team.ask("bob", "GET", listed)).json()["sessions"] == []
    assert code(await team.ask("bob", "GET", "/api/sessions/s")) == (404, "session_not_found")

    await team.share("s")

    for who in ("bob", "carl", "dora"):
        (row,) = (await team.ask(who, "GET", listed)).json()["sessions"]
        assert (row["id"], row["shared"], row["shared_by"]) == (team.ids["s"], "read", "ada")
        assert (await team.ask(who, "GET", "/api/sessions")).json()["sessions"] == []
        for path in ("snapshot", "messages", "export", "replay?speed=max", "events?follow=0"):
            seen = await team.ask(who, "GET", f"/api/sessions/s/{path}")
            assert seen.status_code == 200, (path, seen.text)
            assert "hello" in seen.text
    own = (await team.ask("ada", "GET", "/api/sessions/s")).json()
    assert (own["shared"], "shared_by" in own) == ("read", False)
    for who in ("eve", "mallory"):
        assert (await team.ask(who, "GET", listed)).json()["sessions"] == []


@pytest.mark.parametrize(
    ("who", "shared", "may"),
    [
        ("ada", "read", None),
        ("bob", "read", ["read"]),
        ("bob", "write", ["read"]),
        ("carl", "read", ["read"]),
        ("carl", "write", ["read", "write"]),
        ("dora", "read", ["read", "manage"]),
        ("dora", "write", ["read", "write", "manage"]),
    ],
)
async def test_each_is_told_whose_it_is_through_which_project_and_what_they_may(
    guarded: Client, who: str, shared: str, may: list[str] | None
) -> None:
    """In the list, and of the session itself. A dialog, or the page, offers no more than that."""
    team = await Team(guarded).begin()
    await team.chat("ada", "/say hello", "s")
    await team.share("s", shared=shared)
    whose = "mine" if who == "ada" else "others"
    (row,) = (await team.ask(who, "GET", f"/api/sessions?whose={whose}")).json()["sessions"]
    read = (await team.ask(who, "GET", "/api/sessions/s")).json()
    for seen in (row, read):
        assert seen["shared_in"] == "Apollo"
        told = (None, None) if who == "ada" else ("ada", may)
        assert (seen.get("shared_by"), seen.get("may")) == told
    renamed = await team.ask(who, "PATCH", "/api/sessions/s", {"title": "another"})
    assert (renamed.status_code == 200) == (may is None or "manage" in may)
    sent = await team.ask(who, "POST", "/api/sessions/s/turns", {"message": "/say mine"})
    assert (sent.status_code == 202) == (may is None or "write" in may)


async def test_what_is_shared_is_searched_in_the_project_that_is_named(guarded: Client) -> None:
    """The passage is told with it, whosever session it is in."""
    team = await Team(guarded).begin()
    await team.chat("ada", "/say the rocket starts in May", "s")
    await team.chat("carl", "/say a rocket of Carl's own", "t")
    await team.share("s")
    listed = f"/api/sessions?project_id={team.project}&q=rocket"

    async def found(who: str, path: str) -> list[str]:
        rows = (await team.ask(who, "GET", path)).json()["sessions"]
        return ["".join(piece["text"] for piece in row["found"]["text"]) for row in rows]

    async with asyncio.timeout(TIMEOUT):
        while not (seen := await found("bob", listed)):  # a turn is indexed a moment after its end
            await asyncio.sleep(0.01)
    assert len(seen) == 1
    assert "rocket starts in May" in seen[0]
    assert await found("carl", listed) == seen
    assert await found("bob", "/api/sessions?q=rocket") == await found("eve", listed) == []


async def test_no_route_forgets_who_asks(guarded: Client) -> None:
    """Every route with a session, from the table: to strangers it is as absent as one that never was; members
    read, and change nothing; owners of the project rename and delete, no more."""
    team = await Team(guarded).begin()
    turn = await team.shared_chat()
    routes = [each for each in ENDPOINTS if "{session_id}" in each.path]
    assert len(routes) >= 25

    for route in routes:
        body = next((BODIES[end] for end in BODIES if route.path.endswith(end)), {})
        body = {"title": "mine"} if route.method == "PATCH" else body
        body = None if route.method in {"GET", "DELETE"} else body
        values = {"turn_id": turn, "tool_call_id": "call", "version": 1, "branch": 0}
        path, absent = (route.path.format(session_id=each, **values) for each in ("s", "none"))
        if route.path.endswith("/events"):
            path, absent = f"{path}?follow=0", f"{absent}?follow=0"
        for who in ("eve", "mallory"):
            there, nowhere = [await team.ask(who, route.method, each, body) for each in (path, absent)]
            assert there.status_code == 404, (route.method, path, there.text)
            assert code(there) == code(nowhere)
            words = [each.json()["error"]["message"] for each in (there, nowhere)]
            assert words[0].replace(team.ids["s"], "none") == words[1]
        changes = route.method != "GET" and route.does.action is not None
        for who in ("bob", "carl", "dora"):
            if who == "dora" and route.method in OWNERS_MAY:
                continue
            answer = await team.ask(who, route.method, path, body)
            if changes:
                assert code(answer) == (403, "session_read_only"), (route.method, path, answer.text)
            else:
                # What there is not in any session is not found, whoever asks.
                assert answer.status_code == (await team.ask("ada", route.method, path, body)).status_code
    kept = (await team.ask("ada", "GET", "/api/sessions/s")).json()
    assert (kept["title"], kept["shared"], kept["pinned"]) == ("/say hello", "read", False)


async def test_an_owner_of_the_project_renames_unshares_and_deletes(guarded: Client) -> None:
    """But neither pins it, nor moves it, nor shares what is not shared."""
    team = await Team(guarded).begin()
    for session in ("s", "t"):
        await team.shared_chat(session)

    named = await team.ask("dora", "PATCH", "/api/sessions/s", {"title": "Plans"})
    assert (named.json()["title"], named.json()["shared_by"]) == ("Plans", "ada")
    for changes in ({"pinned": True}, {"archived": True}, {"project_id": "other"}):
        refused = await team.ask("dora", "PATCH", "/api/sessions/s", changes)
        assert code(refused) == (403, "session_read_only")
    assert (await team.ask("dora", "PATCH", "/api/sessions/s", {"shared": "none"})).status_code == 200
    assert code(await team.ask("dora", "PATCH", "/api/sessions/s", {"shared": "read"}))[0] == 404
    assert (await team.ask("dora", "DELETE", "/api/sessions/t")).status_code == 204

    assert code(await team.ask("ada", "GET", "/api/sessions/t")) == (404, "session_not_found")
    assert "shared" not in (await team.ask("ada", "GET", "/api/sessions/s")).json()


async def test_only_who_writes_in_a_project_moves_a_session_there(guarded: Client) -> None:
    """A label of one's own is no project, whatever it says; a reader has nothing to share."""
    team = await Team(guarded).begin()
    for who in ("bob", "eve"):
        await team.chat(who, "/say hello", f"of-{who}")
        refused = await team.share(f"of-{who}", who)
        assert code(refused) == (404, "project_not_found")
    body = {"id": "labelled", "project_id": team.project}
    assert (await team.ask("eve", "POST", "/api/sessions", body)).status_code == 201
    shared = await team.ask("eve", "PATCH", "/api/sessions/labelled", {"shared": "read"})
    assert code(shared) == (409, "session_in_no_project")

    assert code(await team.ask("ada", "GET", "/api/sessions/labelled")) == (404, "session_not_found")
    assert (await team.ask("ada", "GET", f"/api/sessions?project_id={team.project}")).json()["sessions"] == []


@on_both_engines
async def test_what_a_member_follows_ends_when_they_are_removed(
    settings: Settings, anyio_backend: str
) -> None:
    """At once; nothing that comes afterwards reaches them, and who stays goes on."""
    async with running_gateway(settings.model_copy(update=GUARDED)) as client, asyncio.timeout(TIMEOUT):
        team = await Team(client).begin()
        await team.shared_chat()
        path = f"/api/sessions/{team.ids['s']}/events"
        async with (
            client.frames(path, headers=team.of["bob"]) as bobs,
            client.frames(path, headers=team.of["carl"]) as carls,
        ):
            for frames in (bobs, carls):
                assert [(await anext(frames)).event for _ in range(2)] == ["stream_open", "turn_start"]
            await team.remove("bob")
            left = [frame async for frame in bobs]
            later = (await team.chat("ada", "/say afterwards", "s"))[0]["turn_id"]
            async for frame in carls:
                if frame.data.get("turn_id") == later and frame.event == "done":
                    break

        assert later not in str(left)
        assert code(await team.ask("bob", "GET", "/api/sessions/s")) == (404, "session_not_found")


async def test_who_leaves_takes_along_what_they_shared(guarded: Client) -> None:
    """It is private again, also when they come back; a deleted project leaves all to its owners."""
    team = await Team(guarded).begin()
    for who in ("ada", "carl"):
        await team.chat(who, "/say hello", f"of-{who}")
        assert (await team.share(f"of-{who}", who)).status_code == 200
    assert (await team.ask("ada", "GET", "/api/sessions/of-carl")).status_code == 200

    await team.remove("carl", by="carl")
    assert code(await team.ask("ada", "GET", "/api/sessions/of-carl")) == (404, "session_not_found")
    await team.put("carl", "editor")
    assert code(await team.ask("ada", "GET", "/api/sessions/of-carl")) == (404, "session_not_found")

    assert (await team.ask("dora", "DELETE", f"/api/projects/{team.project}")).status_code == 204
    for reader in ("bob", "carl", "dora"):
        assert code(await team.ask(reader, "GET", "/api/sessions/of-ada")) == (404, "session_not_found")
    assert "shared" not in (await team.ask("ada", "GET", "/api/sessions/of-ada")).json()


@on_both_engines
async def test_what_is_remembered_of_a_person_does_not_come_into_what_others_read(
    settings: Settings, anyio_backend: str
) -> None:
    """Neither in the prompt nor retrieved, from the moment on from which it is shared; alone with the model
    Ada is asked about it."""
    async with running_gateway(settings.model_copy(update=GUARDED)) as client:
        team = await Team(client).begin()
        await team.ask("ada", "POST", "/api/memory", {"content": SECRET})
        alone = await team.chat("ada", QUESTION, "alone")
        assert "peanut" in str([each for each in alone if each["type"] == "retrieval"])
        await team.chat("ada", "/say hello", "s")
        await team.share("s")

        asked = await team.chat("ada", QUESTION, "s")

        assert the(asked, "done")["status"] == "completed"
        assert "retrieval" not in [each["type"] for each in asked]
        sent = await team.ask("bob", "GET", f"/api/sessions/s/turns/{asked[0]['turn_id']}/prompt")
        assert sent.status_code == 200
        assert "peanut" not in sent.text + str(asked)


async def test_what_is_waited_for_is_not_shared_in_between(guarded: Client) -> None:
    """A turn that runs has in its prompt what only its owner may see."""
    team = await Team(guarded).begin()
    body = {"message": "/pieces 5000 /pace 50"}
    await team.ask("ada", "POST", "/api/sessions", {"id": "s"})
    begun = await team.ask("ada", "POST", "/api/sessions/s/turns", body)
    assert begun.status_code == 202, begun.text

    refused = await team.share("s")

    assert code(refused) == (409, "turn_in_progress")
    cancel = f"/api/sessions/s/turns/{begun.json()['turn_id']}/cancel"
    assert (await team.ask("ada", "POST", cancel)).status_code in {200, 202}


@on_both_engines
async def test_what_is_remembered_in_a_shared_session_is_the_projects(
    settings: Settings, anyio_backend: str
) -> None:
    """It comes back in the shared sessions of other members, and in nobody's own."""
    async with running_gateway(settings.model_copy(update=GUARDED)) as client:
        team = await Team(client).begin()
        await team.shared_chat("s")
        saved = await team.chat("ada", SAVES, "s")
        assert the(saved, "memory")["op"] == "remembered"
        await team.chat("carl", "/say hello", "t")
        await team.share("t", "carl")

        shared = await team.chat("carl", "When is the launch of the rocket?", "t")
        assert "in May" in str([each for each in shared if each["type"] == "retrieval"])
        for who in ("ada", "carl"):
            own = await team.chat(who, "When is the launch of the rocket?", f"own-{who}")
            listed = await team.ask(who, "GET", "/api/memory")
            assert "in May" not in str(own) + listed.text


@pytest.mark.parametrize("way", ["deleted", "erased with its last member"])
async def test_what_a_project_remembers_goes_with_it(guarded: Client, way: str) -> None:
    """Nobody could find it any more, nor have it erased. Where a member is held it stays, and the project."""
    team = await Team(guarded).begin()
    await team.shared_chat("s")
    await team.chat("ada", SAVES, "s")
    store, project = guarded.app.state.deps.memory.store, f"project:{team.project}"
    assert await store.counts(project, ()) == {"memories": 1, "memory_versions": 1, "memory_evidence": 1}
    if way == "deleted":
        body = {"user": "bob", "tenant": "red", "reason": "case 7"}
        hold = (await guarded.post("/api/holds", body, **ROOT)).json()["id"]
        path = f"/api/projects/{team.project}"
        assert code(await team.ask("ada", "DELETE", path)) == (409, "legal_hold")
        assert code(await team.ask("bob", "DELETE", path)) == (403, "not_project_owner")
        assert (await store.counts(project, ()))["memories"] == 1
        await guarded.http.delete(f"/api/holds/{hold}", headers=ROOT)
        assert (await team.ask("ada", "DELETE", path)).status_code == 204
    else:
        for user in ("bob", "carl", "dora"):
            await team.remove(user)
        path = "/api/users/ada/erasure?tenant=red"
        assert (await guarded.post(path, {"confirm": "ada"}, **ROOT)).status_code == 202
        async with asyncio.timeout(TIMEOUT):
            while (await guarded.get(path, **ROOT)).json()["state"] != "done":
                await asyncio.sleep(0.1)

    assert await store.counts(project, ()) == {}

"""Sessions in which the members of a project write: who does what there, and when it ends."""

import asyncio
from typing import Any

import pytest

from tests.api.team import GUARDED, ROOT, Team, code
from tests.harness import events, running_gateway, text_of, the, types
from tests.loopback import TIMEOUT
from tests.postgres import on_both_engines
from tests.product import Settings
from tests.stories.asking import Outbox

pytestmark = pytest.mark.anyio

SEND = '/call send {"to": "李雷"}\n/then\n/say over'
SLOW = "/pieces 5000 /pace 50"


async def begin(team: Team, who: str, message: str, session: str = "s", **options: Any) -> str:
    """A turn that is not waited for; its id."""
    path = f"/api/sessions/{session}/turns"
    begun = await team.ask(who, "POST", path, {"message": message, **options})
    assert begun.status_code in {200, 202}, begun.text
    return begun.json()["turn_id"]


async def until(team: Team, turn: str, status: str, session: str = "s") -> dict[str, Any]:
    """The turn as its session's owner sees it, once it has that status or outcome."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            row = (await team.ask("ada", "GET", f"/api/sessions/{session}/turns/{turn}")).json()
            if status in {row["status"], row.get("outcome")}:
                return row
            assert row["status"] != "done", row
            await asyncio.sleep(0.02)


async def told(team: Team, turn: str, session: str = "s") -> list[dict[str, Any]]:
    path = f"/api/sessions/{team.ids[session]}/events?follow=0&turn_id={turn}"
    return events(await team.client.all_frames(path, None, team.of["ada"]))


@on_both_engines
async def test_editors_write_and_readers_read(settings: Settings, anyio_backend: str) -> None:
    """Who sent a message is told by the handle of a member; a reader is refused as where all only read. The
    turns are their senders' alone, as their usage is, and the session is its owner's."""
    async with running_gateway(settings.model_copy(update=GUARDED)) as client:
        team = await Team(client).begin()
        first = await team.shared_chat()
        await team.share("s", shared="write")

        carls = await team.chat("carl", "/say from carl", "s")
        adas = await team.chat("ada", "/say from ada", "s")
        refused = await team.ask("bob", "POST", "/api/sessions/s/turns", {"message": "mine"})

        assert code(refused) == (403, "session_read_only")
        assert (text_of(carls), text_of(adas)) == ("from carl", "from ada")
        members = (await team.ask("bob", "GET", f"/api/projects/{team.project}")).json()["members"]
        handles = {each["user"]: each["handle"] for each in members}
        assert the(carls, "turn_start")["by"] == handles["carl"]
        assert the(adas, "turn_start")["by"] == handles["ada"]
        assert "by" not in the(await told(team, first), "turn_start")
        assert "carl" not in str(carls).replace("from carl", "")
        assert len(set(handles.values())) == len(handles)

        sent = [each["turn_id"] for each in (await team.ask("carl", "GET", "/api/turns")).json()["turns"]]
        own = [each["turn_id"] for each in (await team.ask("ada", "GET", "/api/turns")).json()["turns"]]
        assert (sent, set(own)) == ([carls[0]["turn_id"]], {first, adas[0]["turn_id"]})
        used = [(await team.ask(who, "GET", "/api/usage")).json() for who in ("ada", "carl", "bob")]
        assert [sum(model["turns"] for model in each["models"]) for each in used] == [2, 1, 0]
        row = (await team.ask("carl", "GET", "/api/sessions/s")).json()
        assert (row["shared"], row["shared_by"]) == ("write", "ada")
        assert (await team.ask("carl", "GET", "/api/sessions")).json()["sessions"] == []


async def test_what_editors_may_do_beside_their_turns(settings: Settings, anyio_backend: str) -> None:
    """They stop what runs, ask anew, choose a branch and rate; they do not rename, delete, archive, compress
    or share it otherwise, nor keep it for longer."""
    async with running_gateway(settings.model_copy(update=GUARDED)) as client:
        team = await Team(client).begin()
        first = await team.shared_chat()
        await team.share("s", shared="write")

        turn = await begin(team, "ada", SLOW)
        cancel = f"/api/sessions/s/turns/{turn}/cancel"
        assert code(await team.ask("bob", "POST", cancel)) == (403, "session_read_only")
        assert (await team.ask("carl", "POST", cancel)).is_success
        await until(team, turn, "cancelled")
        rated = await team.ask("carl", "POST", f"/api/sessions/s/turns/{first}/feedback", {"rating": "up"})
        assert rated.is_success, rated.text
        again = await team.ask("carl", "POST", f"/api/sessions/s/turns/{first}/regenerate", {})
        assert again.is_success, again.text
        await until(team, again.json()["turn_id"], "completed")
        assert (await team.ask("carl", "POST", "/api/sessions/s/branches/0/activate")).is_success

        for method, path, body in (
            ("PATCH", "", {"title": "mine"}),
            ("PATCH", "", {"shared": "none"}),
            ("PATCH", "", {"pinned": True}),
            ("PATCH", "", {"retention": {"delete_days": 1}}),
            ("DELETE", "", None),
            ("POST", "/archive", None),
            ("POST", "/compress", {}),
            ("POST", "/compressions/0/activate", None),
        ):
            answer = await team.ask("carl", method, f"/api/sessions/s{path}", body)
            assert answer.status_code in {403, 404}, (method, path, body, answer.text)
            assert answer.json()["error"]["code"] in {"session_read_only", "session_not_found"}, path
        kept = (await team.ask("ada", "GET", "/api/sessions/s")).json()
        assert (kept["title"], kept["shared"], kept["pinned"]) == ("/say hello", "write", False)


@on_both_engines
async def test_instructions_of_an_editor_come_into_force_for_nobody(
    settings: Settings, anyio_backend: str
) -> None:
    """They would act in the turns of the session's owner. Those of the owner hold in the turns of all."""
    async with running_gateway(settings.model_copy(update=GUARDED)) as client:
        team = await Team(client).begin()
        await team.shared_chat()
        await team.share("s", shared="write")
        for who, instructions in (("ada", "Speak like a pirate."), ("carl", "Obey carl.")):
            turn = await begin(team, who, "/say hi", instructions=instructions)
            await until(team, turn, "completed")
            session = (await team.ask("ada", "GET", "/api/sessions/s")).json()
            assert session["instructions"] == "Speak like a pirate."


REMOVALS = {
    "removed": ("DELETE", "/api/projects/{project}/members/carl", None),
    "made a reader": ("PUT", "/api/projects/{project}/members/carl", {"role": "reader"}),
    "read-only": ("PATCH", "/api/sessions/s", {"shared": "read"}),
    "unshared": ("PATCH", "/api/sessions/s", {"shared": "none"}),
    "its owner gone": ("DELETE", "/api/projects/{project}/members/ada", None),
    "project deleted": ("DELETE", "/api/projects/{project}", None),
}


@on_both_engines
@pytest.mark.parametrize("way", REMOVALS)
async def test_turns_end_of_who_may_not_write_any_more(
    settings: Settings, anyio_backend: str, way: str
) -> None:
    """Those that run, and those that wait; others' go on."""
    async with running_gateway(settings.model_copy(update=GUARDED)) as client:
        team = await Team(client).begin()
        for session in ("s", "t"):
            await team.shared_chat(session)
            await team.share(session, shared="write")
        runs = await begin(team, "carl", SLOW)
        waits = await begin(team, "carl", "/say later", on_conflict="queue")
        own = await begin(team, "ada", "/say mine", on_conflict="queue")
        await team.chat("carl", "/say hello", "of-carl")
        kept = await begin(team, "carl", SLOW, "of-carl")

        method, path, body = REMOVALS[way]
        changed = await team.ask(
            "dora" if "owner" in way else "ada", method, path.format(project=team.project), body
        )

        assert changed.is_success, changed.text
        for turn in (runs, waits):
            await until(team, turn, "cancelled")
        await until(team, own, "completed")
        assert the(await told(team, runs), "done")["status"] == "cancelled"
        refused = await team.ask("carl", "POST", "/api/sessions/s/turns", {"message": "again"})
        seen = way in {"made a reader", "read-only"}
        assert code(refused) == ((403, "session_read_only") if seen else (404, "session_not_found"))
        row = (await team.ask("carl", "GET", f"/api/sessions/of-carl/turns/{kept}")).json()
        assert row["status"] == "running"
        listed = [each["turn_id"] for each in (await team.ask("carl", "GET", "/api/turns")).json()["turns"]]
        assert (runs in listed, kept in listed) == (seen, True)
        assert (await team.ask("carl", "POST", f"/api/sessions/of-carl/turns/{kept}/cancel")).is_success


@on_both_engines
async def test_a_decision_counts_while_who_made_it_is_an_editor(
    settings: Settings, anyio_backend: str
) -> None:
    """Who may only read decides nothing; what an editor allows for longer is allowed in their own turns. A
    turn that waits for a decision ends when its sender is removed."""
    outbox = Outbox()
    async with running_gateway(settings.model_copy(update=GUARDED), *outbox.tools) as client:
        team = await Team(client).begin()
        await team.shared_chat()
        await team.share("s", shared="write")
        turn = await begin(team, "ada", SEND)
        await until(team, turn, "awaiting_approval")
        asked = [each for each in await told(team, turn) if each["type"] == "approval_request"]
        call = asked[0]["tool_call_id"]
        path = f"/api/sessions/s/turns/{turn}/approvals/{call}"
        yes = {"decision": "approve", "scope": "always"}
        assert code(await team.ask("bob", "POST", path, yes)) == (403, "session_read_only")
        other = {"decision": "approve", "arguments": {"to": "carl"}}
        assert code(await team.ask("carl", "POST", path, other)) == (403, "forbidden")

        decided = await team.ask("carl", "POST", path, yes)

        assert decided.is_success, decided.text
        await until(team, turn, "completed")
        assert outbox.sent == ["李雷"]
        members = (await team.ask("ada", "GET", f"/api/projects/{team.project}")).json()["members"]
        (handle,) = [each["handle"] for each in members if each["user"] == "carl"]
        assert the(await told(team, turn), "approval_response")["by"] == handle
        granted = [(await team.ask(who, "GET", "/api/grants")).text for who in ("ada", "carl")]
        assert ["send" in each for each in granted] == [False, True]
        waits = await begin(team, "ada", SEND)
        await until(team, waits, "awaiting_approval")
        assert (await team.ask("ada", "POST", f"/api/sessions/s/turns/{waits}/cancel")).is_success
        await until(team, waits, "cancelled")

        carls = await begin(team, "carl", '/call post {"text": "hi"}\n/then\n/say over')
        await until(team, carls, "awaiting_approval")
        for who in ("ada", "carl"):
            assert carls in (await team.ask(who, "GET", "/api/approvals")).text
        await team.remove("carl")
        await until(team, carls, "cancelled")
        assert carls not in (await team.ask("carl", "GET", "/api/approvals")).text
        assert outbox.sent == ["李雷"]


async def test_files_of_an_editor_become_the_sessions(settings: Settings, anyio_backend: str) -> None:
    """They are its owner's; no others of the owner's can be named: neither attached nor read by a tool."""
    async with running_gateway(settings.model_copy(update=GUARDED)) as client:
        team = await Team(client).begin()
        await team.shared_chat()
        await team.share("s", shared="write")
        secret = await team.client.http.post(
            "/api/artifacts?name=secret.txt",
            content=b"peanut soup",
            headers=team.of["ada"] | {"content-type": "text/plain"},
        )
        ref = secret.json()["ref"]

        refused = await team.ask(
            "carl", "POST", "/api/sessions/s/turns", {"message": "x", "attachments": [{"ref": ref}]}
        )
        assert code(refused) == (404, "artifact_not_found")
        for message in (
            f'/call read_artifact {{"ref": "{ref}"}}\n/then\n/say over',
            f"look at {ref}",
        ):
            assert "peanut" not in str(await team.chat("carl", message, "s"))
        assert (await team.ask("carl", "GET", f"/api/artifacts/{ref}")).status_code == 404
        again = {"message": "/say fine", "client_message_id": "again"}
        turns = "/api/sessions/s/turns"
        upload = {"name": "a.txt", "data": "aGVsbG8="}
        first = await team.ask("carl", "POST", turns, again | {"attachments": [upload]})
        await until(team, first.json()["turn_id"], "completed")
        repeated = await team.ask("carl", "POST", turns, again | {"attachments": [{"ref": ref}]})
        assert code(repeated) == (404, "artifact_not_found")
        read = await team.chat("ada", f'/call read_artifact {{"ref": "{ref}"}}\n/then\n/say over', "t")
        assert "peanut" in str(read)

        upload = {"name": "plan.txt", "data": "aGVsbG8="}
        sent = await team.ask(
            "carl", "POST", "/api/sessions/s/turns", {"message": "/say seen", "attachments": [upload]}
        )
        assert sent.status_code == 202, sent.text
        await until(team, sent.json()["turn_id"], "completed")
        (file,) = the(await told(team, sent.json()["turn_id"]), "turn_start")["attachments"]
        for who in ("ada", "bob", "carl"):
            shown = await team.ask(who, "GET", f"/api/artifacts/{file['ref']}")
            assert (shown.status_code, shown.text) == (200, "hello"), who
        owned = [(await team.ask(who, "GET", "/api/artifacts")).text for who in ("ada", "carl")]
        assert [file["ref"] in each for each in owned] == [True, False]


async def test_a_message_that_is_sent_again_is_its_senders(settings: Settings, anyio_backend: str) -> None:
    """The same client_message_id of another member is another message, which is refused; their own starts
    nothing anew."""
    async with running_gateway(settings.model_copy(update=GUARDED)) as client:
        team = await Team(client).begin()
        await team.shared_chat()
        await team.share("s", shared="write")
        turn = await begin(team, "carl", "/say once", client_message_id="m")
        await until(team, turn, "completed")

        assert await begin(team, "carl", "/say once", client_message_id="m") == turn
        body = {"message": "/say once", "client_message_id": "m"}
        assert code(await team.ask("ada", "POST", "/api/sessions/s/turns", body))[0] == 409


@on_both_engines
async def test_a_removal_and_a_start_do_not_cross(settings: Settings, anyio_backend: str) -> None:
    """Asked at the same moment, again and again: what was accepted is cancelled, all else is refused. Nothing
    that was sent afterwards runs."""
    async with running_gateway(settings.model_copy(update=GUARDED)) as client, asyncio.timeout(TIMEOUT):
        team = await Team(client).begin()
        for number in range(6):
            await team.put("carl", "editor")
            await team.shared_chat(f"s{number}")
            await team.share(f"s{number}", shared="write")
            path = f"/api/sessions/s{number}/turns"
            sent, _ = await asyncio.gather(
                team.ask("carl", "POST", path, {"message": SLOW}), team.remove("carl")
            )
            if sent.status_code == 202:
                await until(team, sent.json()["turn_id"], "cancelled", f"s{number}")
            else:
                assert code(sent) == (404, "session_not_found")
            later = await team.ask("carl", "POST", path, {"message": SLOW})
            assert code(later) == (404, "session_not_found")
            row = (await team.ask("ada", "GET", f"/api/sessions/s{number}")).json()
            assert "status" not in row


async def test_an_erased_person_leaves_what_they_wrote_and_no_name(
    settings: Settings, anyio_backend: str
) -> None:
    """Their turns in a session of somebody else's are in their export with the message, and stay there after
    the erasure, which ends those that run; nothing of the gateway names them any more."""
    async with running_gateway(settings.model_copy(update=GUARDED)) as client, asyncio.timeout(TIMEOUT):
        team = await Team(client).begin()
        await team.shared_chat()
        await team.share("s", shared="write")
        said = await team.chat("carl", "/say written together", "s")
        runs = await begin(team, "carl", SLOW)

        exported = await team.ask("carl", "GET", "/api/me/export")
        assert b"messages_elsewhere.jsonl" in exported.content
        await client.post("/api/users/carl/erasure?tenant=red", {"confirm": "carl"}, **ROOT)
        while (state := (await client.get("/api/users/carl/erasure?tenant=red", **ROOT)).json())[
            "state"
        ] != "done":
            await asyncio.sleep(0.05)

        await until(team, runs, "cancelled")
        assert {"turns"} <= {each["what"] for each in state["kept"]}
        left = await told(team, said[0]["turn_id"])
        assert text_of(left) == "written together"
        assert "carl" not in str(left)
        assert types(left)[-1] == "done"

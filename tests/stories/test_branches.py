"""A message is asked anew, or otherwise, and the session goes on from there: what was said before stays, and
can be gone back to."""

import asyncio
from typing import Any

import pytest

from tests.harness import Client, events

pytestmark = pytest.mark.anyio


async def ask(client: Client, message: str, **options: Any) -> list[dict[str, Any]]:
    """A turn of the session s, from its start to its end."""
    return await client.chat(message, session_id="s", **options)


async def texts(client: Client, path: str = "/api/sessions/s/messages") -> list[str]:
    """What the model sees of the session, in words."""
    messages = (await client.get(path)).json()["messages"]
    return [block["text"] for each in messages for block in each["content"] if block["type"] == "text"]


def started(turn: list[dict[str, Any]]) -> dict[str, Any]:
    assert turn[0]["type"] == "turn_start"
    return turn[0]


async def regenerated(client: Client, turn_id: str, **options: Any) -> list[dict[str, Any]]:
    return events(await client.all_frames(f"/api/sessions/s/turns/{turn_id}/regenerate", options))


async def test_an_answer_is_asked_for_anew(client: Client) -> None:
    """The same message at the same place; the former answer is no part of what the model sees."""
    await ask(client, "/say one")
    second = started(await ask(client, "/say two"))
    first_id = (await client.get("/api/sessions/s/branches")).json()["branches"][0]

    again = started(await regenerated(client, second["turn_id"]))

    assert again["data"]["input"] == "/say two"
    assert again["turn_id"] != second["turn_id"]
    assert again["data"]["parent_turn_id"] != second["turn_id"]
    assert await texts(client) == ["/say one", "one", "/say two", "two"]
    found = (await client.get("/api/sessions/s/branches")).json()
    assert (found["active"], [each["turns"] for each in found["branches"]]) == (1, [2, 1])
    assert first_id["last_turn_id"] == second["turn_id"]
    turn = (await client.get(f"/api/sessions/s/turns/{again['turn_id']}")).json()
    assert (turn["branch"], turn["parent_turn_id"]) == (1, again["data"]["parent_turn_id"])


async def test_a_message_is_edited_and_the_former_one_gone_back_to(client: Client) -> None:
    """The first one too. Each branch goes on where it was left, and the log has everything."""
    first = started(await ask(client, "/say one"))
    await ask(client, "/say two")
    edited = started(await ask(client, "/say three", parent_turn_id=first["turn_id"]))
    assert edited["data"]["parent_turn_id"] == first["turn_id"]
    assert await texts(client) == ["/say one", "one", "/say three", "three"]

    anew = started(await ask(client, "/say four", parent_turn_id="root"))
    assert anew["data"]["parent_turn_id"] == "root"
    assert await texts(client) == ["/say four", "four"]

    back = await client.post("/api/sessions/s/branches/0/activate")
    assert (back.status_code, back.json()["active"]) == (200, 0)
    assert (await client.get("/api/sessions/s")).json()["active_branch"] == 0
    await ask(client, "/say five")
    assert await texts(client) == ["/say one", "one", "/say two", "two", "/say five", "five"]
    assert await texts(client, "/api/sessions/s/snapshot") == await texts(client)
    log = await client.events("s")
    assert [each["seq"] for each in log] == list(range(1, len(log) + 1))
    assert [each["data"]["input"][5:] for each in log if each["type"] == "turn_start"] == [
        "one", "two", "three", "four", "five",
    ]  # fmt: skip


async def test_a_branch_is_read_and_replayed_by_itself(client: Client) -> None:
    """Whichever is active: its messages, and the events of its turns alone. Without a branch a replay has all
    of the log."""
    first = started(await ask(client, "/say one"))
    await ask(client, "/say two")
    await ask(client, "/say three", parent_turn_id=first["turn_id"])
    before, after = ["/say one", "one", "/say two", "two"], ["/say one", "one", "/say three", "three"]

    for branch, said in ((0, before), (1, after)):
        assert await texts(client, f"/api/sessions/s/messages?branch={branch}") == said
        frames = await client.all_frames(f"/api/sessions/s/replay?speed=max&branch={branch}")
        inputs = [each["data"]["input"] for each in events(frames) if each["type"] == "turn_start"]
        assert inputs == [said[0], said[2]]
    whole = events(await client.all_frames("/api/sessions/s/replay?speed=max"))
    assert whole == await client.events("s")
    for path in ("messages?branch=2", "replay?branch=2"):
        refused = await client.get(f"/api/sessions/s/{path}")
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "branch_not_found")


async def test_a_branch_is_compressed_for_itself(client: Client) -> None:
    """The other one has all of its messages, and its versions are refused there."""
    first = started(await ask(client, "/say one"))
    for _ in range(3):
        await ask(client, "/say " + "a long answer of many words " * 60)
    await ask(client, "/say other", parent_turn_id=first["turn_id"])
    await client.post("/api/sessions/s/branches/0/activate")
    made = await client.post("/api/sessions/s/compress")
    assert made.status_code == 201, made.text
    version = made.json()["version"]
    assert (await client.get("/api/sessions/s/compressions")).json()["active"] == version

    await client.post("/api/sessions/s/branches/1/activate")
    await ask(client, "/say more")

    assert await texts(client) == ["/say one", "one", "/say other", "other", "/say more", "more"]
    listed = (await client.get("/api/sessions/s/compressions")).json()
    assert listed == {"versions": []}
    refused = await client.post(f"/api/sessions/s/compressions/{version}/activate")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "version_of_other_branch")
    assert len(await texts(client, "/api/sessions/s/messages?branch=0")) < 8


async def test_a_wrong_place_is_refused(client: Client) -> None:
    """A turn that is not there, of another session, or that never began; and a branch that is not there."""
    await ask(client, "/say one")
    other = started(await client.chat("/say x", session_id="other"))["turn_id"]
    before = await client.events("s")

    for parent in ("t_nothing", other):
        refused = await client.post("/api/sessions/s/turns", {"message": "x", "parent_turn_id": parent})
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "turn_not_found")
        refused = await client.post(f"/api/sessions/s/turns/{parent}/regenerate")
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "turn_not_found")
    refused = await client.post("/api/sessions/s/branches/7/activate")
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "branch_not_found")
    assert await client.events("s") == before


async def test_no_branch_is_made_while_a_turn_runs_unless_it_makes_way(client: Client) -> None:
    """409 with the turn that runs; with on_conflict interrupt that one ends, and is left."""
    first = started(await ask(client, "/say one"))["turn_id"]
    running = (await client.begin("s", "/fault headers_stall"))["turn_id"]

    path = f"/api/sessions/s/turns/{first}/regenerate"
    refused = await client.post(path)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "turn_in_progress")
    assert refused.json()["error"]["details"]["turn_id"] == running
    switched = await client.post("/api/sessions/s/branches/0/activate")
    assert switched.status_code == 200  # it is active: nothing changes

    again = started(await regenerated(client, first, on_conflict="interrupt"))
    assert again["data"]["parent_turn_id"] == "root"
    assert await texts(client) == ["/say one", "one"]
    left = (await client.get(f"/api/sessions/s/turns/{running}")).json()
    assert left["outcome"] == "cancelled"


async def test_a_fork_has_the_prompt_of_what_it_leaves(client: Client) -> None:
    """The same prefix, and no new generation: the provider's cache holds up to where they part."""
    first = started(await ask(client, "/say one"))
    second = await ask(client, "/say two")
    forks = [
        await regenerated(client, started(second)["turn_id"]),
        await ask(client, "/say three", parent_turn_id=first["turn_id"]),
        await ask(client, "/say four", parent_turn_id="root"),
    ]

    [prefix] = [each["data"]["prefix_hash"] for each in second if each["type"] == "iteration_start"]
    for fork in forks:
        assert [each["data"]["prefix_hash"] for each in fork if each["type"] == "iteration_start"] == [prefix]
        assert not [each for each in fork if each["type"] == "warning"]


async def test_of_two_clients_that_ask_otherwise_at_once_one_waits_or_is_refused(client: Client) -> None:
    """Each gets a branch of its own, or is told of the turn that runs; the same request is one turn."""
    first = started(await ask(client, "/say one"))["turn_id"]
    await ask(client, "/say two")
    path, options = f"/api/sessions/s/turns/{first}/regenerate", {"on_conflict": "queue"}

    found = await asyncio.gather(
        *(client.post(path, options | {"client_message_id": f"m{number % 3}"}) for number in range(6)),
        client.post("/api/sessions/s/turns", {"message": "/say x", "parent_turn_id": first} | options),
    )
    turns = {each.json()["turn_id"] for each in found}
    assert len(turns) == 4
    for turn in turns:
        await client.all_frames(f"/api/sessions/s/events?turn_id={turn}")

    branches = (await client.get("/api/sessions/s/branches")).json()["branches"]
    assert [(each["branch"], each["turns"]) for each in branches] == [(0, 2), (1, 1), (2, 1), (3, 1), (4, 1)]
    assert {each["last_turn_id"] for each in branches[1:]} == turns

"""Memories over HTTP: kept, listed, changed at a version, forgotten."""

from typing import Any

import httpx2
import orjson
import pytest

from gateway.api.url_table import ENDPOINTS
from tests.harness import Client, running_gateway
from tests.product import Attribution, NewMemory, Scope, Settings

pytestmark = pytest.mark.anyio

STYLE = "我喜欢简约的设计风格。"
NDJSON = {"content-type": "application/x-ndjson"}


async def kept(client: Client, content: str, **fields: Any) -> dict[str, Any]:
    """A new memory."""
    response = await client.post("/api/memory", {"content": content, **fields})
    assert response.status_code == 201, response.text
    return response.json()


async def listed(client: Client, query: str = "") -> list[str]:
    """The contents of a list."""
    response = await client.get(f"/api/memory{query}")
    assert response.status_code == 200, response.text
    return [memory["content"] for memory in response.json()["memories"]]


async def found(client: Client, query: str, **where: Any) -> list[str]:
    """The ids of what is recalled for a query."""
    response = await client.post("/api/memory/retrieve", {"query": query, **where})
    assert response.status_code == 200, response.text
    return [hit["id"] for hit in response.json()["results"]]


async def change(client: Client, path: str, body: Any, **headers: str) -> httpx2.Response:
    return await client.http.patch(path, json=body, headers=headers)


def problem(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


async def test_what_is_kept_has_an_address_a_version_and_a_reason(client: Client) -> None:
    """201 with Location and ETag; the memory tells who made it, and why."""
    made = await client.post("/api/memory", {"content": STYLE, "type": "preference", "tags": ["设计"]})
    read = await client.get(made.headers["location"])

    assert (made.status_code, made.headers["etag"], read.headers["etag"]) == (201, '"1"', '"1"')
    memory = read.json()
    assert memory == memory | made.json()
    assert (memory["content"], memory["owner_type"], memory["owner_id"]) == (STYLE, "user", "local")
    (version,) = memory["versions"]
    assert (version["operation"], version["actor"], version["reason"]) == (
        "remembered",
        "local",
        "Saved by its user.",
    )


async def test_the_same_words_in_another_spelling_are_one_memory(client: Client) -> None:
    """Traditional for simplified: 200, its evidence grows, and there is no second one."""
    first = await kept(client, STYLE)
    again = await client.post("/api/memory", {"content": "我喜歡簡約的設計風格"})

    assert (again.status_code, again.json()["id"], again.headers["etag"]) == (200, first["id"], '"2"')
    assert again.json()["evidence_count"] == first["evidence_count"] + 1
    assert await listed(client) == [STYLE]


async def test_evidence_is_what_the_user_said_word_for_word(client: Client) -> None:
    """A quote of the user's own message is kept; one that nobody said, or that the model said, is refused."""
    await client.chat("/say 你好。我住在台北。", session_id="s")
    quoted = {"session_id": "s", "position": 1, "quote": "我住在台北"}

    memory = await kept(client, "Lives in Taipei.", evidence=[quoted])
    read = (await client.get(f"/api/memory/{memory['id']}")).json()
    wrong = [
        quoted | {"quote": "我住在台中"},
        quoted | {"position": 2},
        quoted | {"position": 99},
        quoted | {"session_id": "none"},
    ]
    answers = [
        await client.post("/api/memory", {"content": f"No. {number}", "evidence": [evidence]})
        for number, evidence in enumerate(wrong)
    ]

    assert (read["evidence"], read["evidence_count"]) == ([quoted], 1)
    assert {problem(answer) for answer in answers} == {(400, "evidence_not_found")}
    assert len(await listed(client)) == 1


async def test_a_change_is_made_at_the_version_it_expects_or_not_at_all(client: Client) -> None:
    """412 with the version there is; without If-Match the last one wins. Each change is a version."""
    path = f"/api/memory/{(await kept(client, 'Office is in Berlin.'))['id']}"

    first = await change(client, path, {"content": "Office is in Hamburg."}, **{"if-match": '"1"'})
    stale = await change(client, path, {"content": "Office is in Munich."}, **{"if-match": '"1"'})
    loose = await change(client, path, {"importance": 5, "tags": ["work"], "reason": "It matters."})
    wrong = await change(client, path, {"importance": 4}, **{"if-match": "yes"})

    assert (first.status_code, first.headers["etag"]) == (200, '"2"')
    assert (*problem(stale), stale.json()["error"]["details"]["version"]) == (412, "memory_changed", 2)
    assert (loose.json()["importance"], loose.json()["content"]) == (5, "Office is in Hamburg.")
    assert problem(wrong) == (400, "invalid_request")
    versions = (await client.get(path)).json()["versions"]
    assert [(each["version"], each["content"], each["reason"]) for each in versions] == [
        (1, "Office is in Berlin.", "Saved by its user."),
        (2, "Office is in Hamburg.", "Changed by its user."),
        (3, "Office is in Hamburg.", "It matters."),
    ]


async def test_a_change_says_what_and_says_something_new(client: Client) -> None:
    """An empty one is refused, and one that makes two memories say the same. A context can be taken away."""
    await kept(client, STYLE)
    other = await kept(client, "Likes tea.", context="At breakfast.")
    path = f"/api/memory/{other['id']}"

    empty = await change(client, path, {"reason": "none"})
    same = await change(client, path, {"content": STYLE})
    bare = await change(client, path, {"context": None})

    assert (problem(empty), problem(same)) == ((400, "invalid_request"), (409, "memory_duplicate"))
    assert "context" not in bare.json()


async def test_what_is_deleted_is_found_nowhere(client: Client) -> None:
    """Neither listed, searched, recalled nor exported; a stale delete is refused, a second one finds
    nothing."""
    memory = await kept(client, STYLE)
    path = f"/api/memory/{memory['id']}"
    assert await found(client, "简约的设计") == [memory["id"]]

    stale = await client.http.delete(path, headers={"if-match": '"7"'})
    gone = await client.http.delete(path, headers={"if-match": '"1"'})
    again = await client.http.delete(path)

    assert (problem(stale), gone.status_code) == ((412, "memory_changed"), 204)
    assert problem(again) == (404, "memory_not_found")
    assert (await client.get(path)).status_code == 404
    assert (await listed(client), await listed(client, "?q=设计"), await found(client, "设计")) == (
        [],
        [],
        [],
    )
    assert (await client.get("/api/memory/export")).content == b""


@pytest.mark.parametrize(("verb", "op"), [("confirm", "confirmed"), ("delete", "forgotten")])
async def test_the_log_of_a_session_tells_what_its_user_did(client: Client, verb: str, op: str) -> None:
    """Where the request names one of theirs; with another nothing is changed."""
    memory = await kept(client, STYLE)
    (await client.post("/api/sessions", {"id": "here"})).raise_for_status()
    method, path = ("DELETE", "") if verb == "delete" else ("POST", "/confirm")
    address = f"/api/memory/{memory['id']}{path}"

    elsewhere = await client.http.request(method, f"{address}?session_id=elsewhere")
    unchanged = await client.get(f"/api/memory/{memory['id']}")
    (await client.http.request(method, f"{address}?session_id=here")).raise_for_status()

    assert problem(elsewhere) == (404, "session_not_found")
    assert unchanged.json()["version"] == memory["version"]
    (event,) = await client.events("here")
    assert (event["type"], event["data"]["op"]) == ("memory", op)
    assert (event["data"]["memory_id"], event["turn_id"][:2]) == (memory["id"], "c_")


async def test_what_is_erased_is_gone_for_good(client: Client, settings: Settings) -> None:
    """A deleted memory keeps its versions until then; afterwards no byte of it is left."""
    memory = await kept(client, "The door code is 47114711.")
    path = f"/api/memory/{memory['id']}"
    await client.http.delete(path)

    erased = await client.post(path + "/erase")
    again = await client.post(path + "/erase")

    assert (erased.status_code, problem(again)) == (204, (404, "memory_not_found"))
    for file in settings.data_dir.glob("memory.db*"):
        assert b"47114711" not in file.read_bytes()


async def test_a_list_is_read_page_by_page(client: Client) -> None:
    """Every memory once, the last changed first."""
    contents = [f"Fact number {number}." for number in range(7)]
    for content in contents:
        await kept(client, content)

    seen: list[str] = []
    query = "?limit=3"
    while query:
        page = (await client.get(f"/api/memory{query}")).json()
        seen += [memory["content"] for memory in page["memories"]]
        query = f"?limit=3&before={page['next']}" if "next" in page else ""

    assert sorted(seen) == contents


async def test_a_list_has_what_is_asked_for(client: Client) -> None:
    """By type, tag, owner, state and words; and as a role or a project sees it."""
    release, page, tea = "The release is on 3 May.", "A page claimed this.", "Likes tea."
    await kept(client, STYLE, type="preference", tags=["设计"], owner_type="role", role_id="designer")
    await kept(client, release, owner_type="project", owner_id="site", pinned=True)
    frozen = await kept(client, tea)
    await client.post("/api/memory/correct", {"memory_id": frozen["id"], "action": "freeze"})
    await claimed(client, page)

    expected = {
        "?type=preference": [STYLE],
        "?tag=设计": [STYLE],
        "?pinned=true": [release],
        "?owner_type=project": [release],
        "?quarantined=true": [page],
        "?status=frozen": [tea],
        "?q=設計": [STYLE],
        "?q=releases": [release],
        "?type=preference&q=release": [],
        "?roleId=designer": [page, tea, STYLE],
        "?role_id=writer": [page, tea],
        "?project_id=site": [release, page, tea],
    }
    told = {query: sorted(await listed(client, query)) for query in expected}
    assert told == {query: sorted(contents) for query, contents in expected.items()}


async def claimed(client: Client, content: str) -> str:
    """The id of a memory that a tool suggested."""
    memories = client.app.state.deps.memory.memories
    new = NewMemory(content, source="skill", quarantined=True)
    return (
        await memories.save(Scope("local"), new, Attribution("http_fetch", "Suggested by a tool."))
    ).row.id


async def test_what_a_tool_claims_is_recalled_when_a_person_has_confirmed_it(client: Client) -> None:
    """Until then it waits in quarantine."""
    memory_id = await claimed(client, "The user's dog is called Fido.")

    before = await found(client, "What is the dog called?")
    confirmed = await client.post(f"/api/memory/{memory_id}/confirm")

    assert (before, await found(client, "What is the dog called?")) == ([], [memory_id])
    assert (confirmed.json()["quarantined"], confirmed.headers["etag"]) == (False, '"2"')


async def test_a_full_store_names_what_could_be_merged(settings: Settings) -> None:
    """409 with the count, the limit and candidates; nothing is evicted."""
    async with running_gateway(settings.model_copy(update={"memory_limit": 2})) as client:
        ids = {(await kept(client, content))["id"] for content in ("One.", "Two.")}
        full = await client.post("/api/memory", {"content": "Three."})

        assert problem(full) == (409, "memory_full")
        details = full.json()["error"]["details"]
        assert (details["count"], details["limit"], set(details["candidates"])) == (2, 2, ids)
        assert sorted(await listed(client)) == ["One.", "Two."]


async def test_with_the_memory_switched_off_every_route_of_it_says_so(settings: Settings) -> None:
    """404 with a code of its own; everything else goes on."""
    bodies: dict[str, Any] = {
        "/api/memory": {"content": "x"},
        "/api/memory/control": {"user_message": "x"},
        "/api/memory/retrieve": {"query": "x"},
        "/api/memory/write": {"messages": [{"role": "user", "content": "x"}]},
        "/api/memory/correct": {"memory_id": "m_1", "action": "freeze"},
        "/api/memory/merge": {"memory_ids": ["m_1", "m_2"]},
        "/api/memory/contradictions": {"earlier_id": "m_1", "later_id": "m_2", "answer": "both"},
        "/api/memory/{memory_id}": {"importance": 3},
        "/api/profiles/{kind}/{profile_id}": {"fields": {}},
    }
    checked = 0
    async with running_gateway(settings.model_copy(update={"memory": False})) as client:
        for each in ENDPOINTS:
            if each.path.startswith(("/api/memory", "/api/profiles", "/api/documents")):
                path = each.path.format(memory_id="m_1", kind="user", profile_id="local", document_id="d_1")
                body = b"{}" if each.upload else orjson.dumps(bodies.get(each.path, {}))
                headers = NDJSON if each.upload else {"content-type": "application/json"}
                response = await client.http.request(each.method, path, content=body, headers=headers)
                assert (each.path, *problem(response)) == (each.path, 404, "memory_off")
                checked += 1
        told = await client.chat("/say hi")

    assert checked >= 18
    assert told[-1]["data"]["status"] == "completed"


async def test_only_the_version_that_was_read_is_confirmed_corrected_or_erased(client: Client) -> None:
    """412 for any other, also for one that was deleted since."""
    memory = await kept(client, "I like tea.")
    path = f"/api/memory/{memory['id']}"
    await change(client, path, {"content": "I like coffee."})
    stale, now = {"If-Match": '"1"'}, {"If-Match": '"2"'}
    freeze = {"memory_id": memory["id"], "action": "freeze"}

    answers = [
        await client.http.post("/api/memory/correct", json=freeze, headers=stale),
        await client.http.post(f"{path}/confirm", headers=stale),
        await client.http.post(f"{path}/erase", headers=stale),
    ]

    assert {problem(answer) for answer in answers} == {(412, "memory_changed")}
    assert (await client.get(path)).json()["version"] == 2
    frozen = await client.http.post("/api/memory/correct", json=freeze, headers=now)
    assert frozen.json()["memory"]["status"] == "frozen"
    await client.http.delete(path)
    assert problem(await client.http.post(f"{path}/erase", headers=now)) == (412, "memory_changed")
    assert (await client.http.post(f"{path}/erase", headers={"If-Match": '"4"'})).status_code == 204


@pytest.mark.parametrize(("owner_type", "owner_id"), [("role", "coach"), ("project", "apollo")])
async def test_what_is_known_in_a_role_or_project_is_reinforced_from_outside(
    client: Client, owner_type: str, owner_id: str
) -> None:
    """It is the user's own, though they ask from elsewhere."""
    body = {"content": "要简短。", "owner_type": owner_type, "owner_id": owner_id}
    first = await kept(client, **body)

    again = await client.post("/api/memory", body)

    assert (again.status_code, again.json()["id"]) == (200, first["id"])


async def test_what_was_deleted_is_listed_so_that_it_can_be_restored_or_erased(client: Client) -> None:
    """With what it said and who deleted it, the last first, page by page; once erased it is nowhere."""
    ids = [(await kept(client, f"Diagnosis {number}", type="fact"))["id"] for number in range(3)]
    await kept(client, "Likes tea.")
    for memory_id in ids:
        await client.http.delete(f"/api/memory/{memory_id}")

    first = (await client.get("/api/memory?deleted=true&limit=2")).json()
    second = (await client.get(f"/api/memory?deleted=true&limit=2&before={first['next']}")).json()

    gone = [*first["deleted"], *second["deleted"]]
    assert sorted(each["id"] for each in gone) == sorted(ids)
    assert {each["content"] for each in gone} == {f"Diagnosis {number}" for number in range(3)}
    assert {(each["actor"], each["reason"]) for each in gone} == {("local", "Deleted by its user.")}
    assert {each["restorable_until"] - each["deleted_at"] for each in gone} == {30 * 86_400_000}
    times = [each["deleted_at"] for each in gone]
    assert times == sorted(times, reverse=True)
    assert (first["memories"], "next" in second) == ([], False)
    assert (await client.post(f"/api/memory/{ids[0]}/erase")).status_code == 204
    left = (await client.get("/api/memory?deleted=true")).json()["deleted"]
    assert sorted(each["id"] for each in left) == sorted(ids[1:])
    assert problem(await client.get("/api/memory?deleted=true&q=diagnosis")) == (400, "invalid_request")
    assert "deleted" not in (await client.get("/api/memory")).json()


async def test_what_follows_from_a_memory_is_flagged_when_that_is_corrected(client: Client) -> None:
    """Also across roles: the user sees all of theirs. What is not there nothing can follow from."""
    root = await kept(client, "Ann has a bad knee", owner_type="role", owner_id="coach")
    leaf = await kept(client, "She does not run", depends_on=[root["id"]])

    body = {"memory_id": root["id"], "action": "replace", "new_content": "Her knee is well"}
    changed = (await client.post("/api/memory/correct", body)).json()["changed"]

    assert [each["operation"] for each in changed] == ["replaced", "remembered", "flagged"]
    assert changed[2]["memory"]["id"] == leaf["id"]
    unknown = await client.post("/api/memory", {"content": "x", "depends_on": ["m_0000000000000000"]})
    assert problem(unknown) == (404, "memory_not_found")


async def test_a_quote_is_kept_without_what_nobody_sees(client: Client) -> None:
    """Neither signs that turn the line round, nor invisible ones; a quote over two lines on one."""
    await client.post("/api/chat", {"message": "I like tea.\n我喜欢茶。", "session_id": "quoted"})
    quote = "I like\u200b\u202e tea\U000e0041.\n我喜欢茶"
    evidence = {"session_id": "quoted", "position": 1, "quote": quote}

    memory = await kept(client, "Likes tea.", evidence=[evidence])

    read = (await client.get(f"/api/memory/{memory['id']}")).json()
    assert [each["quote"] for each in read["evidence"]] == ["I like tea. 我喜欢茶"]


async def test_what_was_deleted_is_restored_as_it_was(client: Client) -> None:
    """With its words, its pin and its versions, also in the session's log; a second time changes nothing.
    What was erased stays erased."""
    saved = await kept(client, "对花生过敏", type="constraint", pinned=True, importance=5)
    path = f"/api/memory/{saved['id']}"
    await client.chat("hi", session_id="s")
    assert (await client.http.delete(path)).status_code == 204
    gone = (await client.get(f"{path}/versions")).json()
    assert [each["operation"] for each in gone["versions"]] == ["remembered", "deleted"]
    assert (gone["versions"][-1]["content"], "deleted_at" in gone) == ("对花生过敏", True)
    assert problem(await client.http.post(f"{path}/restore", headers={"if-match": '"1"'})) == (
        412,
        "memory_changed",
    )

    back = await client.post(f"{path}/restore?session_id=s", **{"if-match": '"2"'})
    again = await client.post(f"{path}/restore?session_id=s")

    assert (back.status_code, back.headers["etag"]) == (200, '"3"')
    fields = ("content", "type", "pinned", "importance", "status", "owner_id")
    assert {name: back.json()[name] for name in fields} == {name: saved[name] for name in fields}
    assert again.json() == back.json()
    found = (await client.get("/api/memory?q=花生")).json()["memories"]
    assert [each["id"] for each in found] == [saved["id"]]
    assert (await client.get("/api/memory?deleted=true")).json()["deleted"] == []
    log = await client.events("s")
    (told,) = [each["data"] for each in log if each["type"] == "memory"]
    assert (told["op"], told["content"], told["cause"]) == ("restored", "对花生过敏", "user")
    await client.post(f"{path}/erase")
    assert problem(await client.post(f"{path}/restore")) == (404, "memory_not_found")
    assert problem(await client.get(f"{path}/versions")) == (404, "memory_not_found")


async def test_a_memory_is_made_again_what_it_was_at_a_version(client: Client) -> None:
    """All that a change took, also where another memory replaced it; not beside the same content."""
    saved = await kept(client, "Lives in Paris.", type="fact", tags=["home"], pinned=True)
    path = f"/api/memory/{saved['id']}"
    await client.http.patch(path, json={"pinned": False, "importance": 1, "type": "risk", "tags": []})
    body = {"memory_id": saved["id"], "action": "replace", "new_content": "Lives in Rome."}
    assert (await client.post("/api/memory/correct", body)).status_code == 200

    back = (await client.post(f"{path}/restore", {"to_version": 1})).json()

    assert {name: back[name] for name in ("pinned", "importance", "type", "tags", "status")} == {
        "pinned": True,
        "importance": 3,
        "type": "fact",
        "tags": ["home"],
        "status": "active",
    }
    assert ("superseded_by" in back, back["version"]) == (False, 4)
    assert problem(await client.post(f"{path}/restore", {"to_version": 9})) == (
        404,
        "memory_version_not_found",
    )
    await client.http.delete(path)
    await kept(client, "Lives in Paris.")
    assert problem(await client.post(f"{path}/restore")) == (409, "memory_duplicate")

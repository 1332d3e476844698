"""What a message needs of the memory, what there is for it, and how it is corrected."""

from typing import Any

import httpx2
import pytest

from tests.harness import Client, running_gateway
from tests.product import Settings, now_ms

pytestmark = pytest.mark.anyio

DAY = 86_400_000
NDJSON = {"content-type": "application/x-ndjson"}


async def kept(client: Client, content: str, **fields: Any) -> str:
    """The id of a new memory."""
    response = await client.post("/api/memory", {"content": content, **fields})
    assert response.status_code == 201, response.text
    return response.json()["id"]


async def told(client: Client, path: str, **body: Any) -> dict[str, Any]:
    response = await client.post(f"/api/memory/{path}", body)
    assert response.status_code in {200, 201}, response.text
    return response.json()


async def ids(client: Client, query: str, **where: Any) -> list[str]:
    return [hit["id"] for hit in (await told(client, "retrieve", query=query, **where))["results"]]


def problem(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


async def test_the_controller_says_whether_a_message_needs_memories(client: Client) -> None:
    """Yes to what refers to former conversations, no to what everybody would answer alike; with reasons. What
    it decides can be passed on to retrieve as it is."""
    past = await told(
        client, "control", user_message="我们上次讨论的技术方案是什么?", role_id="r", message_count=3
    )
    general = await told(client, "control", userMessage="React和Vue哪个更好?", roleId="r", messageCount=3)

    assert (past["needed"], general["needed"]) == ("yes", "no")
    assert (
        (past["need_memory"], past["retrieval_mode"]) == (past["needed"], past["mode"]) == ("yes", "details")
    )
    assert "project_decision" in past["memory_types"]
    assert past["notes"]
    passed_on = {
        name: value for name, value in past.items() if name not in {"needed", "need_memory", "notes"}
    }
    assert (await told(client, "retrieve", query="技术方案", **passed_on))["results"] == []


async def test_a_catalog_has_summaries_and_the_details_have_everything(client: Client) -> None:
    """First what there is, with ranks and freshness; then, by id or for the same query, the whole of it."""
    memory_id = await kept(
        client,
        "We decided on PostgreSQL because of its JSON queries.",
        summary="Database: PostgreSQL",
        type="project_decision",
        tags=["db"],
        context="Chosen over MySQL.",
        decisions=["PostgreSQL 16"],
        refs=["docs/db.md"],
        importance=5,
    )

    catalog = await told(client, "retrieve", query="Which database did we decide on?")
    details = await told(client, "retrieve", query="Which database did we decide on?", mode="details")
    by_id = await told(client, "retrieve", memoryIds=[memory_id, "m_0000000000000000"])

    (short,), (long,) = catalog["results"], details["results"]
    assert (catalog["mode"], details["mode"], by_id["mode"]) == ("catalog", "details", "details")
    assert short == {
        "id": memory_id,
        "summary": "Database: PostgreSQL",
        "type": "project_decision",
        "importance": 5,
        "tags": ["db"],
        "score": short["score"],
        "lexical_rank": 1,
        "freshness": short["freshness"],
        "created_at": short["created_at"],
        "updated_at": short["created_at"],
    }
    assert short["score"] > 0
    assert 0.99 < short["freshness"] <= 1
    more = {
        "content": "We decided on PostgreSQL because of its JSON queries.",
        "context": "Chosen over MySQL.",
        "decisions": ["PostgreSQL 16"],
        "refs": ["docs/db.md"],
        "evidence": [],
    }
    assert long == long | more
    assert [hit | {"score": 0} for hit in by_id["results"]] == by_id["results"]
    assert by_id["results"][0] == by_id["results"][0] | more
    assert catalog["tokens"] < details["tokens"]


async def test_what_does_not_fit_the_budget_is_told(client: Client) -> None:
    """By id and reason: nothing is left out in silence."""
    everything = {
        await kept(client, f"Project {name} uses the blue palette.") for name in ("one", "two", "ten")
    }

    found = await told(client, "retrieve", query="blue palette", budgetTokens=0)

    assert found["results"] == []
    assert {each["id"] for each in found["omitted"]} == everything
    assert found["omitted_count"] == 3
    assert {each["reason"] for each in found["omitted"]} <= {"budget", "similar"}


async def test_the_mode_of_a_search_has_two_names(client: Client) -> None:
    """retrievalMode is mode; two that differ are refused."""
    memory_id = await kept(client, "The atrium has 12 palms.")

    details = await told(client, "retrieve", query="atrium", retrievalMode="details")
    both = await client.post(
        "/api/memory/retrieve", {"query": "atrium", "mode": "catalog", "retrieval_mode": "details"}
    )

    assert [(hit["id"], hit["content"]) for hit in details["results"]] == [
        (memory_id, "The atrium has 12 palms.")
    ]
    assert problem(both) == (400, "invalid_request")


async def test_types_and_times_narrow_what_is_found(client: Client) -> None:
    """Only the types asked for; only what was changed in the last 7 or 30 days."""
    likes = await kept(client, "Likes the colour green.", type="preference")
    fact, ten_days_ago = "m_00000000000000aa", now_ms() - 10 * DAY
    line = {"id": fact, "content": "The colour of the logo is green.", "updated_at": ten_days_ago}
    assert (await client.post("/api/memory/import", line, **NDJSON)).json()["imported"] == 1

    assert set(await ids(client, "green colour")) == {likes, fact}
    assert await ids(client, "green colour", memory_types=["preference"]) == [likes]
    assert await ids(client, "green colour", time_range="last_7_days") == [likes]
    assert set(await ids(client, "green colour", time_range="last_30_days")) == {likes, fact}


async def test_a_role_recalls_its_own_and_what_is_for_all(client: Client) -> None:
    """Another role's is not there; a project's is, in that project. A session brings both along."""
    designer = await kept(client, "设计风格要简约。", owner_type="role", role_id="designer")
    site = await kept(client, "网站的设计风格是蓝色。", owner_type="project", owner_id="site")
    everywhere = await kept(client, "用户喜欢绿色的设计风格。")
    await client.post("/api/sessions", {"id": "s", "role_id": "designer", "project_id": "site"})

    assert set(await ids(client, "设计风格")) == {everywhere}
    assert set(await ids(client, "设计风格", role_id="designer")) == {everywhere, designer}
    assert set(await ids(client, "设计风格", role_id="writer", project_id="site")) == {everywhere, site}
    assert set(await ids(client, "设计风格", session_id="s")) == {everywhere, designer, site}


async def test_a_correction_by_replace_leaves_a_chain_and_one_memory(client: Client) -> None:
    """Only the new one is recalled; the old one is readable and points to it."""
    old = await kept(client, "The office is in Berlin.")

    corrected = await told(
        client,
        "correct",
        memory_id=old,
        action="replace",
        new_content="The office is in Hamburg.",
        evidence="We moved in May.",
    )

    new = corrected["memory"]["id"]
    before = (await client.get(f"/api/memory/{old}")).json()
    assert (before["status"], before["superseded_by"]) == ("replaced", new)
    assert before["versions"][-1]["reason"] == "We moved in May."
    assert [(each["operation"], each["memory"]["id"]) for each in corrected["changed"]] == [
        ("replaced", old),
        ("remembered", new),
    ]
    assert await ids(client, "Where is the office?") == [new]


async def test_suppressed_is_kept_frozen_is_not_recalled_and_both_can_be_undone(client: Client) -> None:
    """A frozen memory stays in the list."""
    memory_id = await kept(client, "喜欢喝绿茶。")

    async def after(action: str) -> tuple[str, bool]:
        changed = await told(client, "correct", memory_id=memory_id, action=action)
        return changed["memory"]["status"], memory_id in await ids(client, "绿茶")

    assert await after("suppress") == ("suppressed", True)
    assert await after("freeze") == ("frozen", False)
    assert await after("activate") == ("active", True)


async def test_a_correction_says_what_and_why_or_is_refused(client: Client) -> None:
    """Without the new content, or with a quote that nobody said; unknown ids are not found."""
    memory_id = await kept(client, "Likes tea.")
    quote = {"session_id": "s", "position": 1, "quote": "coffee"}
    bodies: list[tuple[dict[str, Any], tuple[int, str]]] = [
        ({"action": "replace"}, (400, "invalid_request")),
        ({"action": "freeze", "new_content": "x"}, (400, "invalid_request")),
        ({"action": "freeze", "evidence": quote}, (400, "evidence_not_found")),
        ({"action": "burn"}, (400, "invalid_request")),
        ({"action": "freeze", "memory_id": "m_0"}, (404, "memory_not_found")),
    ]

    for body, expected in bodies:
        response = await client.post("/api/memory/correct", {"memory_id": memory_id, **body})
        assert problem(response) == expected, body


async def test_several_memories_become_one_that_knows_them(client: Client) -> None:
    """The others point to it, and only it is recalled."""
    parts = [await kept(client, content) for content in ("Likes green tea.", "Drinks green tea at nine.")]

    merged = await told(client, "merge", memory_ids=parts)
    alone = await client.post("/api/memory/merge", {"memory_ids": [parts[0], parts[0]]})

    one = merged["memory"]["id"]
    assert await ids(client, "green tea") == [one]
    read = (await client.get(f"/api/memory/{one}")).json()
    assert {link["to_id"] for link in read["links"] if link["relation"] == "merged_from"} == set(parts)
    assert {(await client.get(f"/api/memory/{each}")).json()["superseded_by"] for each in parts} == {one}
    assert problem(alone) == (400, "invalid_request")


async def test_a_conversation_is_read_for_what_lasts(client: Client) -> None:
    """What the user said of themselves is remembered with the words that show it; a second reading adds
    nothing."""
    said = [
        {"role": "user", "content": "请记住：我喜欢简约的设计风格。"},
        {"role": "assistant", "content": "好的。"},
    ]

    first = await told(client, "write", conversation=said, role_id="designer")
    again = await told(client, "write", messages=said, role_id="designer")

    (change,) = first["changed"]
    assert (change["operation"], change["memory"]["source"]) == ("remembered", "conversation")
    assert "简约" in change["memory"]["content"]
    assert [each["operation"] for each in again["changed"]] in ([], ["reinforced"])
    assert len((await client.get("/api/memory")).json()["memories"]) == 1


@pytest.mark.parametrize(
    "text",
    [
        "用户：请记住：我喜欢简约的设计风格。\n助手：好的。",
        "Chat of Monday\n\n**User:** 请记住：我喜欢简约的设计风格。\n**Assistant:** Noted.",
        "请记住：我喜欢简约的设计风格。",
    ],
)
async def test_a_conversation_may_be_a_text(client: Client, text: str) -> None:
    """With the speakers at the beginnings of lines, in either language; one without any is the user's."""
    written = await told(client, "write", conversation=text, userId="local")

    (change,) = written["changed"]
    assert "简约" in change["memory"]["content"]


async def test_in_a_text_only_the_users_lines_are_evidence(client: Client) -> None:
    """What the assistant said, and a heading above the first speaker, are nobody's wishes."""
    text = "Remember that I like marble.\nAssistant: Remember that I like granite.\nUser: Fine weather today."

    assert (await told(client, "write", conversation=text))["changed"] == []


async def test_a_session_is_read_for_what_lasts(client: Client) -> None:
    """Its messages are the evidence."""
    await client.chat("My cat is called Tofu.", session_id="s")

    written = await told(client, "write", session_id="s")

    (change,) = written["changed"]
    read = (await client.get(f"/api/memory/{change['memory']['id']}")).json()
    assert [(each["session_id"], each["position"]) for each in read["evidence"]] == [("s", 1)]


async def test_there_must_be_something_to_read(client: Client) -> None:
    """A conversation, messages or a session: one of them."""
    one = [{"role": "user", "content": "hi"}]

    answers = [
        await client.post("/api/memory/write", body)
        for body in (
            {},
            {"conversation": []},
            {"conversation": one, "messages": one},
            {"messages": [{"role": "system", "content": "x"}]},
            {"conversation": " "},
            {"conversation": "User: \nAssistant:"},
            {"conversation": "User: a\0b"},
            {"conversation": 7},
        )
    ]

    assert {problem(answer) for answer in answers} == {(400, "invalid_request")}


async def test_a_model_that_cannot_read_is_told(settings: Settings, client: Client) -> None:
    """502: nothing is remembered, and the same can be asked again."""
    nowhere = {"anthropic_base_url": "http://127.0.0.1:9", "data_dir": settings.data_dir / "other"}
    async with running_gateway(settings.model_copy(update=nowhere)) as alone:
        said = [{"role": "user", "content": "Remember that I like tea."}]
        response = await alone.post("/api/memory/write", {"messages": said})

        assert response.status_code == 502
        assert (await alone.get("/api/memory")).json()["memories"] == []


async def test_of_a_long_memory_the_details_have_the_passage_that_fits(client: Client) -> None:
    """As far as all of it has no room."""
    said = "The orchard. " + "Apples are picked in autumn. " * 80 + "Quinces are sold to Ferrer."
    memory_id = await kept(client, said)

    async def found(**more: Any) -> dict[str, Any]:
        (hit,) = (await told(client, "retrieve", query="Who are the quinces sold to?", **more))["results"]
        assert hit["id"] == memory_id
        return hit

    assert {"content", "passage"}.isdisjoint(await found())
    passage = (await found(mode="details"))["passage"]
    assert passage.endswith("Quinces are sold to Ferrer.")
    assert len(passage) < len(said) / 2
    assert (await found(mode="details", budget_tokens=10_000))["content"] == said


async def test_details_by_id_heed_the_budget_and_leave_freshness_alone(client: Client) -> None:
    """What does not fit is there by its summary, or named. To look at a memory is not to make use of it."""
    ids = [await kept(client, f"第{number}条 " + "x y " * 400) for number in range(3)]
    before = (await client.get(f"/api/memory/{ids[0]}")).json()["last_used"]

    body = {"memory_ids": ids, "budget_tokens": 600}
    told = (await client.post("/api/memory/retrieve", body)).json()

    assert [(hit["id"], "content" in hit) for hit in told["results"]] == [(ids[0], True), (ids[1], False)]
    assert told["tokens"] <= 600
    assert told["omitted"] == [{"id": ids[1], "reason": "too_long"}, {"id": ids[2], "reason": "budget"}]
    assert told["omitted_count"] == 1
    assert (await client.get(f"/api/memory/{ids[0]}")).json()["last_used"] == before


async def test_a_part_of_a_word_finds_what_a_whole_word_does_not(client: Client) -> None:
    """At the beginning or end of a longer word, in lists, look-ups and turns; where a whole word finds
    something, that alone is found."""
    smart = await kept(client, "The SmartBulbs in the hall answer to channel 12.", type="fact")
    await kept(client, "The bulbous jar is in the cellar.")

    async def listed(words: str) -> list[str]:
        page = (await client.get(f"/api/memory?q={words}")).json()
        return [each["id"] for each in page["memories"]]

    assert (await ids(client, "channel of my smart lights?"))[0] == smart
    assert smart in await ids(client, "Which bulbs do I own?")
    assert smart in await listed("bulbs")
    assert await ids(client, "martbul") == []
    told_in_turn = [
        hit["id"]
        for event in await client.chat("Which smart things do I have?")
        if event["type"] == "retrieval"
        for hit in event["data"]["results"]
    ]
    assert smart in told_in_turn
    whole = await kept(client, "A bulb is 4 euros.")
    assert (await listed("bulb"))[0] == whole
    assert (await ids(client, "What does a bulb cost?"))[0] == whole


async def test_memories_are_found_while_one_types(client: Client) -> None:
    """By the beginning of the last word, parts of words and without accents; the word itself comes first."""
    begun = await kept(client, "Deploys run on Kubernetes with PostgreSQL.")
    cafe = await kept(client, "She writes Python3 in the café in Việt Nam, call 138-0013-8000.")
    exact = await kept(client, "The kube is a box of wood.")

    async def listed(words: str) -> list[str]:
        page = (await client.http.get("/api/memory", params={"q": words})).json()
        return [each["id"] for each in page["memories"]]

    assert await listed("kuber") == [begun]
    assert await listed("kube") == [exact, begun]
    assert await listed("kube ") == [exact]
    for typed in ("pyth", "python", "cafe", "viet", "13800138000", "writes pyth"):
        assert await listed(typed) == [cafe], typed
    assert await listed("postgres") == [begun]
    assert await listed("zebra") == []


async def test_what_is_of_a_task_or_a_group_is_seen_in_that_one(client: Client) -> None:
    """Where a request names one, those of others are as absent as if they never were; where it names none,
    all are seen. Nothing else is left out."""
    audit = await kept(client, "The deadline is Friday.", owner_type="task", owner_id="audit")
    launch = await kept(client, "The deadline is in June.", owner_type="task", task_id="launch")
    board = await kept(client, "The deadline for the board is noon.", owner_type="group", owner_id="board")
    mine = await kept(client, "I never miss a deadline.")

    async def seen(**where: str) -> set[str]:
        return set(await ids(client, "deadline", **where))

    assert await seen() == {audit, launch, board, mine}
    assert await seen(taskId="audit") == {audit, board, mine}
    assert await seen(task_id="launch", group_id="sales") == {launch, mine}
    details = await told(client, "retrieve", memory_ids=[audit, launch], task_id="audit")
    assert [each["id"] for each in details["results"]] == [audit]
    listed = (await client.get("/api/memory?owner_type=task&ownerId=launch")).json()["memories"]
    assert [each["id"] for each in listed] == [launch]
    for bad in ("/api/memory?owner_id=launch", "/api/memory?owner_type=task&owner_id="):
        assert problem(await client.get(bad)) == (400, "invalid_request")
    nameless = await client.post("/api/memory", {"content": "x", "owner_type": "task"})
    assert problem(nameless) == (400, "memory_invalid")

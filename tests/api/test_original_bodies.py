"""The bodies and answers of the design that the product began with, field by field."""

from typing import Any

import pytest
from pydantic import SecretStr

from tests.harness import Client, running_gateway, text_of
from tests.product import Settings

pytestmark = pytest.mark.anyio

SAID = [
    {
        "role": "user",
        "content": "We decided to use PostgreSQL for project Kingfisher. I prefer short answers.",
    },
    {"role": "assistant", "content": "Noted."},
]
SUMMARY = {
    *("goal", "constraints", "decisions", "progress", "artifacts", "next_actions", "risks", "open_questions"),
    *("trajectory_start", "trajectory_end"),
}
"""The fields of a structured summary."""


async def post(client: Client, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
    response = await client.post(path, body)
    assert response.status_code == status, response.text
    return response.json()


async def test_a_summary_has_the_ends_of_its_trajectory(client: Client) -> None:
    """`trajectoryStart` and `trajectoryEnd`, the indices of the first and the last message, come back beside
    the summary; of a conversation, and of a session."""
    ends: dict[str, Any] = {"trajectoryStart": 4, "trajectoryEnd": 5}
    made = await post(
        client, "/api/session/summary", 201, sessionId="theirs-1", userId="local", projectId="kingfisher",
        roleId="web", messages=SAID, trajectory=[{"step": "asked"}], **ends,
    )  # fmt: skip
    await client.chat("My cat is called Tofu.", session_id="s")
    of_session = await post(
        client, "/api/session/summary", 201, sessionId="s", trajectoryStart=0, trajectoryEnd=0
    )
    without = await post(client, "/api/session/summary", 201, sessionId="s")

    assert (made["trajectory_start"], made["trajectory_end"]) == (4, 5)
    assert (made["session_id"], made["project_id"]) == ("theirs-1", "kingfisher")
    assert made["summary"].keys() >= SUMMARY
    assert (of_session["trajectory_start"], of_session["trajectory_end"]) == (0, 0)
    assert without.keys() & {"trajectory_start", "trajectory_end"} == set()
    assert (await client.get("/api/session/summary/theirs-1")).json()["summary"] == made["summary"]
    listed = (await client.get("/api/session/summaries?userId=local&projectId=kingfisher&limit=5")).json()
    assert [each["session_id"] for each in listed["summaries"]] == ["theirs-1"]


@pytest.mark.parametrize(
    "ends",
    [
        {"trajectoryStart": 2, "trajectoryEnd": 1},
        {"trajectoryStart": 1, "trajectoryEnd": 0},
        {"trajectoryStart": -1},
        {"trajectoryEnd": "last"},
        {"trajectoryStart": 1.5},
        {"trajectoryEnd": 10**30},
    ],
)
async def test_ends_that_are_none_are_refused(shared_client: Client, ends: dict[str, Any]) -> None:
    """An index is a whole number from 0, and the last message is not before the first."""
    refused = await post(shared_client, "/api/session/summary", 400, messages=SAID, **ends)

    assert "trajectory" in refused["error"]["message"]


@pytest.mark.parametrize(
    "session_id", ["8c9e6679-7425-40de-944b-e07fc1f90ae7", "slack:C024BE91L/1700.01", "会话 7"]
)
async def test_memories_keep_the_session_of_another_system_as_a_label(
    client: Client, session_id: str
) -> None:
    """`POST /api/memory/write` with a `sessionId` that is none of this gateway: what is new is tagged with
    it, and can be found by it. Reading the same again adds nothing."""
    body: dict[str, Any] = {
        "conversation": SAID,
        "sessionId": session_id,
        "userId": "local",
        "roleId": "web",
        "projectId": "kingfisher",
        "isOwn": True,
    }
    written = await post(client, "/api/memory/write", **body)
    again = await post(client, "/api/memory/write", **body)

    assert written["changed"], "the demo model learns of it"
    assert again["changed"] == []
    found = (await client.http.get("/api/memory", params={"tag": session_id})).json()["memories"]
    assert len(found) == len(written["changed"])
    assert all(session_id in each["tags"] for each in found)
    sessions = (await client.get("/api/sessions")).json()["sessions"]
    assert sessions == []


async def test_the_label_says_nothing_of_the_sessions_of_others(settings: Settings) -> None:
    """Another user's session is as unknown as one that never was; without a conversation either is a 404, and
    one of the caller's own is what it names."""
    keys = SecretStr("anna:anna-secret-0123456789,bert:bert-secret-0123456789")
    anna, bert = ({"x-api-key": f"{name}-secret-0123456789"} for name in ("anna", "bert"))
    async with running_gateway(settings.model_copy(update={"api_keys": keys})) as client:
        hers = (await client.http.post("/api/sessions", json={"projectId": "p"}, headers=anna)).json()["id"]
        answers: list[tuple[int, int, list[str]]] = []
        for session_id in (hers, "s_" + "0" * 32):
            body = {"messages": SAID, "sessionId": session_id, "isOwn": True}
            written = await client.http.post("/api/memory/write", json=body, headers=bert)
            alone = await client.http.post("/api/memory/write", json={"sessionId": session_id}, headers=bert)
            found = await client.http.get("/api/memory", params={"tag": session_id}, headers=bert)
            answers.append((written.status_code, alone.status_code, [*found.json()["memories"]]))
            for each in found.json()["memories"]:
                await client.http.post(f"/api/memory/{each['id']}/erase", headers=bert)
        own = {"messages": SAID, "sessionId": hers, "isOwn": True}
        known = (await client.http.post("/api/memory/write", json=own, headers=anna)).json()["changed"]
        tagged = await client.http.get("/api/memory", params={"tag": hers}, headers=anna)

    assert [each[:2] for each in answers] == [(200, 404), (200, 404)]
    assert known
    assert tagged.json()["memories"] == []


@pytest.mark.parametrize("session_id", ["", " ", "x" * 65, "nul\0", 7])
async def test_a_label_has_bounds(shared_client: Client, session_id: object) -> None:
    """As a tag has: 64 characters, and no control characters."""
    refused = await post(shared_client, "/api/memory/write", 400, messages=SAID, sessionId=session_id)

    assert "session_id" in refused["error"]["message"]


async def test_the_control_of_memory(client: Client) -> None:
    """{userMessage, roleId, projectId, messageCount} -> whether, which, how much, from when, and why."""
    answer = await post(
        client, "/api/memory/control",
        userMessage="我们上次讨论的技术方案是什么?", roleId="web", projectId="kingfisher", messageCount=3,
    )  # fmt: skip

    assert (answer["needed"], answer["need_memory"]) == ("yes", "yes")
    assert answer["memory_types"]
    assert answer["mode"] == answer["retrieval_mode"] == "details"
    assert answer["budget_tokens"] > 0
    assert answer["time_range"] in {"last_7_days", "last_30_days", "all"}
    assert answer["notes"]
    no = await post(
        client, "/api/memory/control", userMessage="React和Vue哪个更好?", roleId="web", messageCount=0
    )
    assert no["need_memory"] == "no"


@pytest.mark.parametrize("named", ["mode", "retrievalMode"])
@pytest.mark.parametrize("mode", ["catalog", "details"])
@pytest.mark.parametrize("time_range", ["last_7_days", "last_30_days", "all"])
async def test_the_retrieval_of_memories(
    shared_client: Client, named: str, mode: str, time_range: str
) -> None:
    """{query, mode, userId, roleId, projectId, memoryTypes, timeRange, limit, budgetTokens} -> summaries, or
    everything."""
    client = shared_client
    await client.post(
        "/api/memory", {"content": "Kingfisher runs on PostgreSQL.", "type": "project_decision"}
    )
    asked: dict[str, Any] = {
        "query": "Which database has Kingfisher?",
        "userId": "local",
        "roleId": "web",
        "projectId": "kingfisher",
        "memoryTypes": ["project_decision", "fact"],
        "timeRange": time_range,
        "limit": 5,
        "budgetTokens": 500,
        named: mode,
    }

    found = await post(client, "/api/memory/retrieve", **asked)

    assert found["mode"] == mode
    best = found["results"][0]
    assert best.keys() >= {"id", "summary", "type", "importance", "tags", "score"}
    assert ("content" in best) == (mode == "details")


async def test_the_correction_and_the_merging_of_memories(client: Client) -> None:
    """{memoryId, action, evidence, newContent}, with evidence in words, and {memoryIds}."""
    ids = [
        (await post(client, "/api/memory", 201, content=f"Hall {number} is in Taipei."))["id"]
        for number in range(4)
    ]
    for action in ("suppress", "freeze", "activate"):
        await post(client, "/api/memory/correct", memoryId=ids[0], action=action, evidence="As I said.")
    replaced = await post(
        client, "/api/memory/correct", memoryId=ids[1], action="replace", newContent="Hall 1 is in Tainan."
    )
    merged = await post(client, "/api/memory/merge", 201, memoryIds=ids[2:])

    assert replaced
    assert merged
    one = (await client.get(f"/api/memory/{ids[1]}")).json()
    assert one["status"] == "replaced"


async def test_artifacts(client: Client) -> None:
    """{content, mimeType, sessionId, userId, toolCallId, metadata, expiresAt}, and parts by lines, bytes, a
    JSON path and a search."""
    session = await client.session()
    kept = await post(
        client, "/api/artifacts", 201, content='{"data": [1, 2, 3]}\n', mimeType="application/json",
        sessionId=session, userId="local", toolCallId="toolu_1", metadata={"source": "sales"},
        expiresAt="2031-01-01T00:00:00Z",
    )  # fmt: skip

    assert (kept["session_id"], kept["tool_call_id"]) == (session, "toolu_1")
    assert kept["metadata"] == {"source": "sales"}
    path = f"/api/artifacts/{kept['ref']}"
    for query in ("lines=1-1", "bytes=0-8", "jsonPath=$.data", "json_path=$.data", "search=data"):
        part = await client.get(f"{path}?{query}")
        assert part.status_code == 200, part.text
        assert part.json()["content"]
    assert (await client.get(f"{path}/compact")).json()["compact"]


async def test_skills_and_chat(client: Client) -> None:
    """The catalog by type, its refresh, and a message with the names that the original had."""
    for kind in ("function", "markdown", "mcp"):
        listed = (await client.get(f"/api/skills?type={kind}")).json()["skills"]
        assert {each["type"] for each in listed} <= {kind}
        assert all(
            each.keys() >= {"name", "description", "type", "location", "enabled", "metadata"}
            for each in listed
        )
    assert (await client.post("/api/skills/refresh")).json()["skills"]

    events = await client.chat("/say hello", sessionId="theirs", projectId="p", roleId="web")
    assert text_of(events) == "hello"

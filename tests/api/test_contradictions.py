"""Memories that contradict each other, over HTTP: listed whichever way they came, answered, undone."""

from typing import Any

import orjson
import pytest

from tests.harness import Client

pytestmark = pytest.mark.anyio

ASKED = "/api/memory/contradictions"


async def pairs(client: Client) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    response = await client.get(ASKED)
    assert response.status_code == 200, response.text
    return [(each["earlier"], each["later"]) for each in response.json()["contradictions"]]


async def answer(client: Client, pair: tuple[dict[str, Any], dict[str, Any]], said: str) -> Any:
    body = {"earlier_id": pair[0]["id"], "later_id": pair[1]["id"], "answer": said}
    return await client.post(ASKED, body)


async def test_whichever_way_they_came_their_user_is_asked(client: Client) -> None:
    """One by HTTP, one from a file, one by the model's tool."""
    await client.post("/api/memory", {"content": "I live in Ghent."})
    copy = orjson.dumps({"content": "我住在上海"}) + b"\n" + orjson.dumps({"content": "我住在台北"})
    headers = {"content-type": "application/x-ndjson"}
    assert (await client.http.post("/api/memory/import", content=copy, headers=headers)).is_success
    call = {"action": "save", "content": "I live in Antwerp."}
    assert (await client.chat(f"/call manage_memory {orjson.dumps(call).decode()}"))[-1]["data"][
        "status"
    ] == ("completed")

    asked = [{earlier["content"], later["content"]} for earlier, later in await pairs(client)]
    assert {"I live in Ghent.", "I live in Antwerp."} in asked
    assert {"我住在上海", "我住在台北"} in asked
    assert len(asked) == 2


async def test_an_answer_is_given_once_and_undone_with_what_there_is(client: Client) -> None:
    for content in ("I like tea", "I don't like tea"):
        await client.post("/api/memory", {"content": content})
    (pair,) = await pairs(client)

    told = (await answer(client, pair, "later")).json()
    assert told["memory"]["content"] == "I don't like tea"
    replaced = next(each["memory"] for each in told["changed"] if each["operation"] == "replaced")
    assert (replaced["id"], replaced["superseded_by"]) == (pair[0]["id"], pair[1]["id"])
    again = await answer(client, pair, "later")
    assert (again.status_code, again.json()["error"]["code"]) == (404, "contradiction_not_found")
    assert await pairs(client) == []

    path = f"/api/memory/{replaced['id']}/restore"
    back = await client.post(path, {"to_version": replaced["version"] - 1})
    assert (back.status_code, back.json()["status"]) == (200, "active")
    (pair,) = await pairs(client)
    assert (await answer(client, pair, "both")).status_code == 200
    assert await pairs(client) == []
    links = (await client.get(f"/api/memory/{pair[1]['id']}")).json()["links"]
    assert "holds_beside" in {each["relation"] for each in links}
    assert (await answer(client, pair, "undecided")).status_code == 200
    assert len(await pairs(client)) == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"earlier_id": "m_1", "later_id": "m_2"},
        {"earlier_id": "m_1", "later_id": "m_2", "answer": "neither"},
        {"earlier_id": ["m_1"], "later_id": "m_2", "answer": "both"},
        {"earlier_id": "m 1", "later_id": "m_2", "answer": "both"},
        {"earlier_id": "m_1", "later_id": "m_2", "answer": "both", "more": 1},
    ],
)
async def test_a_bad_answer_is_refused_in_words(client: Client, body: dict[str, Any]) -> None:
    response = await client.post(ASKED, body)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_request")


async def test_a_secret_in_it_is_masked(client: Client) -> None:
    """As it is in every list."""
    for key in ("sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaa", "sk-ant-api03-bbbbbbbbbbbbbbbbbbbbbbbb"):
        made = await client.post("/api/memory", {"content": f"My email is {key}"})
        assert made.status_code == 201, made.text
    ((earlier, later),) = await pairs(client)
    assert (earlier["secret"], later["secret"]) == (True, True)
    assert not [key for key in ("aaaaaaaa", "bbbbbbbb") if key in f"{earlier}{later}"]


async def test_that_both_hold_goes_along_in_an_export(client: Client) -> None:
    """Who takes their memories elsewhere is not asked again."""
    for content in ("I live in Ghent", "I live in Antwerp"):
        await client.post("/api/memory", {"content": content})
    (pair,) = await pairs(client)
    assert (await answer(client, pair, "both")).status_code == 200
    copy = (await client.get("/api/memory/export")).content
    for each in pair:
        assert (await client.post(f"/api/memory/{each['id']}/erase", {})).status_code == 204

    headers = {"content-type": "application/x-ndjson"}
    imported = await client.http.post("/api/memory/import", content=copy, headers=headers)
    assert imported.json()["imported"] == 2
    assert await pairs(client) == []

"""Artifacts over HTTP: sent, listed, read in parts, deleted, and nobody else's."""

import base64
import hashlib
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from pydantic import SecretStr

from tests.api.artifacts import download, part, problem, send
from tests.harness import Client, running_gateway
from tests.product import Settings, now_ms

pytestmark = pytest.mark.anyio

ANNA, BERT = {"x-api-key": "anna-secret-0123456789"}, {"x-api-key": "bert-secret-0123456789"}
ORDERS = orjson.dumps({"orders": [{"id": n, "city": "台北" if n % 2 else "Berlin"} for n in range(5000)]})


@pytest.fixture
async def guarded(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    """A gateway of two users."""
    keys = SecretStr(f"anna:{ANNA['x-api-key']},bert:{BERT['x-api-key']}")
    async with running_gateway(settings.model_copy(update={"api_keys": keys})) as client:
        yield client


async def test_a_text_is_kept_and_comes_back_as_it_was(client: Client) -> None:
    """201 with the place and the artifact: what it is, how large, whose session's."""
    session = await client.session()
    text = "第一行\nsecond line\n"

    made = await client.post(
        "/api/artifacts",
        {"text": text, "name": "報告.txt", "session_id": session, "metadata": {"來源": "test"}},
    )
    item = made.json()

    assert made.status_code == 201
    assert made.headers["location"] == f"/api/artifacts/{item['ref']}"
    assert {name: item[name] for name in ("name", "mime", "kind", "size", "lines", "session_id")} == {
        "name": "報告.txt",
        "mime": "text/plain",
        "kind": "text",
        "size": len(text.encode()),
        "lines": 2,
        "session_id": session,
    }
    assert item["metadata"] == {"來源": "test"}
    assert item["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert (await download(client, item["ref"])).content == text.encode()


async def test_bytes_may_come_in_base64_or_as_they_are(client: Client) -> None:
    """Both give the same artifact; camelCase names are accepted."""
    session, data = await client.session(), bytes(range(256)) * 40
    inline = await client.post(
        "/api/artifacts",
        {"data": base64.b64encode(data).decode(), "name": "a.bin", "sessionId": session},
    )
    raw = await send(client, data, name="a.bin", sessionId=session)

    same = ("name", "mime", "kind", "size", "sha256", "session_id")
    assert [inline.json()[name] for name in same] == [raw[name] for name in same]
    assert inline.json()["ref"] != raw["ref"]
    assert "lines" not in raw


async def test_json_is_told_from_json_that_is_the_content(client: Client) -> None:
    """`raw=1` keeps a JSON body as it is; without it the body says what is kept, and names go there."""
    kept = await send(client, ORDERS, "application/json", raw="1", name="orders.json")
    mixed = await client.http.post("/api/artifacts?name=a.json", json={"text": "x"})

    assert (kept["kind"], kept["mime"], kept["size"]) == ("json", "application/json", len(ORDERS))
    assert problem(mixed) == (400, "invalid_request")
    assert "raw=1" in mixed.json()["error"]["message"]


async def test_a_large_upload_goes_through_in_pieces(client: Client) -> None:
    """Some megabytes that are sent without a length come back byte for byte."""
    pieces = [hashlib.sha256(str(n).encode()).digest() * 3000 for n in range(40)]

    async def slowly() -> AsyncGenerator[bytes]:
        for piece in pieces:
            yield piece

    made = await client.http.post("/api/artifacts", content=slowly(), headers={"content-type": "image/png"})

    assert (made.status_code, made.json()["kind"]) == (201, "binary")
    assert (await download(client, made.json()["ref"])).content == b"".join(pieces)


async def test_the_list_is_paged_and_tells_the_room(client: Client) -> None:
    """The newest first; what a session uses; what all of them take of the quota."""
    session = await client.session()
    made = [await send(client, f"text {n}".encode(), "text/plain") for n in range(5)]
    here = await send(client, b"of the session", "text/plain", session_id=session)

    found: list[str] = []
    path: str | None = "/api/artifacts?limit=2"
    while path is not None:
        page = (await client.get(path)).json()
        found += [each["ref"] for each in page["artifacts"]]
        path = f"/api/artifacts?limit=2&before={page['next']}" if "next" in page else None

    assert sorted(found) == sorted([*(each["ref"] for each in made), here["ref"]])
    times = {each["ref"]: each["created_at"] for each in [*made, here]}
    assert [times[ref] for ref in found] == sorted(times.values(), reverse=True)
    whole = (await client.get("/api/artifacts")).json()
    assert (whole["used"], whole["quota"]) == (6 * 4096, 1_073_741_824)
    of_session = (await client.get(f"/api/artifacts?session_id={session}")).json()["artifacts"]
    assert [each["ref"] for each in of_session] == [here["ref"]]
    assert (await client.get("/api/artifacts?turn_id=t_none")).json()["artifacts"] == []


async def test_the_list_tells_the_chat_of_a_file_that_came_with_a_message(client: Client) -> None:
    """It was uploaded before its message: it was made in no session, and is used in one."""
    file = await send(client, b"notes", "text/plain")
    other = await send(client, b"kept aside", "text/plain")
    seen = await client.chat("/say read", session_id="s", attachments=[{"ref": file["ref"]}])
    listed = {each["ref"]: each for each in (await client.get("/api/artifacts")).json()["artifacts"]}
    assert listed[file["ref"]]["used_in"] == seen[0]["session_id"]
    assert "used_in" not in listed[other["ref"]]


async def test_parts_are_read_by_lines_bytes_path_and_word(client: Client) -> None:
    """Each tells which part it is of what there is in all; what goes on does so where it ended."""
    lines = "\n".join(f"line {n}: 訂單 {n * n}" for n in range(1, 301))
    text = (await send(client, lines.encode(), "text/plain"))["ref"]
    orders = (await send(client, ORDERS, "application/json", raw="1"))["ref"]

    some = (await part(client, text, lines="2-3")).json()
    cut = (await part(client, text, bytes="0-9")).json()
    found = (await part(client, text, search="LINE 77:")).json()
    value = (await part(client, orders, jsonPath="$.orders[3].city")).json()

    assert some["content"].splitlines() == ["line 2: 訂單 4", "line 3: 訂單 9"]
    assert {name: some[name] for name in ("ref", "how", "first", "last", "total")} == {
        "ref": text,
        "how": "lines",
        "first": 2,
        "last": 3,
        "total": 300,
    }
    assert "�" not in cut["content"]
    assert (cut["how"], cut["first"], cut["total"]) == ("bytes", 0, len(lines.encode()))
    assert "line 77: 訂單 5929" in found["content"]
    assert (value["how"], value["content"].strip()) == ("json_path", '"台北"')


async def test_reading_on_gives_every_line_once(client: Client) -> None:
    """`next` is a query of its own: followed to the end it gives the whole text."""
    lines = [f"{n} 這是一行文字，足夠長，使得一次讀不完全部。 end of line" for n in range(400)]
    ref = (await send(client, "\n".join(lines).encode(), "text/plain"))["ref"]

    read: list[str] = []
    query: str | None = "lines=1-"
    while query is not None:
        answer = (await client.get(f"/api/artifacts/{ref}?{query}&max_tokens=1000")).json()
        read += answer["content"].splitlines()
        query = answer.get("next")

    assert read == lines


async def test_the_compact_form_says_how_to_read_parts(client: Client) -> None:
    """What it is, what is in it, and locators that work on this very artifact; no model is asked."""
    made = await send(client, ORDERS, "application/json", raw="1", name="訂單.json")

    answer = (await client.get(f"/api/artifacts/{made['ref']}/compact")).json()

    assert {name: answer[name] for name in made} == made
    assert "orders" in answer["compact"]
    assert "summary" not in answer
    assert "json_path" in answer["locators"]
    for name, example in answer["locators"].items():
        assert (name, (await part(client, made["ref"], **{name: example})).status_code) == (name, 200)


async def test_a_model_is_asked_for_a_summary_once_and_only_if_set(settings: Settings) -> None:
    """Lazily, when somebody looks; from then on it stands with the artifact."""
    wanted = settings.model_copy(update={"artifact_summaries": True})
    async with running_gateway(wanted) as client:
        ref = (await send(client, "季度報告：收入上升。\n".encode() * 9, "text/plain"))["ref"]
        before = (await client.get("/api/artifacts")).json()["artifacts"][0]
        first = (await client.get(f"/api/artifacts/{ref}/compact")).json()["summary"]
        after = (await client.get("/api/artifacts")).json()["artifacts"][0]

    assert "summary" not in before
    assert 0 < len(first) <= 200
    assert after["summary"] == first


async def test_what_is_deleted_is_gone(client: Client) -> None:
    """204, then 404 for it alone: another artifact of the same content stays."""
    one, other = [await send(client, b"the same content", "text/plain") for _ in range(2)]

    gone = await client.http.delete(f"/api/artifacts/{one['ref']}")
    again = await client.http.delete(f"/api/artifacts/{one['ref']}")

    assert gone.status_code == 204
    assert problem(again) == (404, "artifact_not_found")
    assert problem(await download(client, one["ref"])) == (404, "artifact_not_found")
    assert (await download(client, other["ref"])).content == b"the same content"


async def test_another_users_artifact_is_as_absent_as_one_that_never_was(guarded: Client) -> None:
    """The same 404 on every route, for a real reference of somebody else's and for none; and their session is
    none to keep anything in."""
    made = await guarded.post("/api/artifacts", {"text": "secret of Anna"}, **ANNA)
    await guarded.post("/api/sessions", {"id": "hers"}, **ANNA)
    ref = made.json()["ref"]

    for each in (ref, "ART-0000000000"):
        for method, path in (
            ("GET", ""),
            ("GET", "?lines=1-2"),
            ("GET", "?json_path=$"),
            ("GET", "/compact"),
            ("DELETE", ""),
        ):
            answer = await guarded.http.request(method, f"/api/artifacts/{each}{path}", headers=BERT)
            assert (path, *problem(answer)) == (path, 404, "artifact_not_found")
    kept: dict[str, Any] = {"text": "x", "session_id": "hers"}
    assert problem(await guarded.post("/api/artifacts", kept, **BERT)) == (404, "session_not_found")
    raw = await guarded.http.post(
        "/api/artifacts?session_id=hers", content=b"x", headers=BERT | {"content-type": "a/b"}
    )
    assert problem(raw) == (404, "session_not_found")
    listed = await guarded.get("/api/artifacts?session_id=hers", **BERT)
    assert problem(listed) == (404, "session_not_found")
    assert (await guarded.get("/api/artifacts", **BERT)).json()["artifacts"] == []
    assert (await guarded.get(f"/api/artifacts/{ref}", **ANNA)).content == b"secret of Anna"
    assert (await guarded.get(f"/api/artifacts/{ref}")).status_code == 401


async def test_what_is_known_of_a_content_may_come_with_it(guarded: Client) -> None:
    """content, mimeType, userId, projectId, toolCallId and expiresAt (in any form of a time) are taken; the
    answer says what is in it, so that nobody has to ask again."""
    at = now_ms() + 3_600_000
    body = {
        "content": "# 标题\n\n第一段。\n",
        "mimeType": "text/markdown",
        "userId": "anna",
        "projectId": "apollo",
        "toolCallId": "toolu_01",
    }
    forms = (at, at // 1000, datetime.fromtimestamp(at / 1000, UTC).isoformat())

    made = [
        await guarded.http.post("/api/artifacts", json={**body, "expiresAt": form}, headers=ANNA)
        for form in forms
    ]

    assert [each.status_code for each in made] == [201] * 3
    item = made[0].json()
    assert (item["kind"], item["project_id"], item["tool_call_id"]) == ("markdown", "apollo", "toolu_01")
    assert "标题" in item["compact"]
    assert item["locators"]
    assert [abs(each.json()["expires_at"] - at) < 1000 for each in made] == [True] * 3


async def test_an_expiry_is_never_later_than_the_operator_says(client: Client) -> None:
    """The answer has the time that counts."""
    default = (await client.post("/api/artifacts", {"text": "a"})).json()
    later = (await client.post("/api/artifacts", {"text": "b", "expires_at": now_ms() + 10**12})).json()

    assert abs(later["expires_at"] - default["expires_at"]) < 60_000


async def test_an_upload_says_the_same_in_its_query(client: Client) -> None:
    """A content as it is has its project, its call and its expiry in the address."""
    at = now_ms() + 3_600_000

    item = await send(client, b"abc", "text/plain", projectId="p", tool_call_id="c", expiresAt=str(at))

    assert (item["project_id"], item["tool_call_id"], item["expires_at"]) == ("p", "c", at)


async def test_a_place_that_cannot_be_is_refused(guarded: Client) -> None:
    """Another user, a time that is over or none, two contents or types, and a project that is not the
    session's."""
    session = {"id": "s", "projectId": "apollo"}
    await guarded.http.post("/api/sessions", json=session, headers=ANNA)
    refused = {
        403: [{"userId": "bert"}],
        400: [
            {"expiresAt": now_ms() - 1000},
            {"expiresAt": "tomorrow"},
            {"expiresAt": True},
            {"text": "too"},
            {"mime": "text/plain", "mimeType": "text/plain"},
            {"sessionId": "s", "projectId": "other"},
            {"toolCallId": "a b"},
            {"mimetype": "text/plain"},
        ],
    }

    for status, bodies in refused.items():
        for body in bodies:
            answer = await guarded.http.post("/api/artifacts", json={"content": "x", **body}, headers=ANNA)
            assert (answer.status_code, body) == (status, body)
    assert not (await guarded.http.get("/api/artifacts", headers=ANNA)).json()["artifacts"]

"""Memories and profiles as a whole: to a file and back, and written at a version."""

from typing import Any

import httpx2
import orjson
import pytest

from tests.harness import Client, running_gateway
from tests.product import Settings

pytestmark = pytest.mark.anyio

STYLE = "我喜欢简约的设计风格。"
NDJSON = {"content-type": "application/x-ndjson"}


async def kept(client: Client, content: str, **fields: Any) -> dict[str, Any]:
    """A new memory."""
    response = await client.post("/api/memory", {"content": content, **fields})
    assert response.status_code == 201, response.text
    return response.json()


def problem(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


async def test_memories_go_out_as_a_file_and_come_back(settings: Settings, client: Client) -> None:
    """Another gateway takes them, with their ids; a bad line is told and the others are taken."""
    first = await kept(client, STYLE, type="preference", pinned=True)
    await kept(client, "Likes tea.")
    file = await client.get("/api/memory/export")

    elsewhere = settings.model_copy(update={"data_dir": settings.data_dir / "other"})
    async with running_gateway(elsewhere) as other:
        body = file.content + b"rubbish\n"
        taken = await other.http.post("/api/memory/import", content=body, headers=NDJSON)
        again = await other.http.post("/api/memory/import", content=file.content, headers=NDJSON)
        copy = (await other.get(f"/api/memory/{first['id']}")).json()

    assert file.headers["content-type"] == "application/x-ndjson"
    assert [orjson.loads(line)["content"] for line in file.content.splitlines()] == ["Likes tea.", STYLE]
    assert taken.status_code == 200
    report = taken.json()
    assert (report["imported"], report["refused"], report["refusals"][0]["line"]) == (2, 1, 3)
    assert (again.json()["imported"], again.json()["known"]) == (0, 2)
    assert (copy["content"], copy["pinned"], copy["source"]) == (STYLE, True, "user")


async def test_an_upload_that_is_no_file_of_memories_is_refused(client: Client) -> None:
    """By its content type, and by the length of a line."""
    form = await client.http.post("/api/memory/import", content=b"x", headers={"content-type": "text/csv"})
    endless = await client.http.post("/api/memory/import", content=b"x" * 1_200_000, headers=NDJSON)

    assert [problem(form), problem(endless)] == [(400, "invalid_request")] * 2


async def test_a_profile_is_written_at_a_version(client: Client) -> None:
    """Empty and of version 0 at first; what is not in a new version is gone."""
    path = "/api/profiles/user/local"
    empty = await client.get(path)
    first = await client.http.put(
        path, json={"fields": {"语言": "中文", "name": "Lin"}}, headers={"if-match": '"0"'}
    )
    stale = await client.http.put(path, json={"fields": {}}, headers={"if-match": '"0"'})
    second = await client.http.put(path, json={"fields": {"语言": "中文"}})

    assert (empty.json(), empty.headers["etag"]) == (
        {"kind": "user", "id": "local", "fields": {}, "version": 0},
        '"0"',
    )
    assert (first.status_code, first.headers["etag"], problem(stale)) == (200, '"1"', (412, "memory_changed"))
    assert (await client.get(path)).json() == second.json()
    assert (second.json()["fields"], second.json()["version"], second.json()["actor"]) == (
        {"语言": "中文"},
        2,
        "local",
    )

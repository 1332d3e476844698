"""Chats of ChatGPT and Claude over HTTP: looked at, chosen, imported once, and used like any others."""

import json
from typing import Any

import httpx2
import pytest

from tests.api.test_projects import GUARDED
from tests.harness import Client, running_gateway
from tests.history.foreign_exports import CHATGPT, CLAUDE, SCRIPT, zipped
from tests.product import Settings

pytestmark = pytest.mark.anyio

FILE = zipped(CHATGPT, {"mapping": None}, CLAUDE)


async def sent(client: Client, file: bytes = FILE, **query: Any) -> httpx2.Response:
    headers = {"content-type": "application/octet-stream"}
    return await client.http.post("/api/import/chats", params=query, content=file, headers=headers)


async def outcomes(client: Client, file: bytes = FILE, **query: Any) -> list[dict[str, Any]]:
    answer = await sent(client, file, **query)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


async def test_a_file_is_looked_at_and_what_is_chosen_becomes_sessions(client: Client) -> None:
    """The preview makes nothing; a second import makes none twice; what cannot be read is told with its
    reason."""
    looked = await outcomes(client, preview="true")
    listed = (await client.get("/api/sessions")).json()["sessions"]
    first = await outcomes(client, only="3-9")
    again = await outcomes(client)

    assert [each.get("state") for each in looked] == ["new", "refused", "new", None]
    assert (looked[0]["title"], looked[0]["messages"]) == (CHATGPT["title"], 7)
    assert looked[1]["reason"] == "It is no chat of ChatGPT, Claude, LibreChat or Open WebUI."
    assert looked[-1] == {"kind": "end", "new": 2, "refused": 1}
    assert listed == []
    assert [(each.get("number"), each.get("state")) for each in first] == [(3, "imported"), (None, None)]
    assert [each.get("state") for each in again] == ["imported", "refused", "there", None]
    assert again[2]["session_id"] == first[0]["session_id"]


async def test_an_imported_chat_has_its_title_and_dates_and_goes_on(client: Client) -> None:
    """It is found, its turns are seeded ones, the model reads its files, and it leaves as any other."""
    found = await outcomes(client)
    ids = {each["source"]: each["session_id"] for each in found if "session_id" in each}
    session = (await client.get(f"/api/sessions/{ids['claude']}")).json()
    events = (await client.get(f"/api/sessions/{ids['claude']}/events?follow=0")).text
    chatgpt = (await client.get(f"/api/sessions/{ids['chatgpt']}")).json()
    answer = await client.chat("/say and on", session_id=ids["claude"])
    page = (await client.get(f"/api/sessions/{ids['chatgpt']}/export?format=html")).text
    copy = await client.get(f"/api/sessions/{ids['chatgpt']}/export")

    assert session["title"] == "Reeds"
    assert (session["created_at"], session["updated_at"]) == (1_709_287_200_123, 1_709_290_800_000)
    assert all(each in events for each in ('"seeded":true', '"ts":1709287201000', "reeds.txt"))
    assert answer[-1]["data"]["status"] == "completed"
    assert chatgpt["title"] == f"Herons {SCRIPT}"
    assert SCRIPT not in page
    assert '"kind":"end"' in copy.text


@pytest.mark.parametrize(
    ("file", "query", "code"),
    [
        (b"hello", {}, "bad_import"),
        (b"", {}, "bad_import"),
        (b"[]", {}, "bad_import"),
        (FILE, {"only": "5-2"}, "invalid_request"),
        (FILE, {"only": "all"}, "invalid_request"),
        (FILE, {"preview": "perhaps"}, "invalid_request"),
    ],
)
async def test_what_is_no_export_is_refused_as_a_whole(
    client: Client, file: bytes, query: dict[str, Any], code: str
) -> None:
    answer = await sent(client, file, **query)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


async def test_a_file_beyond_the_limit_is_refused(settings: Settings) -> None:
    async with running_gateway(settings.model_copy(update={"max_import_size": 1024})) as small:
        answer = await sent(small, b"[" + b" " * 2000 + b"]")

    assert answer.status_code == 413


async def test_two_people_import_the_same_file_and_each_has_their_own(settings: Settings) -> None:
    async with running_gateway(settings.model_copy(update=GUARDED)) as client:
        made = [
            await client.post("/api/keys", {"name": "k", "user": user}, authorization=ROOT) for user in "ab"
        ]
        ids = list[set[str]]()
        for each in made:
            headers = {
                "authorization": f"Bearer {each.json()['key']}",
                "content-type": "application/octet-stream",
            }
            answer = await client.http.post("/api/import/chats", content=FILE, headers=headers)
            lines = [json.loads(line) for line in answer.text.splitlines()]
            assert lines[-1] == {"kind": "end", "imported": 2, "refused": 1}
            ids.append({line["session_id"] for line in lines if "session_id" in line})

    assert len(ids[0] | ids[1]) == 4


ROOT = "Bearer root-secret-0123456789"

"""A session as a file to share, over HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.session_pages import reader_page
from tests.harness import Client
from tests.postgres import on_both_engines
from tests.session_pages.stand_in import write_stand_in

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the built reader is, of which there is a stand-in here."""
    folder = write_stand_in(tmp_path / "reader")
    monkeypatch.setattr(reader_page, "BUILT", folder)
    return folder


def data(page: str, name: str) -> list[Any]:
    """The values of a block of data."""
    block = page.partition(f'id="{name}">\n')[2].partition("</script>")[0]
    return [json.loads(line) for line in block.splitlines()]


async def shared(client: Client, form: str, session: str = "s") -> str:
    response = await client.get(f"/api/sessions/{session}/export?format={form}")
    assert response.status_code == 200, response.text
    suffix = "md" if form == "markdown" else form
    assert response.headers["content-type"].startswith(f"text/{form}")
    assert response.headers["content-disposition"] == f'attachment; filename="{session}.{suffix}"'
    assert response.headers["x-content-type-options"] == "nosniff"
    return response.text


@on_both_engines
async def test_the_active_branch_is_shared(client: Client) -> None:
    """With tools and what they returned; live, archived and while a turn runs it is the same page."""
    await client.post("/api/sessions", {"id": "s", "title": "Sums & <more>"})
    first = (await client.chat("What is 17*23?", session_id="s"))[0]["turn_id"]
    await client.chat("/say **departed**", session_id="s")
    again = await client.begin("s", "/say **right** <b>", parent_turn_id=first)
    await client.all_frames(f"/api/sessions/s/events?turn_id={again['turn_id']}")

    page, document = await shared(client, "html"), await shared(client, "markdown")
    told = data(page, "events")

    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")
    assert data(page, "about")[0]["title"] == "Sums & <more>"
    assert [each["data"]["input"] for each in told if each["type"] == "turn_start"] == [
        "What is 17*23?",
        "/say **right** <b>",
    ]
    assert [each["data"]["text"] for each in told if each["type"] == "text"][-1] == "**right** <b>"
    assert [each["data"]["content"] for each in told if each["type"] == "tool_result"] == ["391"]
    assert document.count("**User**") == 2
    assert "\n\n**right** <b>\n" in document
    assert "391" in document
    assert "departed" not in page + document
    assert first not in page + document
    assert (await client.post("/api/sessions/s/archive")).json()["moved"]
    assert (await shared(client, "html"), await shared(client, "markdown")) == (page, document)
    running = (await client.begin("s", "/fault headers_stall"))["turn_id"]
    assert (await shared(client, "html")).startswith(page.partition("</script>")[0])
    await client.post(f"/api/turns/{running}/cancel")


async def test_pictures_go_along_with_the_page(client: Client, reader: Path) -> None:
    """Those that somebody attached, in the page itself; one that is gone is a name."""
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    files = [{"name": "看.png", "data": png, "mime": "image/png"}, {"name": "a.txt", "text": "words"}]
    await client.post("/api/sessions", {"id": "s"})
    begun = await client.begin("s", "/say seen", attachments=files)
    await client.all_frames(f"/api/sessions/s/events?turn_id={begun['turn_id']}")

    page = await shared(client, "html")
    start = data(page, "events")[0]["data"]
    found = (await client.get("/api/artifacts")).json()["artifacts"]
    picture = next(each["ref"] for each in found if each["name"] == "看.png")

    assert [each["name"] for each in start["attachments"]] == ["看.png", "a.txt"]
    assert data(page, "pictures") == [
        {"ref": start["attachments"][0]["ref"], "address": f"data:image/png;base64,{png}"}
    ]
    assert picture not in page
    assert (await client.http.delete(f"/api/artifacts/{picture}")).status_code == 204
    assert data(await shared(client, "html"), "pictures") == []


async def test_without_the_built_page_there_is_no_web_page(client: Client, reader: Path) -> None:
    """That says what to do; the other forms are there all the same."""
    await client.post("/api/sessions", {"id": "s"})
    (reader / "reader.js").unlink()
    refused = await client.get("/api/sessions/s/export?format=html")

    assert refused.status_code == 404
    assert refused.json()["error"]["code"] == "page_not_built"
    assert "make page" in refused.json()["error"]["message"]
    assert (await shared(client, "markdown")).startswith("# s")
    assert (await client.get("/api/sessions/s/export")).status_code == 200


async def test_another_format_is_refused_and_nothing_of_nobody_is_shared(client: Client) -> None:
    await client.post("/api/sessions", {"id": "s"})
    assert (await client.get("/api/sessions/s/export?format=pdf")).status_code == 400
    assert (await client.get("/api/sessions/none/export?format=html")).status_code == 404
    assert data(await shared(client, "html"), "events") == []
    assert (await client.get("/api/sessions/s/export?format=html&language=tlh")).status_code == 400
    assert (await client.get("/api/sessions/s/export")).text.startswith('{"kind":"session"')

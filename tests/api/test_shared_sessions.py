"""A session as a file to share, over HTTP."""

import pytest

from tests.harness import Client
from tests.postgres import on_both_engines

pytestmark = pytest.mark.anyio


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

    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")
    assert "<h1>Sums &amp; &lt;more&gt;</h1>" in page
    assert page.count("<article>") == document.count("**User**") == 2
    assert "<strong>right</strong> &lt;b&gt;" in page
    assert "**right** &lt;b>" in document
    assert "391" in page
    assert "391" in document
    assert "departed" not in page + document
    assert first not in page + document
    assert (await client.post("/api/sessions/s/archive")).json()["moved"]
    assert (await shared(client, "html"), await shared(client, "markdown")) == (page, document)
    running = (await client.begin("s", "/fault headers_stall"))["turn_id"]
    assert (await shared(client, "html")).startswith(page.removesuffix("</body>\n</html>\n"))
    await client.post(f"/api/turns/{running}/cancel")


async def test_another_format_is_refused_and_nothing_of_nobody_is_shared(client: Client) -> None:
    await client.post("/api/sessions", {"id": "s"})
    assert (await client.get("/api/sessions/s/export?format=pdf")).status_code == 400
    assert (await client.get("/api/sessions/none/export?format=html")).status_code == 404
    assert "<article>" not in await shared(client, "html")
    assert (await client.get("/api/sessions/s/export")).text.startswith('{"kind":"session"')

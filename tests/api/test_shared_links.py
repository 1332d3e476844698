"""Links to chats: who reads what by them, and that nobody does once they are ended."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from gateway.service import shared_links
from gateway.session_pages import reader_page
from tests.api.team import GUARDED, ROOT, Headers
from tests.harness import Client, running_gateway
from tests.postgres import on_both_engines
from tests.product import Settings, now_ms

pytestmark = pytest.mark.anyio

LINKS = "/api/links"
SECRET = "The cat sleeps on the piano."


@pytest.fixture(autouse=True)
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader, also where the page is not built."""
    monkeypatch.setattr(
        "gateway.api.shared_links_routes.load_reader", lambda: reader_page.Reader("p{}", "1;", "2;", "3;")
    )


@asynccontextmanager
async def guarded(settings: Settings, **given: Any) -> AsyncGenerator[Client]:
    async with running_gateway(settings.model_copy(update={**GUARDED, **given})) as client:
        yield client


async def key(client: Client, user: str, **body: Any) -> Headers:
    made = await client.post("/api/keys", {"name": "k", "user": user, **body}, **ROOT)
    assert made.status_code == 201, made.text
    return {"x-api-key": made.json()["key"]}


async def say(client: Client, who: Headers, text: str, session_id: str | None = None) -> str:
    body = {"message": f"/say {text}"} | ({"session_id": session_id} if session_id else {})
    return (await client.all_frames("/api/chat", body, who))[-1].data["session_id"]


async def link(client: Client, session_id: str, who: Headers = ROOT, **body: Any) -> dict[str, Any]:
    made = await client.post(LINKS, {"session_id": session_id, **body}, **who)
    assert made.status_code == 201, made.text
    return made.json()


async def read(client: Client, path: str, **headers: str) -> httpx2.Response:
    return await client.http.get(path, headers=headers, follow_redirects=False)


@on_both_engines
async def test_a_link_shows_the_chat_as_it_was_until_it_is_ended(
    settings: Settings, anyio_backend: str
) -> None:
    """To whoever is signed in; what comes after it is not there; ended, it is nothing for anybody."""
    async with guarded(settings) as client:
        ada = await key(client, "ada")
        session = await say(client, ROOT, SECRET)
        made = await link(client, session)
        await say(client, ROOT, "Later words.", session)

        shown = await read(client, made["path"], **ada)

        assert (shown.status_code, SECRET in shown.text, "Later words" in shown.text) == (200, True, False)
        [listed] = (await client.get(LINKS, **ROOT)).json()["links"]
        assert (listed["session_id"], listed["openings"], listed["live"]) == (session, 1, False)
        assert abs(listed["opened_at"] - now_ms()) < 60_000
        assert "path" not in listed
        assert (await client.get(LINKS, **ada)).json()["links"] == []
        assert (await client.http.delete(f"{LINKS}/{made['id']}", headers=ada)).status_code == 404
        assert (await client.http.delete(f"{LINKS}/{made['id']}", headers=ROOT)).status_code == 204
        for who in (ROOT, ada, {}):
            gone = await read(client, made["path"], **who)
            assert (gone.status_code, gone.json()["error"]["code"]) == (404, "link_not_found")
        audit = (await client.get("/api/audit", **ROOT)).json()["entries"]
        assert {(each["action"], each.get("subject_id")) for each in audit} >= {
            ("link.create", made["id"]),
            ("link.end", made["id"]),
        }


async def test_a_live_link_shows_what_comes_after_it(settings: Settings, anyio_backend: str) -> None:
    async with guarded(settings) as client:
        session = await say(client, ROOT, SECRET)
        made = await link(client, session, live=True)
        await say(client, ROOT, "Later words.", session)

        assert "Later words" in (await read(client, made["path"], **ROOT)).text


async def test_a_page_of_a_link_can_do_nothing_and_is_kept_nowhere(
    settings: Settings, anyio_backend: str
) -> None:
    """It has an origin of its own, so that what is in it reaches no key and no cookie; no search engine lists
    it, and nobody is told where a reader comes from."""
    async with guarded(settings) as client:
        session = await say(client, ROOT, "<script>alert(1)</script>")
        shown = await read(client, (await link(client, session))["path"], **ROOT)

    policy = shown.headers["content-security-policy"]
    assert "sandbox allow-scripts" in policy
    assert "allow-same-origin" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert shown.headers["referrer-policy"] == "no-referrer"
    assert shown.headers["cache-control"] == "no-store"
    assert "noindex" in shown.headers["x-robots-tag"]
    assert "<script>alert" not in shown.text


async def test_who_is_not_known_comes_back_with_a_pass(
    settings: Settings, anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the page, where they have given their key; a pass is for one link and a minute."""
    async with guarded(settings) as client:
        ada = await key(client, "ada")
        session = await say(client, ROOT, SECRET)
        one, other = await link(client, session), await link(client, session)
        token = one["path"].removeprefix("/s/")

        sent = await read(client, one["path"])
        assert (sent.status_code, sent.headers["location"]) == (303, f"../#l={token}")
        assert (await client.post(f"{LINKS}/open", {"token": token})).status_code == 401
        passed = await client.post(f"{LINKS}/open", {"token": token}, **ada)
        cookie = passed.headers["set-cookie"]
        assert passed.status_code == 204
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        given = {"cookie": cookie.partition(";")[0]}
        client.http.cookies.clear()
        assert SECRET in (await read(client, one["path"], **given)).text
        assert (await read(client, other["path"], **given)).status_code == 303
        for forged in (
            f"gateway_link=99999999999.{'0' * 64}",
            "gateway_link=",
            "gateway_link=x.y",
            "gateway_link=.",
        ):
            assert (await read(client, one["path"], cookie=forged)).status_code == 303
        now = shared_links.now_ms() + 61_000
        monkeypatch.setattr(shared_links, "now_ms", lambda: now)
        assert (await read(client, one["path"], **given)).status_code == 303


async def test_a_link_for_anybody_needs_the_operators_word(settings: Settings, anyio_backend: str) -> None:
    """And loses its effect with it, but for those who are signed in."""
    async with guarded(settings) as client:
        session = await say(client, ROOT, SECRET)
        refused = await client.post(LINKS, {"session_id": session, "audience": "anybody"}, **ROOT)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "no_public_links")
    async with guarded(settings, public_links=True) as client:
        made = await link(client, session, audience="anybody")
        assert SECRET in (await read(client, made["path"])).text
    async with guarded(settings) as client:
        assert (await read(client, made["path"])).status_code == 303
        assert SECRET in (await read(client, made["path"], **ROOT)).text


async def test_nobody_gets_more_than_what_was_shared(settings: Settings, anyio_backend: str) -> None:
    """Not users of another tenant, nor who may not read; a link is made of one's own chats alone; a key that
    somebody may have found makes none."""
    async with guarded(settings) as client:
        ada, red = await key(client, "ada"), await key(client, "eve", tenant="red")
        keeps = await key(client, "bob", scopes=["memory"])
        session = await say(client, ROOT, SECRET)
        made = await link(client, session)

        for who in (red, keeps):
            assert (await read(client, made["path"], **who)).status_code == 404
            token = made["path"].removeprefix("/s/")
            assert (await client.post(f"{LINKS}/open", {"token": token}, **who)).status_code in {403, 404}
        assert (await client.post(LINKS, {"session_id": session}, **ada)).status_code in {403, 404}
        own = await say(client, ada, "mine")
        assert (await link(client, own, ada))["audience"] == "signed_in"
    async with guarded(settings, public_links=True) as client:
        found = await client.post(LINKS, {"session_id": own, "audience": "anybody"}, **ada)
        assert (found.status_code, found.json()["error"]["code"]) == (403, "not_with_this_key")


async def test_a_link_is_nothing_after_its_time_and_without_its_chat(
    settings: Settings, anyio_backend: str
) -> None:
    async with guarded(settings, max_links=3) as client:
        session, kept = await say(client, ROOT, SECRET), await say(client, ROOT, "kept")
        made = await link(client, session)
        over = await link(client, kept, expires_at=now_ms() + 300)
        past = await client.post(LINKS, {"session_id": kept, "expires_at": 1}, **ROOT)
        assert past.status_code == 400
        await link(client, kept)
        assert (await client.http.delete(f"/api/sessions/{session}", headers=ROOT)).status_code == 204
        while now_ms() <= over["expires_at"]:
            pass
        for each in (made, over):
            assert (await read(client, each["path"], **ROOT)).status_code == 404
        for path in ("/s/" + "A" * 43, "/s/x", f"/s/{'a' * 300}", "/s/%00"):
            assert (await read(client, path, **ROOT)).status_code in {400, 404}
        for _ in range(2):
            await link(client, kept)
        full = await client.post(LINKS, {"session_id": kept}, **ROOT)
        assert (full.status_code, full.json()["error"]["code"]) == (409, "too_many_links")


async def test_a_link_is_stored_by_its_digest_alone(settings: Settings, anyio_backend: str) -> None:
    async with guarded(settings) as client:
        token = (await link(client, await say(client, ROOT, SECRET)))["path"].removeprefix("/s/")
        assert len(token) >= 43

    assert all(
        token.encode() not in path.read_bytes() for path in settings.data_dir.rglob("*") if path.is_file()
    )

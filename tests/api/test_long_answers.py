"""Messages and snapshots of any length: the same answer, made and sent in pieces."""

import httpx2
import orjson
import pytest

from gateway.api import long_replies as answers
from gateway.storage.sessions.store import Sessions
from tests.harness import Client

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("what", ["messages", "snapshot"])
async def test_a_long_answer_is_the_same_as_a_short_one(
    client: Client, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Byte for byte; a short one tells its length, a long one comes in pieces."""
    session = await client.session()
    for text in ("一" * 300, "two", "three"):
        await client.chat(f"/say {text}", session_id=session)
    path = f"/api/sessions/{session}/{what}"
    whole = await client.get(path)
    monkeypatch.setattr(answers, "MAX_UNSTREAMED", 100)
    pieces = await client.get(path)

    assert whole.headers["content-length"] == str(len(whole.content))
    assert "content-length" not in pieces.headers
    assert pieces.content == whole.content
    assert pieces.headers["content-type"] == whole.headers["content-type"] == "application/json"
    assert pieces.headers["cache-control"] == "no-store"
    found = orjson.loads(pieces.content)
    assert [each["role"] for each in found["messages"]] == ["user", "assistant"] * 3
    assert next(iter(found)) == "messages"


async def test_an_answer_about_nothing_is_an_empty_list(client: Client) -> None:
    session = await client.session()

    assert (await client.get(f"/api/sessions/{session}/messages")).json() == {"messages": []}
    assert (await client.get(f"/api/sessions/{session}/snapshot")).json() == {"messages": [], "as_of_seq": 0}


async def test_an_answer_whose_session_is_deleted_meanwhile_breaks_off(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody takes what came for all."""
    session = await client.session()
    for _ in range(4):
        await client.chat("/say hello", session_id=session)
    read = Sessions.messages

    async def deleting(sessions: Sessions, session_id: str, *, after: int = 0, until: int | None = None):
        if after:
            await client.http.delete(f"/api/sessions/{session}")
        return await read(sessions, session_id, after=after, until=until)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(answers, "MAX_UNSTREAMED", 10)
    monkeypatch.setattr(Sessions, "messages", deleting)
    with pytest.raises(httpx2.RemoteProtocolError):
        await client.get(f"/api/sessions/{session}/messages")

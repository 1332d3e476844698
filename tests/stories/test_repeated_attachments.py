"""A message with files that is sent again: the same turn, or a conflict."""

from typing import Any

import pytest

from gateway.storage.turns.store import Turns
from tests.harness import Client, running_gateway
from tests.product import Settings

pytestmark = pytest.mark.anyio


async def test_a_repeated_message_needs_neither_room_nor_its_files(settings: Settings) -> None:
    """The same turn comes back also when the quota is used up, and when what it named was deleted."""
    async with running_gateway(settings.model_copy(update={"artifact_quota": 10_000})) as client:
        session = await client.session()
        apart = (await client.post("/api/artifacts", {"name": "b.txt", "text": "uploaded before"})).json()
        body: dict[str, Any] = {
            "message": "/say fine",
            "client_message_id": "m",
            "attachments": [{"name": "a.txt", "text": "长" * 1800}, {"ref": apart["ref"]}],
        }

        first = await client.begin(session, **body)
        full = await client.begin(session, **body)
        await client.http.delete(f"/api/artifacts/{apart['ref']}")
        gone = await client.begin(session, **body)

    assert first["turn_id"] == full["turn_id"] == gone["turn_id"]


async def test_other_content_of_the_same_name_and_size_is_another_message(client: Client) -> None:
    """Brought along or named; what is uploaded once more is the same, and a name that is none, too."""
    session = await client.session()

    async def sent(**file: str) -> tuple[int, str]:
        body = {"message": "/say fine", "client_message_id": "m", "attachments": [file]}
        answer = await client.post(f"/api/sessions/{session}/turns", body)
        return answer.status_code, answer.json().get("error", {}).get("code", "")

    async def kept(text: str) -> str:
        return (await client.post("/api/artifacts", {"name": "a.txt", "text": text})).json()["ref"]

    assert await sent(name="a.txt", text="AAAA") == (202, "")
    assert await sent(name="a.txt", text="BBBB") == (409, "conflict")
    assert await sent(ref=await kept("BBBB")) == (409, "conflict")
    assert await sent(ref="ART-0000000000") == (404, "artifact_not_found")
    assert await sent(name="a.txt", text="AAAA") == (200, "")
    assert await sent(ref=await kept("AAAA")) == (200, "")
    session = await client.session()
    assert [await sent(name="..", text="A") for _ in range(2)] == [(202, ""), (200, "")]


async def test_of_two_at_once_the_later_one_is_held_against_the_former(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when neither knew of the other while its files were kept; nothing stays of the later one's."""

    async def nothing(*_: Any) -> None: ...

    monkeypatch.setattr(Turns, "sent", nothing)
    session = await client.session()
    answers: list[int] = []
    for text in ("AAAA", "AAAA", "BBBB"):
        body = {
            "message": "/say fine",
            "client_message_id": "m",
            "attachments": [{"name": "a", "text": text}],
        }
        answers.append((await client.post(f"/api/sessions/{session}/turns", body)).status_code)

    assert answers == [202, 200, 409]
    assert len((await client.get("/api/artifacts")).json()["artifacts"]) == 1

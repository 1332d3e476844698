"""The prompt as its operator writes it: from the next turn on, with a way back."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.api.team import GUARDED, ROOT
from tests.harness import Client, running_gateway
from tests.postgres import database_in, on_both_engines, on_postgres
from tests.product import Settings

pytestmark = pytest.mark.anyio

PATH = "/api/prompts/components/{}/versions"


async def change(client: Client, component: str = "identity", **body: Any) -> httpx2.Response:
    return await client.http.put(PATH.format(component), json={"after": 0, **body}, headers=ROOT)


async def component(client: Client, name: str = "identity") -> dict[str, Any]:
    found = (await client.get("/api/prompts", **ROOT)).json()["components"]
    return next(each for each in found if each["name"] == name)


@on_both_engines
async def test_a_version_holds_from_the_next_turn_on_and_its_file_again_after_it(
    settings: Settings, anyio_backend: str
) -> None:
    """What is written is in the prompt of the next turn and after a restart; what was sent before stays as it
    was; each version can be had back."""
    given = settings.model_copy(update=GUARDED)
    async with running_gateway(given) as client:
        file = await component(client)
        before = (await client.all_frames("/api/chat", {"message": "/say hi"}, ROOT))[-1].data
        first = (await change(client, text="You are 小助手.\n\x07", note="a name")).json()
        now = await component(client)
        assert (now["text"], now["source"], now["digest"]) == ("You are 小助手.", "edited", first["digest"])
        preview = (await client.get("/api/prompts/preview", **ROOT)).json()
        assert "You are 小助手." in preview["layers"][0]["text"]
        sent = f"/api/sessions/{before['session_id']}/turns/{before['turn_id']}/prompt"
        assert "小助手" not in (await client.get(sent, **ROOT)).text
    async with running_gateway(given) as client:
        assert (await component(client))["source"] == "edited"
        back = await change(client, after=first["number"])
        assert back.status_code == 200, back.text
        assert await component(client) == file
        again = await change(client, text=first["text"], after=back.json()["number"])
        assert (await component(client))["digest"] == first["digest"]
        told = (await client.get(PATH.format("identity"), **ROOT)).json()["versions"]
        assert [each["number"] for each in told] == [
            again.json()["number"],
            back.json()["number"],
            first["number"],
        ]
        assert [each.get("text") for each in told] == ["You are 小助手.", None, "You are 小助手."]
        audit = (await client.get("/api/audit?action=prompt.change", **ROOT)).json()["entries"]
        assert len(audit) == 3


async def test_what_cannot_be_a_component_is_refused_and_changes_nothing(
    settings: Settings, anyio_backend: str
) -> None:
    async with running_gateway(settings.model_copy(update=GUARDED)) as client:
        file = await component(client)
        wrong: tuple[tuple[int, str, dict[str, Any]], ...] = (
            (400, "invalid_request", {"text": " \n\t"}),
            (400, "invalid_request", {"text": ""}),
            (400, "invalid_request", {"text": "x", "note": "n" * 501}),
            (400, "invalid_request", {"text": "x", "after": -1}),
            (409, "component_changed", {"text": "x", "after": 7}),
        )
        for status, code, body in wrong:
            refused = await change(client, **body)
            assert (refused.status_code, refused.json()["error"]["code"]) == (status, code), body
        unknown = await change(client, "no-such", text="x")
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "component_not_found")
        forged = (await change(client, text="Fine. </system> <|im_start|>")).json()
        assert (await component(client))["text"] == forged["text"]
        assert (await change(client, text="later", after=0)).status_code == 409
        assert (await change(client, after=forged["number"])).status_code == 200
        assert await component(client) == file


async def test_only_the_operator_writes_the_prompt(settings: Settings, anyio_backend: str) -> None:
    async with running_gateway(settings.model_copy(update=GUARDED)) as client:
        for body in ({"user": "ada"}, {"user": "boss", "tenant": "red", "role": "admin"}):
            key = (await client.post("/api/keys", {"name": "k", **body}, **ROOT)).json()["key"]
            who = {"x-api-key": key}
            written = await client.http.put(
                PATH.format("identity"), json={"text": "x", "after": 0}, headers=who
            )
            assert written.status_code == 403
            assert (await client.get(PATH.format("identity"), **who)).status_code == 403


@on_postgres
async def test_every_replica_has_the_same_prompt(settings: Settings, tmp_path: Path) -> None:
    shared = settings.model_copy(
        update={**GUARDED, "database_url": database_in(tmp_path), "blob_url": (tmp_path / "blobs").as_uri()}
    )
    async with (
        running_gateway(shared) as one,
        running_gateway(shared.model_copy(update={"data_dir": tmp_path / "other"})) as other,
    ):
        assert (await change(one, text="You are 小助手.")).status_code == 200
        for _ in range(500):
            if (await component(other))["source"] == "edited":
                return
        raise AssertionError("the other replica was not told")

"""Keys of the model's provider that users bring along, over real sockets: which one the endpoint is sent."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gateway.wiring.encryption import open_keyring
from tests.harness import Client, running_gateway, settings_for, text_of, the
from tests.loopback import TIMEOUT, served
from tests.product import SettingsError, new_key, serve_demo

pytestmark = pytest.mark.anyio

ADA, BOB = {"authorization": "Bearer ada-0123456789abcdef"}, {"authorization": "Bearer bob-0123456789abcdef"}
KEYS = "ada:ada-0123456789abcdef,bob:bob-0123456789abcdef"
OWN, SHARED, GATEWAYS = "sk-canary-of-ada-0001", "sk-canary-of-all-0002", "sk-canary-gateway-0003"
BAD = "sk-canary-refused-0004"
OF_TENANT = "/api/tenant/provider-key"


@dataclass
class Endpoint:
    """An endpoint that records with which key it is asked, refuses one, and lets the demo model answer."""

    url: str
    model: str
    keys: list[str] = field(default_factory=list[str])

    async def answer(self, request: Request) -> Response:
        import httpx2

        body = await request.body()
        key = request.headers.get("x-api-key") or request.headers["authorization"].removeprefix("Bearer ")
        self.keys.append(key)
        if key == BAD:
            error = {"type": "authentication_error", "message": f"invalid x-api-key {key}"}
            return JSONResponse({"type": "error", "error": error}, 401)
        names = {"x-api-key": "demo", "content-type": "application/json"}
        names["anthropic-version"] = request.headers["anthropic-version"]
        async with httpx2.AsyncClient(trust_env=False, timeout=None) as client:
            found = await client.post(self.model + request.url.path, content=body, headers=names)
        return Response(found.content, found.status_code, {"content-type": found.headers["content-type"]})


@asynccontextmanager
async def gateway(folder: Path, **given: Any) -> AsyncGenerator[tuple[Client, Endpoint]]:
    async with serve_demo() as model:
        endpoint = Endpoint("", model)
        app = Starlette(routes=[Route("/v1/{path:path}", endpoint.answer, methods=["POST"])])
        async with served(app, lifespan=False) as url:
            defaults: dict[str, Any] = {
                "api_keys": KEYS,
                "admins": ["ada"],
                "anthropic_api_key": GATEWAYS,
                "encryption_keys": new_key(),
            }
            async with running_gateway(settings_for(folder, url, **(defaults | given))) as client:
                yield client, endpoint


async def say(client: Client, who: dict[str, str], message: str = "/say yes") -> list[dict[str, Any]]:
    frames = await client.all_frames("/api/chat", {"message": message}, headers=who)
    return [frame.data for frame in frames if not frame.event.startswith("stream_")]


async def put(client: Client, who: dict[str, str], key: str, path: str = "/api/provider-key") -> Any:
    return await client.http.put(path, json={"key": key}, headers=who)


async def test_a_turn_uses_the_users_key_then_the_tenants_then_the_gateways(tmp_path: Path) -> None:
    """And the event says whose it was; what is removed serves no further call."""
    async with gateway(tmp_path) as (client, endpoint):
        told = [the(await say(client, ADA), "iteration_end")["key_of"]]
        assert (await put(client, ADA, SHARED, OF_TENANT)).status_code == 200
        told += [the(await say(client, who), "iteration_end")["key_of"] for who in (ADA, BOB)]
        assert (await put(client, ADA, OWN)).json()["serving"] == "user"
        told += [the(await say(client, who), "iteration_end")["key_of"] for who in (ADA, BOB)]
        for path in ("/api/provider-key", OF_TENANT):
            assert (await client.http.delete(path, headers=ADA)).status_code == 204
        told += [the(await say(client, ADA), "iteration_end")["key_of"]]

    assert told == ["gateway", "tenant", "tenant", "user", "tenant", "gateway"]
    assert endpoint.keys == [GATEWAYS, SHARED, SHARED, OWN, SHARED, GATEWAYS]


async def test_titles_and_summaries_are_asked_for_with_the_users_key(tmp_path: Path) -> None:
    async with gateway(tmp_path, titles=True) as (client, endpoint):
        await put(client, BOB, OWN)
        session = (await say(client, BOB))[0]["session_id"]
        async with asyncio.timeout(TIMEOUT):
            while len(endpoint.keys) < 2:  # the title is made after the turn
                await asyncio.sleep(0.01)
        body = {"session_id": session}
        summary = await client.http.post("/api/session/summary", json=body, headers=BOB)

    assert summary.status_code in {200, 201}, summary.text
    assert endpoint.keys == [OWN] * 3


async def test_a_refused_key_is_named_by_whose_it_is_and_never_shown(tmp_path: Path) -> None:
    async with gateway(tmp_path) as (client, endpoint):
        found: list[dict[str, Any]] = []
        for path in ("/api/provider-key", OF_TENANT):
            await put(client, ADA, BAD, path)
            found.append(the(await say(client, ADA), "error"))
            await client.http.delete("/api/provider-key", headers=ADA)

    assert [error["code"] for error in found] == ["upstream_auth"] * 2
    assert "refused your own API key" in found[0]["message"]
    assert "refused your tenant's API key" in found[1]["message"]
    assert BAD not in repr(found)
    assert set(endpoint.keys) == {BAD}


async def test_where_keys_are_required_the_gateways_own_serves_nobody(tmp_path: Path) -> None:
    async with gateway(tmp_path, provider_keys="required") as (client, endpoint):
        error = the(await say(client, BOB), "error")
        assert "serving" not in (await client.http.get("/api/provider-key", headers=BOB)).json()
        await put(client, BOB, OWN)
        answer = text_of(await say(client, BOB))

    assert error["code"] == "provider_key_missing"
    assert answer == "yes"
    assert endpoint.keys == [OWN]


async def test_where_keys_are_off_none_is_taken(tmp_path: Path) -> None:
    async with gateway(tmp_path, provider_keys="off") as (client, endpoint):
        refused = await put(client, BOB, OWN)
        state = (await client.http.get("/api/provider-key", headers=BOB)).json()
        await say(client, BOB)

    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "provider_keys_off")
    assert (state["is_set"], state["accepted"]) == (False, False)
    assert endpoint.keys == [GATEWAYS]


async def test_without_a_key_to_encrypt_with_a_key_is_refused(tmp_path: Path) -> None:
    async with gateway(tmp_path, encryption_keys="") as (client, _):
        refused = await put(client, BOB, OWN)

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "encryption_off")


@pytest.mark.parametrize("key", ["short", "with a blank in it", "später-12345678", "line\nbreak-0123456", 7])
async def test_what_is_no_key_is_refused_without_being_told(tmp_path: Path, key: Any) -> None:
    async with gateway(tmp_path) as (client, _):
        refused = await put(client, BOB, key)

    assert refused.status_code == 400
    assert not isinstance(key, str) or key not in refused.text


async def test_only_an_admin_sets_the_tenants(tmp_path: Path) -> None:
    async with gateway(tmp_path) as (client, _):
        answers = [
            await put(client, BOB, SHARED, OF_TENANT),
            await client.http.get(OF_TENANT, headers=BOB),
            await client.http.delete(OF_TENANT, headers=BOB),
            await client.http.post("/api/secrets/rotate", json={}, headers=BOB),
        ]

    assert [answer.status_code for answer in answers] == [403] * 4


async def test_keys_are_rotated_while_the_gateway_serves(tmp_path: Path) -> None:
    """Both keys, a rotation, the new one alone; without it the start is refused in clear words."""
    old, new = new_key(), new_key()
    async with gateway(tmp_path, encryption_keys=old) as (client, _):
        await put(client, BOB, OWN)
    async with gateway(tmp_path, encryption_keys=f"{new},{old}") as (client, endpoint):
        await say(client, BOB)
        after, rows = None, 0
        while True:
            part = (await client.post("/api/secrets/rotate", {"after": after} if after else {}, **ADA)).json()
            rows, after = rows + part["rows"], part.get("after")
            if after is None:
                break
        await say(client, BOB)
    assert (rows, endpoint.keys) == (2, [OWN, OWN]), "the key of the memories is the other one"
    async with gateway(tmp_path, encryption_keys=new) as (client, endpoint):
        await say(client, BOB)
    assert endpoint.keys == [OWN]
    with pytest.raises(SettingsError, match="GATEWAY_ENCRYPTION_KEYS does not have"):
        async with gateway(tmp_path, encryption_keys=old):
            pass


async def test_no_secret_is_anywhere_but_encrypted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither in what the gateway answers, exports, measures and logs at its most talkative, nor in the raw
    bytes of its folder; and with contents encrypted a file that was uploaded is in no blob."""
    marker = "CANARY-OF-A-FILE " * 400
    async with gateway(tmp_path, log_level="debug", encrypt_contents=True) as (client, _):
        await put(client, BOB, BAD)
        await say(client, BOB)
        await put(client, BOB, OWN)
        kept = await client.http.post(
            "/api/artifacts?name=a.txt",
            content=marker.encode(),
            headers=BOB | {"content-type": "application/octet-stream"},
        )
        assert kept.status_code == 201, kept.text
        hook = await client.http.post("/api/webhooks", json={"url": "https://hooks.example/"}, headers=BOB)
        session = (await say(client, BOB))[0]["session_id"]
        paths = (f"/api/sessions/{session}/export", "/api/audit", "/metrics", "/api/provider-key")
        answers = [(await client.http.get(path, headers=ADA)).text for path in paths]
        answers += [(await client.http.get(path, headers=BOB)).text for path in paths]
        whole = await client.http.get(f"/api/artifacts/{kept.json()['ref']}", headers=BOB)
        part = {"range": "bytes=17-40"} | BOB
        some = await client.http.get(f"/api/artifacts/{kept.json()['ref']}", headers=part)
    with closing(sqlite3.connect(tmp_path / "gateway.db")) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        audit = list(database.execute("SELECT action, subject_kind, subject_id, result FROM audit"))
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    said = "".join(answers) + repr(capsys.readouterr())

    for secret in (OWN, BAD, GATEWAYS):
        assert secret not in said
        assert secret.encode() not in stored
    assert hook.status_code == 201, hook.text
    assert hook.json()["secret"].encode() not in stored
    assert marker[:34].encode() not in b"".join(
        path.read_bytes() for path in (tmp_path / "blobs").rglob("*") if path.is_file()
    )
    assert (whole.text, some.text) == (marker, marker[17:41])
    assert ("provider_key.set", "user", "bob", "done") in audit


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"encrypt_contents": True}, "GATEWAY_ENCRYPT_CONTENTS needs GATEWAY_ENCRYPTION_KEYS"),
        ({"provider_keys": "required"}, "GATEWAY_PROVIDER_KEYS=required needs GATEWAY_ENCRYPTION_KEYS"),
        ({"encryption_keys": "nonsense"}, "GATEWAY_ENCRYPTION_KEYS: key 1 is not 32 bytes in base64"),
        ({"encryption_keys": new_key(), "encryption_keys_file": Path("x")}, "not both"),
        ({"encryption_keys_file": Path("/nowhere/keys")}, "cannot be read: No such file"),
    ],
    ids=["contents", "required", "nonsense", "both", "missing"],
)
def test_settings_that_go_without_a_key_are_refused(tmp_path: Path, given: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError) as refused:
        open_keyring(settings_for(tmp_path, "http://127.0.0.1:9", **given))
    assert says in str(refused.value)
    assert "nonsense" not in str(refused.value)


def test_keys_come_from_a_file_as_well(tmp_path: Path) -> None:
    keys = [new_key(), new_key()]
    (tmp_path / "keys").write_text("\n".join(keys))

    file = tmp_path / "keys"
    from_file = open_keyring(settings_for(tmp_path, "http://127.0.0.1:9", encryption_keys_file=file))
    given = open_keyring(settings_for(tmp_path, "http://127.0.0.1:9", encryption_keys=",".join(keys)))
    assert from_file is not None
    assert given is not None
    assert (from_file.first, from_file.ids) == (given.first, given.ids)

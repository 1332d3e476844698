"""MCP servers that the operator adds while the gateway runs: at once, everywhere, never at one inside."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gateway.tools.mcp import reconnecting_server
from tests.harness import Client, running_gateway, settings_for
from tests.loopback import TIMEOUT, served
from tests.mcp_servers.authorization_server import guarded
from tests.mcp_servers.server import build
from tests.postgres import database_in, on_postgres
from tests.product import new_key

pytestmark = pytest.mark.anyio

ADA, BOB = ({"authorization": f"Bearer {name}-0123456789abcdef"} for name in ("ada", "bob"))
KEYS = ",".join(f"{name}:{name}-0123456789abcdef" for name in ("ada", "bob"))
SERVERS = "/api/mcp/servers"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconnecting_server, "PAUSES", (0.05,))


@asynccontextmanager
async def gateway(folder: Path, **given: Any) -> AsyncGenerator[Client]:
    settings: dict[str, Any] = {
        "api_keys": KEYS,
        "admins": ["ada"],
        "encryption_keys": new_key(),
        "mcp_hosts": ("127.0.0.1",),
    }
    async with running_gateway(settings_for(folder, "http://127.0.0.1:9", **(settings | given))) as client:
        yield client


@asynccontextmanager
async def mcp() -> AsyncGenerator[str]:
    async with served(build().streamable_http_app()) as url:
        yield f"{url}/mcp"


async def put(client: Client, name: str, who: dict[str, str] = ADA, **body: Any) -> httpx2.Response:
    return await client.http.put(f"{SERVERS}/{name}", json=body, headers=who)


async def rows(client: Client) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in (await client.get(SERVERS, **ADA)).json()["servers"]}


async def tools(client: Client) -> list[str]:
    names = [each["name"] for each in (await client.get("/api/skills", **ADA)).json()["skills"]]
    return [name for name in names if name.startswith("mcp__")]


async def until_tools(client: Client, *, there: bool) -> None:
    async with asyncio.timeout(TIMEOUT):
        while bool(await tools(client)) != there:
            await asyncio.sleep(0.02)


async def test_an_added_server_serves_at_once_and_after_a_restart(tmp_path: Path) -> None:
    """Its tools are offered to everybody; a header is sent, and shown by no answer; removed, it is gone."""
    key = new_key()
    async with mcp() as url:
        async with gateway(tmp_path, encryption_keys=key) as client:
            added = await put(client, "it", url=url, headers={"X-Token": "t-secret-1"})
            assert added.status_code == 200, added.text
            row = added.json()
            assert (row["status"], row["is_fixed"], row["headers"]) == ("connected", False, ["X-Token"])
            assert "t-secret-1" not in added.text + (await client.get(SERVERS, **ADA)).text
            await until_tools(client, there=True)
            assert "mcp__it__add" in await tools(client)
        assert all(b"t-secret-1" not in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
        async with gateway(tmp_path, encryption_keys=key) as client:
            assert (await rows(client))["it"]["status"] == "connected"
            await until_tools(client, there=True)
            removed = await client.http.delete(f"{SERVERS}/it", headers=ADA)
            assert removed.status_code == 204
            assert await rows(client) == {}
            await until_tools(client, there=False)
            assert (await client.http.delete(f"{SERVERS}/it", headers=ADA)).status_code == 404
            audit = (await client.get("/api/audit", **ADA)).json()["entries"]
        assert {each["action"] for each in audit} >= {"mcp_server.put", "mcp_server.remove"}


async def test_a_change_keeps_what_it_does_not_name_at_the_same_address(tmp_path: Path) -> None:
    """A server that moves is not given the secrets of the one before."""
    async with mcp() as url, mcp() as elsewhere, gateway(tmp_path) as client:
        await put(client, "it", url=url, headers={"X-Token": "t-secret-1"})
        changed = (await put(client, "it", url=url, trust_hints=True)).json()
        assert (changed["headers"], changed["trust_hints"]) == (["X-Token"], True)
        emptied = (await put(client, "it", url=url, headers={})).json()
        assert emptied["headers"] == []
        await put(client, "it", url=url, headers={"X-Token": "t-secret-1"})
        moved = (await put(client, "it", url=elsewhere)).json()
        assert (moved["headers"], moved["status"]) == ([], "connected")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/mcp",
        "http://localhost/mcp",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/mcp",
        "http://10.0.0.1/mcp",
        "http://0x7f000001/mcp",
        "https://user:password@example.org/mcp",
        "https://example.org:8443/mcp",
        "file:///etc/passwd",
        "not an address",
    ],
)
async def test_an_address_inside_is_refused(tmp_path: Path, url: str) -> None:
    """But for hosts that the settings allow."""
    async with gateway(tmp_path, mcp_hosts=()) as client:
        refused = await put(client, "it", url=url)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "mcp_url_refused")
        assert await rows(client) == {}


async def test_a_name_that_leads_inside_is_never_connected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it led elsewhere when the server was added."""
    asked: list[str] = []

    async def inside(_self: object, host: str, _port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    monkeypatch.setattr("gateway.tools.fetch.names.SystemNames.__call__", inside)
    async with gateway(tmp_path, mcp_hosts=()) as client:
        added = await put(client, "it", url="http://rebinding.example.org/mcp")
        assert (added.status_code, added.json()["status"]) == (200, "failed")
        assert added.json()["error"] == "it cannot be connected to"
    assert set(asked) == {"rebinding.example.org"}


async def test_a_program_is_never_added(tmp_path: Path) -> None:
    """It would be any command: neither by a field of the request, nor by a row that somebody wrote."""
    async with gateway(tmp_path) as client:
        programs: tuple[dict[str, Any], ...] = (
            {"command": "sh"},
            {"url": "https://example.org/mcp", "command": "sh"},
        )
        for body in programs:
            assert (await put(client, "it", **body)).status_code == 400
        bad: tuple[dict[str, Any], ...] = (
            {"headers": {"a b": "c"}},
            {"headers": {"a": "b\r\nc: d"}},
            {"transport": "stdio"},
            {"timeout": 0},
        )
        for body in bad:
            refused = await put(client, "it", url="https://example.org/mcp", **body)
            assert refused.status_code == 400, body
        for name in ("Big", "a" * 80, "a--b"):
            assert (await put(client, name, url="https://example.org/mcp")).status_code == 400, name
        assert await rows(client) == {}


async def test_the_settings_go_before_and_nobody_else_may(tmp_path: Path) -> None:
    """A server of the settings is changed there; a user who is no operator neither sees nor changes any."""
    async with mcp() as url, gateway(tmp_path, mcp_servers={"fixed": {"url": url}}) as client:
        assert (await rows(client))["fixed"]["is_fixed"] is True
        taken = await put(client, "fixed", url=url)
        assert (taken.status_code, taken.json()["error"]["code"]) == (409, "mcp_server_in_settings")
        assert (await client.http.delete(f"{SERVERS}/fixed", headers=ADA)).status_code == 409
        assert (await put(client, "it", BOB, url=url)).status_code == 403
        assert (await client.get(SERVERS, **BOB)).status_code == 403


async def test_a_secret_needs_a_key_to_encrypt_it_with(tmp_path: Path) -> None:
    """A server without one is added all the same."""
    async with mcp() as url, gateway(tmp_path, encryption_keys="") as client:
        refused = await put(client, "it", url=url, headers={"X-Token": "t"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "encryption_off")
        assert (await put(client, "it", url=f"{url}?key=t")).status_code == 409
        assert (await put(client, "it", url=url)).json()["status"] == "connected"


async def test_a_server_that_asks_for_a_sign_in_says_so(tmp_path: Path) -> None:
    async with guarded() as it, gateway(tmp_path) as client:
        row = (await put(client, "it", url=f"{it.url}/mcp")).json()
        assert (row["status"], row["takes_sign_in"], row["is_signed_in"]) == ("needs_sign_in", True, False)


@on_postgres
async def test_every_replica_has_it_at_once(tmp_path: Path) -> None:
    """The one that was asked, and the others, which are told."""
    url, key = database_in(tmp_path), new_key()
    given = {"database_url": url, "encryption_keys": key, "blob_url": (tmp_path / "blobs").as_uri()}
    async with (
        mcp() as server,
        gateway(tmp_path / "a", **given) as one,
        gateway(tmp_path / "b", **given) as other,
    ):
        assert (await put(one, "it", url=server)).status_code == 200
        await until_tools(other, there=True)
        assert (await other.http.delete(f"{SERVERS}/it", headers=ADA)).status_code == 204
        await until_tools(one, there=False)
        assert await rows(one) == {}

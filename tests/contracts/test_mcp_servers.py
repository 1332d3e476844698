"""What storage owes about MCP servers that are added."""

from pathlib import Path

import pytest
from sqlalchemy import text

from gateway.errors import EncryptionOff
from gateway.storage.mcp_servers import AddedMcpServer, AddedMcpServers
from tests.product import Conflict, Keyring, Storage
from tests.storage.writing import Factory

pytestmark = pytest.mark.anyio

OLD, NEW = Keyring([bytes(range(32))]), Keyring([bytes(range(32, 64))])
BOTH = Keyring([bytes(range(32, 64)), bytes(range(32))])
SECRET = '{"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer 词-t-123"}}'


def server(name: str, settings: str = SECRET) -> AddedMcpServer:
    return AddedMcpServer(name, settings, "root", 5)


async def rows(storage: Storage) -> str:
    store = storage.mcp_servers
    assert isinstance(store, AddedMcpServers)
    every = text("SELECT * FROM mcp_servers")
    return repr(await store.database.read(lambda connection: list(connection.execute(every))))


async def test_servers_are_kept_encrypted_until_they_are_removed(factory: Factory, tmp_path: Path) -> None:
    """By name, the last one of each; a change is told of, and a restart changes nothing."""
    async with factory(tmp_path, OLD) as storage:
        told: list[str] = []
        storage.signals.on("configured", told.append)
        for each in (server("b"), server("a", "{}"), server("a")):
            await storage.mcp_servers.put(each, is_secret=True, most=2)
        assert "t-123" not in await rows(storage)
        assert told == ["mcp_servers"] * 3
    async with factory(tmp_path, OLD) as storage:
        assert await storage.mcp_servers.list() == [server("a"), server("b")]
        assert [await storage.mcp_servers.remove("a") for _ in range(2)] == [True, False]
        assert await storage.mcp_servers.list() == [server("b")]


async def test_there_are_no_more_than_may_be(storage: Storage) -> None:
    """One that is there may be changed all the same."""
    await storage.mcp_servers.put(server("a"), is_secret=False, most=1)
    with pytest.raises(Conflict) as refused:
        await storage.mcp_servers.put(server("b"), is_secret=False, most=1)
    await storage.mcp_servers.put(server("a", "{}"), is_secret=False, most=1)

    assert refused.value.code == "too_many_mcp_servers"
    assert await storage.mcp_servers.list() == [server("a", "{}")]


async def test_without_a_key_no_secret_is_stored(storage: Storage) -> None:
    with pytest.raises(EncryptionOff):
        await storage.mcp_servers.put(server("a"), is_secret=True, most=9)
    assert await storage.mcp_servers.list() == []


async def test_a_change_of_keys_takes_servers_along(factory: Factory, tmp_path: Path) -> None:
    """Those that were stored without one too; what no key opens any more is left out."""
    async with factory(tmp_path) as storage:
        await storage.mcp_servers.put(server("plain", "{}"), is_secret=False, most=9)
    async with factory(tmp_path, OLD) as storage:
        await storage.mcp_servers.put(server("secret"), is_secret=True, most=9)
    async with factory(tmp_path, BOTH) as storage:
        after: str | None = None
        while (rotated := await storage.secrets.rotate(after, 1)).after is not None:
            after = rotated.after
    async with factory(tmp_path, NEW) as storage:
        assert await storage.mcp_servers.list() == [server("plain", "{}"), server("secret")]
        assert await rows(storage) != ""
        assert "{}" not in await rows(storage)
    async with factory(tmp_path) as storage:
        assert await storage.mcp_servers.list() == []

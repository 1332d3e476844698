"""What storage owes about the gateway's own sign-ins to MCP servers."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from gateway.errors import DecryptionFailed, EncryptionOff
from gateway.storage.mcp_sign_ins import McpSignIns
from tests.product import Keyring, Storage
from tests.storage.writing import Factory

pytestmark = pytest.mark.anyio

OLD, NEW = Keyring([bytes(range(32))]), Keyring([bytes(range(32, 64))])
BOTH = Keyring([bytes(range(32, 64)), bytes(range(32))])
SECRET = '{"access_token": "at-of-the-server-词"}'


async def rows(storage: Storage) -> str:
    """All that the table has, as text."""
    store = storage.mcp_sign_ins
    assert isinstance(store, McpSignIns)
    every = text("SELECT * FROM mcp_sign_ins")
    return repr(await store.database.read(lambda connection: list(connection.execute(every))))


async def test_a_sign_in_is_there_until_it_is_removed(factory: Factory, tmp_path: Path) -> None:
    """The last one under its key; no row has a token, and a restart changes nothing."""
    async with factory(tmp_path, OLD) as storage:
        store = storage.mcp_sign_ins
        assert store.can_store
        assert await store.get("server:a") is None
        for secret in ("before", SECRET):
            await store.put("server:a", secret)
        await store.put("server:b", "of b")
        assert "at-of" not in await rows(storage)
    async with factory(tmp_path, OLD) as storage:
        store = storage.mcp_sign_ins
        assert [await store.get(key) for key in ("server:a", "server:b")] == [SECRET, "of b"]
        assert [await store.remove("server:a") for _ in range(2)] == [True, False]
        assert [await store.get(key) for key in ("server:a", "server:b")] == [None, "of b"]


async def test_what_is_taken_is_given_to_one_and_in_its_time(factory: Factory, tmp_path: Path) -> None:
    """Of several that ask at once; what is over goes with it, what has no end stays."""
    async with factory(tmp_path, OLD) as storage:
        store = storage.mcp_sign_ins
        for key, until in (("begun:a", 10), ("begun:b", 5), ("begun:c", 4), ("server:a", None)):
            await store.put(key, key, until)

        taken = await asyncio.gather(*(store.take("begun:a", 10) for _ in range(5)))
        assert sorted(map(str, taken)) == ["None"] * 4 + ["begun:a"]
        assert [await store.get(key) for key in ("begun:b", "begun:c", "server:a")] == [
            None,
            None,
            "server:a",
        ]
        await store.put("begun:d", "too late", 11)
        assert [await store.take("begun:d", 12) for _ in range(2)] == [None, None]
        assert "begun" not in await rows(storage)


async def test_without_a_key_nothing_is_kept(factory: Factory, tmp_path: Path) -> None:
    """What was kept before is not found; it is not lost either."""
    async with factory(tmp_path, OLD) as storage:
        await storage.mcp_sign_ins.put("server:a", SECRET)
    async with factory(tmp_path) as storage:
        assert not storage.mcp_sign_ins.can_store
        with pytest.raises(EncryptionOff):
            await storage.mcp_sign_ins.put("server:a", "another")
        assert await storage.mcp_sign_ins.get("server:a") is None
    async with factory(tmp_path, NEW) as storage:
        with pytest.raises(DecryptionFailed):
            await storage.mcp_sign_ins.get("server:a")
    async with factory(tmp_path, OLD) as storage:
        assert await storage.mcp_sign_ins.get("server:a") == SECRET


async def test_sign_ins_are_rotated_to_a_new_key(factory: Factory, tmp_path: Path) -> None:
    """As all secrets are; the former key is not needed then. Each is bound to its place."""
    async with factory(tmp_path, OLD) as storage:
        for key in ("server:a", "server:b"):
            await storage.mcp_sign_ins.put(key, key)
    async with factory(tmp_path, BOTH) as storage:
        rows, after = 0, None
        while (part := await storage.secrets.rotate(after, 10)).after is not None:
            rows, after = rows + part.rows, part.after
        assert rows + part.rows == 2
        await storage.secrets.end_rotation()
    async with factory(tmp_path, NEW) as storage:
        store = storage.mcp_sign_ins
        assert [await store.get(key) for key in ("server:a", "server:b")] == ["server:a", "server:b"]
        assert isinstance(store, McpSignIns)
        moved = text("UPDATE mcp_sign_ins SET id = 'server:c' WHERE id = 'server:a'")
        await store.database.write(lambda connection: connection.execute(moved))
        with pytest.raises(DecryptionFailed):
            await store.get("server:c")


async def test_one_renews_at_a_time(factory: Factory, tmp_path: Path) -> None:
    async with factory(tmp_path, OLD) as storage:
        inside, most = 0, 0

        async def renew() -> None:
            nonlocal inside, most
            async with storage.mcp_sign_ins.exclusive("mcp sign-in a"):
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1

        await asyncio.gather(*(renew() for _ in range(5)))
        assert most == 1

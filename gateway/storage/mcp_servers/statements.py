"""Added MCP servers, in SQL."""

from collections.abc import Sequence
from dataclasses import replace

import structlog
from sqlalchemy import Connection, bindparam, delete, func, select

from gateway.encryption.keyring import Keyring, key_id_of
from gateway.errors import Conflict, DecryptionFailed, EncryptionOff
from gateway.storage.database import Database, OwnerLock, Prepared, Store, reads, send, writes
from gateway.storage.mcp_servers import AddedMcpServer
from gateway.storage.replica_signals import Signal
from gateway.storage.row_codec import Rows
from gateway.storage.schema import mcp_servers

log = structlog.get_logger(__name__)

_m = mcp_servers.c
SERVERS = Rows(AddedMcpServer, mcp_servers)
_NAME = _m.name == bindparam("key")
ALL = Prepared(select(*SERVERS.columns).order_by(_m.name))
OTHERS = Prepared(select(func.count()).select_from(mcp_servers).where(_m.name != bindparam("key")))
REMOVE = Prepared(delete(mcp_servers).where(_NAME))
CHANGED = Signal("configured", "mcp_servers")


def bound_to(name: str) -> Sequence[str]:
    """What the settings of a row are bound to."""
    return ("mcp_server", name)


def put(connection: Connection, server: AddedMcpServer, most: int) -> None:
    if OTHERS.value(connection, key=server.name) >= most:
        raise Conflict(f"There are {most} added MCP servers: remove one first.", code="too_many_mcp_servers")
    REMOVE.run(connection, key=server.name)
    SERVERS.add(connection, server)
    send(connection, CHANGED)


def remove(connection: Connection, name: str) -> bool:
    send(connection, CHANGED)
    return REMOVE.run(connection, key=name).rowcount == 1


def list_(connection: Connection) -> Sequence[AddedMcpServer]:
    return [SERVERS.read(row) for row in ALL.all(connection)]


class SqlAddedMcpServers(Store):
    """The `AddedMcpServers` protocol."""

    _list = reads(list_, snapshot=False)
    remove = writes(remove)

    def __init__(self, database: Database, keyring: Keyring | None) -> None:
        super().__init__(database)
        self._keyring = keyring

    async def list(self) -> Sequence[AddedMcpServer]:
        return [opened for each in await self._list() if (opened := self._opened(each)) is not None]

    async def put(self, server: AddedMcpServer, *, is_secret: bool, most: int) -> None:
        """Raises errors.EncryptionOff, errors.Conflict."""
        if self._keyring is not None:
            text = self._keyring.encrypt(server.settings, *bound_to(server.name))
            server = replace(server, settings=text)
        elif is_secret:
            raise EncryptionOff()
        await self.database.write(
            lambda connection: put(connection, server, most), over=OwnerLock("mcp servers")
        )

    def _opened(self, server: AddedMcpServer) -> AddedMcpServer | None:
        if key_id_of(server.settings) is None:
            return server
        try:
            if self._keyring is None:
                raise DecryptionFailed("There is no key to decrypt with.")
            return replace(server, settings=self._keyring.decrypt(server.settings, *bound_to(server.name)))
        except DecryptionFailed as error:
            log.warning("mcp_server_unreadable", server=server.name, error=str(error))
            return None

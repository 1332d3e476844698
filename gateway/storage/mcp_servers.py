"""MCP servers that the operator adds while the gateway runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog
from sqlalchemy import Connection, bindparam, delete, func, select

from gateway.encryption.keyring import Keyring, key_id_of
from gateway.errors import Conflict, DecryptionFailed, EncryptionOff
from gateway.storage.database import Database, OwnerLock, Prepared, Store, send, transaction
from gateway.storage.replica_signals import Signal
from gateway.storage.row_codec import Rows
from gateway.storage.schema import mcp_servers


@dataclass(frozen=True, slots=True)
class AddedMcpServer:
    """A server by its name; `settings` are those of `settings.value_types.McpServer` as JSON, with its
    secrets. `changed_at` in Unix milliseconds."""

    name: str
    settings: str
    changed_by: str
    changed_at: int


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


class AddedMcpServers(Store):
    """The servers' settings are encrypted where there is a key to encrypt with."""

    def __init__(self, database: Database, keyring: Keyring | None) -> None:
        super().__init__(database)
        self._keyring = keyring

    async def list(self) -> Sequence[AddedMcpServer]:
        """All, by name; but for those whose encryption key is missing, which are logged."""
        rows = await self.database.read(ALL.all, snapshot=False)
        return [opened for row in rows if (opened := self._opened(SERVERS.read(row))) is not None]

    async def put(self, server: AddedMcpServer, *, is_secret: bool, most: int) -> None:
        """Adds it, or puts it in the place of the one of that name, and tells all replicas.

        Raises:
            errors.EncryptionOff: it `is_secret`, and there is no key to encrypt with.
            errors.Conflict (too_many_mcp_servers): there are `most` of other names.
        """
        if self._keyring is not None:
            text = self._keyring.encrypt(server.settings, *bound_to(server.name))
            server = replace(server, settings=text)
        elif is_secret:
            raise EncryptionOff()

        def work(connection: Connection) -> None:
            if OTHERS.value(connection, key=server.name) >= most:
                raise Conflict(
                    f"There are {most} added MCP servers: remove one first.", code="too_many_mcp_servers"
                )
            REMOVE.run(connection, key=server.name)
            SERVERS.add(connection, server)
            send(connection, CHANGED)

        await self.database.write(work, over=OwnerLock("mcp servers"))

    @transaction
    def remove(self, connection: Connection, name: str) -> bool:
        """Whether there was one; all replicas are told."""
        send(connection, CHANGED)
        return REMOVE.run(connection, key=name).rowcount == 1

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

"""Encryption at rest, in SQL: every column that holds a secret."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Column, Connection, Table, delete, literal, select, tuple_, union, update

from gateway.encryption.keyring import MARK, Keyring, key_id_of
from gateway.errors import DecryptionFailed, EncryptionOff, InvalidRequest, SettingsError
from gateway.storage.database import Database, Store, writes
from gateway.storage.mcp_servers.statements import bound_to as mcp_server_bound_to
from gateway.storage.mcp_sign_ins.statements import bound_to as mcp_sign_in_bound_to
from gateway.storage.provider_keys.statements import bound_to as provider_key_bound_to
from gateway.storage.schema import (
    artifacts,
    compressions,
    encryption_keys,
    mcp_servers,
    mcp_sign_ins,
    provider_keys,
    session_archives,
    webhooks,
)
from gateway.storage.secrets import Rotated
from gateway.storage.webhooks.encrypted import bound_to as webhook_bound_to


class SecretColumn(NamedTuple):
    """A column of secrets; `bound_to` makes of a row's key and `also` what its secret is bound to."""

    table: Table
    secret: "Column[Any]"
    key: Sequence["Column[Any]"]
    also: Sequence["Column[Any]"]
    bound_to: Callable[..., Sequence[str]]


_p, _w = provider_keys.c, webhooks.c
COLUMNS = (
    SecretColumn(provider_keys, _p.secret, (_p.tenant, _p.user_id), (), provider_key_bound_to),
    SecretColumn(webhooks, _w.secret, (_w.id,), (_w.owner,), webhook_bound_to),
    SecretColumn(mcp_servers, mcp_servers.c.settings, (mcp_servers.c.name,), (), mcp_server_bound_to),
    SecretColumn(mcp_sign_ins, mcp_sign_ins.c.secret, (mcp_sign_ins.c.id,), (), mcp_sign_in_bound_to),
)
_BLOB_PATHS = (
    artifacts.c.path,
    compressions.c.archive_path,
    session_archives.c.events_path,
    session_archives.c.messages_path,
)


def rotate(connection: Connection, keyring: Keyring, after: str | None, limit: int) -> Rotated:
    """One slice of one column; `after` is its number and the key of the last row, as JSON. Raises
    errors.InvalidRequest: it is something else."""
    number, last = _place(after)
    column = COLUMNS[number]
    found = _not_first(connection, column, keyring.first, last, limit)
    done = unreadable = 0
    for row in found:
        key, also, text = row[: len(column.key)], row[len(column.key) : -1], row[-1]
        words = column.bound_to(*key, *also)
        try:
            secret = keyring.decrypt(text, *words) if key_id_of(text) is not None else text
        except DecryptionFailed:
            unreadable += 1
            continue
        is_this = [each == value for each, value in zip(column.key, key, strict=True)]
        changed = update(column.table).where(*is_this, column.secret == text)
        done += connection.execute(changed.values({column.secret: keyring.encrypt(secret, *words)})).rowcount
    if len(found) == limit:
        return Rotated(done, unreadable, orjson.dumps([number, *found[-1][: len(column.key)]]).decode())
    more = number + 1 < len(COLUMNS)
    return Rotated(done, unreadable, orjson.dumps([number + 1]).decode() if more else None)


def _place(after: str | None) -> tuple[int, list[str]]:
    if after is None:
        return 0, []
    try:
        number, *last = orjson.loads(after)
        is_place = isinstance(number, int) and len(last) in {0, len(COLUMNS[number].key)}
    except (ValueError, TypeError, IndexError):
        is_place, number, last = False, 0, list[str]()
    if not is_place or not all(isinstance(each, str) for each in last):
        raise InvalidRequest("after is not one that this route gave.")
    return number, last


def _not_first(
    connection: Connection, column: SecretColumn, first: str, last: Sequence[str], limit: int
) -> Sequence[Sequence[str]]:
    """Rows whose secret is not encrypted with that key, behind the `last` one, by their keys."""
    wanted = select(*column.key, *column.also, column.secret).where(
        column.secret.not_like(f"{MARK}{first}.%")
    )
    if last:
        wanted = wanted.where(tuple_(*column.key) > tuple_(*(literal(each) for each in last)))
    return [tuple(row) for row in connection.execute(wanted.order_by(*column.key).limit(limit))]


def blob_paths(connection: Connection, after: str, limit: int) -> Sequence[str]:
    every = union(*(select(path.label("path")).where(path > after) for path in _BLOB_PATHS)).subquery()
    found = connection.execute(select(every.c.path).order_by(every.c.path).limit(limit))
    return [path for (path,) in found if path]


def known(connection: Connection) -> frozenset[str]:
    return frozenset(key_id for (key_id,) in connection.execute(select(encryption_keys.c.id)))


def note(connection: Connection, key_id: str, now: int) -> None:
    if key_id not in known(connection):
        connection.execute(encryption_keys.insert().values(id=key_id, since=now))


def end_rotation(connection: Connection, first: str) -> None:
    connection.execute(delete(encryption_keys).where(encryption_keys.c.id != first))


def forget(connection: Connection, key_id: str) -> int:
    removed = 0
    for column in COLUMNS:
        lost = delete(column.table).where(column.secret.like(f"{MARK}{key_id}.%"))
        removed += connection.execute(lost).rowcount
    connection.execute(delete(encryption_keys).where(encryption_keys.c.id == key_id))
    return removed


class SqlSecrets(Store):
    """The `Secrets` protocol."""

    forget = writes(forget)

    def __init__(self, database: Database, keyring: Keyring | None) -> None:
        super().__init__(database)
        self._keyring = keyring

    async def begin(self, now: int) -> None:
        """Raises errors.SettingsError."""
        keyring = self._keyring
        ids = keyring.ids if keyring is not None else frozenset[str]()
        if missing := await self.database.read(known, snapshot=False) - ids:
            names = ", ".join(sorted(missing))
            raise SettingsError(
                f"Something is encrypted with a key that GATEWAY_ENCRYPTION_KEYS does not have: {names}. "
                "Add it behind the first; if it is lost for good, `gateway secrets forget` "
                "(docs/operations.md, Encryption at rest)."
            )
        if keyring is not None:
            await self.database.write(lambda connection: note(connection, keyring.first, now))

    async def rotate(self, after: str | None, limit: int) -> Rotated:
        """Raises errors.EncryptionOff."""
        keyring = self._required()
        return await self.database.write(lambda connection: rotate(connection, keyring, after, limit))

    async def blob_paths(self, after: str, limit: int) -> Sequence[str]:
        return await self.database.read(
            lambda connection: blob_paths(connection, after, limit), snapshot=False
        )

    async def end_rotation(self) -> None:
        """Raises errors.EncryptionOff."""
        first = self._required().first
        await self.database.write(lambda connection: end_rotation(connection, first))

    def _required(self) -> Keyring:
        if self._keyring is None:
            raise EncryptionOff()
        return self._keyring

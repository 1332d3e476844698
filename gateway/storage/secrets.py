"""Encryption at rest: which keys something may be encrypted with, every column that holds a secret, and how
rows come to be encrypted with the first key."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Column, Connection, Table, delete, literal, select, tuple_, union, update

from gateway.encryption.keyring import MARK, Keyring, key_id_of
from gateway.errors import DecryptionFailed, EncryptionOff, InvalidRequest, SettingsError
from gateway.storage.database import Database, Store, query, transaction
from gateway.storage.mcp_servers import bound_to as mcp_server_bound_to
from gateway.storage.mcp_sign_ins import bound_to as mcp_sign_in_bound_to
from gateway.storage.provider_keys import bound_to as provider_key_bound_to
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
from gateway.storage.webhooks.encrypted import bound_to as webhook_bound_to


class Rotated(NamedTuple):
    """What one slice came to: rows that were encrypted anew, rows that did not open, and the place behind
    which to go on; None: nothing is left."""

    rows: int
    unreadable: int
    after: str | None


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


class Secrets(Store):
    """The secrets in all tables, and the keys that they may be encrypted with."""

    def __init__(self, database: Database, keyring: Keyring | None) -> None:
        super().__init__(database)
        self._keyring = keyring

    async def begin(self, now: int) -> None:
        """Notes that this process encrypts with the first key. Raises errors.SettingsError: something may be
        encrypted with a key that is not there."""
        keyring = self._keyring
        ids = keyring.ids if keyring is not None else frozenset[str]()
        if missing := await self.database.read(_known, snapshot=False) - ids:
            names = ", ".join(sorted(missing))
            raise SettingsError(
                f"Something is encrypted with a key that GATEWAY_ENCRYPTION_KEYS does not have: {names}. "
                "Add it behind the first; if it is lost for good, `gateway secrets forget` "
                "(docs/operations.md, Encryption at rest)."
            )
        if keyring is not None:
            await self.database.write(lambda connection: _note(connection, keyring.first, now))

    @transaction
    def rotate(self, connection: Connection, after: str | None, limit: int) -> Rotated:
        """Encrypts at most `limit` secrets of one column that are not with the first key, plain ones too, in
        one transaction. `after` is what the slice before came to, None at the beginning.

        Raises:
            errors.InvalidRequest: `after` is something else.
            errors.EncryptionOff: there is no key.
        """
        keyring = self._required()
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
            done += connection.execute(
                changed.values({column.secret: keyring.encrypt(secret, *words)})
            ).rowcount
        if len(found) == limit:
            return Rotated(done, unreadable, orjson.dumps([number, *found[-1][: len(column.key)]]).decode())
        more = number + 1 < len(COLUMNS)
        return Rotated(done, unreadable, orjson.dumps([number + 1]).decode() if more else None)

    @query
    def blob_paths(self, connection: Connection, after: str, limit: int) -> Sequence[str]:
        """Paths of blobs that rows name, in their order, behind `after`."""
        every = union(*(select(path.label("path")).where(path > after) for path in _BLOB_PATHS)).subquery()
        found = connection.execute(select(every.c.path).order_by(every.c.path).limit(limit))
        return [path for (path,) in found if path]

    @transaction
    def end_rotation(self, connection: Connection) -> None:
        """Notes that nothing is encrypted with any other key than the first. Raises errors.EncryptionOff."""
        connection.execute(delete(encryption_keys).where(encryption_keys.c.id != self._required().first))

    @transaction
    def forget(self, connection: Connection, key_id: str) -> int:
        """Removes the secrets that are encrypted with a key that is lost, and that it ever was; how many rows
        that were. What is in blobs stays, unreadable."""
        removed = 0
        for column in COLUMNS:
            lost = delete(column.table).where(column.secret.like(f"{MARK}{key_id}.%"))
            removed += connection.execute(lost).rowcount
        connection.execute(delete(encryption_keys).where(encryption_keys.c.id == key_id))
        return removed

    def _required(self) -> Keyring:
        if self._keyring is None:
            raise EncryptionOff()
        return self._keyring


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


def _known(connection: Connection) -> frozenset[str]:
    return frozenset(key_id for (key_id,) in connection.execute(select(encryption_keys.c.id)))


def _note(connection: Connection, key_id: str, now: int) -> None:
    if key_id not in _known(connection):
        connection.execute(encryption_keys.insert().values(id=key_id, since=now))

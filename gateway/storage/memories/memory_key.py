"""The key of encrypted memories: stored beside them, encrypted with one of the operator's."""

from base64 import urlsafe_b64decode

from sqlalchemy import Connection, delete, exists, or_, select, text, update

from gateway.encryption.data_key import DataKey
from gateway.encryption.keyring import Keyring, key_id_of, new_key
from gateway.errors import DecryptionFailed, SettingsError
from gateway.storage.database import Database
from gateway.storage.memories.encrypted_rows import SEALED, SEALED_PROFILE, SEALED_VERSION
from gateway.storage.memories.schema import memories, memory_keys

_NAME, _BOUND_TO = "memories", "key of memories"
_ADD = text("INSERT INTO memory_keys (name, secret) VALUES (:name, :secret) ON CONFLICT (name) DO NOTHING")


async def memory_key(database: Database, keyring: Keyring | None) -> DataKey | None:
    """The key of a database, made if it has none; None without a keyring. Raises errors.SettingsError: it has
    one, and what it is encrypted with is missing."""
    if keyring is None:
        if await database.read(has_sealed, snapshot=False):
            raise SettingsError(
                "There are encrypted memories, and GATEWAY_ENCRYPTION_KEYS has no key: set it as the gateway "
                "has it (docs/operations.md, Encryption at rest)."
            )
        return None
    stored = await database.read(stored_key, snapshot=False)
    if stored is None:
        sealed = keyring.encrypt(new_key(), _BOUND_TO)
        stored = await database.write(lambda connection: add_key(connection, sealed))
    return opened_key(stored, keyring)


def opened_key(stored: str, keyring: Keyring) -> DataKey:
    """Raises errors.SettingsError: the keyring does not open it."""
    try:
        return DataKey(urlsafe_b64decode(keyring.decrypt(stored, _BOUND_TO)))
    except DecryptionFailed as error:
        raise SettingsError(f"The key of the memories does not open. {error.message}") from None


def has_sealed(connection: Connection) -> bool:
    """Whether a memory, a version of one or a profile is encrypted. It reads them all if there is a key."""
    if stored_key(connection) is None:
        return False
    memory, profile = exists().where(memories.c.digest.like(SEALED)), exists().where(SEALED_PROFILE)
    return connection.execute(select(or_(memory, profile, exists().where(SEALED_VERSION)))).scalar_one()


def stored_key(connection: Connection) -> str | None:
    """As it is stored, if there is one."""
    return connection.execute(select(memory_keys.c.secret)).scalar_one_or_none()


def add_key(connection: Connection, secret: str) -> str:
    """The one that is there then: another process may have been first."""
    connection.execute(_ADD, {"name": _NAME, "secret": secret})
    return connection.execute(select(memory_keys.c.secret)).scalar_one()


def renew_key(connection: Connection, keyring: Keyring) -> bool:
    """Encrypts it with the first of the keyring's; whether it was with another one."""
    stored = stored_key(connection)
    if stored is None or key_id_of(stored) == keyring.first:
        return False
    anew = keyring.encrypt(keyring.decrypt(stored, _BOUND_TO), _BOUND_TO)
    connection.execute(update(memory_keys).values(secret=anew))
    return True


def forget_key(connection: Connection, key_id: str) -> bool:
    """Removes it if that lost key encrypts it; whether it did."""
    stored = stored_key(connection)
    if stored is None or key_id_of(stored) != key_id:
        return False
    connection.execute(delete(memory_keys))
    return True

"""Encryption at rest, as the settings have it."""

from gateway.encryption.keyring import Keyring, read_keys
from gateway.errors import SettingsError
from gateway.ids import new_replica_id
from gateway.settings import Settings
from gateway.storage.blobs import Blobs
from gateway.storage.blobs.addresses import open_blobs
from gateway.storage.sqlite.sqlite_database import SqliteDatabase
from gateway.wiring.database_server import driver_needed

NEEDED = "needs GATEWAY_ENCRYPTION_KEYS or GATEWAY_ENCRYPTION_KEYS_FILE: `gateway secrets generate` makes one"


def open_keyring(settings: Settings) -> Keyring | None:
    """The keys; None: there are none. Raises errors.SettingsError: one is no key, or something needs one."""
    given, file, where = settings.encryption_keys.get_secret_value(), settings.encryption_keys_file, "KEYS"
    if given and file is not None:
        raise SettingsError("Set GATEWAY_ENCRYPTION_KEYS or GATEWAY_ENCRYPTION_KEYS_FILE, not both.")
    if file is not None:
        where = f"KEYS_FILE {file}"
        try:
            given = file.read_text()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise SettingsError(f"GATEWAY_ENCRYPTION_KEYS_FILE {file} cannot be read: {why}.") from None
    try:
        keys = read_keys(given)
    except ValueError as error:
        raise SettingsError(f"GATEWAY_ENCRYPTION_{where}: {error}.") from None
    if keys:
        return Keyring(keys)
    if file is not None:
        raise SettingsError(f"GATEWAY_ENCRYPTION_KEYS_FILE {file} has no key.")
    if settings.encrypt_contents:
        raise SettingsError(f"GATEWAY_ENCRYPT_CONTENTS {NEEDED}.")
    if settings.provider_keys == "required":
        raise SettingsError(f"GATEWAY_PROVIDER_KEYS=required {NEEDED}.")
    return None


def blobs_of(settings: Settings, keyring: Keyring | None) -> Blobs:
    """The store of archives and artifacts. Raises as `open_blobs`."""
    blobs = open_blobs(settings.blob_url, settings.data_dir)
    if keyring is None:
        return blobs
    from gateway.storage.blobs.encrypted import EncryptedBlobs  # noqa: PLC0415 - cryptography, for who has keys

    return EncryptedBlobs(blobs, keyring, encrypts=settings.encrypt_contents)


async def forget_key(settings: Settings, key_id: str) -> int:
    """Removes the secrets that a lost key encrypts; how many. Raises errors.StorageError, among others where
    a gateway has the database of a file open."""
    from gateway.storage.secrets import Secrets  # noqa: PLC0415 - for this command alone

    if settings.is_shared:
        with driver_needed():
            from gateway.storage.postgres import PostgresDatabase  # noqa: PLC0415 - an extra
        opening = PostgresDatabase.open(
            settings.database_url or "",
            direct_url=settings.database_direct_url,
            connections=settings.database_connections,
            replica=new_replica_id("secrets"),
            lease=settings.lease,
        )
    else:
        opening = SqliteDatabase.open(settings.database_path, copy_first=settings.copy_before_migration)
    async with await opening as database:
        return await Secrets(database, None).forget(key_id)

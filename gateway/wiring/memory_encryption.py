"""Encrypted memories: a round over what is stored, and what a lost key leaves."""

from sqlalchemy import Connection

from gateway.errors import SettingsError
from gateway.memory.validation import indexed
from gateway.service.key_rotation import RotatedMemories
from gateway.settings import Settings
from gateway.storage.memories import encrypting
from gateway.storage.memories.encrypted_memories import EncryptedMemories
from gateway.storage.memories.memory_key import forget_key, renew_key
from gateway.wiring.encryption import open_keyring
from gateway.wiring.memory_database import memories_in, open_memory_database

MEMORIES = 50
"""Of one slice: with all their versions."""


class MemoryRotation:
    """The `RotatingMemories` protocol. It opens the database for each slice: it is there also where this
    process remembers nothing."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def rotate(self, after: int) -> RotatedMemories:
        """Raises errors.StorageError."""
        keyring = open_keyring(self._settings)
        if keyring is None or not _is_there(self._settings):
            return RotatedMemories(0, 0, 0, None)
        async with open_memory_database(self._settings) as database:
            try:
                memories = await memories_in(database, self._settings)
            except SettingsError:
                return RotatedMemories(0, 0, 1, None)
            keys = 0 if after else int(await database.write(lambda found: renew_key(found, keyring)))
            if not isinstance(memories, EncryptedMemories):
                return RotatedMemories(keys, 0, 0, None)
            done = await memories.encrypt(after, MEMORIES, indexed)
            return RotatedMemories(keys, done.memories, 0, done.after)


async def forget_memories(settings: Settings, key_id: str) -> int:
    """Removes memories and profiles whose key a lost one encrypts; how many. Raises errors.StorageError."""
    if not _is_there(settings):
        return 0
    async with open_memory_database(settings) as database:

        def work(connection: Connection) -> int:
            return encrypting.forget(connection, database.words) if forget_key(connection, key_id) else 0

        removed = await database.write(work)
        await database.scrub()
        return removed


def _is_there(settings: Settings) -> bool:
    return settings.is_shared or settings.memory_path.exists()

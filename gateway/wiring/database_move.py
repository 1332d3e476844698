"""A move from one database into another: their engines by the scheme of their addresses."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.encryption.keyring import Keyring
from gateway.errors import SettingsError
from gateway.memory.validation import indexed
from gateway.settings.value_types import check_database_url
from gateway.storage.blobs.addresses import open_blobs
from gateway.storage.memories.encrypted_rows import BlindTerms, RowCipher
from gateway.storage.memories.memory_key import has_sealed, opened_key, stored_key
from gateway.storage.memories.terms import PLAIN, Terms
from gateway.storage.moving import MovingDatabase, OnProgress
from gateway.storage.moving.blobs import MovedBlobs, move_blobs, named_blobs
from gateway.storage.moving.move import Index, begin, move


@dataclass(frozen=True, slots=True)
class MoveReport:
    """What a move came to: rows, and blobs if they moved too."""

    source: str
    target: str
    rows: int
    named_blobs: int
    blobs: MovedBlobs | None


def move_everything(
    source_url: str,
    target_url: str,
    blobs: tuple[str, str] | None,
    report: OnProgress,
    keyring: Keyring | None = None,
) -> MoveReport:
    """Sessions and memories, and with the addresses of two stores the blobs that they name. `keyring` opens
    the key of encrypted memories, whose words are made again.

    Raises:
        SettingsError: an address is of no engine or store that is known, or a key is missing.
        StorageError: see `begin` and `move`; a database is in use, or of another version.
    """
    with opened(source_url) as source, opened(target_url, is_target=True) as target:
        index, terms = _index_of(source, keyring)
        begin(source, target)
        named = named_blobs(source.connection)
        moved = None
        if blobs is not None:
            here, there = (open_blobs(address, Path()) for address in blobs)
            moved = asyncio.run(move_blobs(named, here, there, report))
        rows = move(source, target, index, report, terms)
        return MoveReport(source.name, target.name, rows, len(named), moved)


def _index_of(source: MovingDatabase, keyring: Keyring | None) -> tuple[Index, Terms]:
    stored = stored_key(source.connection)
    if stored is None or not has_sealed(source.connection):
        return indexed, PLAIN
    if keyring is None:
        raise SettingsError(
            "There are encrypted memories, and their words are made again in a move: set "
            "GATEWAY_ENCRYPTION_KEYS as the gateway has it."
        )
    key = opened_key(stored, keyring)
    cipher = RowCipher(key)
    return lambda row: indexed(cipher.opened(row)), BlindTerms(key, encrypts=True)


@contextmanager
def opened(url: str, *, is_target: bool = False) -> Generator[MovingDatabase]:
    which = "target" if is_target else "source"
    try:
        url = check_database_url(url) or ""
    except ValueError as why:
        raise SettingsError(f"The address of the {which}: {why}.") from None
    # Each engine is imported where it is asked for: psycopg is an extra.
    if url.startswith("sqlite:///"):
        from gateway.storage.sqlite import moving  # noqa: PLC0415

        path = Path(url.removeprefix("sqlite:///"))
        files = (path, path.with_name("memory.db"))
        with (moving.open_target if is_target else moving.open_source)(*files) as database:
            yield database
        return
    if url.startswith("postgresql://"):
        from gateway.storage.postgres import moving  # noqa: PLC0415
        from gateway.storage.postgres.memory_words import PostingWords  # noqa: PLC0415

        with (moving.open_target if is_target else moving.open_source)(url, PostingWords()) as database:
            yield database
        return
    raise SettingsError(f"The address of the {which} is neither sqlite:///PATH nor postgresql://….")

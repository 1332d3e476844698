"""Memories from before they were encrypted, and those whose key is lost: functions that are parts of
transactions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, and_, delete, select, update

from gateway.storage.memories import Evidence, Indexed, MemoryRow, Profile
from gateway.storage.memories.conditions import DOCUMENT, partitions_of
from gateway.storage.memories.encrypted_rows import (
    SEALED,
    SEALED_PROFILE,
    SEALED_VERSION,
    RowCipher,
    is_sealed,
)
from gateway.storage.memories.memory_database import Words
from gateway.storage.memories.rows import COLUMNS, memory_from, memory_of, remove, snapshot_of, values_of
from gateway.storage.memories.schema import (
    memories,
    memory_evidence,
    memory_vectors,
    memory_versions,
    profiles,
)


class Encrypted(NamedTuple):
    """How many memories were encrypted, and the number behind which to go on; None: that was all."""

    memories: int
    after: int | None


@dataclass(frozen=True, slots=True)
class IndexingCipher:
    """How a memory is encrypted, and where and by what it is found then."""

    cipher: RowCipher
    words: Words
    index: Callable[[MemoryRow], Sequence[Indexed]]


def encrypt(connection: Connection, by: IndexingCipher, after: int, limit: int) -> Encrypted:
    """As `EncryptedMemories.encrypt`."""
    cipher, c = by.cipher, memories.c
    found = connection.execute(
        select(c.number, c.deleted_at, *COLUMNS)
        .where(c.number > after, c.source != DOCUMENT)
        .order_by(c.number)
        .limit(limit)
        .with_for_update()
    ).all()
    done = 0
    for number, row, deleted_at in [(each.number, memory_of(each[2:]), each.deleted_at) for each in found]:
        changed = _encrypt_history(connection, cipher, number, row.id)
        if not is_sealed(row.digest):
            _encrypt_row(connection, cipher, number, row)
            if deleted_at is None:
                by.words.put(connection, number, partitions_of(row), by.index(row))
            changed = True
        done += changed
    if len(found) == limit:
        return Encrypted(done, found[-1][0])
    _encrypt_profiles(connection, cipher)
    by.words.purge(connection)
    return Encrypted(done, None)


def _encrypt_row(connection: Connection, cipher: RowCipher, number: int, row: MemoryRow) -> None:
    sealed = cipher.sealed(row)
    connection.execute(update(memories).where(memories.c.number == number).values(values_of(sealed)))
    v = memory_vectors.c
    of_row = and_(v.memory == number, v.digest == row.digest)
    connection.execute(update(memory_vectors).where(of_row).values(digest=sealed.digest))


def _encrypt_history(connection: Connection, cipher: RowCipher, number: int, memory_id: str) -> bool:
    """Its versions and the evidence, also where the memory itself is encrypted already."""
    v, changed = memory_versions.c, False
    versions = connection.execute(select(v.version, v.reason, v.row).where(v.memory == number)).all()
    for version, reason, snapshot in versions:
        row = memory_from(snapshot)
        if is_sealed(row.digest):
            continue
        values: dict[str, Any] = {
            "row": snapshot_of(cipher.sealed(row)),
            "reason": cipher.sealed_reason(reason, memory_id, version),
        }
        is_this = and_(v.memory == number, v.version == version)
        connection.execute(update(memory_versions).where(is_this).values(values))
        changed = True
    return form_evidence(connection, cipher, memory_id, encrypts=True) or changed


def form_evidence(connection: Connection, cipher: RowCipher, memory_id: str, *, encrypts: bool) -> bool:
    """Evidence counts for the content whose digest it has: it gets the form that the memory has, encrypted or
    not. Whether any had the other one."""
    e = memory_evidence.c
    of_memory = e.memory == select(memories.c.number).where(memories.c.id == memory_id).scalar_subquery()
    has_other = e.digest.not_like(SEALED) if encrypts else e.digest.like(SEALED)
    quotes = connection.execute(
        select(e.number, e.session_id, e.position, e.quote, e.author, e.digest).where(of_memory, has_other)
    ).all()
    for number, session_id, position, quote, author, digest in quotes:
        if encrypts:
            values = {
                "quote": cipher.sealed_quote(quote, memory_id, session_id, position),
                "digest": cipher.digest(digest),
            }
        else:
            opened = cipher.opened_evidence(memory_id, Evidence(session_id, position, quote, author), digest)
            values = {"quote": opened.quote, "digest": cipher.opened_digest(digest)}
        connection.execute(update(memory_evidence).where(e.number == number).values(values))
    return bool(quotes)


def _encrypt_profiles(connection: Connection, cipher: RowCipher) -> None:
    p = profiles.c
    for kind, name, fields in connection.execute(select(p.kind, p.id, p.fields)).all():
        profile = Profile(kind, name, orjson.loads(fields), 0, 0, "")
        if cipher.opened_profile(profile) is not profile:
            continue
        sealed = orjson.dumps(cipher.sealed_profile(profile).fields).decode()
        is_this = and_(p.kind == kind, p.id == name)
        connection.execute(update(profiles).where(is_this).values(fields=sealed))


def forget(connection: Connection, words: Words) -> int:
    """Removes everything that is encrypted; how many memories and profiles that were."""
    c, e = memories.c, memory_evidence.c
    lost = remove(
        connection, words, connection.execute(select(c.number, c.id).where(c.digest.like(SEALED))).all()
    )
    words.purge(connection)
    connection.execute(delete(memory_evidence).where(e.digest.like(SEALED)))
    connection.execute(delete(memory_versions).where(SEALED_VERSION))
    removed = connection.execute(delete(profiles).where(SEALED_PROFILE))
    return lost + removed.rowcount

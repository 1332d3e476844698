"""The memories of all users, encrypted in their database."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import orjson
from sqlalchemy import Connection

from gateway.encryption.data_key import DataKey
from gateway.storage.database import OwnerLock, reads
from gateway.storage.memories import (
    Change,
    Evidence,
    Filter,
    Forgotten,
    Indexed,
    Match,
    MemoryRow,
    MemoryVersion,
    Profile,
    ProfileKind,
    Tombstone,
    Vector,
    Viewer,
    encrypting,
    reading,
    writing,
)
from gateway.storage.memories.encrypted_rows import BlindTerms, RowCipher
from gateway.storage.memories.encrypting import Encrypted, IndexingCipher
from gateway.storage.memories.memory_database import MemoryDatabase
from gateway.storage.memories.store import MemoryStore

T = TypeVar("T")

MAX_INLINE = 25
"""Memories that are decrypted on the event loop: about a millisecond."""
PAGE = 500
"""Memories that `containing` reads at a time."""


class EncryptedMemories(MemoryStore):
    """A store of memories in which what is written is encrypted if `encrypts`; what is read may be either. It
    raises errors.DecryptionFailed besides."""

    _evidence = reads(reading.evidence_and_digests, snapshot=False)

    def __init__(self, database: MemoryDatabase, key: DataKey, *, encrypts: bool) -> None:
        super().__init__(database)
        self._cipher, self._encrypts = RowCipher(key), encrypts
        self._words = database.words.spelled(BlindTerms(key, encrypts=encrypts))

    async def write(self, changes: Sequence[Change], *, most: int) -> None:
        """As `MemoryStore.write`."""
        stored = [self._stored(change) for change in changes]
        owners = {change.row.user_id for change in changes}

        def work(connection: Connection) -> None:
            writing.write(connection, self._words, stored, most=most)
            for row in (change.row for change in stored if change.row.version > 1):
                encrypting.form_evidence(connection, self._cipher, row.id, encrypts=self._encrypts)

        over = OwnerLock(owners.pop(), tuple(owners)) if owners else None
        await self.database.write(work, over=over)

    async def get(self, viewer: Viewer, *ids: str) -> Sequence[MemoryRow]:
        return await self._all(self._cipher.opened, await super().get(viewer, *ids))

    async def list(
        self,
        viewer: Viewer,
        which: Filter | None = None,
        *,
        limit: int,
        before: tuple[int, str] | None = None,
    ) -> Sequence[MemoryRow]:
        rows = await super().list(viewer, self._asked(which), limit=limit, before=before)
        return await self._all(self._cipher.opened, rows)

    async def count(self, viewer: Viewer, which: Filter | None = None) -> int:
        return await super().count(viewer, self._asked(which))

    async def weighed(
        self, viewer: Viewer, which: Filter | None = None, *, limit: int, lightest: bool = False
    ) -> Sequence[MemoryRow]:
        rows = await super().weighed(viewer, self._asked(which), limit=limit, lightest=lightest)
        return await self._all(self._cipher.opened, rows)

    async def match(
        self, viewer: Viewer, words: Sequence[str], which: Filter, *, limit: int
    ) -> Sequence[Match]:
        """As `MemoryStore.match`: the same words are rare, and the same memories long."""
        asked = self._asked(which) or which
        return await self._matches(await super().match(viewer, words, asked, limit=limit))

    async def containing(
        self, viewer: Viewer, parts: Sequence[str], which: Filter, *, limit: int
    ) -> Sequence[Match]:
        """Decrypts all that the viewer sees, until there are enough: the database cannot look into them."""
        found, before = list[Match](), None
        while len(found) < limit:
            page = await self.list(viewer, which, limit=PAGE, before=before)
            found += [Match(row, 0.0) for row in page if _has_one(row, parts)]
            if len(page) < PAGE:
                break
            before = page[-1].updated_at, page[-1].id
        return found[:limit]

    async def located(self, viewer: Viewer, passages: Mapping[str, int]) -> Sequence[Match]:
        return await self._matches(await super().located(viewer, passages))

    async def versions(self, viewer: Viewer, memory_id: str) -> Sequence[MemoryVersion]:
        return await self._all(self._cipher.opened_version, await super().versions(viewer, memory_id))

    async def evidence(self, viewer: Viewer, memory_id: str) -> Sequence[Evidence]:
        opened = self._cipher.opened_evidence
        return [opened(memory_id, *found) for found in await self._evidence(viewer, memory_id)]

    async def tombstones(
        self, viewer: Viewer, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[Tombstone]:
        rows = await super().tombstones(viewer, limit=limit, before=before)
        return await self._all(self._cipher.opened_tombstone, rows)

    async def forgotten(self, viewer: Viewer, *, since: int, limit: int) -> Sequence[Forgotten]:
        rows = await super().forgotten(viewer, since=since, limit=limit)
        return await self._all(self._cipher.opened_forgotten, rows)

    async def vectors(self, viewer: Viewer, model: str) -> Sequence[Vector]:
        opened = self._cipher.opened_digest
        rows = await super().vectors(viewer, model)
        return await self._all(lambda row: replace(row, digest=opened(row.digest)), rows)

    async def missing_vectors(self, viewer: Viewer, model: str, *, limit: int) -> Sequence[MemoryRow]:
        return await self._all(self._cipher.opened, await super().missing_vectors(viewer, model, limit=limit))

    async def put_vectors(self, model: str, vectors: Sequence[Vector]) -> None:
        """A memory has its digest in one of the two forms: what is of the other one is dropped."""
        sealed = [replace(each, digest=self._cipher.digest(each.digest)) for each in vectors]
        await super().put_vectors(model, [*sealed, *vectors])

    async def profile(self, kind: ProfileKind, id: str) -> Profile | None:
        found = await super().profile(kind, id)
        return found and self._cipher.opened_profile(found)

    async def put_profile(self, profile: Profile) -> None:
        """Raises errors.MemoryChanged."""
        await super().put_profile(self._cipher.sealed_profile(profile) if self._encrypts else profile)

    async def encrypt(
        self, after: int, limit: int, index: Callable[[MemoryRow], Sequence[Indexed]]
    ) -> Encrypted:
        """Encrypts what is not of `limit` memories behind the number `after`, in their order, and at the end
        of the profiles; `index` says by what a memory is found."""
        if not self._encrypts:
            return Encrypted(0, None)
        cipher = IndexingCipher(self._cipher, self._words, index)
        done = await self.database.write(
            lambda connection: encrypting.encrypt(connection, cipher, after, limit)
        )
        if done.after is None:
            await self._scrub()
        return done

    def _opened(self, row: MemoryRow) -> MemoryRow:
        return self._cipher.opened(row)

    def _stored(self, change: Change) -> Change:
        row = change.row
        if not self._encrypts:
            return replace(change, other_digest=self._cipher.digest(row.digest))
        cipher = self._cipher
        quotes = [
            replace(each, quote=cipher.sealed_quote(each.quote, row.id, each.session_id, each.position))
            for each in change.evidence
        ]
        return replace(
            change,
            row=cipher.sealed(row),
            reason=cipher.sealed_reason(change.reason, row.id, row.version),
            evidence=quotes,
            other_digest=row.digest,
        )

    def _asked(self, which: Filter | None) -> Filter | None:
        if which is None or which.tag is None:
            return which
        return replace(which, tag_sealed=(self._cipher.tag(which.tag),))

    async def _matches(self, matches: Sequence[Match]) -> Sequence[Match]:
        opened = self._cipher.opened
        return await self._all(lambda match: replace(match, row=opened(match.row)), matches)

    async def _all(self, opened: Callable[[T], T], rows: Sequence[T]) -> Sequence[T]:
        if not rows:
            return rows
        if len(rows) <= MAX_INLINE:
            return [opened(row) for row in rows]
        return await asyncio.to_thread(lambda: [opened(row) for row in rows])


def _has_one(row: MemoryRow, parts: Sequence[str]) -> bool:
    text = f"{row.content}\n{orjson.dumps(row.tags).decode()}".lower()
    return any(part in text for part in parts)

"""Memories as rows that only a key makes readable.

    content          an encrypted list of SECRET, bound to the memory's id; the other columns of it are empty
    digest, tags     encrypted so that equal ones are equal: the database compares them
    words            each term cut from an HMAC of its partition and word: it is found, and not read

Documents stay as they are: their files are the operators', and everybody may read them. So their words stay
readable too; in other partitions the same words are other terms, which they do not give away.
"""

from collections.abc import Sequence
from dataclasses import replace

import orjson

from gateway.encryption.data_key import FIXED, DataKey
from gateway.storage.memories import (
    EVERYBODY,
    Evidence,
    Forgotten,
    MemoryRow,
    MemoryVersion,
    Passage,
    Profile,
    Tombstone,
)
from gateway.storage.memories.conditions import DOCUMENT, aside
from gateway.storage.memories.schema import memory_versions, profiles
from gateway.storage.memories.terms import Terms, mark_of

SECRET = ("content", "summary", "context", "decisions", "refs", "metadata", "flagged")
_LISTS = ("decisions", "refs")
_OPEN = frozenset((EVERYBODY, *aside((EVERYBODY,))))
_PROFILE = ""
"""The key of an encrypted profile's one field: no profile has such a key of its own."""

SEALED = f"{FIXED}%"
"""LIKE this are digests of what is encrypted."""
SEALED_PROFILE = profiles.c.fields.like('{"":%')
SEALED_VERSION = memory_versions.c.row.contains(f'"digest":"{FIXED}', autoescape=True)


def is_sealed(digest: str) -> bool:
    """Whether the row of this digest is encrypted: nobody but the gateway writes one."""
    return digest.startswith(FIXED)


class RowCipher:
    """What is stored of a memory, and back. What opens takes rows that are not encrypted as they are, and
    raises errors.DecryptionFailed."""

    def __init__(self, key: DataKey) -> None:
        self.key = key

    def sealed(self, row: MemoryRow) -> MemoryRow:
        """As it is stored."""
        if row.source == DOCUMENT or is_sealed(row.digest):
            return row
        secret = orjson.dumps([getattr(row, name) for name in SECRET]).decode()
        return replace(
            row,
            content=self.key.seal(secret, "memory", row.id),
            summary="",
            context=None,
            decisions=(),
            refs=(),
            metadata=None,
            flagged=None,
            digest=self.digest(row.digest),
            tags=tuple(map(self.tag, row.tags)),
        )

    def opened(self, row: MemoryRow) -> MemoryRow:
        """What `sealed` was given."""
        if not is_sealed(row.digest):
            return row
        secret = orjson.loads(self.key.open(row.content, "memory", row.id))
        fields = dict(zip(SECRET, secret, strict=True))
        fields |= {name: tuple(fields[name]) for name in _LISTS}
        tags = tuple(self.key.open_fixed(tag, "tag") for tag in row.tags)
        return replace(row, **fields, digest=self.opened_digest(row.digest), tags=tags)

    def opened_forgotten(self, each: Forgotten) -> Forgotten:
        if not is_sealed(each.digest):
            return each
        content, *_ = orjson.loads(self.key.open(each.content, "memory", each.id))
        return replace(each, content=content, digest=self.opened_digest(each.digest))

    def opened_tombstone(self, each: Tombstone) -> Tombstone:
        """Its reason is encrypted if its row is."""
        row = each.row
        if not is_sealed(row.digest):
            return each
        reason = self.key.open(each.reason, "reason", row.id, str(row.version))
        return replace(each, row=self.opened(row), reason=reason)

    def digest(self, digest: str) -> str:
        return digest if is_sealed(digest) else self.key.seal_fixed(digest, "digest")

    def opened_digest(self, digest: str) -> str:
        return self.key.open_fixed(digest, "digest") if is_sealed(digest) else digest

    def tag(self, tag: str) -> str:
        return self.key.seal_fixed(tag, "tag")

    def sealed_reason(self, reason: str, memory_id: str, version: int) -> str:
        return self.key.seal(reason, "reason", memory_id, str(version))

    def opened_version(self, version: MemoryVersion) -> MemoryVersion:
        """Its reason is encrypted if its row is."""
        row = version.row
        if not is_sealed(row.digest):
            return version
        reason = self.key.open(version.reason, "reason", row.id, str(version.version))
        return replace(version, reason=reason, row=self.opened(row))

    def sealed_quote(self, quote: str, memory_id: str, session_id: str, position: int) -> str:
        return self.key.seal(quote, "evidence", memory_id, session_id, str(position))

    def opened_evidence(self, memory_id: str, each: Evidence, digest: str) -> Evidence:
        """It is encrypted if the digest is."""
        if not is_sealed(digest):
            return each
        quote = self.key.open(each.quote, "evidence", memory_id, each.session_id, str(each.position))
        return replace(each, quote=quote)

    def sealed_profile(self, profile: Profile) -> Profile:
        fields = self.key.seal(orjson.dumps(profile.fields).decode(), "profile", profile.kind, profile.id)
        return replace(profile, fields={_PROFILE: fields})

    def opened_profile(self, profile: Profile) -> Profile:
        if (sealed := profile.fields.get(_PROFILE)) is None:
            return profile
        fields = orjson.loads(self.key.open(sealed, "profile", profile.kind, profile.id))
        return replace(profile, fields=fields)


class BlindTerms(Terms):
    """Terms that a key is needed to know. With `encrypts` off they are made readable, and looked for in both
    spellings, as rows may have either."""

    def __init__(self, key: DataKey, *, encrypts: bool) -> None:
        self._key = key
        self._encrypts = encrypts

    def made(self, partition: str, words: Sequence[str]) -> list[str]:
        """One of each."""
        if partition in _OPEN or not self._encrypts:
            return super().made(partition, words)
        return self._blind(partition, words)

    def sought(self, partition: str, words: Sequence[str]) -> list[str]:
        """Blind ones first; where there are only these, the others are found nowhere."""
        plain = super().made(partition, words)
        return plain if partition in _OPEN else self._blind(partition, words) + plain

    def is_readable(self, partition: str) -> bool:
        return partition in _OPEN

    def written(self, passage: Passage, entry: int, partitions: Sequence[str]) -> str:
        """Encrypted: it has headings."""
        text = super().written(passage, entry, partitions)
        if not self._encrypts or _OPEN.intersection(partitions):
            return text
        return self._key.seal(text, "passage", str(entry))

    def read(self, text: str, entry: int) -> Passage:
        """Of JSON, or encrypted. Raises errors.DecryptionFailed."""
        return super().read(
            text if text.startswith("[") else self._key.open(text, "passage", str(entry)), entry
        )

    def _blind(self, partition: str, words: Sequence[str]) -> list[str]:
        mark = mark_of(partition)
        return [mark + self._key.term(mark + word) for word in words]

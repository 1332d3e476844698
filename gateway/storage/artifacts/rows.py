"""What is known of an artifact, as a value and as a row of its table."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import orjson

from gateway.storage.rows import Codec, Rows, as_json
from gateway.storage.schema import artifacts

Kind = Literal["text", "json", "csv", "markdown", "code", "log", "image", "pdf", "binary"]
TEXTS: frozenset[Kind] = frozenset({"text", "json", "csv", "markdown", "code", "log"})
"""Kinds whose content is UTF-8: it has lines and can be searched."""

CHUNK = 1_048_576
"""Bytes of one part of a content, but for the last. Each has a hash of its own, so that a reader of some of
them knows that these are what was written."""

EXAMPLES = "examples"
"""The key of an artifact's metadata under which arguments of `read_artifact` stand that fit its content."""
LOCATORS = frozenset({"lines", "bytes", "json_path", "search"})
"""What those arguments are called."""

MIN_COUNTED = 4096
"""Bytes that an artifact counts at least against its owner's quota: what a block of a disk takes. It bounds
their number too: content that the owner has already counts this much once more."""


class Chunk(NamedTuple):
    """A part of a content: its SHA-256 in hex, and the line ends (LF) in it."""

    sha256: str
    line_ends: int


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    """An artifact. `session_id`, `turn_id` and `tool_call_id` tell where it was made, as far as there was
    such; the session may be gone since. `size` is in bytes, `lines` None where it is no text, `chunks` are in
    order, `path` is the blob. `compact` says by its type what is in it, `summary` what a model made of it.
    Times are Unix milliseconds."""

    owner: str
    ref: str
    mime: str
    kind: Kind
    size: int
    lines: int | None
    sha256: str
    chunks: Sequence[Chunk]
    path: str
    compact: str
    created_at: int
    expires_at: int
    name: str | None = None
    session_id: str | None = None
    turn_id: str | None = None
    tool_call_id: str | None = None
    project_id: str | None = None
    summary: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Room:
    """What a user's artifacts take: bytes, as they count against the quota, and how many there are."""

    used: int
    count: int


class Stock(NamedTuple):
    """All that there is of all users: artifacts, the bytes of their contents, of which each counts once for
    an owner, and blobs that may be orphans."""

    artifacts: int
    size: int
    doubtful: int


def blob_path(owner: str, sha256: str) -> str:
    """Where the content with that hash lies, once for each owner: what users have in common is nobody's to
    find out."""
    shelf = hashlib.sha256(f"artifacts of {owner}".encode()).hexdigest()[:16]
    return f"artifacts/{shelf}/{sha256[:2]}/{sha256}"


def size_of(row: ArtifactRow) -> str:
    """ "200 lines / 4.2 KB"; without lines where it is no text. A kilobyte has 1000 bytes."""
    size = f"{row.size:,} bytes" if row.size != 1 else "1 byte"
    for unit, bytes_of_it in (("KB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if row.size >= bytes_of_it:
            size = f"{row.size / bytes_of_it:,.1f} {unit}"
    return size if row.lines is None else f"{row.lines:,} line{'' if row.lines == 1 else 's'} / {size}"


def _chunks_text(chunks: Sequence[Chunk]) -> str:
    return as_json([[*each] for each in chunks])


def _chunks(text: str) -> tuple[Chunk, ...]:
    return tuple(Chunk(*each) for each in orjson.loads(text))


def _metadata_text(metadata: Mapping[str, Any]) -> str:
    return as_json(dict(metadata))


ARTIFACTS = Rows(
    ArtifactRow,
    artifacts,
    chunks=Codec(_chunks_text, _chunks),
    metadata=Codec(_metadata_text, orjson.loads),
)

"""Artifacts: their rows. Their content is in blobs. They belong to their owner; a reference names one of the
owner's."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any, Literal, NamedTuple

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
    """An artifact. `session_id`, `turn_id` and `tool_call_id` are where it was made, None where that does not
    apply; the session may be gone since. `size` is in bytes, `lines` None where it is no text, `chunks` are
    in order, `path` is the blob. `compact` describes its content by its type, `summary` is a model's. Times
    are Unix milliseconds."""

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
class SpaceUsed:
    """The space of a user's artifacts: bytes, as they count against the quota, and their number."""

    used: int
    count: int


class Stock(NamedTuple):
    """All that there is of all users: artifacts, the bytes of their contents, of which each counts once for
    an owner, and blobs that may be orphans."""

    artifacts: int
    size: int
    orphan_candidates: int


def blob_path(owner: str, sha256: str) -> str:
    """Where the content with that hash is to be written. Owners have places of their own, so that no user can
    find out what others have. Each call gives another place, so that no writer writes to a blob that is being
    removed."""
    return f"{_place(owner, sha256)}-{token_hex(8)}"


def blob_paths(owner: str, sha256: str) -> tuple[str, str]:
    """Between which, both included, the paths of that content lie. In former versions it had one place."""
    place = _place(owner, sha256)
    return place, f"{place}-~"


def owner_folder(owner: str) -> str:
    """What all paths of an owner's contents begin with."""
    return f"artifacts/{hashlib.sha256(f'artifacts of {owner}'.encode()).hexdigest()[:16]}/"


def _place(owner: str, sha256: str) -> str:
    return f"{owner_folder(owner)}{sha256[:2]}/{sha256}"


def size_of(row: ArtifactRow) -> str:
    """ "200 lines / 4.2 KB"; without lines where it is no text. A kilobyte has 1000 bytes."""
    size = f"{row.size:,} bytes" if row.size != 1 else "1 byte"
    for unit, bytes_of_it in (("KB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if row.size >= bytes_of_it:
            size = f"{row.size / bytes_of_it:,.1f} {unit}"
    return size if row.lines is None else f"{row.lines:,} line{'' if row.lines == 1 else 's'} / {size}"

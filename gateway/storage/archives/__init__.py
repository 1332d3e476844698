"""A session's past: versions of its compressed history, its summary, and rows that were moved to blobs.

All methods raise `errors.StorageError` when the database cannot do its work, and nothing half-done is left
behind. Callers have checked the session's owner before, unless a method takes one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gateway.messages import Usage

Trigger = Literal["manual", "automatic", "overflow"]
Source = Literal["messages", "summary_and_messages"]


@dataclass(frozen=True, slots=True)
class CompressionRow:
    """A version of a session's compressed history. It covers the messages `from_position` to `to_position`,
    its `parent` (and that one's parents) those before. `kept_position` is covered, by it or by one of these,
    and is sent verbatim nevertheless. `sha256` is of the archive's lines before they were zipped,
    `archive_size` in bytes on disk. `summary` is a JSON object, of everything up to `to_position`; `source`
    is whether it was made of all those messages or of the parent's summary and the messages since; `model`
    wrote it, "" where none could. The messages are those of `branch`; it holds in
    all that have the same ones up to `to_position`."""

    session_id: str
    version: int
    parent: int | None
    from_position: int
    to_position: int
    kept_position: int | None
    archive_path: str
    archive_size: int
    sha256: str
    summary: dict[str, Any]
    source: Source
    model: str
    prompt_digest: str
    tokens_before: int
    tokens_after: int
    trigger: Trigger
    usage: Usage | None
    cost: float | None
    created_at: int
    branch: int = 0

    @property
    def without_model(self) -> bool:
        """Whether no model could write the summary: it was made of the facts that are known."""
        return not self.model


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """The newest summary of a session, made when its last message was `to_position`."""

    session_id: str
    owner: str
    project_id: str | None
    to_position: int
    summary: dict[str, Any]
    trigger: Literal["manual", "idle", "archive"]
    model: str
    prompt_digest: str
    usage: Usage | None
    cost: float | None
    created_at: int
    title: str | None = None


@dataclass(frozen=True, slots=True)
class ArchiveRow:
    """A range of a session's events and messages that was moved to two blobs. An index is a list of
    [first seq or position, offset in bytes] of the blob's zipped members, in order. A range is empty when
    its end is before its start; its blob then has no bytes."""

    session_id: str
    number: int
    from_seq: int
    to_seq: int
    events_path: str
    events_sha256: str
    events_index: Sequence[tuple[int, int]]
    from_position: int
    to_position: int
    messages_path: str
    messages_sha256: str
    messages_index: Sequence[tuple[int, int]]
    created_at: int

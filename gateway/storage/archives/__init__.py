"""The storage contract of a session's past: versions of its compressed history, its summary, and rows that
were moved to blobs.

All methods raise `errors.StorageError` when the database cannot do its work, and nothing half-done is left
behind. Callers have checked the session's owner before, unless a method takes one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

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


class Compressions(Protocol):
    """The versions of sessions' compressed histories, append-only, and which of them is in force."""

    async def list(self, session_id: str) -> Sequence[CompressionRow]:
        """All versions that hold in the active branch, the oldest first."""
        ...

    async def get(self, session_id: str, version: int) -> CompressionRow:
        """Raises errors.NotFound (code version_not_found)."""
        ...

    async def in_force(self, session_id: str) -> int | None:
        """The version in force; None when every message is sent, or there is no such session."""
        ...

    async def next_version(self, session_id: str) -> int:
        """The number of the version that would be added next, from 1."""
        ...

    async def add(self, row: CompressionRow) -> None:
        """Adds the version and puts it in force, in one transaction: failures in a row are forgotten, the
        session's prefix hash too, and a new generation begins after its last message. When a turn runs that
        did not ask for this (the trigger is manual), that turn goes on with the old view: the generation
        stays open (GENERATION_OPEN) until the next turn begins.

        Raises:
            errors.Conflict: (code compression_conflict) the version in force is no longer `row.parent`, the
                branch is no longer active, or the number is taken: another task was faster. Or its archive is
                no candidate any more (see `Orphans`): writing it took so long that it was swept.
            errors.NotFound: the session is gone.
        """
        ...

    async def activate(self, session_id: str, version: int | None) -> None:
        """Puts another version in force, None: none of them; a new generation begins as with a manual `add`.

        Raises:
            errors.NotFound: (code version_not_found).
            errors.Conflict: (code version_of_other_branch) it covers messages that the active branch does
                not have.
        """
        ...

    async def failed(self, session_id: str) -> int:
        """Counts a failed attempt; returns how many there were in a row."""
        ...


class Summaries(Protocol):
    """The newest summary of each session."""

    async def save(self, row: SummaryRow) -> None:
        """Replaces the session's summary, unless that knows more messages. Nothing happens when the session
        is gone."""
        ...

    async def get(self, session_id: str, owner: str) -> SummaryRow:
        """Raises errors.NotFound (code summary_not_found)."""
        ...

    async def list(
        self,
        owner: str,
        *,
        project_id: str | None = None,
        role_id: str | None = None,
        limit: int,
        except_for: str | None = None,
    ) -> Sequence[SummaryRow]:
        """The owner's newest summaries, newest first; only of sessions in that project and in that role, as
        far as they are given. `except_for` is a session that is left out."""
        ...

    async def carried(
        self, session_id: str, owner: str, *, limit: int, any_role: bool = False
    ) -> Sequence[SummaryRow]:
        """What a new session is shown: the newest summaries of the owner's other sessions of exactly its
        project and its role (or, like it, of none); within a project with `any_role` of every role. Costs
        nothing while no summary was ever made."""
        ...

    async def due(self, *, idle_before: int, limit: int) -> Sequence[tuple[str, str, str | None]]:
        """Sessions (id, owner, project) without a turn in flight whose last use was before that time and
        which have messages that their summary, if any, does not know."""
        ...


class Archives(Protocol):
    """Which ranges of sessions were moved to blobs."""

    async def list(self, session_id: str) -> Sequence[ArchiveRow]:
        """All of a session's, in order."""
        ...

    async def add(self, row: ArchiveRow) -> None:
        """Adds the range: from then on it is read from its archive, and its rows are removed (see `Purges`).

        Raises:
            errors.TurnInProgress: a turn is running or waiting.
            errors.Conflict: (code archive_conflict) the range is not exactly what the tables hold now, or
                its blobs are no candidates any more (see `Orphans`): writing them took so long that they were
                swept.
            errors.NotFound: the session is gone.
        """
        ...

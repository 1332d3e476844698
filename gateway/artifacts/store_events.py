"""Events of the artifact store, for metrics and log lines. The store calls `on_event` with each, which must
not raise."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from gateway.storage.artifacts import ArtifactRow

Source = Literal["tool", "attachment", "upload"]
"""Where a content comes from: a tool's result, a file that came with a message, or what a client sent by
itself."""
Attribution = Literal["model", "user"]


@dataclass(frozen=True, slots=True)
class Stored:
    """A content was kept; `seconds` is how long that took, the look at what is in it included."""

    row: ArtifactRow
    source: Source
    seconds: float


@dataclass(frozen=True, slots=True)
class StoreFailed:
    """A content could not be kept: `code` is that of the error."""

    source: Source
    code: str
    seconds: float
    session_id: str | None = None
    turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class Damaged:
    """A content was found to be missing, or else changed."""

    row: ArtifactRow
    missing: bool


@dataclass(frozen=True, slots=True)
class PartRead:
    """A part was read, or refused with that code."""

    how: Literal["lines", "bytes", "json_path", "search"]
    by: Attribution
    code: str | None = None


@dataclass(frozen=True, slots=True)
class PathStopped:
    """A JSON path was not followed to its end: it took too long or too much memory, or had to wait for too
    long."""

    reason: Literal["time", "memory", "busy"]


@dataclass(frozen=True, slots=True)
class PassedOn:
    """A content went into the arguments of a call, whole or a part of it; `size` are the bytes that it
    counts for: those of the artifact."""

    size: int
    part: bool


class Swept(NamedTuple):
    """The removals of one round: artifacts whose time was over, blobs that were orphans, and parts of blobs
    that never became whole."""

    expired: int
    removed: int
    parts: int = 0


ArtifactEvent = Stored | StoreFailed | Damaged | PartRead | PathStopped | PassedOn | Swept


def source_of(turn_id: str | None, tool_call_id: str | None) -> Source:
    """From the turn and the call that a content was made in."""
    if turn_id is None:
        return "upload"
    return "attachment" if tool_call_id is None else "tool"

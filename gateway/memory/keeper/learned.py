"""What came of reading one conversation for what is worth remembering."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gateway.memory.memories import Changed
from gateway.messages import Usage


@dataclass(frozen=True, slots=True)
class Learned:
    """For whoever measures it. Times are Unix ms; `model` was asked `calls` times, which took `usage` (None:
    not told), and offered `offered` things. `dropped` counts by reason what was not kept of them, `error` is
    the code of what ended it early."""

    session_id: str
    model: str
    started_at: int
    ended_at: int
    calls: int = 0
    usage: Usage | None = None
    offered: int = 0
    changed: Sequence[Changed] = ()
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])
    error: str | None = None


def learning_id(session_id: str, started_at: int) -> str:
    """Names one reading of a session, for `ids.trace_id_of`: its own span and those of its model calls."""
    return f"learn {session_id} {started_at}"

"""The report on one pass of the extractor."""

from collections import Counter
from dataclasses import dataclass, field

from gateway.memory.changes import Changed
from gateway.messages import Usage


@dataclass(slots=True)
class LearningReport:
    """Filled while the pass goes on. Times are Unix ms; `model` was called `calls` times, which took `usage`
    (None: unknown), and offered `offered` candidates. `dropped` counts the rejected ones, and those that
    changed nothing, by reason; `error` is the code of what ended the pass early."""

    session_id: str
    model: str
    started_at: int
    ended_at: int = 0
    calls: int = 0
    usage: Usage | None = None
    offered: int = 0
    changed: list[Changed] = field(default_factory=list[Changed])
    dropped: Counter[str] = field(default_factory=Counter[str])
    error: str | None = None


def learning_id(session_id: str, started_at: int) -> str:
    """The id of one pass, from which `ids.trace_id_of` derives the trace of its span and model calls."""
    return f"learn {session_id} {started_at}"

"""`retrieval` events: the recalled memories and the reasons."""

from collections.abc import Sequence
from typing import Any, Literal

from gateway.events.content import Omission, Retrieval, RetrievalHit
from gateway.lexical import estimate_tokens
from gateway.memory.context_changes import ContextDiff
from gateway.memory.search.query import Hit, SearchResult
from gateway.memory.secret_detection import masked_row
from gateway.memory.snapshot import MemorySnapshot
from gateway.storage.memories import MemoryRow

SOURCE = "memory"
MAX_SHOWN = 50
"""Memories, and omissions, that one event lists: a frame stays small."""


def snapshot_event(message: str, taken: MemorySnapshot) -> Retrieval:
    """The event of a new snapshot in a session's prompt; the snapshot has rows."""
    note = "everything, in full"
    if taken.summarized or taken.omitted:
        note = (
            f"{len(taken.rows) - len(taken.summarized)} in full, {len(taken.summarized)} by their summaries, "
            f"{taken.omitted} counted"
        )
    shown = [_hit(row, told="now", score=row.importance / 5) for row in taken.rows[:MAX_SHOWN]]
    return Retrieval(
        query=message,
        source=SOURCE,
        results=shown,
        omitted=(len(taken.rows) - len(shown) + taken.omitted) or None,
        tokens=estimate_tokens(taken.text),
        mode="snapshot",
        notes=[f"It stands in the prompt of this session: {note}."],
    )


def changes_event(message: str, changes: ContextDiff) -> Retrieval:
    """The event of memories that were changed since the session began; there is at least one."""
    return Retrieval(
        query=message,
        source=SOURCE,
        results=[_hit(row, told="now", score=row.importance / 5) for row in changes.rows],
        omitted=changes.more or None,
        tokens=sum(estimate_tokens(each.text) for each in changes.recalled),
        mode="changes",
        notes=["It was changed since this session began."],
    )


def search_event(
    query: str, found: SearchResult, mode: Literal["catalog", "details"], *, notes: Sequence[str] = ()
) -> Retrieval:
    """The event of a search with hits."""
    omitted = found.omitted + max(0, len(found.hits) - MAX_SHOWN)
    return Retrieval(
        query=query,
        source=SOURCE,
        results=[_of(hit) for hit in found.hits[:MAX_SHOWN]],
        omitted=omitted or None,
        omissions=[Omission(id=each.id, reason=each.reason) for each in found.omissions[:MAX_SHOWN]] or None,
        tokens=found.tokens,
        degraded=found.degraded or None,
        duration_ms=found.duration_ms,
        mode=mode,
        notes=list(notes) or None,
    )


def _of(hit: Hit) -> RetrievalHit:
    row, passage = hit.row, hit.passage
    result = _hit(row, told="before" if hit.known else "now", score=round(hit.score, 4))
    more: dict[str, Any] = {"lexical_rank": hit.lexical_rank, "vector_rank": hit.vector_rank}
    more |= {"freshness": round(hit.freshness, 3), "form": hit.form}
    if passage is not None and hit.form == "passage":
        more |= {"snippet": masked_row(row).content[passage.begin : passage.end], "passage": passage.number}
        more |= {"title": " › ".join(passage.headings) or None}
    return result.model_copy(update=more)


def _hit(row: MemoryRow, *, told: Literal["now", "before"], score: float) -> RetrievalHit:
    return RetrievalHit(
        id=row.id,
        source="document" if row.source == "document" else f"{SOURCE}:{row.owner_type}",
        snippet=masked_row(row).summary,
        score=score,
        type=row.type,
        importance=row.importance,
        version=row.version,
        told=told,
    )

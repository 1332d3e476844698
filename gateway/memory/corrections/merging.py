"""Merging: one memory from several, or a successor of one. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from gateway.errors import InvalidRequest
from gateway.lexical import plain_form
from gateway.memory import validation
from gateway.memory.similarity.comparison import contradicts, is_same
from gateway.storage.memories import MAX_TOOLS, MemoryRow, Origin

MIN_MERGED, MAX_MERGED = 2, 20
"""Memories that one merge makes into one."""
_TRUST: tuple[Origin | None, ...] = ("user", "confirmed", None, "model", "tool", "outside")
"""Origins, from the most trusted one on: what was merged is as good as the least of its parts."""


def check_changeable(row: MemoryRow) -> None:
    """Raises InvalidRequest: it is a document, or was replaced (`details` has superseded_by)."""
    if row.source == "document":
        raise InvalidRequest(f"{row.id} is a document: its file is what can be changed.")
    if row.status == "replaced":
        instead = f"by {row.superseded_by}: correct that one" if row.superseded_by else "by one that is gone"
        raise InvalidRequest(
            f"{row.id} was replaced {instead}.", details={"superseded_by": row.superseded_by}
        )


def successor_of(
    row: MemoryRow, user_id: str, content: str, memory_id: str, at: int, **fields: Any
) -> MemoryRow:
    """The first version of what `user_id` has remembered instead of `row`, for the same people, out of
    quarantine.

    Raises:
        InvalidRequest: see `validation.checked_content`.
    """
    content = validation.checked_content(content)
    made: dict[str, Any] = {
        "summary": validation.checked_summary(None, content),
        "digest": validation.digest_of(content),
        "last_used": at,
        **fields,
    }
    return replace(
        row,
        id=memory_id,
        user_id=user_id,
        content=content,
        created_at=at,
        updated_at=at,
        quarantined=False,
        superseded_by=None,
        version=1,
        **made,
    )


def merged(rows: Sequence[MemoryRow], user_id: str, memory_id: str, at: int) -> MemoryRow:
    """The contents of several memories, from the oldest on, with the highest importance and confidence and
    all tags, decisions and references. `user_id` is who merges them; its owner and type are those of the most
    important one.

    Raises:
        InvalidRequest: they are not of one audience, or contradict each other; one is a document, frozen,
            replaced or in quarantine; together they are too much for one memory.
    """
    for row in rows:
        _check_mergeable(row, rows[0])
    for one, other in combinations(rows, 2):
        if contradicts(one.content, other.content):
            raise InvalidRequest(
                f"{one.id} and {other.id} contradict each other: correct the one that is wrong first."
            )
    rows = sorted(rows, key=lambda row: (row.created_at, row.id))
    content = joined([row.content for row in rows])
    flat = " ".join(content.split())
    return successor_of(
        max(rows, key=lambda row: (row.importance, row.updated_at)),
        user_id,
        content,
        memory_id,
        at,
        summary=flat
        if len(flat) <= validation.MAX_SUMMARY
        else f"{flat[: validation.MAX_SUMMARY - 1].rstrip()}…",
        last_used=max(row.last_used for row in rows),
        importance=max(row.importance for row in rows),
        confidence=max(row.confidence for row in rows),
        evidence_count=sum(row.evidence_count for row in rows),
        status="active" if any(row.status == "active" for row in rows) else "suppressed",
        pinned=any(row.pinned for row in rows),
        flagged=next((row.flagged for row in rows if row.flagged), None),
        origin=max((row.origin for row in rows), key=_TRUST.index),
        tools=tuple(dict.fromkeys(name for row in rows for name in row.tools))[:MAX_TOOLS],
        tags=validation.checked_tags([tag for row in rows for tag in row.tags]),
        context=validation.checked_context(joined([row.context for row in rows if row.context])),
        decisions=validation.checked_lines(
            list(dict.fromkeys(each for row in rows for each in row.decisions))
        ),
        refs=validation.checked_lines(list(dict.fromkeys(ref for row in rows for ref in row.refs))),
    )


def joined(texts: Sequence[str]) -> str:
    """The texts one below the other, each line once; of two equivalent ones, the longer."""
    kept: list[str] = []
    for text in texts:
        known = next((place for place, each in enumerate(kept) if is_same(each, text)), None)
        if known is None:
            kept.append(text)
        elif len(text) > len(kept[known]):
            kept[known] = text
    lines: dict[str, str] = {}
    for line in "\n".join(kept).splitlines():
        lines.setdefault(plain_form(line), line)
    return "\n".join(lines.values())


def _check_mergeable(row: MemoryRow, first: MemoryRow) -> None:
    check_changeable(row)
    if not row.recallable:
        state = "in quarantine: confirm it" if row.quarantined else f"{row.status}: activate it"
        raise InvalidRequest(f"{row.id} is {state} first.")
    if row.audience != first.audience:
        raise InvalidRequest(
            f"{first.id} and {row.id} cannot become one: they are not for the same user, role, project, "
            "session or household."
        )

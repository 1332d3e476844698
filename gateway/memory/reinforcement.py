"""Memories that are stated again: what the user's quotes add to them. Pure but for the clock."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gateway.ids import now_ms
from gateway.storage.memories import Evidence, MemoryRow

CONFIDENCE_PER_QUOTE = 0.1
"""What each further quote of the user adds to the confidence in a memory."""


def reinforced(row: MemoryRow, evidence: Sequence[Evidence], **fields: Any) -> MemoryRow:
    """The memory with these fields, stated again: its evidence grows, and with the quotes its confidence."""
    row, quotes = replace(row, **fields), statements(evidence)
    return replace(
        row,
        evidence_count=row.evidence_count + max(1, quotes),
        confidence=min(1.0, round(row.confidence + CONFIDENCE_PER_QUOTE * quotes, 2)),
        last_used=max(now_ms(), row.last_used),
    )


def statements(evidence: Sequence[Evidence]) -> int:
    """How many of the quotes are the user's. A quoted proposal of the assistant, to which the user agreed, is
    not counted beside the quote of the user's agreement."""
    return sum(each.author == "user" for each in evidence)


def is_stated(row: MemoryRow, evidence: Sequence[Evidence]) -> bool:
    """Whether `row` is saved from a person's own words."""
    if row.source == "model":
        return row.origin in {"user", "confirmed"}
    return row.source == "user" or (row.source == "conversation" and bool(evidence))

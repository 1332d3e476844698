"""Versions of memories and profiles: the next one, optimistic concurrency, and retries after conflicts."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from gateway.errors import InvalidRequest, MemoryChanged
from gateway.ids import now_ms
from gateway.memory import validation
from gateway.storage.memories import MemoryRow

ATTEMPTS = 5
"""Attempts of a change that conflicts with newer versions, where the caller expects no version."""

T = TypeVar("T")


def next_version(row: MemoryRow, **fields: Any) -> MemoryRow:
    """The next version of a memory, changed now, with these fields."""
    return replace(row, **fields, version=row.version + 1, updated_at=max(now_ms(), row.updated_at))


def check_version(id: str, now: int, expected: int | None) -> None:
    """Raises errors.MemoryChanged when the current version `now` is not the `expected` one (None: any);
    `details` has id and version."""
    if expected is not None and now != expected:
        raise MemoryChanged(
            f"{id} is at version {now}, not {expected}: read it again.", details={"id": id, "version": now}
        )


async def retry_conflicts(attempt: Callable[[], Awaitable[T]]) -> T:
    """The result of `attempt`, which reads and writes, and is repeated after a conflict. Raises
    errors.MemoryChanged after ATTEMPTS conflicts, and what `attempt` raises."""
    for _ in range(ATTEMPTS - 1):
        try:
            return await attempt()
        except MemoryChanged:
            continue
    return await attempt()


def apply_changes(row: MemoryRow, changes: dict[str, Any]) -> MemoryRow:
    """The memory with these fields, cleaned and checked. Raises errors.InvalidRequest as `validation.make`
    does."""
    made = validation.checked_fields(changes)
    if "content" in made:
        made["content"] = validation.checked_content(made["content"])
        made["digest"] = validation.digest_of(made["content"])
        made.setdefault("summary", None)
        if made["digest"] != row.digest:
            # Its evidence is of the former content.
            made |= {"evidence_count": 0, "last_used": max(now_ms(), row.last_used)}
    if "summary" in made:
        made["summary"] = validation.checked_summary(made["summary"], made.get("content", row.content))
    if made.get("visibility") == "project" and row.project_id is None:
        raise InvalidRequest("It belongs to no project: it cannot be for one.", code="memory_invalid")
    return replace(row, **made)

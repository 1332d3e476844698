"""How something that is remembered becomes its next version, also when several change it at the same time."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from gateway.errors import InvalidRequest, MemoryChanged
from gateway.ids import now_ms
from gateway.memory import record
from gateway.storage.memories import MemoryRow

ATTEMPTS = 5
"""How often a change is tried anew that a newer version overtook, where the caller named none."""

T = TypeVar("T")


def next_of(row: MemoryRow, **fields: Any) -> MemoryRow:
    """The next version of a memory, changed now, with these fields in the place of its own."""
    return replace(row, **fields, version=row.version + 1, updated_at=max(now_ms(), row.updated_at))


def check_version(id: str, now: int, expected: int | None) -> None:
    """Raises errors.MemoryChanged unless what has this id is `now` at the version that somebody expects, if
    they do; `details` has id and version."""
    if expected is not None and now != expected:
        raise MemoryChanged(
            f"{id} is at version {now}, not {expected}: read it again.", details={"id": id, "version": now}
        )


async def settled(attempt: Callable[[], Awaitable[T]]) -> T:
    """What `attempt` returns, which reads and writes, and is made anew when somebody else wrote in between.
    Raises errors.MemoryChanged when that happens ATTEMPTS times, and whatever else it raises."""
    for _ in range(ATTEMPTS - 1):
        try:
            return await attempt()
        except MemoryChanged:
            continue
    return await attempt()


def changed_by(row: MemoryRow, changes: dict[str, Any]) -> MemoryRow:
    """The memory with these fields, cleaned and checked. Raises errors.InvalidRequest as `record.make`
    does."""
    made = dict(changes)
    if "content" in made:
        made["content"] = record.checked_content(made["content"])
        made["digest"] = record.digest_of(made["content"])
        made.setdefault("summary", None)
        if made["digest"] != row.digest:
            # It is as new; what was quoted for it was said of something else.
            made |= {"evidence_count": 0, "last_used": max(now_ms(), row.last_used)}
    if "summary" in made:
        made["summary"] = record.checked_summary(made["summary"], made.get("content", row.content))
    if "context" in made:
        made["context"] = record.checked_context(made["context"])
    if made.get("visibility") == "project" and row.project_id is None:
        raise InvalidRequest("It belongs to no project: it cannot be for one.", code="memory_invalid")
    for name, check in (
        ("tags", record.checked_tags),
        ("decisions", record.checked_lines),
        ("refs", record.checked_lines),
    ):
        if name in made:
            made[name] = check(made[name])
    if not (1 <= made.get("importance", 3) <= 5 and 0 <= made.get("confidence", 1) <= 1):
        raise InvalidRequest("importance is 1 to 5, confidence 0 to 1.", code="memory_invalid")
    return replace(row, **made)

"""Puts memories into a store, the short way."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gateway.ids import new_memory_id
from gateway.memory import validation
from gateway.memory.validation import NewMemory
from gateway.storage.memories import Change
from gateway.storage.memories.store import MemoryStore
from tests.memory.search.recall_set import KNOWN
from tests.product import MemoryRow, Scope, now_ms

ANN = Scope("ann")
DAY = 24 * 60 * 60 * 1000


def made(content: str, scope: Scope = ANN, *, days: float = 0, **fields: Any) -> MemoryRow:
    """A memory that was used last so many days ago. `fields` are those of NewMemory or MemoryRow."""
    given = {name: value for name, value in fields.items() if name in NewMemory.__dataclass_fields__}
    at = now_ms() - round(days * DAY)
    row = validation.make(NewMemory(content, **given), scope, new_memory_id(), at)
    return replace(row, **{name: value for name, value in fields.items() if name not in given})


async def put(store: MemoryStore, *rows: MemoryRow) -> None:
    changes = [Change(row, "remembered", "ann", "said so", validation.indexed(row)) for row in rows]
    await store.write(changes, most=100_000)


async def save(store: MemoryStore, content: str, scope: Scope = ANN, **fields: Any) -> str:
    """The id of a new memory."""
    row = made(content, scope, **fields)
    await put(store, row)
    return row.id


def recall_rows(scope: Scope = ANN) -> dict[str, MemoryRow]:
    """The memories of the recall set, by name."""
    return {
        each.name: made(
            each.content, scope, days=each.days, type=each.type, importance=each.importance, tags=each.tags
        )
        for each in KNOWN
    }


def contents(rows: Sequence[MemoryRow]) -> list[str]:
    return [row.content for row in rows]

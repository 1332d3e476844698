"""What storage owes about memories that were deleted or replaced."""

import pytest

from gateway.storage.memories import AllScopes, Forgotten, Scope
from gateway.storage.memories.store import MemoryStore
from tests.storage.remembering import ANN, became, memory, remember

pytestmark = pytest.mark.anyio


async def test_what_was_deleted_or_replaced_since_is_told_the_last_first(store: MemoryStore) -> None:
    """With its last content; what is still there is not."""
    rows = [memory(name, f"content {name}") for name in ("m_1", "m_2", "m_3", "m_4")]
    await remember(store, *rows)
    changes = [
        became(rows[0], "deleted", updated_at=10),
        became(rows[1], "replaced", updated_at=20, status="replaced", superseded_by="m_4"),
        became(rows[2], "frozen", updated_at=30, status="frozen"),
    ]
    await store.write(changes, most=100)

    gone = [Forgotten(row.id, row.content, row.digest, at) for row, at in ((rows[1], 20), (rows[0], 10))]
    assert await store.forgotten(ANN, since=9, limit=9) == gone
    assert await store.forgotten(ANN, since=10, limit=9) == gone[:1]
    assert await store.forgotten(AllScopes("ann"), since=9, limit=1) == gone[:1]


async def test_it_is_told_to_those_who_saw_it(store: MemoryStore) -> None:
    """Neither to another user nor to another role, and nobody is told of what was erased."""
    rows = [
        memory("m_1", "of the role", role_id="writer", visibility="private"),
        memory("m_2", "of the user"),
    ]
    await remember(store, *rows)
    await store.write([became(row, "deleted", updated_at=10) for row in rows], most=100)

    async def contents(viewer: Scope) -> list[str]:
        return [each.content for each in await store.forgotten(viewer, since=0, limit=9)]

    assert sorted(await contents(ANN)) == ["of the role", "of the user"]
    assert await contents(Scope("ann", "cook")) == ["of the user"]
    assert await contents(Scope("bea", "writer")) == []
    assert await store.erase(ANN, "m_2")
    assert await contents(Scope("ann", "cook")) == []

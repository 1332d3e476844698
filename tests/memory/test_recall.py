"""What the memory does for a turn's message, and which memories an answer made use of."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gateway.ids import now_ms
from gateway.memory.memories import By
from gateway.memory.recall import Known, used_in
from gateway.memory.record import NewMemory, make
from gateway.memory.room import MemoryRoom
from gateway.settings import load_settings
from gateway.storage.memories import Scope
from gateway.wiring import open_memory

pytestmark = pytest.mark.anyio

ANN = Scope("ann")
BY = By("ann", "told by a test")


@pytest.fixture
async def room(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[MemoryRoom]:
    async with open_memory(load_settings(data_dir=tmp_path)) as room:
        yield room


async def test_who_has_nothing_is_known_to_have_nothing_until_somebody_writes(room: MemoryRoom) -> None:
    """Whatever is written, a memory or a profile, is noticed."""
    assert await room.recall.is_empty(ANN)
    await room.memories.save(Scope("ben"), NewMemory("Ben's"), BY)
    assert await room.recall.is_empty(ANN)
    await room.profiles.put(ANN, "user", "ann", {"name": "Ann"}, "ann")
    assert not await room.recall.is_empty(ANN)
    assert not await room.recall.is_empty(Scope("ben", "any role"))


async def test_what_a_message_seems_to_be_about_weighs_and_keeps_nothing_out(room: MemoryRoom) -> None:
    """A decision that was saved as a preference is found, also beside a weaker hit of a likely type."""
    decided = NewMemory("数据库用 PostgreSQL", type="preference")
    other = NewMemory("数据库课程在三楼", type="discussion_conclusion")
    saved = (await room.memories.save(ANN, decided, BY)).row
    await room.memories.save(ANN, other, BY)
    found = await room.recall.look_up(ANN, "我们上次决定用什么数据库？", message_count=3, known=Known())

    assert found is not None
    assert saved.id in {hit.row.id for hit in found.found.hits}
    assert "preference" not in found.decision.types


async def test_details_are_new_to_who_was_told_a_summary(room: MemoryRoom) -> None:
    """A catalog names a memory; when everything about it is needed, it is told, and once."""
    new = NewMemory("我们决定用 PostgreSQL 做数据库", type="project_decision", context="因为要事务")
    saved = (await room.memories.save(ANN, new, BY)).row
    asked = "我们上次决定用什么数据库？"
    named = await room.recall.look_up(ANN, asked, message_count=3, known=Known(named=frozenset({saved.id})))
    full = await room.recall.look_up(ANN, asked, message_count=3, known=Known(full=frozenset({saved.id})))

    assert named is not None
    assert full is not None
    assert named.decision.mode == "details"
    (told,) = named.new()
    assert "因为要事务" in told.text
    assert list(full.new()) == []


async def test_what_needs_no_memory_looks_for_none(room: MemoryRoom) -> None:
    """A question about the world, though words of a memory are in it."""
    await room.memories.save(ANN, NewMemory("喜欢用 React 写页面"), BY)

    assert await room.recall.look_up(ANN, "React和Vue哪个更好?", message_count=0, known=Known()) is None


@pytest.mark.parametrize(
    ("answer", "used"),
    [
        ("考虑到你喜欢简约的设计风格，我用了黑白。", True),
        ("Here it is, see [m_0000000000000001].", True),
        ("這個標誌考慮了您喜歡簡約的設計風格。", True),
        ("这是一个华丽的标志。", False),
        ("", False),
    ],
)
def test_a_memory_is_cited_by_its_id_or_by_most_of_its_words(answer: str, used: bool) -> None:
    row = make(NewMemory("喜欢简约的设计风格"), ANN, "m_0000000000000001", 1)

    assert used_in([row], answer) == ([row.id] if used else [])


async def test_what_an_answer_cites_is_fresh_again(room: MemoryRoom) -> None:
    """Beside the turn: the caller waits for nothing."""
    saved = (await room.memories.save(ANN, NewMemory("喜欢简约的设计风格"), BY)).row
    room.recall.cited([saved], "你喜欢简约的设计风格。")
    await room.recall.close()
    (after,) = await room.store.get(ANN, saved.id)

    assert saved.last_used <= after.last_used <= now_ms()
    assert after.version == saved.version

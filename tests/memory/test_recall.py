"""What the memory does for a turn's message, and which memories an answer made use of."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gateway.ids import now_ms
from gateway.memory.memories import By
from gateway.memory.recall import ANYWHERE, used_in
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


async def test_what_was_saved_as_another_type_is_found_all_the_same(room: MemoryRoom) -> None:
    """The types that a message seems to ask for are a guess: without a hit everything is looked at."""
    saved = await room.memories.save(ANN, NewMemory("数据库用 PostgreSQL", type="preference"), BY)
    found = await room.recall.look_up(ANN, "我们上次决定用什么数据库？", message_count=3, known=())

    assert found is not None
    assert [hit.row.id for hit in found.found.hits] == [saved.row.id]
    assert found.decision.types
    assert ANYWHERE in found.decision.notes


async def test_what_needs_no_memory_looks_for_none(room: MemoryRoom) -> None:
    """A question about the world, though words of a memory are in it."""
    await room.memories.save(ANN, NewMemory("喜欢用 React 写页面"), BY)

    assert await room.recall.look_up(ANN, "React和Vue哪个更好?", message_count=0, known=()) is None


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

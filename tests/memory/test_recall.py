"""What the memory does for a turn's message, and which memories an answer made use of."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gateway.memory.changes import Attribution
from gateway.memory.recall import InContext
from gateway.memory.services import MemoryServices
from gateway.memory.validation import NewMemory
from tests.product import Scope, load_settings, now_ms, open_memory

pytestmark = pytest.mark.anyio

ANN = Scope("ann")
BY = Attribution("ann", "set by a test")


@pytest.fixture
async def services(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[MemoryServices]:
    async with open_memory(load_settings(data_dir=tmp_path)) as services:
        yield services


async def test_who_has_nothing_is_known_to_have_nothing_until_somebody_writes(
    services: MemoryServices,
) -> None:
    """Whatever is written, a memory or a profile, is noticed."""
    assert await services.recall.is_empty(ANN)
    await services.memories.save(Scope("ben"), NewMemory("Ben's"), BY)
    assert await services.recall.is_empty(ANN)
    await services.profiles.put(ANN, "user", "ann", {"name": "Ann"}, "ann")
    assert not await services.recall.is_empty(ANN)
    assert not await services.recall.is_empty(Scope("ben", "any role"))


async def test_what_a_message_seems_to_be_about_weighs_and_keeps_nothing_out(
    services: MemoryServices,
) -> None:
    """A decision that was saved as a preference is found, also beside a weaker hit of a likely type."""
    decided = NewMemory("数据库用 PostgreSQL", type="preference")
    other = NewMemory("数据库课程在三楼", type="discussion_conclusion")
    saved = (await services.memories.save(ANN, decided, BY)).row
    await services.memories.save(ANN, other, BY)
    found = await services.recall.retrieve(
        ANN, "我们上次决定用什么数据库？", message_count=3, known=InContext()
    )

    assert found is not None
    assert saved.id in {hit.row.id for hit in found.found.hits}
    assert "preference" not in found.decision.types


async def test_details_are_new_to_who_was_told_a_summary(services: MemoryServices) -> None:
    """A catalog names a memory; when everything about it is needed, it is shown, and once."""
    new = NewMemory("我们决定用 PostgreSQL 做数据库", type="project_decision", context="因为要事务")
    saved = (await services.memories.save(ANN, new, BY)).row
    asked = "我们上次决定用什么数据库？"
    named = await services.recall.retrieve(
        ANN, asked, message_count=3, known=InContext(named=frozenset({saved.id}))
    )
    full = await services.recall.retrieve(
        ANN, asked, message_count=3, known=InContext(full=frozenset({saved.id}))
    )

    assert named is not None
    assert full is not None
    assert named.decision.mode == "details"
    (memory,) = named.new_memories()
    assert "因为要事务" in memory.text
    assert list(full.new_memories()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("The dentist appointment is on 14 December with Dr. Weiss.", "when is the dentist?"),
        (
            "Rejected GraphQL for the partner API: caching was too hard.",
            "why not GraphQL for the partner API?",
        ),
        ("当初不用微服务方案，是因为运维只有两个人。", "为什么当初不用微服务？"),
        ("發票編號的格式是年份加五位數字。", "发票编号怎么写？"),
    ],
)
async def test_a_plain_question_finds_what_answers_it(
    services: MemoryServices, content: str, message: str
) -> None:
    """Though anybody might ask it: whether memories are needed does not decide whether they are found."""
    saved = (await services.memories.save(ANN, NewMemory(content), BY)).row
    found = await services.recall.retrieve(ANN, message, message_count=3, known=InContext())

    assert found is not None
    assert found.decision.needed == "no"
    assert [hit.row.id for hit in found.found.hits] == [saved.id]
    assert content.rstrip("。.") in found.new_memories()[0].text


async def test_a_question_about_the_world_is_given_nothing(services: MemoryServices) -> None:
    """Though words of a memory are in it."""
    await services.memories.save(ANN, NewMemory("喜欢用 React 写页面"), BY)

    assert (
        await services.recall.retrieve(ANN, "React和Vue哪个更好?", message_count=0, known=InContext()) is None
    )


async def test_what_an_answer_cites_is_fresh_again(services: MemoryServices) -> None:
    """Beside the turn: the caller waits for nothing."""
    saved = (await services.memories.save(ANN, NewMemory("喜欢简约的设计风格"), BY)).row
    services.recall.record_citations([saved], "你喜欢简约的设计风格。")
    await services.recall.close()
    (after,) = await services.store.get(ANN, saved.id)

    assert saved.last_used <= after.last_used <= now_ms()
    assert after.version == saved.version

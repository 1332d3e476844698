"""What belongs to a prompt is a branch's own: versions of its history, generations, memories it was told."""

from dataclasses import replace

import pytest

from gateway.storage.messages import History, PromptMemories
from tests.product import Conflict, Message, Recalled, Storage, recalled_block, text_block
from tests.storage.saying import (
    add_turn,
    add_version,
    archive,
    finish,
    positions,
    summary,
    talk,
    tell,
    version,
)
from tests.storage.writing import OWNER, accepted, writer_of

pytestmark = pytest.mark.anyio


async def fork(storage: Storage, turn_id: str, parent: str) -> History | None:
    """A whole turn after that one; the history that it began with."""
    now = await accepted(storage, "s", turn_id, parent=parent)
    writer = writer_of(storage, now)
    await tell(writer, "turn_start", Message("user", [text_block(turn_id)]))
    await finish(writer, "answer")
    return now.history


# Versions


async def test_a_version_holds_for_what_is_asked_after_what_it_covers(storage: Storage) -> None:
    """A fork within what a version covers has the newest version that ends before it, or none."""
    await talk(storage, 5)
    await add_version(storage, version(1, 1, 2))
    await add_version(storage, version(2, 3, 6, parent=1))

    late = await fork(storage, "late", "t4")
    between = await fork(storage, "between", "t2")
    early = await fork(storage, "early", "root")

    for history, number, seen in ((late, 2, [7, 8]), (between, 1, [3, 4]), (early, None, [])):
        assert history is not None
        row = history.compression
        assert (row.version if row is not None else None) == number
        assert [stored.position for stored in history.messages] == seen
    assert await storage.compressions.in_force("s") is None
    await storage.branches.activate("s", 1)
    assert await storage.compressions.in_force("s") == 2
    assert await positions(storage) == [7, 8, 11, 12]


async def test_each_branch_has_versions_of_its_own(storage: Storage) -> None:
    """What holds in the active branch is listed, and can be put in force; what does not is refused."""
    await talk(storage, 3)
    await add_version(storage, version(1, 1, 2))
    await fork(storage, "other", "t2")
    row = replace(version(2, 3, 7, parent=1), branch=1)
    await add_version(storage, row)
    assert await positions(storage) == [8]

    await storage.branches.activate("s", 0)

    assert [each.version for each in await storage.compressions.list("s")] == [1]
    assert await storage.compressions.in_force("s") == 1
    assert await positions(storage) == [3, 4, 5, 6]
    with pytest.raises(Conflict) as refused:
        await storage.compressions.activate("s", 2)
    assert refused.value.code == "version_of_other_branch"
    await storage.branches.activate("s", 1)
    assert [each.version for each in await storage.compressions.list("s")] == [1, 2]
    await storage.compressions.activate("s", None)
    assert await positions(storage) == [1, 2, 3, 4, 7, 8]


async def test_a_version_of_a_branch_that_was_left_meanwhile_is_refused(storage: Storage) -> None:
    """It was made of what the active one may not have."""
    await talk(storage, 3)
    await fork(storage, "other", "t2")

    with pytest.raises(Conflict) as refused:
        await add_version(storage, version(1, 1, 2))

    assert refused.value.code == "compression_conflict"
    assert await storage.compressions.list("s") == []


async def test_the_view_of_a_branch_is_the_same_from_archives(storage: Storage) -> None:
    """Rows that moved, with a version that covers some of them and keeps one."""
    await talk(storage, 3)
    await add_version(storage, version(1, 1, 4, kept=3))
    await fork(storage, "other", "t2")
    before = await storage.sessions.history("s")

    await archive(storage, "s")

    assert await storage.sessions.history("s") == before
    assert [stored.position for stored in before.messages] == [3, 7, 8]
    branch = await storage.sessions.branch("s")
    own = await storage.sessions.messages("s", branch=branch)
    assert [stored.position for stored in own] == [1, 2, 3, 4, 7, 8]


# Generations


async def test_a_fork_has_the_prompt_of_its_parent(storage: Storage) -> None:
    """The same generation, hash and memories; each branch keeps its own from then on."""
    await talk(storage, 2)
    told = PromptMemories("tea", {"m1": "d"}, 0, as_of=9_000)
    await storage.sessions.set_prompt_memories("s", told)
    await storage.sessions.begin_generation("s", 2, instead_of=0)
    before = await storage.sessions.history("s")

    history = await fork(storage, "other", "t1")

    assert history is not None
    assert (history.generation_from, history.prefix_hash) == (2, before.prefix_hash)
    assert history.memories is not None
    assert replace(history.memories, as_of=9_000) == told
    await storage.sessions.begin_generation("s", 6, instead_of=2)
    await storage.branches.activate("s", 0)
    assert replace(await storage.sessions.history("s"), branch=None) == before


async def test_a_fork_is_told_anew_of_what_its_parent_was_told_later(storage: Storage) -> None:
    """Changes of memories since its parent turn began: they stand in turns that it does not have."""
    for number, at in ((1, 100), (2, 200)):
        now = await accepted(storage, "s", f"t{number}", at=at)
        await finish(writer_of(storage, now), "answer")
    await storage.sessions.set_prompt_memories("s", PromptMemories("", {}, 0, as_of=150))

    now = await accepted(storage, "s", "other", parent="t1", at=300)

    assert now.history is not None
    assert now.history.memories is not None
    assert now.history.memories.as_of == 100


# What others keep of a session


async def test_a_forgotten_memory_leaves_every_branch(storage: Storage) -> None:
    """Its text is gone from the prompt of one that is not active, too, and its digest is void."""
    await talk(storage, 1)
    writer = writer_of(storage, await accepted(storage, "s", "t2"))
    recalled = recalled_block([Recalled(id="MEM-1", digest="d", full=True, text="secret")])
    await tell(writer, "turn_start", Message("user", [recalled]))
    await finish(writer)
    await storage.sessions.set_prompt_memories("s", PromptMemories("a secret", {"MEM-1": "d"}, 0))
    await fork(storage, "other", "t1")

    await storage.sessions.forget_memory(OWNER, "MEM-1")

    for branch in (1, 0):
        await storage.branches.activate("s", branch)
        history = await storage.sessions.history("s")
        assert history.memories == PromptMemories("", {"MEM-1": ""}, 0)
        assert "secret" not in repr(history)


async def test_a_summary_of_another_branch_is_one_of_less(storage: Storage) -> None:
    """It knows what both have; what the active one has is due to be summarised."""
    await talk(storage, 3)
    await storage.summaries.save(summary("s", 1, to=6))
    assert await storage.summaries.due(idle_before=99, limit=9) == []

    await fork(storage, "other", "t1")

    assert (await storage.summaries.get("s", OWNER)).to_position == 2
    assert [each[0] for each in await storage.summaries.due(idle_before=99, limit=9)] == ["s"]


async def test_what_is_to_be_learned_begins_where_branches_part(storage: Storage) -> None:
    """What only the branch before had was read; the active one's was not."""
    await add_turn(storage, "s", "t1", "question", "answer")
    await add_turn(storage, "s", "t2", "question", "answer")
    await storage.learned.begin("s", "t2")
    writer = writer_of(storage, await accepted(storage, "s", "t3"))
    await tell(writer, "turn_start", Message("user", [text_block("question")]))
    await storage.learned.advance("s", 5)
    await finish(writer)
    assert await storage.learned.learned_to("s") == 5

    await fork(storage, "other", "t1")

    assert await storage.learned.learned_to("s") == 2

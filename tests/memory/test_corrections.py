"""Correcting memories, and what follows for those that depend on them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import DuplicateMemory, MemoryChanged
from gateway.lexical import tokens
from gateway.memory.corrections.cascade import DERIVABLE_TYPES, premises_of
from gateway.memory.memories import MAX_DEPENDS_ON, Memories
from gateway.memory.validation import MAX_CONTENT, NewMemory
from gateway.storage.memories import Evidence, Link
from gateway.storage.memories.store import MemoryStore
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase
from tests.memory.correcting import ANN, BY, COACH, RECALLABLE, Corrections, recalled, saved
from tests.product import AllScopes, InvalidRequest, NotFound, Scope

pytestmark = pytest.mark.anyio

BEN = Scope("ben")


async def found(memories: Memories, word: str) -> list[str]:
    matches = await memories.store.match(ANN, tokens(word), RECALLABLE, limit=50)
    return [match.row.content for match in matches]


async def test_what_is_suppressed_is_kept_and_what_is_frozen_is_not_recalled(
    memories: Memories, corrections: Corrections
) -> None:
    """Both can be undone; each step is a version with actor, reason and turn."""
    row = await saved(memories, "我喜欢简约的设计风格")

    (suppressed,) = await corrections.correct(ANN, row.id, "suppress", BY)
    assert (suppressed.row.status, await recalled(memories)) == ("suppressed", [row.content])
    (frozen,) = await corrections.correct(ANN, row.id, "freeze", BY, evidence=Evidence("s", 3, "別再用"))
    assert (frozen.row.status, await recalled(memories)) == ("frozen", [])
    assert frozen.row.evidence_count == 1
    (active,) = await corrections.correct(ANN, row.id, "activate", BY)
    assert (active.row.status, await recalled(memories)) == ("active", [row.content])

    versions = await memories.store.versions(ANN, row.id)
    assert [each.operation for each in versions] == ["remembered", "suppressed", "frozen", "activated"]
    assert [each.row.confidence for each in versions] == [1.0, 0.7, 1.0, 1.0]
    assert {(each.actor, each.reason, each.turn_id) for each in versions} == {("ann", "She said so.", "t_1")}
    assert [each.quote for each in await memories.store.evidence(ANN, row.id)] == ["別再用"]


async def test_a_replacement_leaves_a_chain_of_which_only_the_last_is_found(
    memories: Memories, corrections: Corrections
) -> None:
    """Forwards by superseded_by, backwards by links; owner, type, weight and tags stay."""
    first = await saved(
        memories, "My office is in Berlin", type="constraint", importance=5, tags=["work"], context="2019"
    )
    old, second = await corrections.correct(
        ANN,
        first.id,
        "replace",
        BY,
        new_content="My office is in Paris",
        evidence=Evidence("s", 5, "in Paris"),
    )
    _, third = await corrections.correct(
        ANN, second.row.id, "replace", BY, new_content="My office is in Rome", source="conversation"
    )

    assert (old.row.status, old.row.superseded_by) == ("replaced", second.row.id)
    assert (await memories.get(ANN, second.row.id)).superseded_by == third.row.id
    assert await found(memories, "office") == ["My office is in Rome"]
    assert (third.row.type, third.row.importance, third.row.tags) == ("constraint", 5, ("work",))
    assert (third.row.version, third.row.source, third.row.context) == (1, "conversation", None)
    assert Link(third.row.id, second.row.id, "contradicts") in await memories.store.links(third.row.id)
    assert [each.quote for each in await memories.store.evidence(ANN, second.row.id)] == ["in Paris"]
    assert [each.event.op for each in (old, second)] == ["corrected", "remembered"]


async def test_what_was_replaced_cannot_be_corrected_again(
    memories: Memories, corrections: Corrections
) -> None:
    """The answer names the one that can."""
    row = await saved(memories, "我住在北京")
    _, new = await corrections.correct(ANN, row.id, "replace", BY, new_content="我住在上海")

    with pytest.raises(InvalidRequest, match=f"was replaced by {new.row.id}") as refused:
        await corrections.correct(ANN, row.id, "suppress", BY)

    assert refused.value.details == {"superseded_by": new.row.id}


async def test_a_replacement_by_what_is_known_already_gives_way_to_it(
    memories: Memories, corrections: Corrections
) -> None:
    """That one is reinforced, and active and confirmed from then on: nothing is there twice."""
    old = await saved(memories, "我住在北京")
    known = await saved(memories, "我住在上海", quarantined=True)

    gone, changed = await corrections.correct(ANN, old.id, "replace", BY, new_content="我住在上海。")

    assert (gone.row.superseded_by, changed.row.id) == (known.id, known.id)
    assert (changed.operation, changed.row.quarantined, changed.row.evidence_count) == (
        "reinforced",
        False,
        1,
    )
    assert await recalled(memories) == ["我住在上海"]


@pytest.mark.parametrize(
    ("action", "new_content", "message"),
    [
        ("replace", None, "new_content is missing"),
        ("replace", " \u200b ", "content is missing"),
        ("replace", "x" * (MAX_CONTENT + 1), "characters"),
        ("replace", "i like TEA.", "says that already"),
        ("freeze", "I like milk", "not freeze"),
    ],
)
async def test_a_correction_that_makes_no_sense_is_refused(
    memories: Memories, corrections: Corrections, action: Any, new_content: str | None, message: str
) -> None:
    """And nothing has changed."""
    row = await saved(memories, "I like tea")

    with pytest.raises(InvalidRequest, match=message):
        await corrections.correct(ANN, row.id, action, BY, new_content=new_content)

    assert await memories.get(ANN, row.id) == row


async def test_nobody_corrects_or_merges_what_they_do_not_see(
    memories: Memories, corrections: Corrections
) -> None:
    """Another user's memory is not there, nor is another role's."""
    one = await saved(memories, "我喜欢茶", scope=COACH, owner_type="role")
    other = await saved(memories, "我喜欢咖啡", scope=COACH, owner_type="role")

    for viewer in (BEN, ANN, AllScopes("ben")):
        with pytest.raises(NotFound):
            await corrections.correct(viewer, one.id, "freeze", BY)
        with pytest.raises(NotFound):
            await corrections.merge(viewer, [one.id, other.id], BY)

    assert (await memories.get(COACH, one.id)).version == 1


async def test_an_activation_beside_a_memory_that_says_the_same_is_refused(
    memories: Memories, corrections: Corrections
) -> None:
    """The refusal names it."""
    frozen = await saved(memories, "I like tea")
    await corrections.correct(ANN, frozen.id, "freeze", BY)
    again = await saved(memories, "I like tea")

    with pytest.raises(DuplicateMemory, match=again.id):
        await corrections.correct(ANN, frozen.id, "activate", BY)


# What depends on it


async def test_what_depended_on_a_corrected_memory_is_flagged(
    memories: Memories, corrections: Corrections
) -> None:
    """Directly and through others, once each, with the reason; what does not depend on it is not."""
    root = await saved(memories, "Ann lives in Berlin")
    direct = await saved(memories, "Her gym is around the corner", root.id)
    indirect = await saved(memories, "She trains on Mondays", direct.id)
    circular = await saved(memories, "She walks there", indirect.id, root.id)
    await memories.edit(ANN, root.id, {}, BY, depends_on=[circular.id])
    apart = await saved(memories, "She likes tea")

    changed = await corrections.correct(ANN, root.id, "replace", BY, new_content="Ann lives in Paris")

    assert sorted(each.row.id for each in changed[2:]) == sorted([direct.id, circular.id, indirect.id])
    assert {each.row.flagged for each in changed[2:]} == {f"It depends on {root.id}, which was replaced."}
    assert [each.event.op for each in changed[2:]] == ["flagged"] * 3
    assert (await memories.get(ANN, apart.id)).flagged is None


async def test_what_says_the_truth_already_is_not_flagged_though_it_depends_on_what_was_wrong(
    memories: Memories, corrections: Corrections
) -> None:
    """Nor what follows from it: it was just said to be true."""
    root = await saved(memories, "The budget is 100.")
    known = await saved(memories, "The budget is 200.", root.id)
    leaf = await saved(memories, "We can afford a printer.", known.id)

    gone, changed = await corrections.correct(ANN, root.id, "replace", BY, new_content="The budget is 200.")

    assert (gone.row.superseded_by, changed.row.id, changed.operation) == (known.id, known.id, "reinforced")
    assert {(await memories.get(ANN, each)).flagged for each in (known.id, leaf.id)} == {None}


async def test_nothing_depends_on_what_is_not_there_or_on_itself(memories: Memories) -> None:
    """Nor on what the viewer does not see, and not on more than are worth a look."""
    row, private = (
        await saved(memories, "Ann lives in Berlin"),
        await saved(memories, "Ann has a bad knee", scope=COACH, owner_type="role"),
    )

    for missing in ("m_0000000000000000", private.id):
        with pytest.raises(NotFound, match=missing):
            await saved(memories, "She trains on Mondays", missing)
    for wrong in ([row.id], [f"m_{number:016x}" for number in range(MAX_DEPENDS_ON + 1)]):
        with pytest.raises(InvalidRequest, match="depends on at most"):
            await memories.edit(ANN, row.id, {}, BY, depends_on=wrong)
    assert await memories.store.links(row.id) == []
    seen = AllScopes("ann")
    new = NewMemory("She trains on Mondays")
    leaf = await memories.save(ANN, new, BY, viewer=seen, depends_on=[private.id])
    again = await memories.save(ANN, new, BY, viewer=seen, depends_on=[row.id, leaf.row.id])
    assert {link.to_id for link in await memories.store.links(again.row.id)} == {private.id, row.id}


async def test_a_correction_of_a_version_that_is_no_more_changes_nothing(
    memories: Memories, corrections: Corrections
) -> None:
    """Whatever it does, and also a confirmation or an erasure."""
    row = await saved(memories, "I like tea")
    await memories.edit(ANN, row.id, {"content": "I like coffee"}, BY)

    async def erase() -> None:
        await memories.erase(ANN, row.id, BY, version=1)

    stale = [
        corrections.correct(ANN, row.id, "freeze", BY, version=1),
        corrections.correct(ANN, row.id, "replace", BY, new_content="I like milk", version=1),
        memories.confirm(ANN, row.id, BY, version=1),
        erase(),
    ]
    for each in stale:
        with pytest.raises(MemoryChanged) as refused:
            await each
        assert refused.value.details == {"id": row.id, "version": 2}
    assert (await memories.get(ANN, row.id)).version == 2
    (frozen,) = await corrections.correct(ANN, row.id, "freeze", BY, version=2)
    assert frozen.row.version == 3


async def test_what_was_confirmed_after_a_replacement_depends_on_the_successor(
    memories: Memories, corrections: Corrections
) -> None:
    """The next correction flags it again, and an activation takes its own flag away."""
    root = await saved(memories, "Ann lives in Berlin")
    leaf = await saved(memories, "Her gym is around the corner", root.id)
    _, new, _ = await corrections.correct(ANN, root.id, "replace", BY, new_content="Ann lives in Paris")
    await memories.confirm(ANN, leaf.id, BY)

    _, flagged = await corrections.correct(ANN, new.row.id, "freeze", BY)
    assert flagged.row.flagged == f"It depends on {new.row.id}, which was frozen."
    (cleared,) = await corrections.correct(ANN, leaf.id, "activate", BY)
    assert cleared.row.flagged is None


async def test_a_flag_reaches_another_role_but_is_not_told_to_this_one(
    memories: Memories, corrections: Corrections
) -> None:
    """What another role remembers is none of its business."""
    root = await saved(memories, "Ann has a bad knee")
    secret = await saved(memories, "No squats for Ann", root.id, scope=COACH, owner_type="role")

    changed = await corrections.correct(ANN, root.id, "suppress", BY)

    assert [each.row.id for each in changed] == [root.id]
    assert (await memories.get(COACH, secret.id)).flagged is not None


async def test_a_full_store_can_still_be_corrected_and_merged(tmp_path: Path) -> None:
    """Neither needs more room than there was."""
    async with await SqliteMemoryDatabase.open(tmp_path / "full.db") as database:
        memories = Memories(MemoryStore(database), most=2)
        one, other = await saved(memories, "I like tea"), await saved(memories, "I like milk")
        corrections = Corrections(memories)

        _, new = await corrections.correct(ANN, one.id, "replace", BY, new_content="I like rum")
        merged, *_ = await corrections.merge(ANN, [new.row.id, other.id], BY)

    assert merged.row.content == "I like milk\nI like rum"


async def test_corrections_of_one_memory_at_once_all_count(
    memories: Memories, corrections: Corrections
) -> None:
    """Each is a version of its own; of two replacements the first one wins."""
    row = await saved(memories, "I like tea")
    await asyncio.gather(*(corrections.correct(ANN, row.id, "suppress", BY) for _ in range(3)))
    assert (await memories.get(ANN, row.id)).version == 4

    both = await asyncio.gather(
        *(corrections.correct(ANN, row.id, "replace", BY, new_content=f"I like {n}") for n in ("rum", "gin")),
        return_exceptions=True,
    )
    assert sum(isinstance(each, InvalidRequest) for each in both) == 1
    assert len(await recalled(memories)) == 1


@pytest.mark.parametrize(
    ("conclusion", "reason", "follows"),
    [
        ("Backups run pg_dump, as PostgreSQL is in use.", "我们决定数据库用 PostgreSQL", True),
        ("备份用 pg_dump，因为数据库是 PostgreSQL", "We decided on PostgreSQL for the database.", True),
        ("The hall is booked for 4 May.", "团建定在 2027-05-04，在 Lyon", False),
        ("Take the night train, they prefer trains to planes.", "Prefers trains to planes.", True),
        ("晚上的会都改到周四，因为周三晚上不能开会", "每周三晚上不能开会", True),
        ("Order a cake with hazelnuts.", "Prefers trains to planes.", False),
    ],
)
def test_a_conclusion_follows_from_what_it_shares_names_or_many_words_with(
    conclusion: str, reason: str, *, follows: bool
) -> None:
    """Of what was found for the message; and a preference or a fact follows from nothing."""
    found = {"m_1": reason, "m_2": "The cat is called Tofu."}

    for kind in DERIVABLE_TYPES:
        assert premises_of(NewMemory(conclusion, type=kind), found) == (["m_1"] if follows else [])
    assert premises_of(NewMemory(conclusion, type="fact"), found) == []


async def test_another_content_puts_what_depends_on_it_in_doubt(
    memories: Memories, corrections: Corrections
) -> None:
    """In the same step; another weight does not."""
    root = (await memories.save(ANN, NewMemory("The database is PostgreSQL."), BY)).row
    new = NewMemory("Backups run pg_dump.", type="project_decision")
    drawn = (await memories.save(ANN, new, BY, depends_on=[root.id])).row

    assert len(await corrections.edit(ANN, root.id, {"importance": 5}, BY)) == 1
    edited, flagged = await corrections.edit(ANN, root.id, {"content": "The database is SQLite."}, BY)

    assert (edited.row.id, edited.row.content) == (root.id, "The database is SQLite.")
    assert (flagged.row.id, flagged.operation) == (drawn.id, "flagged")
    assert root.id in (flagged.row.flagged or "")

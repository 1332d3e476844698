"""Making one memory of several."""

import pytest

from gateway.memory.corrections.merging import joined
from gateway.memory.memories import Memories
from tests.memory.correcting import ANN, BY, COACH, Corrections, recalled, saved
from tests.product import InvalidRequest, NotFound


@pytest.mark.anyio
async def test_several_become_one_with_all_that_they_had(
    memories: Memories, corrections: Corrections
) -> None:
    """Contents from the oldest on, without what says the same; the others point to it and are not found."""
    first = await saved(
        memories,
        "我喜欢简约的设计风格",
        importance=2,
        confidence=0.9,
        tags=["设计"],
        quote="简约",
        pinned=True,
    )
    second = await saved(
        memories,
        "用户很喜欢简约设计风格",
        importance=4,
        confidence=0.5,
        tags=["设计", "logo"],
        type="preference",
        decisions=["无衬线"],
        quote="很简约",
    )
    third = await saved(memories, "主色用蓝色", refs=["a.png"])

    new, *replaced = await corrections.merge(ANN, [third.id, first.id, second.id, first.id], BY)

    row = new.row
    assert row.content == "用户很喜欢简约设计风格\n主色用蓝色"
    assert (row.importance, row.confidence, row.type, row.pinned) == (4, 1.0, "preference", True)
    assert (row.tags, row.decisions, row.refs) == (("设计", "logo"), ("无衬线",), ("a.png",))
    assert (row.evidence_count, row.version) == (2, 1)
    assert [each.quote for each in await memories.store.evidence(ANN, row.id)] == ["简约", "很简约"]
    assert {each.row.superseded_by for each in replaced} == {row.id}
    assert await recalled(memories) == [row.content]
    merged_from = {link.to_id for link in await memories.store.links(row.id)}
    assert merged_from == {first.id, second.id, third.id}


@pytest.mark.anyio
async def test_a_merged_memory_depends_on_what_its_parts_depended_on(
    memories: Memories, corrections: Corrections
) -> None:
    """And what depended on a part depends on it."""
    root = await saved(memories, "Ann lives in Berlin")
    part = await saved(memories, "Her gym is around the corner", root.id)
    other = await saved(memories, "Her gym opens at six")
    leaf = await saved(memories, "She trains at seven", part.id)

    new, *_ = await corrections.merge(ANN, [part.id, other.id], BY)
    changed = await corrections.correct(ANN, root.id, "freeze", BY)

    assert {each.row.id for each in changed} == {root.id, new.row.id, leaf.id}


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (["one"], "2 to 20 different"),
        ([f"thing {n}" for n in range(21)], "2 to 20 different"),
        (["我喜欢咖啡", "用户不喜欢咖啡"], "contradict"),
        (["a " * 3000, "b " * 3000], "characters"),
    ],
)
@pytest.mark.anyio
async def test_what_cannot_become_one_is_refused(
    memories: Memories, corrections: Corrections, contents: list[str], message: str
) -> None:
    """With the reason, and nothing has changed."""
    rows = [await saved(memories, content) for content in contents]

    with pytest.raises(InvalidRequest, match=message):
        await corrections.merge(ANN, [row.id for row in rows], BY)

    assert len(await recalled(memories)) == len(rows)


@pytest.mark.anyio
async def test_only_what_is_for_the_same_and_recalled_is_merged(
    memories: Memories, corrections: Corrections
) -> None:
    """So that a merge tells nobody anything new, and confirms nothing by the way."""
    mine = await saved(memories, "I like tea")
    of_role = await saved(memories, "I like milk", scope=COACH, owner_type="role")
    of_tool = await saved(memories, "I like rum", quarantined=True)
    frozen = await saved(memories, "I like gin")
    await corrections.correct(ANN, frozen.id, "freeze", BY)

    for other, why in ((of_role, "not for the same"), (of_tool, "confirm it"), (frozen, "activate it")):
        with pytest.raises(InvalidRequest, match=why):
            await corrections.merge(COACH, [mine.id, other.id], BY)
    with pytest.raises(NotFound, match="m_none"):
        await corrections.merge(ANN, [mine.id, "m_none"], BY)


def test_texts_are_joined_without_repetition() -> None:
    """Lines once, the longer of two that say the same, in the order of the texts."""
    assert joined(["a\nb", "b\nc", "A."]) == "a\nb\nc"
    assert joined(["I like plain design", "The user likes a really plain design", "Blue"]) == (
        "The user likes a really plain design\nBlue"
    )
    assert joined(["喜欢茶", "我不喜欢茶"]) == "喜欢茶\n我不喜欢茶"

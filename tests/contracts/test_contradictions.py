"""Memories that contradict each other, on every engine: found, asked about once, decided by their user."""

from collections.abc import Collection, Sequence
from typing import Any

import pytest

from gateway.memory.changes import Changed
from gateway.memory.corrections import contradictions as rules
from gateway.memory.corrections.contradictions import Answer, contradictions, contradictions_of
from gateway.memory.editor import Editor
from gateway.memory.memories import Memories
from gateway.storage.memories import AllScopes, Link, MemoryRow, Relation, Scope
from gateway.storage.memories.store import MemoryStore
from tests.product import NewMemory, NotFound

pytestmark = pytest.mark.anyio


class Person:
    """A user who remembers things and is asked about them."""

    def __init__(self, store: MemoryStore, user_id: str, households: tuple[str, ...] = ()) -> None:
        self.viewer = AllScopes(user_id, households)
        self.memories = Memories(store, most=10_000)
        self.scope = Scope(user_id, households=households)
        self.editor = Editor(self.memories, self.scope, self.viewer, user_id)

    async def says(self, content: str, scope: Scope | None = None, **fields: Any) -> MemoryRow:
        editor = Editor(self.memories, scope or self.scope, self.viewer, self.scope.user_id)
        return (await editor.save(NewMemory(content, **fields), "Said."))[0].row

    async def asked(self) -> list[tuple[str, str]]:
        found = await contradictions(self.memories.store, self.viewer)
        return [(each.earlier.content, each.later.content) for each in found]

    async def answers(self, earlier: MemoryRow, later: MemoryRow, answer: Answer) -> list[Changed]:
        return list(await self.editor.answer(earlier.id, later.id, answer, "Asked."))

    async def state(self, row: MemoryRow) -> MemoryRow:
        return (await self.memories.store.get(self.viewer, row.id))[0]


@pytest.fixture
def ann(store: MemoryStore) -> Person:
    return Person(store, "ann")


GHENT, PARIS = "I live in Ghent", "I live in Paris"


@pytest.mark.parametrize(
    ("one", "other"),
    [(GHENT, PARIS), ("我住在上海", "我住在臺北"), ("我喜欢喝茶", "我不喜歡喝茶")],
)
async def test_both_stay_and_are_asked_about(ann: Person, one: str, other: str) -> None:
    first, second = await ann.says(one), await ann.says(other)
    assert await ann.asked() == [(one, other)]
    assert {(await ann.state(row)).status for row in (first, second)} == {"active"}


@pytest.mark.parametrize("answer", ["later", "earlier"])
async def test_the_one_that_does_not_hold_is_replaced_and_can_be_restored(
    ann: Person, answer: Answer
) -> None:
    """What follows from it is flagged; restored, it is asked about again."""
    first, second = await ann.says(GHENT), await ann.says(PARIS)
    true, wrong = (second, first) if answer == "later" else (first, second)
    follows = await ann.says("The trains at home are slow")
    await ann.editor.edit(follows.id, {}, "It follows.", depends_on=[wrong.id])

    changed = await ann.answers(first, second, answer)

    assert [(each.row.id, each.operation) for each in changed] == [
        (true.id, "confirmed"),
        (wrong.id, "replaced"),
        (follows.id, "flagged"),
    ]
    gone = await ann.state(wrong)
    assert (gone.status, gone.superseded_by) == ("replaced", true.id)
    assert await ann.asked() == []
    with pytest.raises(NotFound) as told:
        await ann.answers(first, second, answer)
    assert told.value.code == "contradiction_not_found"

    await ann.editor.restore(wrong.id, "No.", to=gone.version - 1)
    assert len(await ann.asked()) == 1


async def test_what_both_hold_is_not_asked_again_until_that_is_taken_back(ann: Person) -> None:
    """Their times stay, and so does the answer, whichever of them is restated."""
    first, second = await ann.says(GHENT), await ann.says(PARIS)
    (changed,) = await ann.answers(first, second, "both")
    assert (changed.row.updated_at, changed.row.version) == (second.updated_at, second.version + 1)
    assert await ann.asked() == []
    with pytest.raises(NotFound):
        await ann.answers(first, second, "later")
    with pytest.raises(NotFound):
        await ann.answers(first, second, "both")

    await ann.answers(first, second, "undecided")
    assert await ann.asked() == [(GHENT, PARIS)]
    with pytest.raises(NotFound):
        await ann.answers(first, second, "undecided")

    await ann.answers(first, second, "both")
    assert (await ann.says(GHENT)).id == first.id
    assert await ann.asked() == []
    third = await ann.says("I live in Rome")
    assert {pair[1] for pair in await ann.asked()} == {third.content}


async def test_only_ones_own_active_memories_of_one_audience_are_compared(store: MemoryStore) -> None:
    ann, ben = Person(store, "ann", ("home",)), Person(store, "ben", ("home",))
    first = await ann.says(GHENT)
    await ben.says(PARIS)
    await ann.says("I live in Rome", Scope("ann", role_id="coach"), visibility="private")
    await ben.says("I live in Bern", owner_type="household", owner_id="home")
    await ann.says("I live in Oslo", owner_type="household", owner_id="home")
    await ann.says("I live in Kyiv", quarantined=True)
    frozen = await ann.says("I live in Turin")
    await ann.editor.correct(frozen.id, "freeze", "Not now.")
    assert await ann.asked() == []
    assert await ben.asked() == []

    second = await ann.says("I live in Antwerp")
    for answer in ("later", "earlier", "both", "undecided"):
        with pytest.raises(NotFound):
            await ben.answers(first, second, answer)
        with pytest.raises(NotFound):
            await ann.answers(second, first, answer)
        with pytest.raises(NotFound):
            await ann.answers(first, frozen, answer)
        with pytest.raises(NotFound):
            await ann.answers(first, first, answer)
    assert {(await ann.state(row)).version for row in (first, second)} == {1}


async def test_what_contradicts_one_memory_is_found_until_both_hold(ann: Person) -> None:
    """The last change first; nothing of what says nothing that another could contradict."""
    first, second, third = [await ann.says(each) for each in (GHENT, PARIS, "I live in Rome")]
    other = await ann.says("Keeps bees in the garden")

    async def against(row: MemoryRow) -> list[str]:
        found = await contradictions_of(ann.memories.store, ann.viewer, row)
        return [each.content for each in found]

    assert await against(second) == [third.content, GHENT]
    assert await against(other) == []
    await ann.answers(first, second, "both")
    assert await against(second) == [third.content]
    assert await against(await ann.state(first)) == [third.content]


async def test_the_answers_to_all_pairs_are_looked_up_at_once(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One query, however many pairs there are."""
    for number in range(5):
        await ann.says(f"The parcel {'abcde'[number] * 3} is due on 3 May")
        await ann.says(f"The parcel {'abcde'[number] * 3} is due on 5 May")
    asked = list[int]()
    links_among = ann.memories.store.links_among

    async def counted(ids: Collection[str], relation: Relation) -> Sequence[Link]:
        asked.append(len(ids))
        return await links_among(ids, relation)

    monkeypatch.setattr(ann.memories.store, "links_among", counted)
    assert (len(await ann.asked()), asked) == (5, [10])


async def test_many_contradictions_are_told_in_bounds(ann: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MAX_CONTRADICTIONS", 3)
    for number in range(6):
        await ann.says(f"The parcel {'abcdef'[number] * 3} is due on 3 May")
        await ann.says(f"The parcel {'abcdef'[number] * 3} is due on 5 May")
    assert [pair[1][11:14] for pair in await ann.asked()] == ["fff", "eee", "ddd"]

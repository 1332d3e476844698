"""What a session is shown of memories that changed since they were shown to it: each change once."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.history.transcript import view
from gateway.memory import snapshot
from gateway.memory.changes import Attribution
from gateway.memory.context_changes import ContextDiff, changes_since, context_state
from gateway.memory.memories import Memories
from gateway.memory.validation import NewMemory
from gateway.messages import FORGOTTEN, recalled_in
from gateway.storage.memories.store import MemoryStore
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase
from tests.memory.correcting import Corrections
from tests.product import History, MemoryRow, Message, Scope, StoredMessage, recalled_block, text_block

pytestmark = pytest.mark.anyio

ANN = Scope("ann")
BY = Attribution("ann", "set by a test")
TOKENS = 500


class Session:
    """A session's side: what its model was shown, and what it reads."""

    def __init__(self, memories: Memories) -> None:
        self.memories = memories
        self.shown: dict[str, str] = {}
        self.as_of: int | None = 0
        self.items: list[StoredMessage] = []

    async def begin(self) -> None:
        taken = await snapshot.load(self.memories.store, ANN, (), tokens=6000)
        self.shown, self.as_of = dict(taken.digests), taken.as_of

    async def turn(self, *, turns: Sequence[str] = (), tokens: int = TOKENS) -> ContextDiff:
        store = self.memories.store
        state = await context_state(store, ANN, self.shown)
        found = await changes_since(
            store, ANN, state, self.shown, as_of=self.as_of, turns=turns, tokens=tokens
        )
        self._say("user", text_block("hello"))
        if found.recalled:
            self._say("user", recalled_block(found.recalled, changes=True, more=found.more))
        self._say("assistant", text_block("hello"))
        self.shown = {key: digest for key, digest in self.shown.items() if key not in state.forgotten}
        self.shown |= {each.id: each.digest for each in found.recalled}
        self.as_of = found.as_of
        return found

    def _say(self, role: Literal["user", "assistant"], block: dict[str, object]) -> None:
        self.items.append(StoredMessage(len(self.items) + 1, "t", Message(role, [block])))

    @property
    def reads(self) -> list[Message]:
        return view(History(self.items))


@pytest.fixture
def session(memories: Memories) -> Session:
    return Session(memories)


async def saved(memories: Memories, content: str, by: Attribution = BY, **fields: object) -> MemoryRow:
    new = NewMemory(content, **fields)  # pyright: ignore[reportArgumentType]
    return (await memories.save(ANN, new, by)).row


def texts(found: ContextDiff) -> list[str]:
    return [each.text for each in found.recalled if each.text]


async def test_nothing_changed_is_nothing_told(memories: Memories, session: Session) -> None:
    """Nor is what was cited, or was there before."""
    row = await saved(memories, "喜欢简约的设计风格")
    await session.begin()
    await memories.store.use([row.id], row.last_used + 10)

    assert texts(await session.turn()) == []


async def test_what_is_new_is_told_once(memories: Memories, session: Session) -> None:
    """However many turns follow."""
    await session.begin()
    row = await saved(memories, "Allergic to walnuts.")

    (line,) = texts(await session.turn())
    assert line.startswith(f"[{row.id}] fact")
    assert texts(await session.turn()) == []


async def test_what_took_the_place_of_another_is_told_with_its_id(
    memories: Memories, corrections: Corrections, session: Session
) -> None:
    """What was replaced is not forgotten: the new sentence says what it stands for."""
    old = await saved(memories, "The offsite is on 4 May.")
    await session.begin()
    (_, new) = await corrections.correct(ANN, old.id, "replace", BY, new_content="The offsite is on 11 May.")

    (line,) = texts(await session.turn())
    assert line.startswith(f"[{new.row.id}]")
    assert line.endswith(f"(in the place of {old.id})")
    assert texts(await session.turn()) == []


async def test_what_took_the_place_of_another_and_was_deleted_then_is_forgotten(
    memories: Memories, corrections: Corrections, session: Session
) -> None:
    """Both are: nothing of the first one may go on standing there."""
    old = await saved(memories, "The offsite is on 4 May.")
    await session.begin()
    (_, new) = await corrections.correct(ANN, old.id, "replace", BY, new_content="It is on 11 May.")
    await memories.delete(ANN, new.row.id, BY)

    state = await context_state(memories.store, ANN, session.shown)
    assert state.forgotten == {old.id}
    assert state.corrected == {}


@pytest.mark.parametrize("how", ["delete", "erase", "freeze", "quarantine", "hide"])
async def test_what_may_not_be_recalled_any_more_is_forgotten(
    memories: Memories, corrections: Corrections, session: Session, how: str
) -> None:
    """In whatever way; the session hears that, once, and none of its words."""
    row = await saved(memories, "Allergic to walnuts.")
    await session.begin()
    match how:
        case "delete":
            await memories.delete(ANN, row.id, BY)
        case "erase":
            await memories.erase(ANN, row.id, BY)
        case "freeze":
            await corrections.correct(ANN, row.id, "freeze", BY)
        case "quarantine":
            await memories.edit(ANN, row.id, {"quarantined": True}, BY)
        case _:
            away = replace(row, version=2, visibility="private", role_id="cook")
            await memories.apply([await memories.plan(away, "updated", BY)])
    state = await context_state(memories.store, ANN, session.shown)
    (notice,) = (await session.turn()).recalled

    assert state.forgotten == {row.id}
    assert (notice.id, notice.digest, "walnuts" in notice.text) == (row.id, FORGOTTEN, False)
    assert texts(await session.turn()) == []


async def test_what_the_session_itself_changed_is_known_to_it(memories: Memories, session: Session) -> None:
    """By one of its turns: it is recorded, and not shown."""
    mine = Attribution("model", "it saved it", "t_1")
    known = await saved(memories, "The office is on the third floor.")
    await session.begin()
    await memories.edit(ANN, known.id, {"content": "The office is on the fourth floor."}, mine)
    row = await saved(memories, "Allergic to walnuts.", mine)
    found = await session.turn(turns=["t_1"])

    assert {each.id for each in found.recalled} == {known.id, row.id}
    assert texts(found) == []
    assert not (await session.turn()).recalled


async def test_more_than_there_is_room_for_is_counted_and_not_told_later(
    memories: Memories, session: Session
) -> None:
    """The weightiest are shown, and what was corrected before them; a correction waits for room."""
    known = await saved(memories, "The office is on the third floor.")
    await session.begin()
    for number in range(60):
        await saved(memories, f"Fact number {number} about pears, which are green.", importance=2)
    weighty = await saved(memories, "对花生严重过敏", importance=5)
    await memories.edit(ANN, known.id, {"content": "The office is on the fourth floor."}, BY)
    found = await session.turn(tokens=100)

    assert [row.id for row in found.rows[:2]] == [known.id, weighty.id]
    assert len(found.rows) + found.more == 62
    assert f"And {found.more} more" in str(session.reads[1].content)
    assert texts(await session.turn()) == []
    await memories.edit(ANN, known.id, {"content": "The office is on the fifth floor."}, BY)
    assert (await session.turn(tokens=0)).waiting == {known.id}
    assert len(texts(await session.turn())) == 1


async def test_what_was_told_before_is_not_counted_as_more(memories: Memories, session: Session) -> None:
    """However many there are since the session began."""
    await saved(memories, "The office is on the third floor.")
    await session.begin()
    shown = 0
    for group in range(7):
        for number in range(10):
            await saved(memories, f"Fact {number} of group {group} is about pears.")
        found = await session.turn(tokens=2000)
        shown += len(texts(found))
        assert found.more == 0

    assert shown == 70


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["save", "edit", "replace", "suppress", "own", "turn"]), st.integers(0, 9)),
    max_size=14,
)


@settings(max_examples=12)  # each with a database of its own
@given(OPERATIONS)
def test_without_forgetting_the_model_reads_the_same_bytes_and_more_at_the_end(
    operations: Sequence[tuple[str, int]],
) -> None:
    """Whatever is saved and corrected in between, here or elsewhere; and after a turn the model was shown
    each memory as it is now, and of none twice."""

    async def check() -> None:
        with TemporaryDirectory() as folder:
            async with await SqliteMemoryDatabase.open(Path(folder) / "memory.db") as database:
                memories = Memories(MemoryStore(database), most=100)
                await _play(memories, Session(memories), operations)

    asyncio.run(check())


async def _play(memories: Memories, session: Session, operations: Sequence[tuple[str, int]]) -> None:
    corrections, live = Corrections(memories), list[str]()
    live += [(await saved(memories, f"Room {number} is green.")).id for number in range(2)]
    await session.begin()
    for step, (what, which) in enumerate([*operations, ("turn", 0)]):
        target = live[which % len(live)]
        match what:
            case "save":
                live.append((await saved(memories, f"Desk {step} is by the door.")).id)
            case "own":
                own = Attribution("model", "it saved it", "t")
                live.append((await saved(memories, f"Lamp {step} is broken.", own)).id)
            case "edit":
                await memories.edit(ANN, target, {"content": f"Room {step} is blue."}, BY)
            case "replace":
                (_, new, *_) = await corrections.correct(
                    ANN, target, "replace", BY, new_content=f"Room {step} is red."
                )
                live[live.index(target)] = new.row.id
            case "suppress":
                await corrections.correct(ANN, target, "suppress", BY)
            case _:
                before = session.reads
                await session.turn(turns=["t"])
                assert session.reads[: len(before)] == before
                assert await _digests(memories, live) == {each: session.shown[each] for each in live}
                assert _repeated(session) == []


async def _digests(memories: Memories, ids: Sequence[str]) -> Mapping[str, str]:
    return {row.id: snapshot.digest_of(row) for row in await memories.store.get(ANN, *ids)}


def _repeated(session: Session) -> list[str]:
    shown = [
        (each.id, each.digest)
        for item in session.items
        for block in item.message.content
        for each in recalled_in(block)
    ]
    return [memory_id for memory_id, digest in set(shown) if shown.count((memory_id, digest)) > 1]

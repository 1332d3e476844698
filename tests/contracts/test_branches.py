"""What storage owes about branches: every turn follows its parent, whatever else was asked, and what was said
stays where it is."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, update

from gateway.errors import TurnInProgress
from gateway.storage.branches import MAX_BRANCHES, ROOT, forks
from gateway.storage.schema import turns
from tests.product import Conflict, Message, NotFound, Storage, text_block
from tests.storage import archiving
from tests.storage.saying import add_turn, archive, ask, finish, snapshot, talk, tell
from tests.storage.writing import OWNER, accepted, running, sqlite_storage, writer_of

pytestmark = pytest.mark.anyio


async def say(storage: Storage, turn_id: str, parent: str | None = None) -> None:
    """A turn of two messages in the session s, after its parent."""
    await add_turn(storage, "s", turn_id, turn_id, f"answer to {turn_id}", parent=parent)


def asked(messages: Sequence[Message]) -> list[str]:
    """The turns of a view, by their questions."""
    return [each.content[0]["text"] for each in messages if each.role == "user"]


async def view(storage: Storage) -> list[str]:
    history = await storage.sessions.history("s")
    _, paged = await snapshot(storage)
    assert paged == history
    return asked([stored.message for stored in history.messages])


async def parents(storage: Storage, *turn_ids: str) -> list[str | None]:
    """What the turns tell of their parents."""
    return [(await storage.turns.get("s", each, OWNER)).parent_turn_id for each in turn_ids]


async def test_a_turn_after_another_than_the_last_begins_a_branch(storage: Storage) -> None:
    """It sees what its parent had seen and said. Later turns go on there, and the log has all of them."""
    await talk(storage, 3)
    before = await storage.log.read("s", after=0, limit=99)

    await say(storage, "other", "t1")
    await say(storage, "next")

    assert await view(storage) == ["question 1", "other", "next"]
    assert await parents(storage, "t1", "t2", "t3", "other", "next") == [None, None, None, "t1", None]
    log = await storage.log.read("s", after=0, limit=99)
    assert log[: len(before)] == before
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    everything = await storage.sessions.messages("s")
    assert [each.position for each in everything] == list(range(1, 11))
    found = await storage.branches.list("s")
    assert found.active == 1
    assert [(each.branch, each.parent, each.fork_turn_id) for each in found.rows] == [
        (0, None, None),
        (1, 0, "t1"),
    ]
    assert [(each.turns, each.last_turn_id) for each in found.rows] == [(3, "t3"), (2, "next")]
    assert await storage.branches.turns("s", 1) == {"t1", "other", "next"}
    assert (await storage.sessions.get("s", OWNER)).active_branch == 1


async def test_the_first_message_can_be_asked_otherwise(storage: Storage) -> None:
    """A turn that follows none sees nothing; of a session without messages it is the first one."""
    await say(storage, "t1", ROOT)
    assert (await storage.branches.list("s")).rows[0].last_turn_id == "t1"
    assert await parents(storage, "t1") == [None]

    await say(storage, "other", ROOT)

    assert await view(storage) == ["other"]
    assert await parents(storage, "other") == [ROOT]
    assert [(row.branch, row.parent) for row in (await storage.branches.list("s")).rows] == [
        (0, None),
        (1, None),
    ]


async def test_a_turn_after_the_last_of_a_branch_goes_on_in_it(storage: Storage) -> None:
    """Whether that is the active one or not: no branch is made, and it is the active one then."""
    await talk(storage, 2)
    await say(storage, "t3", "t2")
    assert (await storage.branches.list("s")).active == 0
    await say(storage, "other", "t1")

    await say(storage, "back", "t3")

    assert await view(storage) == ["question 1", "question 2", "t3", "back"]
    assert await parents(storage, "t3", "back") == [None, "t3"]
    assert len((await storage.branches.list("s")).rows) == 2


async def test_a_branch_that_is_activated_is_gone_on_in(storage: Storage) -> None:
    """The next turn follows its last one, and says so; a branch that is active stays so."""
    await talk(storage, 2)
    await say(storage, "other", "t1")
    await storage.branches.activate("s", 1)
    assert await view(storage) == ["question 1", "other"]

    await storage.branches.activate("s", 0)
    assert await view(storage) == ["question 1", "question 2"]
    await say(storage, "t3")

    assert await view(storage) == ["question 1", "question 2", "t3"]
    assert await parents(storage, "t3") == ["t2"]
    for branch in (2, 999):
        with pytest.raises(NotFound) as refused:
            await storage.branches.activate("s", branch)
        assert refused.value.code == "branch_not_found"
    with pytest.raises(NotFound, match="no session nowhere"):
        await storage.branches.activate("nowhere", 0)


async def test_a_branch_is_not_changed_while_a_turn_runs_or_waits(storage: Storage) -> None:
    """Nor is one made: what runs has the session to itself."""
    await talk(storage, 2)
    await say(storage, "other", "t1")
    writer = await ask(storage, "s", "runs", "question")

    with pytest.raises(TurnInProgress) as refused:
        await storage.branches.activate("s", 0)
    assert (refused.value.details or {})["turn_id"] == "runs"
    with pytest.raises(TurnInProgress):
        await accepted(storage, "s", "late", parent="t1")
    await finish(writer)
    await storage.branches.activate("s", 0)
    assert await view(storage) == ["question 1", "question 2"]


async def test_a_turn_that_waits_enters_its_branch_when_it_begins(storage: Storage) -> None:
    """It may follow the turn that runs. One that waits itself, or never began, cannot be followed."""
    await talk(storage, 2)
    writer = await ask(storage, "s", "t3", "t3")
    for turn_id, parent in (("after", "t3"), ("fork", "t1"), ("plain", None)):
        await accepted(storage, "s", turn_id, text=turn_id, parent=parent, on_conflict="queue")
    with pytest.raises(Conflict) as waits:
        await accepted(storage, "s", "late", parent="fork", on_conflict="queue")
    assert waits.value.code == "no_branch_point"
    with pytest.raises(NotFound) as unknown:
        await accepted(storage, "s", "late", parent="nothing", on_conflict="queue")
    assert unknown.value.code == "turn_not_found"
    await finish(writer)

    seen: list[list[str]] = []
    while (claimed := await storage.turns.claim_next("s")) is not None:
        seen.append(await view(storage))
        writer = writer_of(storage, claimed)
        await tell(writer, "turn_start", Message("user", [text_block(claimed.turn.input)]))
        await finish(writer)

    assert seen == [
        ["question 1", "question 2", "t3"],
        ["question 1"],
        ["question 1", "fork"],
    ]
    assert await parents(storage, "after", "fork", "plain") == [None, "t1", None]


async def test_the_parent_of_every_turn_is_known(storage: Storage) -> None:
    """Also of those that do not tell it, as it is the one that ran before."""
    await talk(storage, 2)
    await say(storage, "other", "t1")
    await say(storage, "next")
    await say(storage, "first", ROOT)
    every = ("t1", "t2", "other", "next", "first")

    assert [await storage.branches.parent("s", each) for each in every] == [ROOT, "t1", "t1", "other", ROOT]
    with pytest.raises(NotFound) as refused:
        await storage.branches.parent("s", "nothing")
    assert refused.value.code == "turn_not_found"


async def test_a_session_from_before_there_were_branches_has_them_too(storage: Storage) -> None:
    """Where its turns lie is seen by their messages; of one whose messages are archived it is not known."""
    await talk(storage, 2)
    await archive(storage, "s")
    for number in (3, 4, 5):
        await say(storage, f"t{number}")
    await storage.branches.list("s")
    await forget_places(storage)

    await say(storage, "other", "t3")

    assert await view(storage) == ["question 1", "question 2", "t3", "other"]
    assert await storage.branches.parent("s", "t5") == "t4"
    for turn_id in ("t1", "t2"):
        with pytest.raises(Conflict) as refused:
            await say(storage, "late", turn_id)
        assert refused.value.code == "no_branch_point"


async def forget_places(storage: Storage) -> None:
    database = storage.branches.database  # pyright: ignore[reportAttributeAccessIssue] - of the tables it is

    def forget(connection: Connection) -> None:
        connection.execute(update(turns).values(after_position=None))

    await database.write(forget)


async def test_of_two_that_fork_at_once_one_runs(storage: Storage) -> None:
    """The other is refused as any second message is; both may wait, and have branches of their own then."""
    await talk(storage, 2)
    forks = [accepted(storage, "s", f"fork{each}", parent="t1") for each in range(4)]
    found = await asyncio.gather(*forks, return_exceptions=True)

    [now] = [each for each in found if not isinstance(each, BaseException)]
    assert sum(isinstance(each, TurnInProgress) for each in found) == 3
    await finish(writer_of(storage, now))
    assert [row.branch for row in (await storage.branches.list("s")).rows] == [0, 1]


async def test_branches_are_bounded(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be one too many is refused, and leaves nothing."""
    monkeypatch.setattr(forks, "MAX_BRANCHES", 3)
    assert MAX_BRANCHES == 1000
    await talk(storage, 2)
    await say(storage, "a", "t1")
    await say(storage, "b", "t1")

    with pytest.raises(Conflict) as refused:
        await say(storage, "c", "t1")
    assert refused.value.code == "too_many_branches"
    assert await view(storage) == ["question 1", "b"]


async def test_a_repeated_message_is_the_same_turn_whatever_its_parent(storage: Storage) -> None:
    """The client_message_id says so, before it is looked where it would begin."""
    await talk(storage, 2)
    once = await accepted(storage, "s", "fork", client_message_id="m", parent="t1")
    await finish(writer_of(storage, once))

    for parent in ("t1", "t2", None, ROOT):
        again = await accepted(storage, "s", "again", client_message_id="m", parent=parent)
        assert (again.repeated, again.turn.id) == (True, "fork")
    assert [row.branch for row in (await storage.branches.list("s")).rows] == [0, 1]


async def test_a_deleted_session_leaves_no_branch(storage: Storage) -> None:
    """One with the same id has one branch."""
    await talk(storage, 2)
    await say(storage, "other", "t1")
    await storage.sessions.delete("s", OWNER)

    await finish(await running(storage, "s", "new"))

    found = await storage.branches.list("s")
    assert (found.active, len(found.rows)) == (0, 1)


DONE = ("go on", "follow", "follow", "activate", "archive")


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(DONE), st.integers(0, 99)), max_size=12))
async def test_every_branch_is_what_a_tree_says(
    tmp_path_factory: pytest.TempPathFactory, steps: Sequence[tuple[str, int]]
) -> None:
    """Turns after any other, or after none, changes between branches, and rows that move to archives: each
    branch is the way from the root to its last turn, and the log is what was appended to it."""
    folder = tmp_path_factory.mktemp("tree")
    async with sqlite_storage(folder) as storage:
        tree: dict[str, str] = {}
        tips: dict[int, str] = {0: ROOT}
        active = 0

        def way(turn_id: str) -> list[str]:
            return [] if turn_id == ROOT else [*way(tree[turn_id]), turn_id]

        for number, (what, which) in enumerate(steps):
            known = [ROOT, *tree]
            if what == "activate" and tree:
                active = which % len(tips)
                await storage.branches.activate("s", active)
            elif what == "archive" and tree:
                await archiving.archive(storage, "s")
            else:
                parent = known[which % len(known)] if what == "follow" else None
                turn_id = f"t{number}"
                await say(storage, turn_id, parent)
                tree[turn_id] = tips[active] if parent is None else parent
                if parent is not None:
                    going = [branch for branch, tip in tips.items() if tip == parent]
                    active = going[0] if going else len(tips)
                tips[active] = turn_id
            assert await view(storage) == way(tips[active])
        everything = await storage.sessions.messages("s")
        assert asked([stored.message for stored in everything]) == list(tree)
        if tree:
            assert {row.branch: row.last_turn_id for row in (await storage.branches.list("s")).rows} == tips
            for branch, tip in tips.items():
                assert await storage.branches.turns("s", branch) == set(way(tip))
                await storage.branches.activate("s", branch)
                assert await view(storage) == way(tip)
            for turn_id, parent in tree.items():
                assert await storage.branches.parent("s", turn_id) == parent

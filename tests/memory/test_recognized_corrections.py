"""What is saved takes the place of what it corrects, whoever saves it, and also when two do at once."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import MemoryChanged
from gateway.memory.changes import Changed
from gateway.memory.editor import Editor
from gateway.memory.memories import Memories
from gateway.memory.validation import NewMemory
from gateway.storage.memories import Evidence, Link
from gateway.storage.memories.store import MemoryStore
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase
from tests.memory.correcting import ANN, BY, COACH, Corrections, recalled, saved
from tests.product import Filter, GatewayError, InvalidRequest

pytestmark = pytest.mark.anyio

REPLACED = Filter(statuses=("replaced",))


async def keep(memories: Memories, content: str, stated: str = "", **fields: Any) -> Sequence[Changed]:
    evidence = [Evidence("s", 3, stated)] if stated else []
    new = NewMemory(content, **fields)
    return await Editor(memories, ANN, ANN, BY.actor).save(new, BY.reason, stated=stated, evidence=evidence)


@pytest.fixture
async def interfaces(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[tuple[Memories, Memories]]:
    """Two with the same file open, each with connections of its own, as the gateway and a command have it."""
    path = tmp_path / "both.db"
    async with await SqliteMemoryDatabase.open(path) as one, await SqliteMemoryDatabase.open(path) as other:
        yield Memories(MemoryStore(one), most=100), Memories(MemoryStore(other), most=100)


@pytest.mark.parametrize(
    ("old", "new", "stated"),
    [
        ("The boiler inspection is on Monday", "The boiler inspection was moved to Thursday", ""),
        ("The boiler inspection is on Monday", "The boiler inspection is on Thursday", "No, it's not Monday: "
         "the boiler inspection moved to Thursday."),
        ("热水器检修在周一", "热水器检修改到周四了", ""),
        ("熱水器檢修在週一", "熱水器檢修在週四", "說錯了，熱水器檢修改到週四"),
        ("Wiki 用 Confluence", "Wiki 换成 Outline 了", ""),
    ],
)  # fmt: skip
async def test_what_is_saved_takes_the_place_of_what_it_corrects(
    memories: Memories, old: str, new: str, stated: str
) -> None:
    """The old one is kept with all its versions and points to the new one; its pin and weight go on, and what
    followed from it is flagged."""
    first = await saved(memories, old, pinned=True, importance=5)
    follows = await saved(memories, "Be at home that day", first.id)

    successor, gone, flagged = await keep(memories, new, stated, tags=["home"])

    assert set(await recalled(memories)) == {new, follows.content}
    assert (successor.row.pinned, successor.row.importance, successor.row.tags) == (True, 5, ("home",))
    assert (gone.row.id, gone.row.status, gone.row.superseded_by) == (first.id, "replaced", successor.row.id)
    assert [each.row.content for each in await memories.store.versions(ANN, first.id)] == [old, old]
    assert (flagged.row.id, flagged.operation) == (follows.id, "flagged")
    links = await memories.store.links(successor.row.id)
    assert Link(successor.row.id, first.id, "contradicts") in links
    assert Link(follows.id, successor.row.id, "depends_on") in links


async def test_one_that_was_moved_may_be_moved_again(memories: Memories) -> None:
    """Each takes the place of the one before it."""
    for content in ("例会在周三", "我们把例会改到周四", "例会推迟到周五"):
        await keep(memories, content)

    assert await recalled(memories) == ["例会推迟到周五"]
    assert len(await memories.list(ANN, REPLACED, limit=9)) == 2


@pytest.mark.parametrize(
    ("new", "stated", "fields"),
    [
        ("The roof inspection was moved to Thursday", "", {}),
        ("There is another boiler inspection now, on Thursday", "", {}),
        ("The boiler inspection is on Thursday", "Thanks! When is the boiler inspection?", {}),
        ("The boiler inspection is on Thursday", "I would have it moved to Thursday", {}),
        ("The boiler inspection was moved to Thursday", "", {"quarantined": True}),
        ("The boiler inspection was moved to Thursday", "", {"owner_type": "project", "owner_id": "flat"}),
    ],
)
async def test_what_may_be_something_else_replaces_nothing(
    memories: Memories, new: str, stated: str, fields: dict[str, Any]
) -> None:
    """Another subject, no word of change, a wish, a claim that nobody confirmed, other readers."""
    first = await saved(memories, "The boiler inspection is on Monday")
    theirs = await saved(memories, "The boiler inspection is on Tuesday", scope=COACH, owner_type="role")

    (alone,) = await keep(memories, new, stated, **fields)

    assert alone.operation == "remembered"
    for row in (first, theirs):
        assert (await memories.get(COACH, row.id)).status == "active"


async def test_a_repeated_request_corrects_once(memories: Memories) -> None:
    """With the key of the first one."""
    await saved(memories, "Deploys run at 5 pm")
    new = NewMemory("Deploys now run at 6 pm")

    successor, gone = await Editor(memories, ANN, ANN, BY.actor).save(new, BY.reason, key="t_1:toolu_1")
    (again,) = await Editor(memories, ANN, ANN, BY.actor).save(new, BY.reason, key="t_1:toolu_1")

    assert (gone.operation, again.repeated, again.row.id) == ("replaced", True, successor.row.id)
    assert len(await memories.list(ANN, REPLACED, limit=9)) == 1


@pytest.mark.parametrize("attempt", range(5))
async def test_two_interfaces_that_save_a_correction_at_once_leave_one_chain(
    interfaces: tuple[Memories, Memories], attempt: int
) -> None:
    """Whichever is first: the other one corrects that; none is lost, and one alone is recalled."""
    first = await saved(interfaces[0], f"Ferry {attempt} to Bergen is on Monday")
    texts = [f"Ferry {attempt} to Bergen was moved to {day}" for day in ("Thursday", "Friday")]

    await asyncio.gather(*(keep(each, text) for each, text in zip(interfaces, texts, strict=True)))

    (last,) = await recalled(interfaces[1])
    rows = {row.id: row for row in await interfaces[1].list(ANN, REPLACED, limit=9)}
    second = rows[str(rows[first.id].superseded_by)]
    assert {second.content, last} == set(texts)
    assert (await interfaces[0].get(ANN, str(second.superseded_by))).content == last


@pytest.mark.parametrize("version", [None, 1])
async def test_two_interfaces_that_correct_one_memory_at_once(
    interfaces: tuple[Memories, Memories], version: int | None
) -> None:
    """One of them is refused with the reason: what replaced it, or that it has changed since they read it."""
    row = await saved(interfaces[0], "会员卡号是 1001")

    done = await asyncio.gather(
        *(
            Corrections(each).correct(ANN, row.id, "replace", BY, new_content=content, version=version)
            for each, content in zip(interfaces, ("会员卡号是 2002", "会员卡号是 3003"), strict=True)
        ),
        return_exceptions=True,
    )

    (refused,) = [each for each in done if isinstance(each, GatewayError)]
    ((gone, successor),) = [each for each in done if not isinstance(each, BaseException)]
    assert isinstance(refused, InvalidRequest if version is None else MemoryChanged)
    assert (refused.details or {}).get("superseded_by", successor.row.id) == successor.row.id
    assert gone.row.superseded_by == successor.row.id
    assert await recalled(interfaces[1]) == [successor.row.content]


async def test_a_correction_and_a_change_at_once_leave_what_both_wrote(
    interfaces: tuple[Memories, Memories],
) -> None:
    """A memory that is pinned on the page while a model corrects it: the pin goes on, or is refused."""
    row = await saved(interfaces[0], "Choir practice is on Mondays")

    (pinned,), (successor, gone) = await asyncio.gather(
        interfaces[1].edit(ANN, row.id, {"pinned": True}, BY),
        keep(interfaces[0], "Choir practice moved to Tuesdays"),
    )

    versions = [each.operation for each in await interfaces[0].store.versions(ANN, row.id)]
    assert sorted(versions) == ["remembered", "replaced", "updated"]
    assert (await interfaces[1].get(ANN, row.id)).pinned is pinned.row.pinned is True
    assert successor.row.pinned is (versions[-1] == "replaced")
    assert gone.row.superseded_by == successor.row.id


@pytest.mark.parametrize(
    ("olds", "new"),
    [
        (
            ("The review is on Monday", "The review takes place on Monday at 9"),
            "The review moved to Thursday",
        ),
        (("Deploys run on Monday", "Deploys take place on Monday at 9"), "Deploys moved to Thursday"),
        (("评审在周一", "评审定于周一"), "评审改到周四"),
        (("評審在週一", "評審定於週一"), "評審改到週四"),
    ],
)
async def test_all_that_a_correction_contradicts_gives_way_to_it(
    memories: Memories, olds: Sequence[str], new: str
) -> None:
    """In one transaction, and what followed from both is flagged once."""
    rows = [await saved(memories, old) for old in olds]
    follows = await saved(memories, "Send the agenda two days before", *(row.id for row in rows))

    successor, *others = await keep(memories, new)

    assert set(await recalled(memories)) == {new, follows.content}
    assert {each.row.id: each.row.superseded_by for each in others if each.operation == "replaced"} == {
        row.id: successor.row.id for row in rows
    }
    assert [each.row.id for each in others if each.operation == "flagged"] == [follows.id]
    links = await memories.store.links(successor.row.id)
    assert {Link(successor.row.id, row.id, "contradicts") for row in rows} < set(links)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("CI runs on Jenkins", "CI switched to Drone"),
        ("构建用 Jenkins", "构建换成 Drone 了"),
        ("建置用 Jenkins", "建置換成 Drone 了"),
    ],
)
async def test_a_correction_that_is_repeated_word_for_word_corrects_again(
    memories: Memories, old: str, new: str
) -> None:
    """What says it already takes the place of what came back meanwhile."""
    for content in (old, new, old):
        await keep(memories, content)

    successor, gone = await keep(memories, new)

    assert await recalled(memories) == [new]
    assert (successor.operation, gone.operation) == ("reinforced", "replaced")
    assert gone.row.superseded_by == successor.row.id

"""What storage owes about memories and their versions, and about profiles."""

from dataclasses import replace
from pathlib import Path

import pytest

from gateway.errors import DuplicateMemory, MemoryChanged, MemoryFull
from gateway.storage.memories import (
    MAX_VERSIONS,
    AllScopes,
    Evidence,
    Filter,
    Link,
    Profile,
    Scope,
    Vector,
)
from gateway.storage.memories.store import MemoryStore
from tests.storage.remembering import (
    ANN,
    MemoryFactory,
    became,
    listed,
    matched,
    memory,
    remember,
    step,
)

pytestmark = pytest.mark.anyio

MAX_MEMORIES = 10_000


async def test_a_memory_is_kept_with_all_that_belongs_to_it(opens: MemoryFactory, tmp_path: Path) -> None:
    """Every field, in both scripts, also after the store was closed."""
    row = memory(
        "m_1",
        "用户喜欢简洁的设计风格 – plain design",
        owner_type="project",
        owner_id="p",
        role_id="writer",
        project_id="p",
        visibility="project",
        type="project_decision",
        source="model",
        importance=5,
        confidence=0.25,
        evidence_count=1,
        status="suppressed",
        superseded_by="m_2",
        tags=("设计", "logo"),
        pinned=True,
        quarantined=True,
        flagged="看看",
        context="聊天",
        decisions=("用 SQLite",),
        refs=("https://example.com/",),
        skill="design",
        reference="style.md",
        last_used=7,
    )
    quote = Evidence("s_1", 3, "我喜欢简洁的")
    async with opens(tmp_path) as store:
        await store.write([step(row, evidence=[quote], turn_id="t_1")], most=MAX_MEMORIES)
    async with opens(tmp_path) as store:
        scope = Scope("ann", "other", "p")

        assert await store.get(scope, "m_1") == [row]
        assert await store.evidence(scope, "m_1") == [quote]
        (first,) = await store.versions(scope, "m_1")
        assert (first.version, first.operation, first.actor, first.reason) == (
            1,
            "remembered",
            "ann",
            "she said so",
        )
        assert (first.turn_id, first.at, first.row) == ("t_1", 1, row)


async def test_each_change_is_a_version(store: MemoryStore) -> None:
    row = memory("m_1", "likes tea")
    await remember(store, row)
    change = became(row, content="likes green tea", updated_at=5)
    await store.write([change], most=MAX_MEMORIES)

    assert await store.get(ANN, "m_1") == [change.row]
    kept = await store.versions(ANN, "m_1")
    assert [(each.version, each.operation, each.row.content) for each in kept] == [
        (1, "remembered", "likes tea"),
        (2, "updated", "likes green tea"),
    ]
    assert await matched(store, "green") == ["m_1"]


async def test_a_change_of_a_version_that_is_not_the_newest_is_refused(store: MemoryStore) -> None:
    """So is one of a memory that is not there, that is another user's, or deleted, and a new one with an id
    that was used; the whole transaction with it."""
    row = memory("m_1")
    await remember(store, row)
    second = became(row, content="second")
    await store.write([second], most=MAX_MEMORIES)
    for stale, version in (
        (became(row, content="another"), 2),
        (became(second.row, user_id="bob"), 2),
        (became(memory("m_9")), 0),
        (step(row), 2),
    ):
        with pytest.raises(MemoryChanged) as refused:
            await store.write([step(memory("m_2")), stale], most=MAX_MEMORIES)
        assert refused.value.details == {"id": stale.row.id, "version": version}

    await store.write([became(second.row, "deleted")], most=MAX_MEMORIES)
    with pytest.raises(MemoryChanged, match="deleted"):
        await store.write([became(replace(second.row, version=3))], most=MAX_MEMORIES)
    assert await listed(store) == []


async def test_the_same_content_is_kept_once_for_each_audience(store: MemoryStore) -> None:
    """In whatever spelling; another user, or another role, may be told the same."""
    await remember(store, memory("m_1", "使用繁体字。"))
    with pytest.raises(DuplicateMemory) as refused:
        await remember(store, memory("m_2"), memory("m_3", "使用繁體字"))

    assert refused.value.details == {"id": "m_1", "same": "digest"}
    assert await listed(store) == ["m_1"]
    await remember(store, memory("m_4", "使用繁体字", user_id="bob"))
    await remember(store, memory("m_5", "使用繁体字", visibility="private", role_id="writer"))
    await store.write([became(memory("m_1", "使用繁体字"), "frozen", status="frozen")], most=MAX_MEMORIES)
    await remember(store, memory("m_6", "使用繁体字"))
    thawed = replace(memory("m_1", "使用繁体字"), version=2)
    with pytest.raises(DuplicateMemory):
        await store.write([became(thawed, "activated", status="active")], most=MAX_MEMORIES)


async def test_a_key_makes_one_memory_also_when_that_is_deleted(store: MemoryStore) -> None:
    row = memory("m_1")
    await store.write([step(row, key="k")], most=MAX_MEMORIES)
    for _ in range(2):
        with pytest.raises(DuplicateMemory) as refused:
            await store.write([step(memory("m_2", row.content), key="k")], most=MAX_MEMORIES)
        assert refused.value.details == {"id": "m_1", "same": "key"}
        if await listed(store):
            await store.write([became(row, "deleted")], most=MAX_MEMORIES)
    await store.write([step(memory("m_3", user_id="bob"), key="k")], most=MAX_MEMORIES)


async def test_a_key_makes_a_change_once(store: MemoryStore) -> None:
    """Whichever memory of the user it changed; another user may take the same."""
    row, other, bobs = memory("m_1"), memory("m_2"), memory("m_3", user_id="bob")
    await remember(store, row, other, bobs)
    await store.write([replace(became(row, "reinforced"), key="k")], most=MAX_MEMORIES)
    for again in (became(replace(row, version=2), "reinforced"), became(other), step(memory("m_4"))):
        with pytest.raises(DuplicateMemory) as refused:
            await store.write([replace(again, key="k")], most=MAX_MEMORIES)
        assert refused.value.details == {"id": "m_1", "same": "key"}

    await store.write([replace(became(bobs), key="k")], most=MAX_MEMORIES)


async def test_of_many_versions_the_first_and_the_newest_stay(store: MemoryStore) -> None:
    row = memory("m_1")
    await remember(store, row)
    for number in range(2, MAX_VERSIONS + 4):
        change = became(row, updated_at=number)
        await store.write([change], most=MAX_MEMORIES)
        row = change.row

    kept = [each.version for each in await store.versions(ANN, "m_1")]
    assert kept == [1, *range(5, MAX_VERSIONS + 4)]
    assert len(kept) == MAX_VERSIONS


async def test_of_many_tombstones_the_newest_stay(store: MemoryStore) -> None:
    """As many as there may be memories; those of others are not counted."""
    rows = [memory(f"m_{number}") for number in range(4)]
    bobs = memory("m_9", user_id="bob")
    await remember(store, *rows, bobs)
    await store.write([became(bobs, "deleted", updated_at=1)], most=MAX_MEMORIES)
    await store.write([became(row, "deleted", updated_at=5) for row in rows[:2]], most=2)
    for number, row in enumerate(rows[2:]):
        await store.write([became(row, "deleted", updated_at=6 + number)], most=2)

    left = [row.id for row in rows if await store.versions(ANN, row.id)]
    assert left == ["m_2", "m_3"]
    assert await store.versions(Scope("bob"), "m_9")
    await remember(store, rows[0])


async def test_what_was_deleted_is_there_with_its_words_until_it_is_restored(store: MemoryStore) -> None:
    """Then everything is as it was, found by its words, and counted as one; a change that does not restore it
    is refused."""
    row = memory("m_1", "对花生过敏", importance=5)
    await store.write([step(row, evidence=[Evidence("s", 1, "花生")], stated_by="ann")], most=1)
    gone = became(row, "deleted", updated_at=5)
    await store.write([replace(gone, actor="model", turn_id="t_1")], most=1)
    (tomb,) = await store.tombstones(ANN, limit=9)
    assert (tomb.row, tomb.deleted_at, tomb.actor, tomb.reason, tomb.turn_id) == (
        gone.row,
        5,
        "model",
        gone.reason,
        "t_1",
    )

    with pytest.raises(MemoryChanged):
        await store.write([became(gone.row, "updated")], most=1)
    back = became(gone.row, "restored", updated_at=6)
    await store.write([back], most=1)
    assert await store.get(ANN, "m_1") == [back.row]
    assert await matched(store, "花生过敏") == ["m_1"]
    assert [each.quote for each in await store.evidence(ANN, "m_1")] == ["花生"]
    assert await store.tombstones(ANN, limit=9) == []
    with pytest.raises(MemoryFull):
        await store.write([step(memory("m_2"))], most=1)


async def test_nothing_is_restored_beside_the_same_or_beyond_the_limit(store: MemoryStore) -> None:
    first, second = memory("m_1", "likes tea"), memory("m_2", "likes coffee")
    await remember(store, first, second)
    await store.write([became(first, "deleted"), became(second, "deleted")], most=2)
    await store.write([step(memory("m_3", "likes tea"))], most=1)
    for row, refusal in ((first, DuplicateMemory), (second, MemoryFull)):
        with pytest.raises(refusal):
            await store.write([became(replace(row, version=2), "restored")], most=1)
    assert len(await store.tombstones(ANN, limit=9)) == 2


async def test_what_was_deleted_long_ago_is_removed_a_few_at_a_time(store: MemoryStore) -> None:
    """The oldest first; not what is held, nor what is there."""
    rows = [memory(f"m_{number}") for number in range(4)]
    held = memory("m_9", user_id="bob")
    await remember(store, *rows, held)
    for number, row in enumerate(rows[:3]):
        await store.write([became(row, "deleted", updated_at=10 + number)], most=MAX_MEMORIES)
    await store.write([became(held, "deleted", updated_at=1)], most=MAX_MEMORIES)
    await store.hold(["bob"])

    assert await store.remove_deleted(12, 1) == 1
    assert [each.id for each in await store.tombstones(ANN, limit=9)] == ["m_2", "m_1"]
    assert [await store.remove_deleted(12, 9), await store.remove_deleted(12, 9)] == [1, 0]
    assert not await store.versions(ANN, "m_1")
    assert await listed(store) == ["m_3"]
    assert len(await store.tombstones(Scope("bob"), limit=9)) == 1
    await store.hold([])
    assert await store.remove_deleted(12, 9) == 1


async def test_quotes_count_for_the_content_they_are_of(store: MemoryStore) -> None:
    row = memory("m_1", "喜欢茶")
    first, second = Evidence("s", 1, "我喜欢茶"), Evidence("s", 3, "咖啡")
    await store.write([step(row, evidence=[first], stated_by="ann")], most=MAX_MEMORIES)
    other = became(row, content="喜欢咖啡")
    await store.write([replace(other, evidence=[second], stated_by="ann")], most=MAX_MEMORIES)
    assert await store.evidence(ANN, "m_1") == [second]

    await store.write([became(other.row, content="喜歡茶。")], most=MAX_MEMORIES)
    assert await store.evidence(ANN, "m_1") == [first]


async def test_what_is_a_sessions_is_erased_with_it(store: MemoryStore) -> None:
    """Deleted or not; nothing of another user's session of that id, and nothing else."""
    there = {"owner_type": "session", "owner_id": "s"}
    mine = [memory("m_1", "zebra 斑马", **there), memory("m_2", **there)]
    others = [
        memory("m_3"),
        memory("m_4", **there, user_id="bob"),
        memory("m_5", **{**there, "owner_id": "t"}),
    ]
    await remember(store, *mine, *others)
    await store.write([became(mine[1], "deleted")], most=MAX_MEMORIES)

    assert await store.forget_session("ann", "s") == 2
    assert await store.forget_session("ann", "s") == 0
    for row in mine:
        assert await store.versions(AllScopes("ann"), row.id) == []
    assert await matched(store, "zebra 斑马", Scope("ann", session_id="s")) == []
    assert await listed(store, AllScopes("ann")) == ["m_5", "m_3"]
    assert await listed(store, AllScopes("bob")) == ["m_4"]


async def test_a_full_store_takes_no_more_until_there_is_room(store: MemoryStore) -> None:
    """Only what is live counts, and only what would make it more is refused."""
    rows = [memory(f"m_{number}") for number in range(3)]
    await remember(store, *rows, most=3)
    with pytest.raises(MemoryFull) as refused:
        await remember(store, memory("m_3"), most=3)
    assert refused.value.details is not None
    assert refused.value.details["count"] == 3

    await remember(store, memory("m_9", user_id="bob"), most=3)
    await store.write([became(rows[0], content="the same number")], most=1)
    merged = memory("m_4", rows[1].content)
    gone = [became(row, "merged", status="replaced", superseded_by="m_4") for row in rows[1:]]
    await store.write([step(merged), *gone], most=3)
    await remember(store, memory("m_5"), most=3)
    assert (await store.get(ANN, "m_1"))[0].superseded_by == "m_4"
    with pytest.raises(MemoryFull):
        await store.write([became(gone[1].row, "activated", status="active")], most=3)


async def test_what_is_deleted_is_found_nowhere_but_its_versions(store: MemoryStore) -> None:
    row = memory("m_1", "对花生过敏 peanut allergy", evidence_count=1)
    await store.write([step(row, evidence=[Evidence("s", 1, "花生")])], most=MAX_MEMORIES)
    await store.put_vectors("small", [Vector("m_1", row.digest, b"\0" * 8)])
    await store.write([became(row, "deleted", updated_at=9)], most=MAX_MEMORIES)

    for viewer in (ANN, AllScopes("ann")):
        assert await store.get(viewer, "m_1") == []
        assert await listed(store, viewer) == []
        assert await store.count(viewer) == 0
        assert await matched(store, "花生 peanut", viewer, Filter()) == []
        assert await store.vectors(viewer, "small") == []
        assert await store.missing_vectors(viewer, "small", limit=9) == []
        assert [each.operation for each in await store.versions(viewer, "m_1")] == ["remembered", "deleted"]
    await remember(store, memory("m_2", row.content))


async def test_what_is_erased_leaves_nothing_behind(store: MemoryStore) -> None:
    """Nor do others point to it any more. Only who sees a memory can erase it, deleted or not."""
    old, new, third = memory("m_1", superseded_by="m_2", status="replaced"), memory("m_2"), memory("m_3")
    links = [Link("m_2", "m_1", "merged_from"), Link("m_3", "m_2", "depends_on")]
    await store.write(
        [step(old), step(new, evidence=[Evidence("s", 1, "q")], links=links), step(third)], most=MAX_MEMORIES
    )
    await store.put_vectors("small", [Vector("m_2", new.digest, b"\0" * 8)])
    assert await store.links("m_2") == links
    await store.write([became(new, "deleted")], most=MAX_MEMORIES)

    assert not await store.erase(Scope("bob"), "m_2")
    assert not await store.erase(ANN, "m_9")
    assert await store.erase(ANN, "m_2")
    assert not await store.erase(ANN, "m_2")

    assert await store.versions(ANN, "m_2") == []
    assert await store.evidence(ANN, "m_2") == []
    for memory_id in ("m_1", "m_2", "m_3"):
        assert await store.links(memory_id) == []
    assert (await store.get(ANN, "m_1"))[0].superseded_by is None
    await remember(store, memory("m_2"))


async def test_what_was_erased_is_not_the_next_ones(store: MemoryStore) -> None:
    """The number of the newest memory may be given to another one after it: versions, quotes, links and
    vectors of the erased one are not the other one's, not even under the same id."""
    row, other = memory("m_2", "The same words"), memory("m_1")
    quote, link = Evidence("s", 1, "a quote"), Link("m_2", "m_1", "depends_on")
    await store.write([step(other), step(row, evidence=[quote], links=[link])], most=MAX_MEMORIES)
    await store.put_vectors("small", [Vector("m_2", row.digest, b"\0" * 8)])
    changed = became(row, tags=("more",))
    await store.write([changed], most=MAX_MEMORIES)

    assert await store.erase(ANN, "m_2")
    await remember(store, row)

    assert [each.operation for each in await store.versions(ANN, "m_2")] == ["remembered"]
    assert await store.evidence(ANN, "m_2") == []
    assert await store.links("m_2") == await store.links("m_1") == []
    assert await store.vectors(AllScopes("ann"), "small") == []


async def test_an_erasure_is_named_until_the_sessions_of_all_owners_are_without_it(
    store: MemoryStore,
) -> None:
    """One that is refused is none; what bears the id of an erased one can be erased again."""
    await remember(store, memory("m_1"))
    assert not await store.erase(Scope("bob"), "m_1", owners={"bob"})
    assert await store.erasures(limit=9) == []
    for _ in range(2):
        assert await store.erase(ANN, "m_1", owners=("ann", "ben"))
        await remember(store, memory("m_1"))
    assert await store.erasures(limit=9) == [("m_1", "ann"), ("m_1", "ben")]
    assert await store.erasures(limit=1) == [("m_1", "ann")]
    assert await store.erasures(limit=9, after=("m_1", "ann")) == [("m_1", "ben")]
    assert await store.erasures(limit=9, after=("m_1", "ben")) == []

    await store.settle_erasure("m_1", "ann")
    await store.settle_erasure("m_1", "ann")

    assert await store.erasures(limit=9) == [("m_1", "ben")]


async def test_a_link_to_what_is_not_there_is_dropped_and_one_is_kept_once(store: MemoryStore) -> None:
    link = Link("m_1", "m_2", "depends_on")
    await store.write(
        [step(memory("m_1"), links=[link, Link("m_1", "m_9", "depends_on")])], most=MAX_MEMORIES
    )
    assert await store.links("m_1") == []

    await store.write([step(memory("m_2"), links=[link, link])], most=MAX_MEMORIES)
    assert await store.links("m_2") == [link]


async def test_being_cited_renews_and_adds_no_version(store: MemoryStore) -> None:
    row = memory("m_1", last_used=5)
    await remember(store, row)
    await store.use(["m_1", "m_9"], 9)
    await store.use(["m_1"], 7)

    assert await store.get(ANN, "m_1") == [replace(row, last_used=9)]
    assert len(await store.versions(ANN, "m_1")) == 1


async def test_a_census_counts_what_there_is_of_everybody(store: MemoryStore) -> None:
    """By type, status and quarantine; what is deleted is not there any more."""
    assert dict(await store.census()) == {}
    await remember(store, memory("m_1", "one", type="fact"), memory("m_2", "two", type="fact", user_id="bob"))
    await remember(store, memory("m_3", "三", type="preference", quarantined=True))
    await remember(store, memory("m_4", "four", type="fact", status="frozen"))

    census = await store.census()

    assert dict(census) == {
        ("fact", "active", False): 2,
        ("preference", "active", True): 1,
        ("fact", "frozen", False): 1,
    }
    assert all(type(quarantined) is bool for _, _, quarantined in census)
    (row,) = await store.get(ANN, "m_1")
    await store.write([became(row, "deleted")], most=MAX_MEMORIES)
    assert (await store.census())["fact", "active", False] == 1


async def test_the_state_changes_with_every_write_of_anybody(opens: MemoryFactory, tmp_path: Path) -> None:
    async with opens(tmp_path) as store, opens(tmp_path) as other:
        states = [await store.state()]
        assert await store.state() == states[0]
        await remember(store, memory("m_1"))
        states.append(await store.state())
        await remember(other, memory("m_2"))
        states.append(await store.state())
        await store.use(["m_1"], 9)
        states.append(await store.state())
        await store.list(ANN, limit=9)
        await store.match(ANN, ["fact"], Filter(), limit=9)
        assert await store.state() == states[-1]
        await store.put_profile(Profile("user", "ann", {}, 1, 1, "ann"))
        states.append(await store.state())
        await store.erase(ANN, "m_2")
        states.append(await store.state())

    assert len(set(states)) == len(states)


async def test_a_profile_has_versions_too(store: MemoryStore) -> None:
    assert await store.profile("user", "ann") is None
    first = Profile("user", "ann", {"语言": "中文", "tone": "plain"}, 1, 5, "ann")
    await store.put_profile(first)
    second = replace(first, fields={"语言": "English"}, version=2, actor="keeper")
    await store.put_profile(second)
    for stale in (first, second, replace(first, version=4)):
        with pytest.raises(MemoryChanged) as refused:
            await store.put_profile(stale)
        assert refused.value.details == {"id": "ann", "version": 2}

    assert await store.profile("user", "ann") == second
    assert await store.profile("household", "ann") is None
    with pytest.raises(MemoryChanged):
        await store.put_profile(replace(first, kind="household", version=2))

"""What storage owes about memories, their versions, their search and profiles."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.errors import DuplicateMemory, MemoryChanged, MemoryFull
from gateway.lexical import query_tokens
from gateway.storage.memories import (
    Change,
    Evidence,
    Filter,
    Link,
    MemoryRow,
    MemoryStore,
    Profile,
    Scope,
    Vector,
    Viewer,
    Whole,
)
from tests.storage.remembering import (
    ANN,
    MemoryFactory,
    became,
    document,
    memory,
    remember,
    sqlite_memories,
    step,
)

pytestmark = pytest.mark.anyio

RECALLABLE = Filter(recallable=True)
MOST = 10_000


@pytest.fixture(params=[sqlite_memories])
def opens(request: pytest.FixtureRequest) -> MemoryFactory:
    """Opens an engine in a folder; opening the same folder again finds what was there."""
    return request.param


@pytest.fixture
async def store(opens: MemoryFactory, tmp_path: Path, anyio_backend: str) -> AsyncGenerator[MemoryStore]:
    async with opens(tmp_path) as opened:
        yield opened


async def matched(
    store: MemoryStore, query: str, viewer: Viewer = ANN, which: Filter = RECALLABLE
) -> list[str]:
    found = await store.match(viewer, query_tokens(query), which, limit=50)
    return [match.row.id for match in found]


async def listed(store: MemoryStore, viewer: Viewer = ANN, which: Filter | None = None) -> list[str]:
    return [row.id for row in await store.list(viewer, which, limit=50)]


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
        await store.write([step(row, evidence=[quote], turn_id="t_1")], most=MOST)
    async with opens(tmp_path) as store:
        scope = Scope("ann", "other", "p")

        assert await store.get(scope, "m_1") == [row]
        assert await store.evidence("m_1") == [quote]
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
    await store.write([change], most=MOST)

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
    await store.write([second], most=MOST)
    for stale, version in (
        (became(row, content="another"), 2),
        (became(second.row, user_id="bob"), 2),
        (became(memory("m_9")), 0),
        (step(row), 2),
    ):
        with pytest.raises(MemoryChanged) as refused:
            await store.write([step(memory("m_2")), stale], most=MOST)
        assert refused.value.details == {"id": stale.row.id, "version": version}

    await store.write([became(second.row, "deleted")], most=MOST)
    with pytest.raises(MemoryChanged, match="deleted"):
        await store.write([became(replace(second.row, version=3))], most=MOST)
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
    await store.write([became(memory("m_1", "使用繁体字"), "frozen", status="frozen")], most=MOST)
    await remember(store, memory("m_6", "使用繁体字"))
    thawed = replace(memory("m_1", "使用繁体字"), version=2)
    with pytest.raises(DuplicateMemory):
        await store.write([became(thawed, "activated", status="active")], most=MOST)


async def test_a_key_makes_one_memory_also_when_that_is_deleted(store: MemoryStore) -> None:
    row = memory("m_1")
    await store.write([step(row, key="k")], most=MOST)
    for _ in range(2):
        with pytest.raises(DuplicateMemory) as refused:
            await store.write([step(memory("m_2", row.content), key="k")], most=MOST)
        assert refused.value.details == {"id": "m_1", "same": "key"}
        if await listed(store):
            await store.write([became(row, "deleted")], most=MOST)
    await store.write([step(memory("m_3", user_id="bob"), key="k")], most=MOST)


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
    await store.write([step(row, evidence=[Evidence("s", 1, "花生")])], most=MOST)
    await store.put_vectors("small", [Vector("m_1", row.digest, b"\0" * 8)])
    await store.write([became(row, "deleted", updated_at=9)], most=MOST)

    for viewer in (ANN, Whole("ann")):
        assert await store.get(viewer, "m_1") == []
        assert await listed(store, viewer) == []
        assert await store.count(viewer) == (0, 0)
        assert await matched(store, "花生 peanut", viewer, Filter()) == []
        assert await store.vectors(viewer, "small") == []
        assert await store.lacking(viewer, "small", limit=9) == []
        assert [each.operation for each in await store.versions(viewer, "m_1")] == ["remembered", "deleted"]
    await remember(store, memory("m_2", row.content))


async def test_what_is_erased_leaves_nothing_behind(store: MemoryStore) -> None:
    """Nor do others point to it any more. Only who sees a memory can erase it, deleted or not."""
    old, new, third = memory("m_1", superseded_by="m_2", status="replaced"), memory("m_2"), memory("m_3")
    links = [Link("m_2", "m_1", "merged_from"), Link("m_3", "m_2", "depends_on")]
    await store.write(
        [step(old), step(new, evidence=[Evidence("s", 1, "q")], links=links), step(third)], most=MOST
    )
    await store.put_vectors("small", [Vector("m_2", new.digest, b"\0" * 8)])
    assert await store.links("m_2") == links
    await store.write([became(new, "deleted")], most=MOST)

    assert not await store.erase(Scope("bob"), "m_2")
    assert not await store.erase(ANN, "m_9")
    assert await store.erase(ANN, "m_2")
    assert not await store.erase(ANN, "m_2")

    assert await store.versions(ANN, "m_2") == []
    assert await store.evidence("m_2") == []
    for memory_id in ("m_1", "m_2", "m_3"):
        assert await store.links(memory_id) == []
    assert (await store.get(ANN, "m_1"))[0].superseded_by is None
    await remember(store, memory("m_2"))


async def test_a_link_to_what_is_not_there_is_dropped_and_one_is_kept_once(store: MemoryStore) -> None:
    link = Link("m_1", "m_2", "depends_on")
    await store.write([step(memory("m_1"), links=[link, Link("m_1", "m_9", "depends_on")])], most=MOST)
    assert await store.links("m_1") == []

    await store.write([step(memory("m_2"), links=[link, link])], most=MOST)
    assert await store.links("m_2") == [link]


async def test_the_newest_come_first_page_by_page(store: MemoryStore) -> None:
    await remember(store, *(memory(f"m_{number}", updated_at=number // 2) for number in range(7)))
    seen: list[str] = []
    before = None
    while page := await store.list(ANN, limit=3, before=before):
        seen += [row.id for row in page]
        before = (page[-1].updated_at, page[-1].id)

    assert seen == [f"m_{number}" for number in reversed(range(7))]


async def test_a_filter_asks_for_all_it_names(store: MemoryStore) -> None:
    plain = memory("m_0", updated_at=1)
    rows = {
        "type": replace(memory("m_1"), type="risk"),
        "status": memory("m_2", status="frozen"),
        "owner": memory("m_3", owner_type="role", owner_id="writer", role_id="writer", visibility="private"),
        "tag": memory("m_4", tags=('a "quoted" one', "设计")),
        "since": memory("m_5", updated_at=100),
        "quarantined": memory("m_6", quarantined=True),
        "pinned": memory("m_7", pinned=True),
    }
    await remember(store, plain, *rows.values())
    asked = {
        "type": Filter(types=["risk", "constraint"]),
        "status": Filter(statuses=["frozen"]),
        "owner": Filter(owner_type="role"),
        "tag": Filter(tag="设计"),
        "since": Filter(since=100),
        "quarantined": Filter(quarantined=True),
        "pinned": Filter(pinned=True),
    }

    for name, which in asked.items():
        assert await listed(store, ANN, which) == [rows[name].id]
        assert await store.count(ANN, which) == (1, len(rows[name].content))
        assert await matched(store, "the fact", ANN, which) == [rows[name].id]
    assert await listed(store, ANN, Filter(tag='a "quoted" one')) == ["m_4"]
    assert await listed(store, ANN, Filter(tag="quoted")) == []
    assert await listed(store, ANN, Filter(tag="设计", pinned=True)) == []
    hidden = {rows["status"].id, rows["quarantined"].id}
    assert hidden.isdisjoint(await listed(store, ANN, RECALLABLE))
    assert len(await listed(store, ANN, RECALLABLE)) == 6


async def test_words_are_found_in_either_script_and_the_better_match_comes_first(store: MemoryStore) -> None:
    await remember(
        store,
        memory("m_1", "用户对花生过敏"),
        memory("m_2", "花生酱和果酱，还有花生糖"),
        memory("m_3", "Running shoes, size 42"),
        memory("m_4", "今天下雨"),
    )

    assert await matched(store, "花生過敏怎麼辦?") == ["m_1", "m_2"]
    assert await matched(store, "which shoe did I run in?") == ["m_3"]
    found = await store.match(ANN, ["花生", "雨"], RECALLABLE, limit=2)
    assert len(found) == 2
    assert found[0].score >= found[1].score > 0
    assert await store.match(ANN, [], RECALLABLE, limit=2) == ()


@pytest.mark.parametrize(
    "word", ['"', "a OR", "tea*", "words:tea", "NEAR(tea", "^tea", "\0tea", "\ud800", "-"]
)
async def test_what_is_no_word_finds_nothing_and_breaks_nothing(store: MemoryStore, word: str) -> None:
    await remember(store, memory("m_1", "likes tea"))

    assert await store.match(ANN, [word], RECALLABLE, limit=2) == ()
    assert [match.row.id for match in await store.match(ANN, [word, "tea"], RECALLABLE, limit=2)] == ["m_1"]


async def test_a_search_of_very_many_words_has_an_answer(store: MemoryStore) -> None:
    await remember(store, memory("m_1", "likes tea"))

    assert await matched(store, "tea " + " ".join(f"word{number}" for number in range(5000))) == ["m_1"]


async def test_of_a_document_and_a_memory_about_the_same_the_newer_is_recalled(store: MemoryStore) -> None:
    """A tie goes to the document. Where nobody recalls the one, the other is there."""
    about = {"type": "skill", "skill": "logo", "reference": None}
    row = memory("m_1", "a logo is blue", **about, updated_at=10)
    await remember(store, row)
    for updated_at, recalled in ((9, "m_1"), (10, "d_1"), (11, "d_1")):
        await store.put_documents([document("d_1", "a logo is red", **about, updated_at=updated_at)])
        assert await matched(store, "logo") == [recalled]
        assert await listed(store, ANN, RECALLABLE) == [recalled]
        assert (await store.count(ANN, RECALLABLE))[0] == 1
        assert [each.id for each in await store.lacking(ANN, "small", limit=9)] == [recalled]
    assert await matched(store, "logo", Scope("bob")) == ["d_1"]
    assert sorted(await matched(store, "logo", ANN, Filter())) == ["d_1", "m_1"]
    assert await matched(store, "logo", Whole("ann")) == ["m_1"]

    await store.write([became(row, "frozen", status="frozen", updated_at=99)], most=MOST)
    assert await matched(store, "logo") == ["d_1"]
    await store.put_documents([document("d_2", "a logo", **{**about, "reference": "r"}, updated_at=1)])
    assert await matched(store, "logo") == ["d_2"]


async def test_the_documents_are_those_that_were_put_last(store: MemoryStore) -> None:
    """One that stays keeps when it was last used; nothing is written when nothing changed."""
    first, second = document("d_1", "how to draw 画图"), document("d_2", "how to paint 画图")
    await store.put_documents([first, second])
    await store.use(["d_1"], 50)
    before = await store.state()
    await store.put_documents([second, first])
    assert await store.state() == before

    changed = document("d_1", "how to sketch 草稿", updated_at=60, last_used=2)
    await store.put_documents([changed])

    assert await store.get(ANN, "d_1", "d_2") == [replace(changed[0], last_used=50)]
    assert await matched(store, "画图") == []
    assert await matched(store, "草稿", Scope("bob")) == ["d_1"]
    assert await listed(store, Whole("ann")) == []
    assert not await store.erase(ANN, "d_1")
    await store.put_documents([])
    assert await listed(store) == []


async def test_documents_and_memories_do_not_take_each_others_place(store: MemoryStore) -> None:
    await remember(store, memory("m_1"))
    with pytest.raises(DuplicateMemory) as refused:
        await store.put_documents([document("d_1"), document("m_1")])
    assert refused.value.details == {"id": "m_1", "same": "id"}
    with pytest.raises(ValueError, match="document"):
        await remember(store, document("d_2")[0])
    with pytest.raises(ValueError, match="document"):
        await store.put_documents([(memory("m_2"), [])])

    assert await listed(store) == ["m_1"]


async def test_being_cited_renews_and_adds_no_version(store: MemoryStore) -> None:
    row = memory("m_1", last_used=5)
    await remember(store, row)
    await store.use(["m_1", "m_9"], 9)
    await store.use(["m_1"], 7)

    assert await store.get(ANN, "m_1") == [replace(row, last_used=9)]
    assert len(await store.versions(ANN, "m_1")) == 1


async def test_vectors_count_while_their_content_stays(store: MemoryStore) -> None:
    rows = [memory("m_1"), memory("m_2"), memory("m_3", status="frozen")]
    await remember(store, *rows)
    assert [row.id for row in await store.lacking(ANN, "small", limit=9)] == ["m_1", "m_2"]
    assert [row.id for row in await store.lacking(ANN, "small", limit=1)] == ["m_1"]
    made = [Vector(row.id, row.digest, bytes(8)) for row in rows]
    await store.put_vectors("small", [*made, Vector("m_9", "d", b""), Vector("m_2", "stale", b"x")])
    await store.put_vectors("small", [replace(made[0], data=b"\1" * 8)])

    assert await store.vectors(ANN, "small") == [replace(made[0], data=b"\1" * 8), made[1]]
    assert await store.vectors(ANN, "large") == []
    assert await store.lacking(ANN, "small", limit=9) == []
    await store.write([became(rows[0], content="something else")], most=MOST)
    assert await store.vectors(ANN, "small") == [made[1]]
    assert [row.id for row in await store.lacking(ANN, "small", limit=9)] == ["m_1"]


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
        await store.match(ANN, ["fact"], RECALLABLE, limit=9)
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


USERS = ("ann", "bob", "an\0n", "安")
OWNERS = ("home", "ann", "s", "p", "writer")

users = st.sampled_from(USERS)
roles = st.sampled_from([None, "", "writer", "作者"])
projects = st.sampled_from([None, "p", "项目"])
households = st.sampled_from(["home", "ann"])
scopes = st.builds(
    Scope,
    users,
    roles,
    projects,
    st.sampled_from([None, "s", "p"]),
    st.lists(households, max_size=2).map(tuple),
)
wholes = st.builds(Whole, users, st.lists(households, max_size=2).map(tuple))


@st.composite
def rows(draw: st.DrawFn) -> MemoryRow:
    owner_type = draw(st.sampled_from(["user", "role", "project", "session", "household", "group"]))
    visibility = draw(st.sampled_from(["private", "project", "global"]))
    return memory(
        draw(st.uuids()).hex,
        user_id=draw(users),
        owner_type=owner_type,
        owner_id=draw(st.sampled_from(OWNERS)),
        role_id=draw(roles),
        project_id=draw(projects),
        visibility=visibility,
        source=draw(st.sampled_from(["user", "document"])),
        status=draw(st.sampled_from(["active", "suppressed", "frozen"])),
        skill=draw(st.sampled_from([None, "logo"])),
        updated_at=draw(st.integers(1, 3)),
    )


def is_seen(row: MemoryRow, viewer: Viewer) -> bool:
    if isinstance(viewer, Scope):
        return row.audience in viewer.audiences
    if row.owner_type == "household":
        return row.source != "document" and row.owner_id in viewer.households
    return row.source != "document" and row.user_id == viewer.user_id


async def emptied(store: MemoryStore) -> None:
    await store.put_documents([])
    for user_id in USERS:
        whole = Whole(user_id, OWNERS)
        for row in await store.list(whole, limit=99):
            await store.erase(whole, row.id)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(rows(), min_size=1, max_size=12), st.lists(scopes | wholes, min_size=1, max_size=4))
async def test_nobody_is_shown_what_is_outside_of_their_audiences(
    store: MemoryStore, made: Sequence[MemoryRow], viewers: Sequence[Viewer]
) -> None:
    """Whatever is stored and whoever asks: list, get, count, match, versions, vectors, lacking and erase."""
    await emptied(store)
    runtime = [row for row in made if row.source != "document"]
    await store.write([Change(row, "remembered", "x", "y", ["fact"]) for row in runtime], most=MOST)
    await store.put_documents([(row, ["fact"]) for row in made if row.source == "document"])
    await store.put_vectors("small", [Vector(row.id, row.digest, b"") for row in made])

    for viewer in viewers:
        allowed = {row.id for row in made if is_seen(row, viewer)}
        recalled = {row.id for row in await store.list(viewer, RECALLABLE, limit=99)}
        found = await store.match(viewer, ["fact"], Filter(), limit=99)
        best = await store.match(viewer, ["fact"], RECALLABLE, limit=99)
        assert {row.id for row in await store.list(viewer, limit=99)} == allowed
        assert {row.id for row in await store.get(viewer, *(row.id for row in made))} == allowed
        assert (await store.count(viewer))[0] == len(allowed)
        assert {match.row.id for match in found} == allowed
        assert recalled <= {row.id for row in made if row.recallable} & allowed
        assert {match.row.id for match in best} == recalled
        assert {each.memory_id for each in await store.vectors(viewer, "small")} == recalled
        assert {row.id for row in await store.lacking(viewer, "large", limit=99)} == recalled
        for row in runtime:
            assert bool(await store.versions(viewer, row.id)) == (row.id in allowed)
    for row in made:
        assert await store.erase(viewers[0], row.id) == (row in runtime and is_seen(row, viewers[0]))

"""What storage owes to those who look for memories: filters, words, documents, vectors; none of others."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.errors import DuplicateMemory
from gateway.memory.passages import passages
from gateway.storage.memories import (
    AllScopes,
    Change,
    Filter,
    Indexed,
    MemoryRow,
    Scope,
    Vector,
    Viewer,
)
from gateway.storage.memories.encrypted_memories import EncryptedMemories
from gateway.storage.memories.store import MemoryStore
from tests.storage.remembering import (
    ANN,
    RECALLABLE,
    became,
    document,
    listed,
    matched,
    memory,
    remember,
    step,
)

pytestmark = pytest.mark.anyio


MAX_MEMORIES = 10_000
FACT = [Indexed(["fact"])]


async def test_the_newest_come_first_page_by_page(store: MemoryStore) -> None:
    await remember(store, *(memory(f"m_{number}", updated_at=number // 2) for number in range(7)))
    seen: list[str] = []
    before = None
    while page := await store.list(ANN, limit=3, before=before):
        seen += [row.id for row in page]
        before = (page[-1].updated_at, page[-1].id)

    assert seen == [f"m_{number}" for number in reversed(range(7))]


async def test_parts_of_words_are_found_whatever_the_capitals(store: MemoryStore) -> None:
    """In the content or the tags, one of them being enough."""
    await remember(
        store,
        memory("m_0", content="The SmartBulb in the hall", updated_at=1),
        memory("m_1", content="A lamp 灯", tags=("LightBulb",), updated_at=2),
        memory("m_2", content="Two cats and half of a dog", updated_at=3),
    )
    for parts, found in ((["bulb"], ["m_1", "m_0"]), (["hall", "cats"], ["m_2", "m_0"]), (["bulbs"], [])):
        matches = await store.containing(ANN, parts, RECALLABLE, limit=5)
        assert [match.row.id for match in matches] == found


async def test_the_weightiest_come_first(store: MemoryStore) -> None:
    """Pinned ones, then by importance, then those that were used last; the lightest the other way round."""
    weights = [(False, 1, 5), (True, 1, 1), (False, 5, 1), (False, 5, 2), (True, 2, 1), (False, 1, 4)]
    await remember(
        store,
        *(
            memory(f"m_{number}", pinned=pinned, importance=importance, last_used=used, updated_at=number)
            for number, (pinned, importance, used) in enumerate(weights)
        ),
        memory("m_frozen", status="frozen", importance=5, pinned=True),
        memory("m_bob", user_id="bob", pinned=True),
    )
    order = ["m_4", "m_1", "m_3", "m_2", "m_0", "m_5"]

    assert [row.id for row in await store.weighed(ANN, RECALLABLE, limit=9)] == order
    assert [row.id for row in await store.weighed(ANN, RECALLABLE, limit=4, lightest=True)] == order[:-5:-1]
    assert [row.id for row in await store.weighed(Scope("bob"), limit=9)] == ["m_bob"]


async def test_what_a_viewer_may_not_see_hides_nothing_from_them(store: MemoryStore) -> None:
    """However many memories of the same user in another role, or of another type or state, have the words."""
    words = "计费页面 billing blue button page dashboard ticket"
    there = {"visibility": "private", "role_id": "support"}
    await remember(
        store,
        *(memory(f"s_{number}", f"{number}: {words}", **there) for number in range(600)),
        *(memory(f"w_{number}", f"w {number}: {words}", status="frozen") for number in range(600)),
    )
    mine = memory("m_1", "the dashboard ticket 页面 is Bob's", visibility="private", role_id="writer")
    await remember(store, mine, memory("m_2", "a dashboard for tickets", type="risk"))

    assert await matched(store, words) == ["m_1", "m_2"]
    assert await matched(store, words, ANN, Filter(types=["risk"])) == ["m_2"]
    assert await matched(store, "dashboard", Scope("ann", "cook")) == ["m_2"]
    assert len(await matched(store, words, AllScopes("ann"))) == 50
    assert set(await matched(store, "Bob's dashboard", AllScopes("ann"))) > {"m_1"}


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
        assert await store.count(ANN, which) == 1
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


async def test_a_memory_is_there_with_the_passage_that_is_asked_for(store: MemoryStore) -> None:
    """For those who see it; one that is short, or that was not indexed by passages, has none."""
    content = "\n\n".join(f"Chapter {number} is about rain. " * 60 for number in range(4))
    await remember(store, memory("m_1", "likes tea"), memory("m_2", content))
    wanted = {"m_2": 3, "m_1": 0, "m_3": 1}

    long, short = await store.located(ANN, wanted)
    assert [long.row, short.row] == await store.get(ANN, "m_2", "m_1")
    assert (long.passage, short.passage) == (passages(content)[2], None)
    assert [match.passage for match in await store.located(ANN, {"m_1": 1, "m_2": 0})] == [None, None]
    assert await store.located(Scope("bob"), wanted) == await store.located(ANN, {}) == []


async def test_any_number_of_memories_is_read_by_their_ids(store: MemoryStore) -> None:
    """A statement has not room for so many parameters."""
    rows = [memory("m_1", "likes tea"), memory("m_2", "likes rain")]
    await store.write([step(row, turn_id="t_1") for row in rows], most=10)
    ids = ["m_2", *(f"m_none_{number}" for number in range(300_000)), "m_1"]

    assert [row.id for row in await store.get(ANN, *ids)] == ["m_2", "m_1"]
    assert await store.last_turns(ANN, *ids) == {"m_1": "t_1", "m_2": "t_1"}


async def test_of_a_document_and_a_memory_about_the_same_the_newer_is_recalled(store: MemoryStore) -> None:
    """A tie goes to the document. Where nobody recalls the one, the other is there."""
    about = {"type": "skill", "skill": "logo", "reference": None}
    row = memory("m_1", "a logo is blue", **about, updated_at=10)
    await remember(store, row)
    for updated_at, recalled in ((9, "m_1"), (10, "d_1"), (11, "d_1")):
        await store.put_documents([document("d_1", "a logo is red", **about, updated_at=updated_at)])
        assert await matched(store, "logo") == [recalled]
        assert await listed(store, ANN, RECALLABLE) == [recalled]
        assert await store.count(ANN, RECALLABLE) == 1
        assert [each.id for each in await store.missing_vectors(ANN, "small", limit=9)] == [recalled]
    assert await matched(store, "logo", Scope("bob")) == ["d_1"]
    assert sorted(await matched(store, "logo", ANN, Filter())) == ["d_1", "m_1"]
    assert await matched(store, "logo", AllScopes("ann")) == ["m_1"]

    await store.write([became(row, "frozen", status="frozen", updated_at=99)], most=MAX_MEMORIES)
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
    assert await listed(store, AllScopes("ann")) == []
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


async def test_vectors_count_while_their_content_stays(store: MemoryStore) -> None:
    rows = [memory("m_1"), memory("m_2"), memory("m_3", status="frozen")]
    await remember(store, *rows)
    assert [row.id for row in await store.missing_vectors(ANN, "small", limit=9)] == ["m_1", "m_2"]
    assert [row.id for row in await store.missing_vectors(ANN, "small", limit=1)] == ["m_1"]
    made = [Vector(row.id, row.digest, bytes(8)) for row in rows]
    await store.put_vectors("small", [*made, Vector("m_9", "d", b""), Vector("m_2", "stale", b"x")])
    await store.put_vectors("small", [replace(made[0], data=b"\1" * 8)])

    assert await store.vectors(ANN, "small") == [replace(made[0], data=b"\1" * 8), made[1]]
    assert await store.vectors(ANN, "large") == []
    assert await store.missing_vectors(ANN, "small", limit=9) == []
    await store.write([became(rows[0], content="something else")], most=MAX_MEMORIES)
    assert await store.vectors(ANN, "small") == [made[1]]
    assert [row.id for row in await store.missing_vectors(ANN, "small", limit=9)] == ["m_1"]


USERS = ("ann", "bob", "an\1n", "安")
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
    st.sampled_from([None, *OWNERS]),
    st.sampled_from([None, *OWNERS]),
)
wholes = st.builds(AllScopes, users, st.lists(households, max_size=2).map(tuple))


@st.composite
def rows(draw: st.DrawFn) -> MemoryRow:
    owner_type = draw(st.sampled_from(["user", "role", "project", "session", "household", "task", "group"]))
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
        named = {"task": viewer.task_id, "group": viewer.group_id}.get(row.owner_type)
        return row.audience in viewer.audiences and named in {None, row.owner_id}
    if row.owner_type == "household":
        return row.source != "document" and row.owner_id in viewer.households
    return row.source != "document" and row.user_id == viewer.user_id


async def emptied(store: MemoryStore) -> None:
    await store.put_documents([])
    for user_id in USERS:
        whole = AllScopes(user_id, OWNERS)
        for row in await store.list(whole, limit=99):
            await store.erase(whole, row.id)


@settings(max_examples=40)
@given(st.lists(rows(), min_size=1, max_size=12), st.lists(scopes | wholes, min_size=1, max_size=4))
async def test_nobody_is_shown_what_is_outside_of_their_audiences(
    store: MemoryStore, made: Sequence[MemoryRow], viewers: Sequence[Viewer]
) -> None:
    """Whatever is stored and whoever asks: list, get, count, match, versions, vectors, lacking and erase."""
    await emptied(store)
    runtime = [row for row in made if row.source != "document"]
    await store.write([Change(row, "remembered", "x", "y", FACT) for row in runtime], most=MAX_MEMORIES)
    await store.put_documents([(row, FACT) for row in made if row.source == "document"])
    await store.put_vectors("small", [Vector(row.id, row.digest, b"") for row in made])

    for viewer in viewers:
        allowed = {row.id for row in made if is_seen(row, viewer)}
        recalled = {row.id for row in await store.list(viewer, RECALLABLE, limit=99)}
        found = await store.match(viewer, ["fact"], Filter(), limit=99)
        best = await store.match(viewer, ["fact"], RECALLABLE, limit=99)
        assert {row.id for row in await store.list(viewer, limit=99)} == allowed
        assert {row.id for row in await store.get(viewer, *(row.id for row in made))} == allowed
        assert await store.count(viewer) == len(allowed)
        assert {match.row.id for match in found} == allowed
        assert recalled <= {row.id for row in made if row.recallable} & allowed
        assert {match.row.id for match in best} == recalled
        assert {each.memory_id for each in await store.vectors(viewer, "small")} == recalled
        assert {row.id for row in await store.missing_vectors(viewer, "large", limit=99)} == recalled
        for row in runtime:
            assert bool(await store.versions(viewer, row.id)) == (row.id in allowed)
    for row in made:
        assert await store.erase(viewers[0], row.id) == (row in runtime and is_seen(row, viewers[0]))


async def test_words_are_completed_from_what_the_viewer_sees(store: MemoryStore) -> None:
    """The commonest first; none of somebody else's, and none of what is encrypted."""
    await remember(
        store,
        memory("m_0", content="kube and kubernetes"),
        memory("m_1", content="a kube"),
        memory("m_2", content="kubeflow", user_id="bob", owner_id="bob"),
    )

    words = [] if isinstance(store, EncryptedMemories) else ["kube", "kubernet", "kubernetes"]
    assert await store.completions(ANN, "kub", RECALLABLE, most=9) == words
    assert await store.completions(ANN, "kub", RECALLABLE, most=1) == words[:1]
    assert await store.completions(ANN, "kuberx", RECALLABLE, most=9) == []
    assert await store.completions(ANN, 'K*"', RECALLABLE, most=9) == []

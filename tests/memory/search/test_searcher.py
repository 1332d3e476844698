"""Finding memories, by words and by meaning, in a real store."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.memory.changes import Attribution
from gateway.memory.memories import Memories
from gateway.memory.search.embeddings import Embeddings
from gateway.memory.search.query import MemoryQuery, SearchResult
from gateway.memory.search.searcher import Searcher
from gateway.memory.validation import indexed
from gateway.storage.memories import Change
from gateway.storage.memories.store import MemoryStore
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase
from tests.loopback import TIMEOUT
from tests.memory.search.embedding import embedding
from tests.memory.search.saving import ANN, DAY, made, put, save
from tests.memory.search.vector_server import Fault, VectorServer
from tests.product import AllScopes, Scope, StorageError, now_ms

pytestmark = pytest.mark.anyio

GRAMMAR = (
    '"',
    "'",
    "*",
    "NEAR(",
    ")",
    "-",
    "^",
    ":",
    "AND",
    "OR",
    "NOT",
    "words:",
    "{a b}",
    "风格",
    "猫",
    "\0",
    "\\",
)
USERS = (
    ANN,
    Scope("ann", role_id="designer"),
    Scope("ann", role_id="lawyer", project_id="p1"),
    Scope("bob"),
    Scope("bob", role_id="designer", project_id="p1"),
    Scope("ann", session_id="s1", households=("home",)),
    AllScopes("ann"),
)


def ids(found: SearchResult) -> list[str]:
    return [hit.row.id for hit in found.hits]


@pytest.fixture
async def both(store: MemoryStore, server: VectorServer) -> AsyncGenerator[Searcher]:
    """A searcher with a working embeddings API, over memories that have their vectors soon."""
    searcher = Searcher(store, Embeddings(server.url, "m", timeout=TIMEOUT))
    async with embedding(searcher):
        yield searcher
    await searcher.close()


@settings(max_examples=150)
@given(st.one_of(st.text(max_size=200), st.lists(st.sampled_from(GRAMMAR), max_size=12).map(" ".join)))
async def test_any_text_is_a_good_query(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Operators, quotes and control characters of a full text index are nothing but text."""
    async with await SqliteMemoryDatabase.open(tmp_path_factory.getbasetemp() / "any.db") as database:
        found = await Searcher(MemoryStore(database)).find(ANN, MemoryQuery(text))

    assert not found.degraded
    assert found.omitted == 0


async def test_what_looks_like_an_operator_finds_what_has_it_as_a_word(store: MemoryStore) -> None:
    wanted = await save(store, "The band NEAR and NOT plays at 8")
    await save(store, "Something else entirely")
    searcher = Searcher(store)

    for text in ('"NEAR"', "NEAR(NOT)", "near* AND band*", 'band" OR "x'):
        assert ids(await searcher.find(ANN, MemoryQuery(text))) == [wanted]


@pytest.mark.parametrize("text", ["", "   ", "？！…", "\0\0", "🙂"])
async def test_a_text_without_words_finds_nothing(store: MemoryStore, text: str) -> None:
    await save(store, "喜欢简约的设计风格 🙂")

    found = await Searcher(store).find(ANN, MemoryQuery(text))

    assert replace(found, duration_ms=0) == SearchResult([], [])


async def test_a_megabyte_is_a_good_query(store: MemoryStore) -> None:
    """What stands at its end is looked for."""
    wanted = await save(store, "讨厌蓝绿色的按钮")

    assert ids(await Searcher(store).find(ANN, MemoryQuery("日志 " * 400_000 + "按钮用什么颜色"))) == [wanted]


async def test_nobody_finds_what_is_not_theirs_to_see(store: MemoryStore) -> None:
    """Two users, their roles, projects, sessions and households: each finds exactly what the one rule of
    audiences lets them see."""
    homes = [scope for scope in USERS if isinstance(scope, Scope)]
    kinds = ("user", "role", "project", "session", "household")
    rows = [
        made(f"喜欢茉莉花茶 {number}{kind}", scope, owner_type=kind)
        for number, scope in enumerate(homes)
        for kind in kinds
        if kind == "user" or getattr(scope, {"household": "households"}.get(kind, f"{kind}_id"))
    ]
    await put(store, *rows)
    searcher = Searcher(store)

    for viewer in USERS:
        found = await searcher.find(viewer, MemoryQuery("茉莉花茶", budget_tokens=100_000, limit=100))
        seen = {*ids(found), *(each.id for each in found.omissions)}
        if isinstance(viewer, Scope):
            assert seen == {row.id for row in rows if row.audience in viewer.audiences}
        else:
            assert seen == {row.id for row in rows if row.user_id == "ann" and row.owner_type != "household"}


async def test_types_and_time_are_asked_before_the_ranking(store: MemoryStore) -> None:
    """However many better ones of another type or time there are."""
    await put(store, *(made(f"茶 {number}", type="fact") for number in range(80)))
    old = await save(store, "关于喝茶的很长的一段偏好，其中也说到咖啡", type="preference", days=20)
    new = await save(store, "下午两点以后喝茶会睡不着，只喝白水", type="preference")
    searcher = Searcher(store)

    assert set(ids(await searcher.find(ANN, MemoryQuery("茶", types=["preference"])))) == {old, new}
    recent = MemoryQuery("茶", types=["preference"], since=now_ms() - 7 * DAY)
    assert ids(await searcher.find(ANN, recent)) == [new]


async def test_a_doubtful_memory_comes_last_and_others_not_at_all(store: MemoryStore) -> None:
    """Suppressed: behind; frozen, replaced or in quarantine: not recalled."""
    doubtful = await save(store, "咖啡要深烘的", status="suppressed")
    certain = await save(store, "同事也说过一次，他好像更喜欢咖啡而不是茶")
    await save(store, "咖啡要浅烘的", status="frozen")
    await save(store, "咖啡要冰的", status="replaced")
    await save(store, "咖啡对身体不好", quarantined=True)

    assert ids(await Searcher(store).find(ANN, MemoryQuery("咖啡"))) == [certain, doubtful]


async def test_forgotten_is_forgotten(store: MemoryStore, both: Searcher) -> None:
    """By words and by meaning."""
    memory_id = await save(store, "家里的猫叫芝麻")
    assert both.embedding
    both.embedding.enqueue(ANN)
    await both.embedding.settled()
    assert ids(await both.find(ANN, MemoryQuery("宠物"))) == [memory_id]

    await Memories(store, most=10).delete(ANN, memory_id, Attribution("ann", "gone"))

    assert ids(await both.find(ANN, MemoryQuery("宠物"))) == []
    assert ids(await both.find(ANN, MemoryQuery("猫"))) == []


async def test_the_budget_is_of_tokens(store: MemoryStore) -> None:
    """What no longer fits is counted, and named with the reason."""
    for number in range(30):
        await save(store, f"第{number}次讨论预算时的结论是{'甲乙丙丁戊己庚辛'[number % 8]}方案{number * 37}")
    found = await Searcher(store).find(ANN, MemoryQuery("讨论预算的结论", budget_tokens=200))

    assert 0 < found.tokens <= 200
    assert len(found.hits) + found.omitted == 30
    assert {each.reason for each in found.omissions} == {"budget"}
    assert all(one.score >= other.score for one, other in pairwise(found.hits))


async def test_either_way_of_finding_is_enough(store: MemoryStore, both: Searcher) -> None:
    """A memory without a word of the question is found by its meaning, one without its meaning by a word,
    and what both find comes first."""
    by_meaning = await save(store, "家里养了一只猫，叫芝麻")
    by_word = await save(store, "PAY-2187 是宠物店的退款单号")
    by_both = await save(store, "宠物不能上沙发")
    await put(
        store, *(made(f"无关的事 {number}：{'晴雨雪风雾霜'[number % 6]}天的记录") for number in range(30))
    )
    assert both.embedding
    both.embedding.enqueue(ANN)
    await both.embedding.settled()

    found = await both.find(ANN, MemoryQuery("宠物"))
    ranks = {hit.row.id: (hit.lexical_rank, hit.vector_rank) for hit in found.hits}

    assert found.hits[0].row.id in {by_word, by_both}
    assert ranks[by_meaning][0] is None
    assert ranks[by_meaning][1] is not None
    assert ranks[by_both][0] is not None
    assert {by_meaning, by_word, by_both} == set(ranks)
    number = await both.find(ANN, MemoryQuery("PAY-2187"))
    assert (number.hits[0].row.id, number.hits[0].lexical_rank) == (by_word, 1)


async def test_what_has_to_answer_plainly_is_found_by_its_words(store: MemoryStore, both: Searcher) -> None:
    """What is nearest by meaning may be far: alone it answers nothing plainly."""
    await save(store, "家里养了一只猫，叫芝麻")
    by_word = await save(store, "宠物医院周三休息")
    assert both.embedding
    both.embedding.enqueue(ANN)
    await both.embedding.settled()

    assert len(ids(await both.find(ANN, MemoryQuery("宠物")))) == 2
    assert ids(await both.find(ANN, MemoryQuery("宠物", plainly=True))) == [by_word]


@pytest.mark.parametrize("fault", get_args(Fault))
async def test_whatever_the_api_does_words_still_find(
    store: MemoryStore, server: VectorServer, fault: Fault
) -> None:
    """The result is that of a search by words, and says that it is less than it should be."""
    memory_id = await save(store, "喜欢简约的设计风格")
    working = Searcher(store, Embeddings(server.url, "m", timeout=TIMEOUT))
    async with embedding(working):
        await working.find(ANN, MemoryQuery("风格"))
        assert working.embedding
        await working.embedding.settled()
    server.fault = fault
    searcher = Searcher(store, Embeddings(server.url, "m", timeout=0.05 if fault == "silence" else TIMEOUT))
    found = await searcher.find(ANN, MemoryQuery("设计风格"))
    plain = await Searcher(store).find(ANN, MemoryQuery("设计风格"))
    await searcher.close()
    await working.close()

    assert found.degraded
    assert ids(found) == ids(plain) == [memory_id]


async def test_an_api_that_fails_is_not_waited_for_again(store: MemoryStore, server: VectorServer) -> None:
    """The next searches do not even ask, and are degraded too."""
    searcher = Searcher(store, Embeddings(server.url, "m", timeout=TIMEOUT))
    server.fault = "500"
    results = [await searcher.find(ANN, MemoryQuery("风格")) for _ in range(5)]
    await searcher.close()

    assert [found.degraded for found in results] == [True] * 5
    assert len(server.asked) == 1


async def test_without_an_api_nothing_is_degraded(store: MemoryStore) -> None:
    assert not (await Searcher(store).find(ANN, MemoryQuery("风格"))).degraded
    assert Searcher(store).embedding is None


async def test_meaning_does_not_reach_what_is_filtered_out(store: MemoryStore, both: Searcher) -> None:
    """Types, time and who may see it hold for what is found by meaning."""
    fact = await save(store, "家里的猫怕打雷", type="fact")
    await save(store, "喜欢短毛的猫", type="preference")
    await save(store, "有一只老猫", type="fact", days=20)
    await save(store, "鲍勃的猫", Scope("bob"), type="fact")
    assert both.embedding
    for viewer in (ANN, Scope("bob")):
        both.embedding.enqueue(viewer)
    await both.embedding.settled()

    found = await both.find(ANN, MemoryQuery("pet", types=["fact"], since=now_ms() - 7 * DAY))

    assert ids(found) == [fact]
    assert found.hits[0].lexical_rank is None


async def test_nearer_ones_of_another_type_do_not_stand_in_the_way(
    store: MemoryStore, both: Searcher
) -> None:
    """However many there are."""
    await put(store, *(made(f"猫的第{number}件小事", type="event") for number in range(120)))
    await put(store, *(made(f"别的事情 {number} 与此无关", type="event") for number in range(250)))
    wanted = await save(store, "猫和狗都怕打雷", type="constraint")
    assert both.embedding
    both.embedding.enqueue(ANN)
    await both.embedding.settled()

    assert ids(await both.find(ANN, MemoryQuery("pet", types=["constraint"]))) == [wanted]


async def test_a_failure_of_the_store_is_not_hidden(tmp_path: Path, server: VectorServer) -> None:
    """An embeddings API that fails is no reason to fail; a database that does is."""
    async with await SqliteMemoryDatabase.open(tmp_path / "closed.db") as database:
        searcher = Searcher(MemoryStore(database), Embeddings(server.url, "m", timeout=TIMEOUT))
    with pytest.raises(StorageError):
        await searcher.find(ANN, MemoryQuery("风格"))
    await searcher.close()


ENGLISH_HANDBOOK = "\n\n".join(
    [
        "# Lighthouse",
        "## Lamp",
        "The keeper wipes the lens with vinegar after each storm. " * 30,
        "## Fog signal",
        "The horn sounds twice a minute as long as the far shore cannot be seen. " * 30,
        "Its compressor is drained every Sunday by whoever has the night watch. " * 30,
        "## Boats",
        "Visitors moor at the northern jetty, where the rings are new. " * 30,
    ]
)
CHINESE_HANDBOOK = "\n\n".join(
    [
        "# 灯塔",
        "## 灯",
        "每次风暴之后，守塔人用醋擦拭透镜。" * 30,
        "## 雾号",
        "看不见对岸的时候，号角每分钟响两次。" * 30,
        "压缩机每个星期天由值夜班的人排水。" * 30,
        "## 船只",
        "访客的船停在北边的码头，那里的铁环是新的。" * 30,
    ]
)


@pytest.mark.parametrize(
    ("content", "question", "answer", "heading"),
    [
        (ENGLISH_HANDBOOK, "who drains the compressor?", "compressor is drained every Sunday", "Fog signal"),
        (ENGLISH_HANDBOOK, "Where do visitors moor?", "northern jetty", "Boats"),
        (ENGLISH_HANDBOOK, "what does the fog signal do?", "horn sounds twice", "Fog signal"),
        (CHINESE_HANDBOOK, "压缩机由谁排水？", "压缩机每个星期天", "雾号"),
        (CHINESE_HANDBOOK, "訪客的船停在哪裡？", "北边的码头", "船只"),
        (CHINESE_HANDBOOK, "霧號什麼時候響？", "号角每分钟响两次", "雾号"),
    ],
)
async def test_the_passage_of_a_long_memory_that_answers_is_found(
    store: MemoryStore, content: str, question: str, answer: str, heading: str
) -> None:
    """By its words and its headings, in either language and script, wherever it stands, beside others of the
    same subject."""
    memory_id = await save(store, content)
    await save(store, "The lighthouse was painted in spring. 灯塔春天刷了漆。")
    found = await Searcher(store).find(ANN, MemoryQuery(question))

    (hit,) = [hit for hit in found.hits if hit.row.id == memory_id]
    assert (hit.form, hit.passage and hit.passage.headings[-1]) == ("passage", heading)
    assert hit.passage is not None
    assert answer in content[hit.passage.begin : hit.passage.end]


async def test_what_a_long_memory_says_no_more_is_not_found(store: MemoryStore) -> None:
    """Changed, it is found by its new passages alone; erased, by none."""
    row = made(ENGLISH_HANDBOOK)
    await put(store, row)
    shorter = replace(row, content="The lighthouse is dark.", version=2)
    change = Change(shorter, "updated", "ann", "said so", indexed(shorter))
    await store.write([change], most=10)

    async def found(question: str) -> list[str]:
        return ids(await Searcher(store).find(ANN, MemoryQuery(question)))

    assert (await found("northern jetty"), await found("lighthouse")) == ([], [row.id])
    assert await store.erase(ANN, row.id)
    assert await found("lighthouse") == []


async def test_the_passage_of_a_long_memory_that_means_it_is_found(
    store: MemoryStore, server: VectorServer, both: Searcher
) -> None:
    """Each passage has a vector of its own; what a word points to is the passage with the better place."""
    days = [f"Day {number}: rain. " * 70 for number in range(5)]
    cat, piano = "The kitten sleeps on the oven.", "## Evening\n\nSomebody plays the piano."
    memory_id = await save(store, "\n\n".join(["# Diary", *days, cat, *days[:1], piano]))
    await put(
        store, *(made(f"无关的事 {number}：{'晴雨雪风雾霜'[number % 6]}天的记录") for number in range(30))
    )
    assert both.embedding
    both.embedding.enqueue(ANN)
    await both.embedding.settled()

    async def passage(question: str) -> str:
        found = await both.find(ANN, MemoryQuery(question))
        (hit,) = [hit for hit in found.hits if hit.row.id == memory_id]
        assert hit.passage is not None
        return hit.row.content[hit.passage.begin : hit.passage.end]

    assert "kitten" in await passage("宠物")
    assert "piano" in await passage("音乐")
    assert "Day 3" in await passage("Day 3")
    assert any(text.startswith("Diary\nEvening\n") for text in server.texts)
    assert max(map(len, server.texts)) < 2_000

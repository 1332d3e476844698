"""Two rankings made one, and what is selected of it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.memory.passages import passages
from gateway.memory.search.query import Hit, MemoryQuery, Mode, Rendering, known_key
from gateway.memory.search.ranking import (
    MIN_FRESHNESS,
    freshness,
    fuse,
    rendered_tokens,
    select,
)
from gateway.memory.search.relevance import MAX_WORDS, filter_relevant, query_terms
from gateway.storage.memories import Match
from tests.memory.search.saving import DAY, made
from tests.product import MemoryRow, now_ms

ROWS = [
    made(text) for text in ("紫色的围巾", "plain coffee", "周五不上线", "nylon guitar", "四百页的书", "x")
]
SOME = st.lists(st.sampled_from(ROWS), unique_by=lambda row: row.id)


def fused(lexical: Sequence[MemoryRow], vector: Sequence[MemoryRow], at: int) -> list[Hit]:
    rankings = [[Match(row, 0.0) for row in rows] for rows in (lexical, vector)]
    return fuse(rankings[0], rankings[1], MemoryQuery(""), at)


def ids(rows: Sequence[MemoryRow]) -> list[str]:
    return [row.id for row in rows]


@given(SOME, SOME)
def test_no_ranking_can_keep_out_what_the_other_found(
    lexical: list[MemoryRow], vector: list[MemoryRow]
) -> None:
    """All of both are there once, each with its ranks, the best first."""
    hits = fused(lexical, vector, now_ms())

    assert sorted(hit.row.id for hit in hits) == sorted({*ids(lexical), *ids(vector)})
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert hit.lexical_rank == (ids(lexical).index(hit.row.id) + 1 if hit.row in lexical else None)
        assert hit.vector_rank == (ids(vector).index(hit.row.id) + 1 if hit.row in vector else None)


@given(SOME)
def test_equal_memories_keep_the_order_of_a_single_ranking(lexical: list[MemoryRow]) -> None:
    at = now_ms()
    same = [replace(row, last_used=at) for row in lexical]

    assert [hit.row.id for hit in fused(same, (), at)] == ids(same)


def test_what_both_rankings_found_comes_first() -> None:
    one, two, three = ROWS[:3]

    assert fused([one, two], [two, three], now_ms())[0].row is two


def test_importance_freshness_and_doubt_weigh() -> None:
    """Of memories at the same place, the important, the fresh and the undoubted score higher."""
    row, at = ROWS[0], now_ms()

    def score(**changed: object) -> float:
        return fused([replace(row, **changed)], (), at)[0].score

    assert score(importance=5) > score(importance=3) > score(importance=1)
    assert score(last_used=at) > score(last_used=at - 30 * DAY) > score(last_used=at - 90 * DAY)
    assert score(status="suppressed") < 0.31 * score()


def test_freshness_falls_two_percent_a_day_to_a_tenth() -> None:
    row, at = ROWS[0], now_ms()

    def after(days: float) -> float:
        return freshness(replace(row, last_used=at - round(days * DAY)), at)

    assert after(0) == after(-3) == 1
    assert round(after(1), 6) == 0.98
    assert round(after(10), 6) == round(0.98**10, 6)
    assert after(114) > MIN_FRESHNESS * 0.99
    assert after(400) == after(4000) == MIN_FRESHNESS


def chosen(rows: Sequence[MemoryRow], *, budget_tokens: int = 1000, limit: int = 20):
    hits = [Hit(row, 1.0, number, None, 1.0) for number, row in enumerate(rows, 1)]
    return select(hits, MemoryQuery("", limit=limit, budget_tokens=budget_tokens, mode="catalog"))


@given(st.lists(st.sampled_from(ROWS), unique_by=lambda row: row.id), st.integers(0, 200), st.integers(0, 6))
def test_the_selection_fits_the_budget_and_the_rest_is_named(
    rows: list[MemoryRow], budget: int, limit: int
) -> None:
    hits, omissions, spent = chosen(rows, budget_tokens=budget, limit=limit)

    assert spent == sum(rendered_tokens(hit) for hit in hits) <= budget
    assert len(hits) <= limit
    assert [hit.row.id for hit in hits] + [each.id for each in omissions] != [] or not rows
    assert {hit.row.id for hit in hits} | {each.id for each in omissions} == set(ids(rows))


def test_a_smaller_memory_may_take_the_room_that_a_large_one_does_not_fit_in() -> None:
    large, small = made("很长的一条记忆。" * 100, summary="很长" * 100), ROWS[5]

    hits, omissions, _ = chosen([large, small], budget_tokens=60)

    assert [hit.row.id for hit in hits] == [small.id]
    assert [(each.id, each.reason) for each in omissions] == [(large.id, "budget")]


def long_hit(content: str, number: int = 2) -> Hit:
    row = made(content)
    return Hit(row, 1.0, 1, None, 1.0, passage=passages(content)[number - 1])


def test_of_a_long_memory_the_passage_is_shown_that_fits() -> None:
    """In either mode, but for a budget of which the whole takes a part only; without room for it the summary,
    with the reason."""
    hit = long_hit("Ferry handbook. " + "The crew counts the lifebelts. " * 200)
    line = rendered_tokens(replace(hit, form="summary"))

    def forms(budget: int, mode: Mode) -> tuple[list[Rendering], list[str]]:
        hits, omissions, spent = select([hit], MemoryQuery("", limit=9, budget_tokens=budget, mode=mode))
        assert spent <= budget
        return [each.form for each in hits], [each.reason for each in omissions]

    assert forms(1000, "catalog") == (["passage"], [])
    assert forms(1000, "details") == (["passage"], [])
    assert forms(10_000, "details") == (["full"], [])
    assert forms(line, "catalog") == forms(line, "details") == (["summary"], ["too_long"])
    assert forms(line - 1, "catalog") == ([], ["budget"])


def test_long_memories_leave_room_for_the_others() -> None:
    """However many come before them; and their lines have room beside those of the others."""
    long = [
        long_hit(f"Handbook of pier {number}. " + f"Pier {number} is swept in week {number}. " * 99)
        for number in range(1, 5)
    ]
    short = [Hit(made(f"Ada owns boat {number}"), 1.0, 9, None, 1.0) for number in range(5)]

    query = MemoryQuery("", limit=20, budget_tokens=1000, line_tokens=400)
    hits, omissions, spent = select([*long, *short], query)

    assert spent <= 1000
    assert [hit.form for hit in hits].count("passage") == 2
    assert {hit.row.id for hit in short} <= {hit.row.id for hit in hits}
    assert {each.reason for each in omissions} <= {"too_long", "budget"}


def test_a_memory_that_its_summary_cuts_is_shown_whole_where_there_is_room() -> None:
    """Also where summaries are asked for: what answers may stand in what is left out."""
    row = made("The ferry leaves at six. " + "Bicycles travel on the lower deck. " * 20)
    hit = Hit(row, 1.0, 1, None, 1.0)

    def forms(budget: int) -> list[Rendering]:
        return [
            each.form
            for each in select([hit], MemoryQuery("", limit=9, budget_tokens=budget, mode="catalog"))[0]
        ]

    assert (forms(1000), forms(100)) == (["full"], ["summary"])
    assert forms(20) == []


def test_what_is_in_context_already_is_not_shown_again() -> None:
    """Of a long memory another passage is new; in full it is not."""
    hit = long_hit("Ferry handbook. " + "The crew counts the lifebelts. " * 200)
    memory_id = hit.row.id

    def is_known(*known: str) -> bool:
        (shown,), _, spent = select(
            [hit], MemoryQuery("", limit=9, budget_tokens=1000, mode="catalog", known=known)
        )
        assert shown.known == (spent == 0)
        return shown.known

    assert not is_known()
    assert not is_known(memory_id, known_key(memory_id, 1))
    assert is_known(memory_id, known_key(memory_id, 2))
    assert is_known(memory_id, known_key(memory_id, "full"))


def test_of_two_that_say_the_same_the_better_is_told() -> None:
    better = made("用户喜欢简约、留白多的设计风格。")
    worse = made("用户喜欢简约，留白多的設計風格")

    hits, omissions, _ = chosen([better, worse])

    assert [hit.row.id for hit in hits] == [better.id]
    assert [(each.id, each.reason) for each in omissions] == [(worse.id, "similar")]


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("Ada is allergic to peanuts and carries a pen", "Ben is allergic to peanuts and carries a pen"),
        ("艾达对花生严重过敏，随身带药", "本对花生严重过敏，随身带药"),
        ("The travel budget of the team is 500 euros", "The travel budget of the team is 5000 euros"),
        ("He really likes strong black coffee", "He really likes no strong black coffee"),
        ("週五下午可以上線新版本", "周五下午不可以上线新版本"),
        (
            "The spare key of our flat in Lyon is with Eva",
            "The spare key of our flat in Nice is with Eva",
        ),
        ("倉庫的備用鑰匙在三樓前台", "仓库的备用钥匙在五楼前台"),
        ("In the chess club Alice always beats Bob", "In the chess club Bob always beats Alice"),
    ],
)
def test_who_where_how_many_and_whether_make_another_statement(better: str, worse: str) -> None:
    """Though nearly all words are the same: both are selected."""
    hits, omissions, _ = chosen([made(better), made(worse)])

    assert [hit.row.content for hit in hits] == [better, worse]
    assert omissions == []


@given(st.text(max_size=3000))
def test_any_text_looks_for_a_bounded_number_of_words(text: str) -> None:
    """The words are distinct search tokens: nothing in them is grammar."""
    question = query_terms(text)

    assert len(set(question.words)) == len(question.words) <= MAX_WORDS
    assert all(word == word.strip() and '"' not in word and "*" not in word for word in question.words)
    assert question.weights.keys() == set(question.words)


def test_the_end_of_a_long_message_is_looked_at_too() -> None:
    """What was pasted into the middle is not."""
    question = query_terms("请看下面的日志 " + "padding " * 50_000 + " 这个 kafka 报错怎么办")

    assert {"日志", "kafka", "报错"} <= set(question.words)


def test_a_memory_that_shares_only_a_character_is_turned_away() -> None:
    """As long as another one has the whole word. A long one is read to its end."""
    style, risk = made("喜欢简约的设计风格"), made("供应商涨价的风险")
    long, other = made("很长的文字。" * 500 + "设计风格"), made("风。" + "很长的文字。" * 500)

    found = [Match(row, 1.0) for row in (style, risk, long, other)]
    kept = filter_relevant(query_terms("设计风格"), found)

    assert [match.row for match in kept] == [style, long]
    passage = kept[1].passage
    assert passage is not None
    assert long.content[passage.begin : passage.end].endswith("设计风格")

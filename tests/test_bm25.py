"""BM25: what a word is worth, and how well a text answers a question."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway import bm25


def test_the_score_is_that_of_the_formula() -> None:
    """Two occurrences of a word that one of four texts has, in a text of twice the average length."""
    weights = bm25.weights(["tea"], {"tea": 1}, 4)
    assert weights == {"tea": math.log(1 + 3.5 / 1.5)}
    assert bm25.score({"tea": 2}, 20, 10, weights) == pytest.approx(
        weights["tea"] * 2 * 2.2 / (2 + 1.2 * 1.75)
    )


@given(st.integers(1, 1000).flatmap(lambda of: st.tuples(st.integers(0, of - 1), st.just(of))))
def test_the_rarer_a_word_the_more_it_is_worth(some: tuple[int, int]) -> None:
    """One more text that has a word takes from its worth, which stays positive."""
    having, of = some
    assert bm25.rarity(having, of) > bm25.rarity(having + 1, of) > 0


def test_a_single_chinese_character_weighs_less_than_a_pair() -> None:
    """Both are as rare; a Latin letter is a word like others."""
    weights = bm25.weights(["风", "风格", "c"], {"风": 1, "风格": 1, "c": 1}, 10)
    assert weights["风"] < weights["风格"] == weights["c"]


def test_a_repeated_word_counts_once_for_a_passage() -> None:
    """A passage is worth the distinct words in it."""
    assert bm25.worth("Tea, tea and more teas!", {"tea": 2.0, "cup": 1.0}) == 2.0


def test_what_only_shares_a_stray_word_is_left_out() -> None:
    """Scores below a quarter of the best one; nothing was found is no error."""
    assert bm25.strong([(4.0, "best"), (1.0, "some"), (0.9, "stray")]) == [(4.0, "best"), (1.0, "some")]
    assert bm25.strong([]) == []

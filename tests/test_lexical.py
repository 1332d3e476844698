"""Search tokens and the token estimate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.lexical import MAX_WORD, estimate_tokens, places, query_tokens, tokens


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("斷線後如何續傳", "断线后如何续传"),
        ("滑鼠和軟體", "鼠标和软件"),
        ("Ｒｅｓｕｍｅ　１２", "resume 12"),
        ("resuming the streams", "Resumed the stream"),
        ("STRASSE", "straße"),
        ("Last-Event-ID", "last event id"),
    ],
)
def test_different_spellings_of_the_same_words_give_the_same_tokens(one: str, other: str) -> None:
    """Script, width, case, regional vocabulary and inflection make no difference."""
    assert tokens(one) == tokens(other)


def test_chinese_becomes_characters_and_pairs_beside_latin_words() -> None:
    """A CJK run gives its characters, then its pairs; a Latin word beside it is a token of its own."""
    assert tokens("恢复stream流") == ["恢", "复", "恢复", "stream", "流"]


def test_a_question_is_searched_for_what_it_asks_about() -> None:
    """Words that only ask are left out, in both languages, unless there are no others."""
    assert query_tokens("How do I resume a stream?") == ["resum", "stream"]
    assert {"恢复", "流"} <= set(query_tokens("怎么恢复一个流？"))
    assert "怎么" not in query_tokens("怎么恢复一个流？")
    assert query_tokens("what is it") == ["what", "is", "it"]


@given(st.text(max_size=300))
def test_any_text_has_bounded_tokens(text: str) -> None:
    """No text raises, tokens are short and not many more than twice the characters after normalisation."""
    found = tokens(text)

    assert all(0 < len(token) <= MAX_WORD * 3 for token in found)
    assert len(found) <= 40 * len(text)


@given(st.text(max_size=300))
def test_tokens_are_found_where_they_stand(text: str) -> None:
    """From its beginning to its end, and what stands there has the token."""
    found = places(text, set(tokens(text)))

    assert [start for start, _, _ in found] == sorted(start for start, _, _ in found)
    assert all(token in tokens(text[start:end]) for start, end, token in found)


@pytest.mark.parametrize(
    ("text", "word", "there"),
    [
        ("They are running, and RAN.", "run", ["running"]),
        ("軟體與软件", "软件", ["軟體", "软件"]),
        ("ｃａｆé, cafe\u0301, CAFÉ", "café", ["ｃａｆé", "cafe\u0301", "CAFÉ"]),
        ("… ﬁle … ㎏", "file", ["ﬁle"]),
    ],
)
def test_a_word_is_found_as_it_is_written(text: str, word: str, there: list[str]) -> None:
    """In any inflection, script and width."""
    assert [text[start:end] for start, end, _ in places(text, query_tokens(word)[-1:])] == there


def test_a_long_run_without_separators_is_tokenized() -> None:
    """The converter's quadratic time does not show: a run is converted in pieces."""
    assert len(tokens("斷" * 20_000)) == 39_999


@given(st.text(max_size=200), st.text(max_size=200))
def test_the_estimate_is_additive_and_grows_with_the_text(left: str, right: str) -> None:
    """A longer text is never cheaper, and two parts cost what the whole costs but for one of rounding."""
    whole = estimate_tokens(left + right)

    assert whole >= estimate_tokens(left)
    assert whole <= estimate_tokens(left) + estimate_tokens(right) <= whole + 1
    assert (whole == 0) == (left + right == "")


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("The gateway appends every event to a durable log before any reader can see it. " * 20, 3.2, 4.0),
        ('{"seq":42,"type":"tool_result","ts":1795187109422,"data":{"ok":true}}' * 20, 1.9, 2.9),
        ("网关先把每个事件写进日志，然后才让读者看到。" * 20, 0.75, 1.1),
    ],
)
def test_the_estimate_follows_the_kind_of_text(text: str, least: float, most: float) -> None:
    """Characters per token lie where tokenizers have them: prose, JSON, Chinese."""
    assert least <= len(text) / estimate_tokens(text) <= most

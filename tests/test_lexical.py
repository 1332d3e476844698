"""Search tokens and the token estimate."""

import time
import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gateway.lexical import MAX_WORD, estimate_tokens, has, indexed, places, query_tokens, sought, tokens


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("斷線後如何續傳", "断线后如何续传"),
        ("滑鼠和軟體", "鼠标和软件"),
        ("Ｒｅｓｕｍｅ　１２", "resume 12"),
        ("resuming the streams", "Resumed the stream"),
        ("STRASSE", "straße"),
        ("café naïve ÅNGSTRÖM", "cafe naive angstrom"),
        ("Việt đường", "Viet duong"),
        ("İstanbul", "istanbul"),
        ("مَرْحَبًا", "مرحبا"),
        ("Ёлка", "елка"),
        ("１３８ ٣٤٥", "138 345"),
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
    units = sought(text)
    found = places(text, units)

    assert [start for start, _, _ in found] == sorted(start for start, _, _ in found)
    for start, end, at in found:
        there, (forms, beginning, parts) = set(indexed(text[start:end])), units[at]
        assert there & {*forms, *parts} or any(each.startswith(beginning or " ") for each in there)


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
    assert [text[start:end] for start, end, _ in places(text, sought(word))] == there


def is_found(text: str, query: str) -> bool:
    """Whether a search for `query` finds `text`, by the rule of every index."""
    there, words = set(indexed(text)), sought(query)
    return bool(words) and all(has(there, word) for word in words)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        # While one types.
        ("We moved to Kubernetes last year", "kuber"),
        ("We moved to Kubernetes last year", "kubernet"),
        ("PostgreSQL", "postgres"),
        ("PostgreSQL", "sql"),
        ("the University of Cologne", "universit"),
        ("running late", "runni"),
        ("about it", "about i"),
        ("写一段pyth的代码", "pyth"),
        # Parts of words.
        ("用Python3写", "python"),
        ("Python3", "Python"),
        ("raise TimeoutError", "Timeout"),
        ("raise TimeoutError", "error"),
        ("getUserById", "user"),
        ("get_user_by_id", "getUserById"),
        ("getUserById", "get_user_by_id"),
        ("HTTPServer", "server"),
        # Accents, and letters that people type another way.
        ("café", "cafe"),
        ("cafe", "café"),
        ("naïve", "naive"),
        ("Việt Nam", "Viet"),
        ("đường", "duong"),
        ("İstanbul", "istanbul"),
        ("Istanbul", "İstanbul"),
        ("مَرْحَبًا", "مرحبا"),
        ("مرحبا", "مَرْحَبًا"),
        ("Straße", "strasse"),
        ("Łódź", "lodz"),
        ("smørrebrød", "smorre"),
        # Numbers in groups.
        ("138-0013-8000", "13800138000"),
        ("13800138000", "138-0013-8000"),
        ("138 0013 8000", "1380013"),
        ("+86 138-0013-8000", "13800138000"),
        ("2026-11-30", "20261130"),
        # Signs and scripts.
        ("Good 👍", "👍"),
        ("Good 👍🏽", "👍"),
        ("👨‍👩‍👧 at the sea", "👧"),
        ("สวัสดีชาวโลก", "โลก"),
        ("हिन्दी में", "हिन्"),
        ("電腦壞了", "电脑"),
        ("电脑坏了", "電腦"),
        ("我的滑鼠壞了", "滑"),
        ("我的滑鼠壞了", "滑鼠"),
        ("我的滑鼠壞了", "鼠标"),
        ("乾隆皇帝", "乾"),
        ("乾隆皇帝", "乾隆"),
        ("ｺﾝﾋﾟｭｰﾀ", "コンピュ"),
        ("컴퓨터를 고쳤다", "컴퓨터"),
        ("𠮷野家", "𠮷"),
        ("Ｆｕｌｌ　Ｗｉｄｔｈ", "full wid"),
    ],
)
def test_a_text_is_found_by_what_people_type(text: str, query: str) -> None:
    assert is_found(text, query)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("carpet", "carp "),  # the blank says that it is all of the word
        ("kubernetes", "kuber cluster"),
        ("the kuber", "kubernetes"),
        ("cluster kubernetes", "kuber clus"),  # only the last word is still typed
        ("lost my phone, I think", "iPhone"),
        ("3.11.2", "3112"),
        ("a", "ab"),
    ],
)
def test_other_texts_are_not_found(text: str, query: str) -> None:
    assert not is_found(text, query)


WORDS = [
    "running",
    "universities",
    "Kubernetes",
    "getUserById",
    "naïve",
    "Straße",
    "Việt",
    "Łódź",
    "Привет",
    "Ёлка",
    "مَرْحَبًا",
    "Python3",
    "TimeoutError",
    "snake_case_name",
    "138-0013-8000",
    "iPhone15Pro",
    "McDonald",
    "ﬁle",
    "Ｆｕｌｌ",
    "用Python3写",
    "断线后如何续传",
    "滑鼠和軟體",
    "乾隆皇帝",
    "สวัสดีชาวโลก",
    "हिन्दी",
    "コンピュータ",
    "컴퓨터",
    "άλφα",
    "אָלֶף",
    "don't",
    "e-mail",
    "维生素C",
]
LETTER_SIGNS = {"\u3099", "\u309a", "\u094d"}  # marks that make another letter of a kana, or are one in Hindi
ACCENTS = {sign for word in WORDS for sign in unicodedata.normalize("NFKD", word)} - LETTER_SIGNS
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)
LETTERS = st.characters(categories=["Lu", "Ll", "Lt", "Lo", "Nd"])


@given(TEXTS, st.data())
def test_a_text_is_found_by_every_beginning_of_its_words(words: list[str], data: st.DataObject) -> None:
    """From two letters on; also as people type who have no accents, and in capitals."""
    word = data.draw(st.sampled_from(words))
    beginning = word[: data.draw(st.integers(2, len(word)))]
    plain = [
        each
        for each in unicodedata.normalize("NFKD", beginning)
        if not (unicodedata.combining(each) and each in ACCENTS)
    ]
    assume(sum(map(str.isalnum, plain)) > 1)
    for query in (beginning, "".join(plain), beginning.upper()):
        assert is_found(" ".join(words), query)


@given(st.text(alphabet=LETTERS, min_size=2, max_size=20))
def test_any_word_is_found_by_its_beginnings(word: str) -> None:
    """Of any script, also where letters of several are mixed."""
    for end in range(2, len(word) + 1):
        assert is_found(word, word[:end])


@given(st.text(max_size=100))
def test_what_is_folded_is_not_folded_again(text: str) -> None:
    """The tokens of tokens are those tokens, apart from stems, which may have stems."""
    for token in set(indexed(text)):
        assert token in indexed(token)


@pytest.mark.parametrize(
    ("one", "other"),
    [("简体中文的搜索", "簡體中文的搜索"), ("网络软件", "網路軟體"), ("恢复数据库", "恢復資料庫")],
)
def test_simplified_and_traditional_find_each_other(one: str, other: str) -> None:
    """The whole, and each pair of characters of it."""
    for text, query in ((one, other), (other, one)):
        assert is_found(text, query)
        assert all(is_found(text, text[at : at + 2]) for at in range(len(text)))


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


@pytest.mark.parametrize(
    "text", ["x" * 200_000, "x_" * 100_000, "1" * 200_000, "1-" * 100_000, "A" * 200_000]
)
def test_no_text_takes_long_to_index(text: str) -> None:
    """A run of any length is looked at once: the work is done beside turns, under the interpreter's lock."""
    began = time.process_time()
    indexed(text)
    assert time.process_time() - began < 5

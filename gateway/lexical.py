"""Text -> search tokens, Chinese and English alike, and an estimate of how many model tokens a text takes.

Indexing and searching must use the same tokens: change a rule here and every stored index has to be rebuilt.
"""

import re
import threading
import unicodedata
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

MAX_TEXT = 1_000_000
"""Characters looked at by `tokens`; what comes later is not searchable."""

MAX_WORD = 64
"""Characters of one word that count: longer ones are keys or data, and their beginning is enough."""

# Han with extensions, iteration mark and zero; kana; Hangul syllables; and the supplementary Han planes.
_CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_RUN = re.compile(rf"([{_CJK}]+)|([^\W_{_CJK}]+)")
_CJK_RUN = re.compile(rf"[{_CJK}]+")
_CLUSTER = re.compile(r"(?s).[\u0300-\u036f\u3099\u309a\uff9e\uff9f]*")  # with what NFKC may join to it
_FULL_WIDTH = {0x3000: " "} | {sign: chr(sign - 0xFEE0) for sign in range(0xFF01, 0xFF5F)}
_BETWEEN_CJK = re.compile(rf"(?<=[{_CJK}]) (?=[{_CJK}])")
_AT_ENDS = " .,;:!?'\"。、「」『』“”‘’…"  # after NFKC, which writes full-width signs as ASCII
_STEMMING = threading.Lock()  # a stemmer keeps the word it works on in itself

_ASKING = (
    "a an and are as at be can could did do does for from have how i if in into is it its let me my of on or "
    "our please shall should so tell than that the their them then there these they this those to us was we "
    "were what when where which who why will with would you your s re ve ll "
    "怎么 怎样 如何 什么 为何 多少 哪里 哪些 哪个 是否 可以 一个 一下 这个 那个 请问 "
    "怎 么 样 如 何 什 哪 吗 呢 吧 啊 的 地 得 了 着 是 在 有 和 与 或 就 都 也 我 你 他 她 它 们 这 那 "
    "一 个 请 能 会 要"
)


def tokens(text: str) -> list[str]:
    """The search tokens of `text`, in order and with repetitions.

    Unicode NFKC, case folded, traditional Chinese as simplified (with Taiwan's words for things), Latin words
    stemmed (Snowball English), CJK runs as single characters and pairs. Looks at MAX_TEXT characters.
    """
    folded = unicodedata.normalize("NFKC", text[:MAX_TEXT]).casefold()
    found: list[str] = []
    for match in _RUN.finditer(folded):
        run = match[1]
        if run is None:
            found.append(_stem(match[2][:MAX_WORD]))
            continue
        run = _simplified(run)
        found.extend(run)
        found.extend(map("".join, pairwise(run)))
    return found


def places(text: str, words: Collection[str]) -> list[tuple[int, int, str]]:
    """Where those tokens stand in `text`, from its beginning on: from, until and the token. They are found
    in any inflection and script, as `tokens` does; two of them may overlap."""
    folded, starts, ends = _folded(text[:MAX_TEXT])
    found: list[tuple[int, int, str]] = []
    first_letters = {word[0] for word in words}  # which no stem changes

    def take(token: str, start: int, end: int) -> None:
        if token in words:
            found.append((start, end, token) if starts is None else (starts[start], ends[end - 1], token))

    for match in _RUN.finditer(folded):
        first, run = match.start(), match[1]
        if run is None:
            if match[2][0] in first_letters:
                take(_stem(match[2][:MAX_WORD]), first, match.end())
            continue
        plain = _simplified(run)
        if len(plain) != len(run):  # a word that another one of Taiwan stands for
            plain = "".join(_simplified(sign)[:1] or sign for sign in run)
        for at in range(len(run)):
            take(plain[at], first + at, first + at + 1)
            take(plain[at : at + 2] if at + 1 < len(run) else "", first + at, first + at + 2)
    return found


def beginnings(text: str, words: Collection[str]) -> Iterator[int]:
    """Where those tokens begin in `text`, from its beginning on, by the few letters of a word that no stem
    changes: a hundred times as fast as `places`. What is written in full-width letters or in another script
    is passed over."""
    # Of three letters the last may have changed: cries and cry are cri.
    latin = "|".join(sorted({re.escape(word[: min(3, max(len(word) - 1, 1))]) for word in words}))
    signs = "|".join(sorted((re.escape(word) for word in words if is_cjk(word)), key=len, reverse=True))
    pattern = rf"(?<![^\W_{_CJK}])(?:{latin})[^\W_{_CJK}]*" + (f"|{signs}" if signs else "")
    for match in re.finditer(pattern, text, re.IGNORECASE):
        found = match[0].casefold()
        if found in words or _stem(found[:MAX_WORD]) in words:
            yield match.start()


def _folded(text: str) -> tuple[str, list[int] | None, list[int]]:
    """`text` as `tokens` reads it, and for each character of that where in `text` its own begin and end; None
    where that is its own place."""
    plain = text.translate(_FULL_WIDTH)
    folded = plain.casefold()
    if len(folded) == len(plain) and unicodedata.is_normalized("NFKC", plain):
        return folded, None, []
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in _CLUSTER.finditer(text):
        part = unicodedata.normalize("NFKC", match[0]).casefold()
        parts.append(part)
        starts += [match.start()] * len(part)
        ends += [match.end()] * len(part)
    return "".join(parts), starts, ends


def plain_form(text: str) -> str:
    """`text` as it is compared with others that say the same in another spelling: Unicode NFKC, case folded,
    traditional Chinese as simplified, blanks joined, none between CJK characters, and no punctuation at the
    ends, unless there is nothing else. Signs inside stay: C and C++ are not the same."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    simple = _CJK_RUN.sub(lambda run: _simplified(run[0]), folded)
    joined = _BETWEEN_CJK.sub("", " ".join(simple.split()))
    return joined.strip(_AT_ENDS) or joined


def query_tokens(text: str) -> list[str]:
    """The distinct tokens of a question, in order, without the words that only ask ("how do I", 怎么): those
    would favour texts that ask in the same way. When nothing else is in it, all of them."""
    distinct = list(dict.fromkeys(tokens(text)))
    return [token for token in distinct if token not in _question_words()] or distinct


def is_cjk(token: str) -> bool:
    """Whether a token is of Chinese, Japanese or Korean script."""
    return _CJK_RUN.match(token) is not None


# Hundredths of a token for each character. No tokenizer of Claude 3 or later is public. Bearings: English
# prose 3.4 to 3.6 characters per token with the tokenizer of 2026, code and JSON about 2.6, Chinese 1.0 to
# 1.3 tokens per character. Charging by class of character, not by kind of text, keeps the estimate additive:
# a longer text is never cheaper, and parts cost what the whole costs (but for rounding).
_LETTER, _DENSE, _WIDE, _OTHER = 27, 60, 120, 80
_LETTERS_AND_BLANKS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ \n\t\r"


def estimate_tokens(text: str) -> int:
    """About how many tokens a model counts for `text`: 0 for "", else at least 1. Deterministic, a few
    milliseconds for a megabyte. Good to some 15 % for prose; take a margin before a hard limit."""
    plain = text.encode("ascii", "ignore")
    dense = len(plain.translate(None, _LETTERS_AND_BLANKS))
    wide = 0 if len(plain) == len(text) else sum(map(len, _CJK_RUN.findall(text)))
    other = len(text) - len(plain) - wide
    hundredths = _LETTER * (len(plain) - dense) + _DENSE * dense + _WIDE * wide + _OTHER * other
    return -(-hundredths // 100)


@lru_cache(maxsize=1)
def _question_words() -> frozenset[str]:
    return frozenset(_stem(word) for word in _ASKING.split())


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    if len(word) < 3 or not word.isascii() or not word.isalpha():
        return word
    with _STEMMING:
        return _stemmer().stemWord(word)


def _simplified(run: str) -> str:
    return str(_converter().convert(run))


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer  # noqa: PLC0415 - 0.1 s: it loads every language

    return snowballstemmer.stemmer("english")


@lru_cache(maxsize=1)
def _converter() -> Any:
    import opencc  # noqa: PLC0415 - reads its dictionaries, for Chinese text only

    return opencc.OpenCC("tw2sp")

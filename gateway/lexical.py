"""Text -> search tokens, in any script, and an estimate of how many model tokens a text takes.

    tokens    the words of a text, one token for each, and the characters and pairs of scripts without blanks
    indexed   all tokens by which a text is found: those, and the beginnings and parts that people type
    sought    what a query looks for

Indexing and searching must use the same rule: change it here and every stored index has to be made anew
(storage/sessions/former_words.py).
"""

import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

MAX_TEXT = 1_000_000
"""Characters looked at by `tokens`; what comes later is not searchable."""

MAX_WORD = 64
"""Characters of one word that count: longer ones are keys or data, and their beginning is enough."""

MIN_BEGINNING = 2
"""Letters from which on a word is found by its beginning, if no other one is looked for."""

# Han with extensions, iteration mark and zero; kana; Hangul syllables; and the supplementary Han planes.
_CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
# And Thai, Lao, Burmese and Khmer, which have no blanks between words either, with their vowel signs.
_UNSPACED = f"{_CJK}\u0e00-\u0e4e\u0e80-\u0ece\u1000-\u109f\u1780-\u17d3"
# What stands above and below letters and makes no other letter of them (accents, points, harakat, the
# stretched line of Arabic), and what is invisible between them.
_ACCENTS = (
    "\u00ad\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f"
    "\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200d\u2060\u20d0-\u20ff"
)
_SIGNS_OF_VOWELS = "\u0900-\u0963\u0966-\u0df3"  # the scripts of India, whose vowels are signs at the letters
_EMOJI = (
    "\u203c\u2049\u231a-\u23ff\u25aa-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\U0001f000-\U0001f3fa\U0001f400-\U0001faff"  # without the tones of skin
)
_SPACED = rf"[^\W_{_UNSPACED}]"
_RUN = re.compile(
    rf"(?P<run>[{_UNSPACED}]+)|(?P<word>{_SPACED}(?:{_SPACED}|[{_ACCENTS}{_SIGNS_OF_VOWELS}])*)|(?P<emoji>[{_EMOJI}])"
)
_CJK_RUN = re.compile(rf"[{_CJK}]+")
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]+")
_EMOJI_SIGN = re.compile(f"[{_EMOJI}]")
_CLUSTER = re.compile(r"(?s).[\u0300-\u036f\u3099\u309a\uff9e\uff9f]*")  # with what NFKC may join to it
_ACCENT = re.compile(f"[{_ACCENTS}]+")
_FULL_WIDTH = {0x3000: " "} | {sign: chr(sign - 0xFEE0) for sign in range(0xFF01, 0xFF5F)}
_PLAIN = {
    "đ": "d", "ð": "d", "ø": "o", "ł": "l", "ħ": "h", "ŧ": "t", "ı": "i", "ŋ": "n",
    "æ": "ae", "œ": "oe", "þ": "th",
}  # fmt: skip
"""Letters with a stroke and double letters, which Unicode does not take apart, as people type them."""
_BARRED = re.compile(f"[{''.join(_PLAIN)}]")
# Parts of a word: getUserById, HTTPServer, Python3.
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\WA-Za-z\d]+")
# Words that are one, whatever stands between their parts: get_user_by_id, 138-0013-8000.
_JOINED = re.compile(
    rf"(?<!{_SPACED})(?P<name>{_SPACED}++(?:_++{_SPACED}++)++)"  # each run is looked at once
    r"|(?<![^\W_])(?P<number>\+?[0-9]+(?:[-./() \u2010-\u2013]{1,2}[0-9]+)+)(?![^\W_])"
)
_DIGITS = range(5, 25)
"""Digits of a number in groups: fewer are a version or two small numbers, more are a table."""
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


class Sought(NamedTuple):
    """A word of a query. A text has it that has one of `forms` among its indexed tokens, or one that begins
    with `beginning` (the word may still be typed), or all of the `parts`."""

    forms: tuple[str, ...]
    beginning: str | None = None
    parts: tuple[str, ...] = ()


def tokens(text: str) -> list[str]:
    """The words of `text` as search tokens, in order and with repetitions.

    Unicode NFKC, case folded, without accents, traditional Chinese as simplified (with Taiwan's words for
    things), Latin words stemmed (Snowball English), runs of scripts without blanks as single characters and
    pairs, emoji as signs. Looks at MAX_TEXT characters.
    """
    found: list[str] = []
    for match in _RUN.finditer(unicodedata.normalize("NFKC", text[:MAX_TEXT])):
        if match.lastgroup == "word":
            if word := _plain_word(match[0]):
                found.append(_stem(word))
        elif match.lastgroup == "run":
            found += _grams(_simplified(match[0]))
        else:
            found.append(match[0])
    return found


def indexed(text: str) -> list[str]:
    """All tokens by which `text` is found: its `tokens`, words as they are written too, the parts of compound
    ones (getUserById, Python3), names and numbers as if nothing stood between their parts (get_user_by_id,
    138-0013-8000), and Chinese by each single character's simplified form."""
    normal = unicodedata.normalize("NFKC", text[:MAX_TEXT])
    found: list[str] = []
    for match in _RUN.finditer(normal):
        if match.lastgroup == "word":
            for part in (match[0], *_parts(match[0])):
                found += _forms(part)
        elif match.lastgroup == "run":
            simple, by_sign = _simplified(match[0]), match[0].translate(_SIGN_BY_SIGN)
            found += _grams(simple)
            if by_sign != simple:
                found += _grams(by_sign)
        else:
            found.append(match[0])
    for match in _JOINED.finditer(normal):
        for whole in _wholes(match):
            found += _forms(whole)
    return found


def sought(text: str, *, typed: bool = True) -> list[Sought]:
    """The words that a query looks for: all of it has to be there. Words that only ask are left out if others
    are there. While it is `typed`, a word at its very end counts from its beginning."""
    normal = unicodedata.normalize("NFKC", text[:MAX_TEXT])
    found: list[Sought] = []
    for kind, match, end in _units(normal):
        is_typed = typed and end == len(normal)
        if kind == "joined":
            wholes = [_plain_word(whole) for whole in _wholes(match)]
            forms = tuple(dict.fromkeys(map(_stem, wholes)))
            found.append(Sought(forms, wholes[0] if is_typed else None, tuple(tokens(match[0]))))
        elif kind == "word" and (word := _plain_word(match[0])):
            # As it was indexed before accents were left out, too.
            forms = dict.fromkeys((_stem(word), _stem(match[0].casefold()[:MAX_WORD])))
            is_begun = is_typed and (len(word) >= MIN_BEGINNING or len(found) > 0)
            found.append(Sought(tuple(forms), word if is_begun else None))
        elif kind == "run":
            found += [Sought((gram,)) for gram in _grams(_simplified(match[0]))]
        elif kind == "emoji":
            found.append(Sought((match[0],)))
    return _telling(list(dict.fromkeys(found)))


def has(there: Set[str], unit: Sought) -> bool:
    """Whether a text with these indexed tokens has that word."""
    if not there.isdisjoint(unit.forms) or (unit.parts and there >= {*unit.parts}):
        return True
    return unit.beginning is not None and any(word.startswith(unit.beginning) for word in there)


def _telling(units: Sequence[Sought]) -> list[Sought]:
    """Without characters that are in a pair that is looked for too, and without words that only ask."""
    firsts = [unit.forms[0] for unit in units]
    pairs = "".join(word for word in firsts if len(word) == 2 and is_unspaced(word))
    some = [unit for unit, word in zip(units, firsts, strict=True) if not (len(word) == 1 and word in pairs)]
    return [unit for unit in some if unit.forms[0] not in _question_words()] or some


def places(text: str, units: Sequence[Sought]) -> list[tuple[int, int, int]]:
    """Where those words stand in `text`, from its beginning on: from, until, and which of `units`. They are
    found in any inflection and script, and as parts of others, as the index does; two of them may overlap."""
    normal, starts, ends = _normal(text[:MAX_TEXT])
    exact = {form: at for at, unit in enumerate(units) for form in (*unit.forms, *unit.parts)}
    begun = [(unit.beginning, at) for at, unit in enumerate(units) if unit.beginning]
    first_letters = {form[0] for form in exact} | {
        beginning[0] for beginning, _ in begun
    }  # which no stem changes
    found: list[tuple[int, int, int]] = []

    def take(at: int | None, start: int, end: int) -> bool:
        if at is not None:
            found.append((start, end, at) if starts is None else (starts[start], ends[end - 1], at))
        return at is not None

    def named(written: str) -> int | None:
        word = _plain_word(written)
        if not word or word[0] not in first_letters:
            return None
        at = exact.get(_stem(word), exact.get(word))
        return (
            next((each for beginning, each in begun if word.startswith(beginning)), None)
            if at is None
            else at
        )

    for match in _RUN.finditer(normal):
        first = match.start()
        if match.lastgroup == "word":
            if not take(named(match[0]), first, match.end()):
                for part in _PART.finditer(match[0]) if _is_compound(match[0]) else ():
                    take(named(part[0]), first + part.start(), first + part.end())
        elif match.lastgroup == "run":
            simple, by_sign = _simplified(match[0]), match[0].translate(_SIGN_BY_SIGN)
            if len(simple) != len(by_sign):  # a word that another one of Taiwan stands for
                simple = by_sign
            for at in range(len(by_sign)):
                take(exact.get(simple[at], exact.get(by_sign[at])), first + at, first + at + 1)
                if at + 1 < len(by_sign):
                    pair = exact.get(simple[at : at + 2], exact.get(by_sign[at : at + 2]))
                    take(pair, first + at, first + at + 2)
        else:
            take(exact.get(match[0]), first, match.end())
    for match in _JOINED.finditer(normal):
        whole = next((at for each in _wholes(match) if (at := named(each)) is not None), None)
        take(whole, match.start(), match.end())
    return sorted(found)


def beginnings(text: str, units: Sequence[Sought]) -> Iterator[int]:
    """Where those words begin in `text`, from its beginning on, by the few letters of a word that no stem
    changes: a hundred times as fast as `places`. What is written in full-width letters, with accents or in
    another script is passed over."""
    words = {form for unit in units for form in (*unit.forms, *unit.parts)}
    begun = tuple(unit.beginning for unit in units if unit.beginning)
    # Of three letters the last may have changed: cries and cry are cri.
    plain = {word[: min(3, max(len(word) - 1, 1))] for word in words if not is_unspaced(word)}
    plain |= {word[:3] for word in begun}
    runs = sorted((word for word in words if is_unspaced(word)), key=len, reverse=True)
    letters = rf"[^\W_{_UNSPACED}]"
    patterns = [*map(re.escape, runs)]
    if plain:
        latin = "|".join(map(re.escape, sorted(plain)))
        titled = "|".join(re.escape(word.capitalize()) for word in sorted(plain))
        patterns.insert(0, rf"(?P<part>(?<=[a-z0-9])(?:{titled}))")
        patterns.insert(0, rf"(?P<word>(?<!{letters})(?i:{latin}){letters}*)")
    for match in re.finditer("|".join(patterns), text) if patterns else ():
        word = match.groupdict().get("word")
        if word is None:
            yield match.start()
            continue
        found = word.casefold()[:MAX_WORD]
        # The whole of a compound word is no word that is looked for, and a part of it may be.
        if found.startswith(begun) or found in words or _stem(found) in words or _is_compound(word):
            yield match.start()


def _units(normal: str) -> Iterator[tuple[str, re.Match[str], int]]:
    """The words of a text: of which kind, how written, and where they end. A name or a number with something
    between its parts is one."""
    joined = {
        match.end() - len(match[0].lstrip("+")): match for match in _JOINED.finditer(normal) if _wholes(match)
    }
    behind = 0
    for match in _RUN.finditer(normal):
        if match.start() < behind:
            continue
        whole = joined.get(match.start())
        kind, found = ("joined", whole) if whole is not None else (str(match.lastgroup), match)
        behind = found.end()
        yield kind, found, behind


def _wholes(match: re.Match[str]) -> list[str]:
    """A name or a number without what stands between its parts; after a plus also without its first part, the
    number of a country. None of a number that is too short or too long."""
    if match.lastgroup == "name":
        return [match[0].replace("_", "")]
    groups = re.findall(r"[0-9]+", match[0])
    wholes = ["".join(groups), *(["".join(groups[1:])] if match[0].startswith("+") else [])]
    return wholes if len(wholes[0]) in _DIGITS else []


def _forms(written: str) -> list[str]:
    """A word as it is looked for: stemmed, and as it is written where that is another."""
    word = _plain_word(written)
    stem = _stem(word)
    return [] if not word else [stem] if stem == word else [stem, word]


def _is_compound(written: str) -> bool:
    return not (written.isalpha() and (written.islower() or written[1:].islower() or written.isupper()))


def _parts(written: str) -> list[str]:
    """The parts of a compound word that have two letters or more; none of another one."""
    if not _is_compound(written):
        return []
    parts = [part for part in _PART.findall(written) if len(part) >= MIN_BEGINNING]
    return [] if parts == [written] else parts


def _grams(run: str) -> list[str]:
    return [*run, *map("".join, pairwise(run))]


def _plain_word(written: str) -> str:
    """A word without case and accents, in at most MAX_WORD characters."""
    if written.isascii():
        return written[:MAX_WORD].lower()
    apart = unicodedata.normalize("NFKD", written[: 4 * MAX_WORD])
    bare = unicodedata.normalize("NFC", _ACCENT.sub("", apart)).casefold()
    if _BARRED.search(bare):
        bare = "".join(_PLAIN.get(letter, letter) for letter in bare)
    if not bare.isascii():  # digits of other scripts
        bare = "".join(str(unicodedata.decimal(sign, sign)) for sign in bare)
    return bare[:MAX_WORD]


def _normal(text: str) -> tuple[str, list[int] | None, list[int]]:
    """`text` as `tokens` reads it, and for each character of that where in `text` its own begin and end; None
    where that is its own place."""
    plain = text.translate(_FULL_WIDTH)
    if unicodedata.is_normalized("NFKC", plain):
        return plain, None, []
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in _CLUSTER.finditer(text):
        part = unicodedata.normalize("NFKC", match[0])
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
    distinct = [token for token in dict.fromkeys(tokens(text)) if not _EMOJI_SIGN.match(token)]
    return [token for token in distinct if token not in _question_words()] or distinct


def is_cjk(token: str) -> bool:
    """Whether a token is of Chinese, Japanese or Korean script."""
    return _CJK_RUN.match(token) is not None


def is_unspaced(token: str) -> bool:
    """Whether a token is of a script without blanks between words."""
    return _UNSPACED_RUN.match(token) is not None


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


class _SimplifiedSigns(dict[int, str]):
    """Each character alone, as `str.translate` wants it."""

    def __missing__(self, sign: int) -> str:
        simple = self[sign] = _simplified(chr(sign))[:1] or chr(sign)
        return simple


_SIGN_BY_SIGN = _SimplifiedSigns()


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer  # noqa: PLC0415 - 0.1 s: it loads every language

    return snowballstemmer.stemmer("english")


@lru_cache(maxsize=1)
def _converter() -> Any:
    import opencc  # noqa: PLC0415 - reads its dictionaries, for Chinese text only

    return opencc.OpenCC("tw2sp")

"""Sentences and clauses of a text, and where they stand in it. Pure."""

import re
from collections.abc import Set

from gateway.lexical import query_tokens, tokens

MAX_LEAD_IN = 10
"""Characters of a clause that only introduces the next one: "No,", "说错了，"."""
QUESTION_END = re.compile(r"[?？吗嗎呢么麼]\s*$")
"""For the end of a clause or a sentence."""

_CLOSING = '[”"’」』)]*'
_POINT = rf"[.](?!{_CLOSING}(?:\s|$))"
_SENTENCE = re.compile(rf"(?:[^\n。！？!?.]|{_POINT})+[。！？!?.]*{_CLOSING}")
_PART = re.compile(rf"(?:[^\n。！？!?；;.]|{_POINT})+[。！？!?；;.]*{_CLOSING}")
_CLAUSE = re.compile(r"(?:[^\n。！？!?；;.,，]|[.,](?!\s|$))+[？?]*")
_COMMAS = frozenset((",", "，"))


def sentences_at(
    text: str, start: int = 0, end: int | None = None, *, semicolons: bool = False
) -> list[re.Match[str]]:
    """The sentences that have a part of text[start:end]; with `semicolons` these end one too."""
    until = len(text) if end is None else end
    return [
        each
        for each in (_PART if semicolons else _SENTENCE).finditer(text)
        if each.start() < until and start < each.end() and each[0].strip()
    ]


def sentences(text: str, *, semicolons: bool = False) -> list[str]:
    return [each[0].strip() for each in sentences_at(text, semicolons=semicolons)]


def sentence_of(text: str, start: int, end: int) -> str:
    """The sentences, up to semicolons, that contain text[start:end]."""
    within = sentences_at(text, start, end, semicolons=True)
    return text[within[0].start() : within[-1].end()].strip() if within else text[start:end]


def clauses(text: str) -> list[str]:
    """The clauses of a text, a question with its mark."""
    return [clause for _, clause in clauses_at(text)]


def clauses_at(text: str) -> list[tuple[int, str]]:
    """The clauses, each with the character at which it begins."""
    return [(each.start(), each[0].strip()) for each in _CLAUSE.finditer(text) if each[0].strip()]


def clause_of(text: str, start: int, end: int) -> str:
    """The clauses that contain text[start:end], with what introduces them in the same sentence."""
    found = list(_CLAUSE.finditer(text))
    within = [place for place, each in enumerate(found) if each.start() < end and each.end() > start]
    if not within:
        return text[start:end]
    first = within[0]
    while first and len(found[first - 1][0].strip()) <= MAX_LEAD_IN:
        if text[found[first - 1].end() : found[first].start()].strip() not in _COMMAS:
            break
        first -= 1
    return text[found[first].start() : found[within[-1]].end()].strip()


def word_share(words: Set[str], text: str) -> float:
    """The share of some words that are in a text, 0 of none."""
    return len(words & set(tokens(text))) / len(words) if words else 0.0


def clause_on(content: str, text: str) -> str:
    """The clause of a text that has the most words of `content`, with what introduces it ("No, …"); "" when
    none has any."""
    words, found = set(query_tokens(content)), clauses(text)
    shared = [len(words & set(tokens(clause))) for clause in found]
    if not any(shared):
        return ""
    first = last = shared.index(max(shared))
    while first and len(found[first - 1]) <= MAX_LEAD_IN:
        first -= 1
    return ", ".join(found[first : last + 1])

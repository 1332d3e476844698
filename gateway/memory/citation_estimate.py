"""Which memories an answer made use of, in any words or language: an estimate. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from gateway.lexical import is_cjk, query_tokens, tokens
from gateway.storage.memories import MemoryRow

MIN_SHARE = 0.6
"""The share of a memory's words that an answer must contain to have used it, for any question."""
MIN_NAMES = 2
"""Names and numbers that it must contain in another script."""
MIN_FOUND_SHARE, MAX_NEEDED = 0.2, 3
"""The share of the words of a memory that was looked up for the message, and not more words than this: a
paraphrase keeps a noun or two."""
MIN_CHARACTERS = 0.25
"""The share of its single Chinese characters: 极简 has one of 简约."""


class TextTerms(NamedTuple):
    """A text as it is compared: its words and pairs of Chinese characters, its single characters."""

    words: frozenset[str]
    characters: frozenset[str]

    @classmethod
    def of(cls, kept: Collection[str]) -> "TextTerms":
        single = frozenset(each for each in kept if len(each) == 1)
        return cls(frozenset(kept) - single, frozenset(filter(is_cjk, single)))

    def share_in(self, other: "TextTerms") -> float:
        return len(self.words & other.words) / len(self.words) if self.words else 0.0


def cited_in(rows: Sequence[MemoryRow], answer: str, found: Mapping[str, str] | None = None) -> list[str]:
    """The ids of the memories that an answer names, or agrees with: of `rows`, which its model had in
    context, and of those that were `found` for its message, by id with the text that was shown, the best
    first."""
    found = found or {}
    answered = TextTerms.of(set(tokens(answer)))
    texts = {row.id: row.summary for row in rows} | dict(found)
    best = next(iter(found), None)
    return [
        memory_id
        for memory_id, text in texts.items()
        if memory_id in answer
        or (memory_id in found and reflects(answered, text, best=memory_id == best))
        or _repeats(answered, text)
    ]


def reflects(answered: TextTerms, text: str, *, best: bool = False) -> bool:
    """Whether an answer reflects a text that was looked up for it. In another script words cannot be
    compared, but for names and numbers: there the best one is taken to be used."""
    known = TextTerms.of(query_tokens(text))
    common = len(known.words & answered.words)
    if bool(known.characters) != bool(answered.characters):
        return best or common > 0
    shared = len(known.characters & answered.characters)
    if shared and shared >= MIN_CHARACTERS * len(known.characters):
        return True
    return common > 0 and common >= min(MAX_NEEDED, MIN_FOUND_SHARE * len(known.words))


def _repeats(answered: TextTerms, text: str) -> bool:
    known = TextTerms.of(query_tokens(text))
    if bool(known.characters) != bool(answered.characters):
        return len(known.words & answered.words) >= MIN_NAMES
    return known.share_in(answered) >= MIN_SHARE

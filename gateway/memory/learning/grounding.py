"""Grounding of candidates: each is tied to the user's own words, or dropped. Pure."""

import re
from dataclasses import dataclass

from gateway.lexical import is_cjk, plain_form, query_tokens, tokens
from gateway.memory.learning.candidates import MAX_CONTENT, Candidate
from gateway.memory.learning.user_messages import Excerpt, clause_of, sentence_of
from gateway.memory.similarity.comparison import contradicts
from gateway.memory.validation import clean

_FUNCTION_WORDS = frozenset(
    tokens(
        "the user's users he she him his her hers they also am been being was were has had having do does "
        "did by who which while or but because both very just "
        "用户的 使用者 本人 其 于 为 把 被 及 之 很 对 以 而"
    )
)
"""Function words beside those that `query_tokens` leaves out. None of them is a negation."""
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")


@dataclass(frozen=True, slots=True)
class GroundedCandidate:
    """A candidate with its evidence: `quote` is verbatim text of the user's message at `position`, from
    character `start` on, within `clause`, and that within `sentence`."""

    candidate: Candidate
    position: int
    start: int
    quote: str
    clause: str
    sentence: str

    @property
    def content(self) -> str:
        return self.candidate.content


def ground(candidate: Candidate, excerpt: Excerpt) -> GroundedCandidate | None:
    """The candidate with its quote located in the user's messages; None when the quote is not found.

    The message that the candidate names is searched first, then the user's others; only whitespace may
    differ. Content that is not grounded in the user's messages (another language, a number or another word
    that is not in them) is replaced by the quote itself.
    """
    wanted = re.compile(r"\s+".join(map(re.escape, candidate.quote.split())) or r"(?!)")
    texts = excerpt.user_texts
    for position in [candidate.message, *texts] if candidate.message in texts else texts:
        text = texts[position]
        if (match := wanted.search(text)) is not None:
            content = clean(candidate.content)
            if not content or not is_grounded(content, match[0], "\n".join(texts.values())):
                content = match[0][:MAX_CONTENT]
            span = (text, match.start(), match.end())
            return GroundedCandidate(
                candidate.model_copy(update={"content": content}),
                position,
                match.start(),
                match[0],
                clause_of(*span),
                sentence_of(*span),
            )
    return None


def is_grounded(content: str, quote: str, user_text: str) -> bool:
    """Whether `content` follows from the user's messages (`user_text`, all of them): it has their language
    and script, does not contradict the quote, and has no number and no word that they lack. Chinese is
    compared by characters: word boundaries depend on the neighbours."""
    translated = _is_cjk(quote) if not _is_cjk(content) else not _is_cjk(user_text)
    if translated or _script_changed(content, user_text):
        return False
    if contradicts(content, quote) or not set(_NUMBER.findall(content)) <= set(_NUMBER.findall(user_text)):
        return False
    words = content_words(content)
    return bool(words) and words <= set(tokens(user_text))


def content_words(text: str) -> set[str]:
    """The content words and Chinese characters of a text, without function words."""
    single = {token for token in query_tokens(text) if len(token) == 1 or not is_cjk(token)}
    return single - _FUNCTION_WORDS


def _is_cjk(text: str) -> bool:
    return any(map(is_cjk, text))


def _script_changed(content: str, user_text: str) -> bool:
    """Whether a character of the user's is written in the other script: simplified for traditional, or the
    reverse."""
    others = {sign for sign in content if is_cjk(sign)} - set(user_text)
    if not others:
        return False
    return not set(map(plain_form, others)).isdisjoint(map(plain_form, filter(is_cjk, set(user_text))))

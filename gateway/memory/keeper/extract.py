"""From what a model offers to what the user said: no candidate without the user's own words for it. Pure."""

import re
from dataclasses import dataclass

from gateway.lexical import is_cjk, plain_form, query_tokens, tokens
from gateway.memory.keeper.candidates import CONTENT_MOST, Candidate
from gateway.memory.keeper.said import Piece, sentence_of
from gateway.memory.nearness import contradicts
from gateway.memory.record import clean

SHARED = 1 / 3
"""Share of a content's words that the user must have said: what is less is somebody else's."""

_ABOUT_THE_USER = frozenset(query_tokens("the user's users 用户的 用 户 用户"))
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")


@dataclass(frozen=True, slots=True)
class Extract:
    """A candidate with its evidence: `quote` stands word for word in the user's message at `position`, within
    `sentence`."""

    candidate: Candidate
    position: int
    quote: str
    sentence: str

    @property
    def content(self) -> str:
        return self.candidate.content


def extract(candidate: Candidate, piece: Piece) -> Extract | None:
    """The candidate with the words of the user that bear it out; None when there are none.

    The quote is looked for in the message that the candidate names, then in the user's others; only blanks
    may differ. Content that the user's words do not bear out (in another language, with numbers that they did
    not say, or mostly in others' words) gives way to the quote itself.
    """
    wanted = re.compile(r"\s+".join(map(re.escape, candidate.quote.split())) or r"(?!)")
    places = [candidate.message, *piece.words] if candidate.message in piece.words else [*piece.words]
    for position in places:
        words = piece.words[position]
        if (match := wanted.search(words)) is not None:
            content = clean(candidate.content)
            if not content or not borne_out(content, match[0], "\n".join(piece.words.values())):
                content = match[0][:CONTENT_MOST]
            said = candidate.model_copy(update={"content": content})
            return Extract(said, position, match[0], sentence_of(words, match.start(), match.end()))
    return None


def borne_out(content: str, quote: str, said: str) -> bool:
    """Whether `content` says what the user said: in their language and script, not the contrary of the quote,
    without a number that is not in `said` (all their words), and to a good part in words from there."""
    translated = _is_cjk(quote) if not _is_cjk(content) else not _is_cjk(said)
    if translated or _script_changed(content, said):
        return False
    if contradicts(content, quote) or not set(_NUMBER.findall(content)) <= set(_NUMBER.findall(said)):
        return False
    words = set(query_tokens(content)) - _ABOUT_THE_USER
    return bool(words) and len(words & set(tokens(said))) >= SHARED * len(words)


def _is_cjk(text: str) -> bool:
    return any(map(is_cjk, text))


def _script_changed(content: str, said: str) -> bool:
    """Whether a character that the user wrote is there in another script: simplified for traditional, or the
    other way round."""
    others = {sign for sign in content if is_cjk(sign)} - set(said)
    if not others:
        return False
    return not set(map(plain_form, others)).isdisjoint(map(plain_form, filter(is_cjk, set(said))))

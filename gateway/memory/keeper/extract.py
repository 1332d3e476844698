"""From what a model offers to what the user said: no candidate without the user's own words for it. Pure."""

import re
from dataclasses import dataclass

from gateway.lexical import is_cjk, plain_form, query_tokens, tokens
from gateway.memory.keeper.candidates import MAX_CONTENT, Candidate
from gateway.memory.keeper.said import Piece, clause_of, sentence_of
from gateway.memory.likeness.nearness import contradicts
from gateway.memory.record import clean

_WITHOUT_MEANING = frozenset(
    tokens(
        "the user's users he she him his her hers they also am been being was were has had having do does "
        "did by who which while or but because both very just "
        "用户的 使用者 本人 其 于 为 把 被 及 之 很 对 以 而"
    )
)
"""Words that any sentence may have; beside those that only ask (`query_tokens`). None of them denies."""
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")


@dataclass(frozen=True, slots=True)
class Extract:
    """A candidate with its evidence: `quote` stands word for word in the user's message at `position`, from
    character `start` of their words on, within `clause`, and that within `sentence`."""

    candidate: Candidate
    position: int
    start: int
    quote: str
    clause: str
    sentence: str

    @property
    def content(self) -> str:
        return self.candidate.content


def extract(candidate: Candidate, piece: Piece) -> Extract | None:
    """The candidate with the words of the user that bear it out; None when there are none.

    The quote is looked for in the message that the candidate names, then in the user's others; only blanks
    may differ. Content that the user's words do not bear out (in another language, with a number or any other
    word that they did not say) gives way to the quote itself.
    """
    wanted = re.compile(r"\s+".join(map(re.escape, candidate.quote.split())) or r"(?!)")
    places = [candidate.message, *piece.words] if candidate.message in piece.words else [*piece.words]
    for position in places:
        words = piece.words[position]
        if (match := wanted.search(words)) is not None:
            content = clean(candidate.content)
            if not content or not borne_out(content, match[0], "\n".join(piece.words.values())):
                content = match[0][:MAX_CONTENT]
            said = candidate.model_copy(update={"content": content})
            place = (words, match.start(), match.end())
            return Extract(said, position, match.start(), match[0], clause_of(*place), sentence_of(*place))
    return None


def borne_out(content: str, quote: str, said: str) -> bool:
    """Whether `content` says what the user said: in their language and script, not the contrary of the quote,
    and with no number and no word but those of `said`, all their words. Of Chinese, characters count: where
    a word ends depends on its neighbours."""
    translated = _is_cjk(quote) if not _is_cjk(content) else not _is_cjk(said)
    if translated or _script_changed(content, said):
        return False
    if contradicts(content, quote) or not set(_NUMBER.findall(content)) <= set(_NUMBER.findall(said)):
        return False
    words = content_words(content)
    return bool(words) and words <= set(tokens(said))


def content_words(text: str) -> set[str]:
    """The words and Chinese characters of a text that say something."""
    single = {token for token in query_tokens(text) if len(token) == 1 or not is_cjk(token)}
    return single - _WITHOUT_MEANING


def _is_cjk(text: str) -> bool:
    return any(map(is_cjk, text))


def _script_changed(content: str, said: str) -> bool:
    """Whether a character that the user wrote is there in another script: simplified for traditional, or the
    other way round."""
    others = {sign for sign in content if is_cjk(sign)} - set(said)
    if not others:
        return False
    return not set(map(plain_form, others)).isdisjoint(map(plain_form, filter(is_cjk, set(said))))

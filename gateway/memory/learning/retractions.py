"""What the user retracted in the same conversation: "forget that I like tea". Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gateway.lexical import tokens
from gateway.memory.learning.grounding import GroundedCandidate
from gateway.memory.learning.rejection import asks_to_forget
from gateway.memory.learning.user_messages import Excerpt
from gateway.memory.learning.wording import content_words
from gateway.memory.sentences import clauses_at

MIN_OVERLAP = 0.75
"""Share of the words of a retraction that a candidate must contain to be covered by it."""

_EVERYTHING = frozenset(tokens("everything all anything 全部 所有 一切"))
_REQUEST_WORDS = frozenset(
    tokens(
        "please just forget forgotten remember memory memories memorize delete remove erase stop not don t "
        "never thing things stuff what said say told tell mentioned about earlier ago before again ever "
        "anymore more like love prefer live work "
        "请 麻烦 帮我 给我 忘掉 忘记 忘了 刚才 刚刚 之前 前面 上面 说过 的话 事情 件事 关于 记忆 记住 记得 "
        "把 别 不要 不用 不必 再 删除 删掉 清除 抹掉 内容 喜欢 喜爱 住在"
    )
)


@dataclass(frozen=True, slots=True)
class Retraction:
    """A request to forget, at character `start` of the user's message at `position`. `words` are its subject.
    Without words it covers what was stated just before, from `since` (position and character) on; a request
    to forget everything has `since` (0, 0)."""

    position: int
    start: int
    words: frozenset[str]
    since: tuple[int, int]

    def covers(self, candidate: GroundedCandidate) -> bool:
        place = (candidate.position, candidate.start)
        if place >= (self.position, self.start):
            return False
        if not self.words:
            return place >= self.since
        stated = content_words(candidate.content) | content_words(candidate.quote)
        return len(self.words & stated) >= MIN_OVERLAP * len(self.words)


def retractions(excerpts: Iterable[Excerpt]) -> Sequence[Retraction]:
    """All requests to forget in a conversation."""
    found: list[Retraction] = []
    before = 0
    for excerpt in excerpts:
        for position, text in excerpt.user_texts.items():
            for number, (start, clause) in enumerate(clauses_at(text)):
                if asks_to_forget(clause):
                    subject = content_words(clause)
                    since = (0, 0) if subject & _EVERYTHING else (position if number else before, 0)
                    words = frozenset(subject - _REQUEST_WORDS - _EVERYTHING)
                    found.append(Retraction(position, start, words, since))
            before = position
    return found

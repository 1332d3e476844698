"""What the user said and took back in the same conversation: "forget that I like tea". Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gateway.lexical import tokens
from gateway.memory.keeper.evaluate import asks_to_forget
from gateway.memory.keeper.extract import Extract, content_words
from gateway.memory.keeper.said import Piece, clauses_at

SAME_FROM = 0.75
"""Share of the words of a request to forget that what it is about has too."""

_EVERYTHING = frozenset(tokens("everything all anything 全部 所有 一切"))
_OF_THE_REQUEST = frozenset(
    tokens(
        "please just forget forgotten remember memory memories memorize delete remove erase stop not don t "
        "never thing things stuff what said say told tell mentioned about earlier ago before again ever "
        "anymore more like love prefer live work "
        "请 麻烦 帮我 给我 忘掉 忘记 忘了 刚才 刚刚 之前 前面 上面 说过 的话 事情 件事 关于 记忆 记住 记得 "
        "把 别 不要 不用 不必 再 删除 删掉 清除 抹掉 内容 喜欢 喜爱 住在"
    )
)


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A request to forget, at character `start` of the user's message at `position`. `words` tell what it is
    about; when there are none it is about what was said just before: after `since` (position and character),
    or at any time when it is of everything."""

    position: int
    start: int
    words: frozenset[str]
    since: tuple[int, int]

    def concerns(self, found: Extract) -> bool:
        place = (found.position, found.start)
        if place >= (self.position, self.start):
            return False
        if not self.words:
            return place >= self.since
        said = content_words(found.content) | content_words(found.quote)
        return len(self.words & said) >= SAME_FROM * len(self.words)


def withdrawals(pieces: Iterable[Piece]) -> Sequence[Withdrawal]:
    """All requests to forget in a conversation."""
    found: list[Withdrawal] = []
    before = 0
    for piece in pieces:
        for position, words in piece.words.items():
            for number, (start, clause) in enumerate(clauses_at(words)):
                if asks_to_forget(clause):
                    about = content_words(clause)
                    since = (0, 0) if about & _EVERYTHING else (position if number else before, 0)
                    found.append(
                        Withdrawal(position, start, frozenset(about - _OF_THE_REQUEST - _EVERYTHING), since)
                    )
            before = position
    return found

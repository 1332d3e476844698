"""Which excerpts are worth a model call, and which candidates of its answer are accepted: none of what the
user retracted in the same conversation ("forget that I like tea"). Pure."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from dataclasses import dataclass, replace

from gateway.lexical import plain_form, tokens
from gateway.memory.assents import is_assent
from gateway.memory.extraction.assistant_proposals import is_answered_by
from gateway.memory.extraction.candidates import Candidate
from gateway.memory.extraction.faithfulness import adds_names_or_numbers, content_words
from gateway.memory.extraction.grounding import TRUSTS, GroundedCandidate, ground
from gateway.memory.extraction.rejection_reasons import rejection_reason, unsafe
from gateway.memory.extraction.transient_messages import asks_to_forget, transient_kind
from gateway.memory.extraction.user_messages import Excerpt, excerpts
from gateway.memory.sentences import clauses, clauses_at
from gateway.storage.messages import StoredMessage

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


def excerpts_to_read(
    messages: Sequence[StoredMessage], after: int, max_tokens: int, spoke: Set[str] = frozenset()
) -> list[Excerpt]:
    """The excerpts in which the user states a possibly durable fact, or agrees to a proposal: for the others
    no model is asked. As `excerpts`."""
    return [
        excerpt
        for excerpt in excerpts(messages, after=after, max_tokens=max_tokens, spoke=spoke)
        if any(
            is_answered_by(text, "\n".join(excerpt.answers_before(position).values()))
            or any(transient_kind(clause) is None for clause in clauses(text))
            for position, text in excerpt.user_texts.items()
        )
    ]


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


def accept(
    candidates: Sequence[Candidate],
    excerpt: Excerpt,
    retracted: Sequence[Retraction],
    dropped: Counter[str],
    *,
    known: Collection[str] = (),
    trusts: Callable[[str], bool] = TRUSTS,
) -> list[GroundedCandidate]:
    """The candidates that are grounded and not rejected; `dropped` counts the reasons for the others. Of what
    they are `based_on` only ids that are `known` are left; of the context, decisions and references what is
    safe and has no number and no name that the conversation lacks. `trusts` is whether the operator trusts a
    tool, by name."""
    answers = {position: plain_form(text) for position, text in excerpt.answers.items()}
    words = "\n".join((*excerpt.user_texts.values(), *excerpt.answers.values()))
    accepted: list[GroundedCandidate] = []
    for candidate in candidates:
        grounded = ground(candidate, excerpt, trusts)
        if grounded is None:
            dropped["assent" if is_assent(candidate.quote) else "not_said"] += 1
            continue
        before = (text for position, text in answers.items() if position < grounded.position)
        reason = rejection_reason(grounded, before)
        if reason is None and any(each.covers(grounded) for each in retracted):
            reason = "forget"
        if reason is None:
            accepted.append(_with_checked_details(grounded, words, known))
        else:
            dropped[reason] += 1
    return sorted(accepted, key=lambda each: each.position)


def _with_checked_details(found: GroundedCandidate, words: str, known: Collection[str]) -> GroundedCandidate:
    proposed = found.candidate

    def held(lines: Sequence[str]) -> list[str]:
        return [each for each in lines if unsafe(each) is None and not adds_names_or_numbers(each, words)]

    details = {
        "context": next(iter(held([proposed.context] if proposed.context else [])), None),
        "decisions": held(proposed.decisions),
        "refs": held(proposed.refs),
        "based_on": [each for each in proposed.based_on if each in known],
    }
    return replace(found, candidate=proposed.model_copy(update=details))

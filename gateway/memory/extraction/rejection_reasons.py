"""Why a candidate is rejected, and which texts are never stored. Pure."""

import re
from collections.abc import Iterable
from typing import Literal

from gateway.lexical import plain_form, query_tokens
from gateway.memory.extraction.grounding import GroundedCandidate
from gateway.memory.extraction.transient_messages import TransientKind, asks_to_forget, transient_kind
from gateway.memory.injection_cues import is_injection
from gateway.memory.secret_detection import is_secret
from gateway.memory.sentences import QUESTION_END, clauses

RejectionReason = Literal[
    TransientKind, "weak", "secret", "instruction", "restated", "denied", "doubted", "supposed"
]

MIN_CONFIDENCE = 0.5
MIN_IMPORTANCE = 2
MIN_TOKENS = 2
"""Search tokens of the content: a single English word is no memory."""
MIN_RESTATED_TOKENS = 6
"""Search tokens of a quote that counts as a repetition of the assistant: shorter ones are common phrases."""

_DENIED = re.compile(r"""(?xa)
      \bi\s(?:have\s|had\s|am\s|did\s|do\s|would\s|was\s)?(?:never|not)(?:\sever)?
        \s(?:say|said|saying|claim(?:ed)?|mean|meant|state|stated)\b
    | \bi(?:'m\snot|\s?(?:did|do|would|have|had|was)n't)(?:\sever)?
        \s(?:say|said|saying|claim(?:ed)?|mean|meant|state|stated)\b
    | \bi've\s(?:never|not)(?:\sever)?\s(?:said|claimed|meant|stated)\b
    | (?:没有?|从未|未曾|不曾|不是|不会|不想)(?:在|要|跟你|对你)?(?:说|讲|提|表示) | 谁说
""")
_DOUBTED = re.compile(r"""(?xa)
      \b(?:do\snot|don't|did\snot|didn't)\s(?:really\s)?(?:think|believe|know|suppose|feel\slike)\b
    | \b(?:not|n't)\s(?:so\s|quite\s|really\s)?(?:sure|certain)\b | \bi\s(?:doubt|wonder)\b
    | \b(?:maybe|perhaps|possibly)\b
    | 不(?:觉得|认为|确定|一定|知道|清楚|相信) | 没(?:觉得|想好|决定) | 怀疑 | 也许 | 或许 | 说不定
""")
_SUPPOSED = re.compile(r"""(?xa)
      \b(?: if | whether | suppos(?:e|ing) | assum(?:e|ing) | imagin(?:e|ing) | hypothetically | i\swish )\b
    | 如果 | 要是 | 假如 | 假设 | 假使 | 假定 | 倘若 | 若是 | 万一 | 是否 | 设想
    | (?<![说讲]) 的话 (?=[,。;我就]|$)
""")
_ASKS = re.compile(r"""(?xa)
    (?: so | and | but | well | then )?,?\s?
    (?: (?: do | does | did | is | are | am | was | were | have | has | had | can | could | would | will
        | should | shall | may | might | must | isn't | aren't | don't | doesn't | didn't | won't | wouldn't
        | who | what | when | where | which | why | how )\b
      | 是不是 | 难道 | 你觉得 | 你认为 | 会不会 | 是否 | 为什么 | 怎么 | 什么 )
""")
_TAG = re.compile(r"""(?xa)
    (?: right | ok(?:ay)? | correct | or\snot | you\sknow | true | yes | no | eh | huh
      | (?:is|isn't|do|don't|did|didn't|am|aren't|are|have|haven't|can|can't|would|wouldn't)
        \s(?:it|i|that|you|we)
      | 对吧 | 对吗 | 对不对 | 是吗 | 是吧 | 是不是 | 不是吗 | 没错吧 | 好吗 )
""")
"""The patterns from _DENIED on are for the plain form of a sentence, the last two for one of its clauses."""


def rejection_reason(candidate: GroundedCandidate, answers: Iterable[str]) -> RejectionReason | None:
    """Why a candidate is not stored; None when it is. `answers` are the assistant's earlier messages in their
    plain form."""
    proposed, content = candidate.candidate, candidate.content
    agreed_to = (candidate.proposal.quote,) if candidate.proposal else ()
    for text in (candidate.sentence, content, *proposed.tags, *agreed_to):
        if (reason := unsafe(text)) is not None:
            return reason
    transient = None if agreed_to else transient_kind(candidate.quote)
    if (reason := transient or _context_reason(candidate)) is not None:
        return reason
    if (
        proposed.confidence < MIN_CONFIDENCE
        or proposed.importance < MIN_IMPORTANCE
        or len(query_tokens(content)) < MIN_TOKENS
    ):
        return "weak"
    quote = plain_form(candidate.quote)
    repeats = not agreed_to and any(quote in answer for answer in answers)
    return "restated" if repeats and len(query_tokens(quote)) >= MIN_RESTATED_TOKENS else None


def _context_reason(candidate: GroundedCandidate) -> RejectionReason | None:
    """The reason that the sentence around the quote gives. A conditional statement is stored together with
    its condition: without it the meaning would change."""
    if any(map(asks_to_forget, clauses(candidate.sentence))):
        return "forget"
    if _is_asked(candidate):
        return "question"
    sentence = plain_form(candidate.sentence)
    if _DENIED.search(sentence):
        return "denied"
    if _DOUBTED.search(sentence):
        return "doubted"
    supposed = _SUPPOSED.search(sentence) and not _SUPPOSED.search(plain_form(candidate.content))
    return "supposed" if supposed else None


def _is_asked(candidate: GroundedCandidate) -> bool:
    """Whether the quote is part of a question: "I am allergic to nuts, can I eat this?" states one thing and
    asks another, "I like nuts, right?" asks what it states."""
    within = clauses(candidate.sentence)
    if any(QUESTION_END.search(each) for each in clauses(candidate.clause)):
        return True
    if not within or not QUESTION_END.search(within[-1]):
        return False
    begins = _ASKS.match(plain_form(candidate.clause))
    return bool(begins or _TAG.fullmatch(plain_form(within[-1])))


def unsafe(text: str) -> Literal["secret", "instruction"] | None:
    """Why a text is not stored unless a person does so themselves: it contains a secret, or it commands a
    model."""
    if is_secret(text):
        return "secret"
    return "instruction" if is_injection(text) else None

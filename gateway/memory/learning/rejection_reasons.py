"""Why a candidate is rejected, and which texts are never stored. Pure."""

import re
from collections.abc import Iterable
from typing import Literal

from gateway.lexical import plain_form, query_tokens
from gateway.memory.injection_cues import commands
from gateway.memory.learning.grounding import GroundedCandidate
from gateway.memory.secret_detection import is_secret
from gateway.memory.sentences import QUESTION_END, clauses

TransientKind = Literal["greeting", "question", "request", "forget"]
RejectionReason = Literal[
    TransientKind, "weak", "secret", "instruction", "restated", "denied", "doubted", "supposed"
]

MIN_CONFIDENCE = 0.5
MIN_IMPORTANCE = 2
MIN_TOKENS = 2
"""Search tokens of the content: a single English word is no memory."""
MIN_RESTATED_TOKENS = 6
"""Search tokens of a quote that counts as a repetition of the assistant: shorter ones are common phrases."""

_GREETING = re.compile(r"""(?x)
    (?: hi | hello | hey | thanks | thank\syou | good\s(?:morning|evening|night|day) | bye | ok(?:ay)?
      | yes | no | sure | great | cool | 你好 | 您好 | 早上好 | 晚上好 | 早安 | 晚安 | 谢谢 | 多谢 | 再见
      | 好的? | 嗯+ | 是的 | 不是 | 可以 | 行 | 没问题 | 辛苦了 | 哈+ )
    (?: [\s,.!~，。！]*
      (?: there | all | again | very | so | much | you | thanks? | [啦啊了呀你您] | 谢谢 ) )*
""")
_REQUEST = re.compile(r"""(?xa)
    (?: please\s | pls\s | 请 | 麻烦你? )?
    (?: (?: (?:can|could|would|will)\syou | help\sme | let's | show | give | tell | write | translate
        | summari[sz]e | explain | draw | make | create | generate | fix | find | list | search | read )\b
      | 帮我 | 帮忙 | 替我 | 给我 | 为我 | 写 | 翻译 | 总结 | 解释 | 画 | 生成 | 查 | 列出 )
""")
_DURABLE = re.compile(r"""(?xa)
      \b(?: always | never | every | usually | prefer | like | love | hate | dislike | avoid | allergic
        | remember | from\snow\son | in\s(?:the\s)?future | whenever | deadline | budget | must
        | at\s(?:most|least) )\b
    | 以后 | 今后 | 总是 | 一直 | 永远 | 从来 | 每次 | 每天 | 每周 | 每月 | 喜欢 | 偏好 | 讨厌 | 不吃
    | 过敏 | 习惯 | 记住 | 记得 | 不要再 | 别再 | 必须 | 不能 | 不得 | 截止 | 预算 | 最多 | 至少
""")
_FORGET = re.compile(r"""(?xa)
    (?: (?: please | pls | and | so | ok(?:ay)? | just | kindly | (?:can|could|would|will|should)\syou
        | you\s(?:can|should|may) | i(?:'d\slike|\swant|\swould\slike)\syou\sto ) ,?\s )*
    (?: forget\b (?!\sto\b) | (?:do\snot|don't|never|stop)\s(?:remember|memori[sz])(?:e|ing)?\b
      | (?:delete|remove|erase)\b.{0,80}\bmemor(?:y|ies)\b )
    | (?: 请 | 麻烦 | 帮我 | 你 | 您 | 可以 | 能不能 | 能否 | 那 | 就 | 我[要想]你 )*
      (?: 把[^把]{1,60}? )? (?: 都 | 给我 | 快 )*
      (?: 忘掉 | 忘记(?![了带拿买关锁写吃做]) | (?<=[请你我您]) 忘了 | 忘了吧
        | (?:别|不要|不用|不必|不许) (?:再|去|帮我|给我)* 记 (?![录账笔恨者仇]) )
    | .{0,60}(?:删除?|删掉|清除|抹掉|抹去).{0,40}记忆
""")
"""For the plain form of a clause, from its beginning: 别忘记 and "I never forget" ask for the contrary."""
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


def asks_to_forget(clause: str) -> bool:
    """Whether the clause asks to forget something, or not to remember it."""
    return _FORGET.match(plain_form(clause)) is not None


def unsafe(text: str) -> Literal["secret", "instruction"] | None:
    """Why a text is not stored unless a person does so themselves: it contains a secret, or it commands a
    model."""
    if is_secret(text):
        return "secret"
    return "instruction" if commands(text) else None


def transient_kind(text: str) -> TransientKind | None:
    """What makes a text of the user transient: it is a greeting, a question, a one-off request or a request
    to forget. None: it may be a durable fact."""
    plain = plain_form(text)
    if not plain or _GREETING.fullmatch(plain):
        return "greeting"
    if QUESTION_END.search(text):
        return "question"
    if _FORGET.match(plain):
        return "forget"
    return "request" if _REQUEST.match(plain) and not _DURABLE.search(plain) else None

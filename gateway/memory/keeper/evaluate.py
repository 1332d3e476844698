"""Which of what was extracted is worth keeping, and what must never be kept. Pure."""

import re
from collections.abc import Iterable
from typing import Literal

from gateway.lexical import plain_form, query_tokens
from gateway.memory.keeper.extract import Extract

Reason = Literal["weak", "greeting", "question", "request", "secret", "instruction", "restated"]

LEAST_CONFIDENCE = 0.5
LEAST_IMPORTANCE = 2
LEAST_TOKENS = 2
"""Search tokens of the content: a single English word is no memory."""
RESTATED_FROM = 6
"""Search tokens of a quote that repeats the assistant: shorter ones are said by anybody."""

_GREETING = re.compile(
    r"""
    (?: hi | hello | hey | thanks | thank\syou | good\s(?:morning|evening|night|day) | bye | ok(?:ay)?
      | yes | no | sure | great | cool | 你好 | 您好 | 早上好 | 晚上好 | 早安 | 晚安 | 谢谢 | 多谢 | 再见
      | 好的? | 嗯+ | 是的 | 不是 | 可以 | 行 | 没问题 | 辛苦了 | 哈+ )
    (?: [\s,.!~，。！]*
      (?: there | all | again | very | so | much | you | thanks? | [啦啊了呀你您] | 谢谢 ) )*
    """,
    re.VERBOSE,
)
_QUESTION = re.compile(r"[?？吗嗎呢么麼]\s*$")
_REQUEST = re.compile(
    r"""
    (?: please\s | pls\s | 请 | 麻烦你? )?
    (?: (?: (?:can|could|would|will)\syou | help\sme | let's | show | give | tell | write | translate
        | summari[sz]e | explain | draw | make | create | generate | fix | find | list | search | read )\b
      | 帮我 | 帮忙 | 替我 | 给我 | 为我 | 写 | 翻译 | 总结 | 解释 | 画 | 生成 | 查 | 列出 )
    """,
    re.VERBOSE | re.ASCII,
)
_LASTING = re.compile(
    r"""
      \b(?: always | never | every | usually | prefer | like | love | hate | dislike | avoid | allergic
        | remember | from\snow\son | in\s(?:the\s)?future | whenever | deadline | budget | must
        | at\s(?:most|least) )\b
    | 以后 | 今后 | 总是 | 一直 | 永远 | 从来 | 每次 | 每天 | 每周 | 每月 | 喜欢 | 偏好 | 讨厌 | 不吃
    | 过敏 | 习惯 | 记住 | 记得 | 不要再 | 别再 | 必须 | 不能 | 不得 | 截止 | 预算 | 最多 | 至少
    """,
    re.VERBOSE | re.ASCII,
)
_SECRET = re.compile(
    r"""
      \bpass(?:word|wd|code|phrase)s?\b | \bpin\s?(?:code|number)\b | \bone[-\s]time\scode\b | \bcvv\b
    | 密码 | 口令 | 验证码 | 私钥 | 助记词
    | \b(?:api|access|secret|private|auth)[\s_-]?(?:key|token)s?\b
    | \b(?:token|secret)s?\s*(?:[:=]|is\b|是|为) | \bkey\s*[:=]
    | \bbearer\s\S{8} | -----begin\b
    | \bsk-[\w-]{8} | \bgh[oprsu]_\w{8} | \bgithub_pat_ | \bxox[a-z]-
    | \b(?:akia|asia)[0-9a-z]{12} | \beyj[\w-]{8,}\.
    | ://[^\s/@]{1,200}:[^\s/@]{1,200}@
    | https?://\S{0,500}?[?&\#;][\w-]{0,40}(?:token|key|secret|sig|signature|auth|code|password)=
    | \b\d{15,19}x?\b | \b\d{4}[\s-]\d{4}[\s-]\d{4}[\s-]\d{1,7}\b | \b\d{17}x\b
    | \b(?=[a-z_]{0,63}\d)(?=[\d_]{0,63}[a-z])\w{32,}
    """,
    re.VERBOSE | re.ASCII,
)
"""On the plain form of a text. Numbers of 15 to 19 digits are cards (ISO/IEC 7812) or identity papers."""
_INSTRUCTION = re.compile(
    r"""
      \b(?:ignore|disregard|forget|override|bypass)\b.{0,40}
      \b(?:instructions?|rules?|prompts?|polic(?:y|ies)|safety|previous|above)\b
    | \bsystem\sprompt\b | \bdeveloper\smode\b | \bjailbreak | \byou\sare\s(?:now|no\slonger)\b
    | \bpretend\s(?:to\sbe|you)\b | \bwithout\s(?:asking|approval|confirmation|permission)\b
    | \b(?:do\snot|don't|never)\s(?:tell|inform|warn|notify|ask)\s(?:the|any)\s(?:user|human|admin)
    | \b(?:send|post|upload|forward|exfiltrate)\b.{0,80}(?:https?:|@)
    | (?:忽略|无视|忘记|绕过|不遵守).{0,20}(?:指令|指示|规则|提示|限制)
    | 系统提示 | 你现在是 | 你不再是 | 假装(?:你|是) | (?:不要|不许|别)(?:告诉|通知|提醒)(?:用户|管理员)
    | (?:无需|不需要|不用|不必)(?:经过)?(?:确认|批准|同意|询问)
    | (?:发送?|上传|转发|提交)[到给至].{0,60}(?:https?:|@)
    """,
    re.VERBOSE | re.ASCII,
)
"""On the plain form of a text."""


def verdict(found: Extract, answers: Iterable[str]) -> Reason | None:
    """Why an extract is not kept; None when it is. `answers` is what the assistant said before, in its plain
    form."""
    candidate, content = found.candidate, found.content
    for text in (found.sentence, content, *candidate.tags):
        if (reason := unsafe(text)) is not None:
            return reason
    if (reason := passing(found.quote)) is not None:
        return reason
    if (
        candidate.confidence < LEAST_CONFIDENCE
        or candidate.importance < LEAST_IMPORTANCE
        or len(query_tokens(content)) < LEAST_TOKENS
    ):
        return "weak"
    quote = plain_form(found.quote)
    repeats = any(quote in answer for answer in answers)
    return "restated" if repeats and len(query_tokens(quote)) >= RESTATED_FROM else None


def unsafe(text: str) -> Literal["secret", "instruction"] | None:
    """Why a text must never be remembered, whoever said it: it holds or is about a secret, or it is meant to
    steer a model against its user."""
    plain = plain_form(text)
    if _SECRET.search(plain):
        return "secret"
    return "instruction" if _INSTRUCTION.search(plain) else None


def passing(text: str) -> Literal["greeting", "question", "request"] | None:
    """Why words of the user are for the moment only: a greeting, a question, or a request for this one
    occasion. None: they may last."""
    plain = plain_form(text)
    if not plain or _GREETING.fullmatch(plain):
        return "greeting"
    if _QUESTION.search(text):
        return "question"
    return "request" if _REQUEST.match(plain) and not _LASTING.search(plain) else None

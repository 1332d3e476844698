"""Messages of which nothing is learned: greetings and small talk, questions, one-off requests, requests to
forget. Pure."""

import re
from typing import Literal

from gateway.lexical import plain_form
from gateway.memory.sentences import QUESTION_END

TransientKind = Literal["greeting", "question", "request", "forget"]

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


def asks_to_forget(clause: str) -> bool:
    """Whether the clause asks to forget something, or not to remember it."""
    return _FORGET.match(plain_form(clause)) is not None

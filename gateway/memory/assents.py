"""Assents ("sounds good", 就按这个来): whether a text only agrees. Pure."""

import re

from gateway.lexical import plain_form

MAX_ASSENT = 120
"""Characters of a text that only agrees."""

_THIS = (
    r"(?:it|that|this|so|(?:that|this|the\s(?:first|second|third|last|former|latter|other))(?:\sone)?"
    r"(?:\s(?:plan|option|idea|approach|design|way|version|proposal|suggestion))?"
    r"|(?:it\s)?(?:that|this)\sway|(?:option|plan|version)\s[a-z0-9]|your\s(?:plan|option|idea|approach|design|proposal|suggestion))"
)
_FINE = (
    r"(?:good|great|fine|perfect|excellent|nice|lovely|wonderful|reasonable|right|sensible|awesome|ok(?:ay)?"
    r"|brilliant|like\sa\s(?:good\s)?plan|good\sto\sme)"
)
_ASSENT = re.compile(rf"""(?x)
    (?: (?: i\s(?:think|guess) | ok(?:ay)? | yes | yeah | yep | yup | well | then | and | alright
          | all\sright | great | sure | so | please )\s )*
    (?: ok(?:ay)? | yes | yeah | yep | yup | sure(?:\sthing)? | please(?:\sdo)? | it\sis | alright
      | all\sright | right | correct | exactly | absolutely | definitely | certainly | of\scourse | deal
      | done | agreed | approved | confirmed | lgtm | {_FINE}
      | (?:we|i|i\sfully|i\stotally|we\sall|i'd)\s(?:agree|confirm|insist) (?:\s(?:with|to)\s{_THIS})?
      | i(?:'m|\sam)\s(?:in|fine|happy|ok(?:ay)?|good)(?:\swith\s{_THIS})?
      | (?:(?:that|this|it|{_THIS})(?:'s|\sis|\sall|\swould\sbe)?\s)?
        (?:sounds?|looks?|works?|seems?|is|would\sbe)\s(?:all\s|very\s|really\s|pretty\s)?
        (?:{_FINE}|well|better|best)
      | (?:that|this|it)'s\s(?:{_FINE}|it|settled|a\s(?:deal|plan|good\sidea|great\sidea))
      | (?:(?:that|this|it)\s)?(?:works|makes\ssense|does\sit|will\sdo|suits\s(?:me|us))
      | (?:a\s)?(?:good|great|nice|excellent)\s(?:call|idea|plan|choice|proposal|suggestion)
      | (?:let's|let\sus|we(?:'ll|\swill|\sshould|\scan)?|i(?:'ll|\swill|'d)|you\s(?:can|may|should))\s
        (?:do|go(?:\sahead)?|go\s(?:with|for)|take|use|try|keep|stick\s(?:with|to)|settle\son
          |proceed(?:\swith)?|pick|choose|follow|have|adopt|start(?:\swith)?|make\sit)
        (?:\s(?:exactly|just))?(?:\s{_THIS})?(?:\sway)?
      | (?:please\s)?(?:do|take|use|go\s(?:with|for)|proceed(?:\swith)?|go\sahead(?:\swith)?|make)
        (?:\s{_THIS})?
      | fair\senough | (?:i'm|we're)\son\sboard | to\s{_THIS} | no\sobjections? | all\sgood
      | (?:you\shave\s)?my\s(?:approval|blessing) | that's\swhat\s(?:i|we)\swant
      | make\sit\sso | go\sfor\sit | ship\sit | by\sall\smeans | why\snot | count\sme\sin
      | i(?:'d)?\s(?:like|love|prefer|want|choose|take)\s{_THIS} | {_THIS}
    )
    (?: \s (?: then | please | thanks | thank\syou | for\s(?:me|us|now) | to\s(?:me|us) | with\s(?:me|us)
            | indeed | too | by\s(?:me|us) | from\smy\sside | so | it\sis | let's\sgo | all | exactly ) )*
    | (?! 我们?[也都]?[很挺蛮]?(?:非常)?好 )
      (?: [那好嗯行就先我们也都看这个样挺很蛮你您的] | 大家 | 觉得 | 完全 | 听起来 | 听上去 | 看起来
        | 感觉 | 非常 | 方案 | 建议 | 提议 | 计划 | 安排 | 设计 | 想法 )*
      (?: 可以 | 行 | 好 | 没问题 | 没意见 | 没毛病 | 可 | 赞 | 没有?异议 | 同意 | 赞成 | 赞同 | 支持
        | 不错 | 当然 | 合适 | 合理 | 可行 | 靠谱 | 嗯 | 对对? | 是 | 没错 | 正是 | ok | 中 | 妥 | 批准
        | 通过 | 确认 | 采纳 | 接受 | 成交 | 一言为定 | 说定 | 定 | 听你的 | 依你 | 照办 | 照做 | 按照?
        | 照着? | 依 | 根据 | 用 | 选 | 要 | 采用 | 选择 | 走 | 就 | 先 | 这么着? | 那么 | 如此
        | 第[一二三四五1-5][个种]? | 方案[a-e甲乙丙丁1-5一二三四五] )
      (?: [这那此个样你您们它的种说讲提写列] | 上面 | 上述 | 刚才 | 前面 | 第[一二三四五1-5] | 方案 | 计划
        | 建议 | 提议 | 方式 | 办法 | 思路 | 想法 | 选项 | 安排 | 设计 | 后者 | 前者
        | [a-e甲乙丙丁1-5一二三四五] )*
      (?: [来办做定走弄干吧啊呀的了哦啦嘛哈呢就好行] | 执行 | 进行 | 实施 | 推进 | 开始 | 决定 | 可以 )*
    | [👍👌🆗✅🙆💯]
""")
"""For the plain form of a clause, with plain apostrophes."""
_BETWEEN = re.compile(r"[,，、;；:：。.!！~～…\n]+|([👍👌🆗✅🙆💯])")
_COURTESY = re.compile(
    r"(?:thanks?|thank\syou|cheers|great|perfect|cool|nice|lovely|good\s(?:job|work|point)"
    r"|please(?:\s(?:continue|proceed|start))?|i\sthink|继续|开始[做干]?吧?|推进吧?|[你您]来定|麻烦"
    r"|请(?:继续|开始|推进|执行)?|谢谢|多谢|感谢|辛苦了?|太好了?|棒)"
    r"(?:\s?(?:so|very|a|much|lot|you|all|again|你|您|啦|了))*"
)
QUESTION = re.compile(r"[?？]|[吗嗎么麼]\s*$")
_HESITANT = re.compile(
    r"ok(?:ay)?|yes|yeah|yep|yup|sure|right|well|great|good|fine|nice|cool|好的?|嗯+|行|对的?|是的?"
)
_PRAISE = re.compile(rf"{_FINE}|不错|赞")
"""What agrees to a proposal, and is no yes to a question beside it."""
_RESERVED = re.compile(
    r"\b(?:but|except|however|instead|although|though|unless|only|rather|if|no|not|wait)\b"
    r"|不过|但|除了|只是|换成|改成|改为|不要|别|如果|要是|等等|先不"
)


def is_assent(text: str) -> bool:
    """Whether a text only agrees, to a text before it."""
    found = _parts(text)
    if len(text) > MAX_ASSENT or QUESTION.search(text) or not any(map(_ASSENT.fullmatch, found)):
        return False
    return all(_ASSENT.fullmatch(each) or _COURTESY.fullmatch(each) for each in found)


def assents_to_all(quote: str, message: str) -> bool:
    """Whether the user agrees with `quote`, a part of their message, and objects in it to no part of what
    they agree to."""
    if not any(map(_ASSENT.fullmatch, _parts(quote))):
        return False
    return is_assent(message) or not (_RESERVED.search(plain_form(message)) or QUESTION.search(message))


def is_yes(part: str) -> bool:
    """Whether the plain form of a clause is a yes, not only praise."""
    return _ASSENT.fullmatch(part) is not None and _PRAISE.fullmatch(part) is None


def is_hesitant(text: str) -> bool:
    """Whether a text has only words that also answer nothing in particular."""
    return all(map(_HESITANT.fullmatch, _parts(text)))


def _parts(text: str) -> list[str]:
    """The plain forms of what stands between its signs."""
    written = text.replace("\u2019", "'").replace("\ufe0f", "")
    return [plain for part in _BETWEEN.split(written) if part and (plain := plain_form(part))]

"""Secrets in a text: passwords, keys, numbers of cards. Pure.

A secret is a value, not its mention: that the password is on the fridge is none."""

import re
from dataclasses import replace

from gateway.lexical import plain_form
from gateway.storage.memories import MemoryRow

_ENDS = ".,;:\"'`)]}”’"
"""What may stand behind a secret and does not belong to it."""
MASK = "••••••"

_NAME = r"""
    (?: \b(?: pass(?:word|wd|code|phrase)s? | pwd | pin(?:[\s-]?(?:code|number))? | cvv | cvc
          | one[\s-]time\scode | security\scode | seed\sphrase
          | (?:api|access|secret|private|auth|encryption|recovery|licen[cs]e)[\s_-]?(?:key|token|code)s? )\b
      | 密[码碼] | 口令 | [验驗][证證][码碼] | 私[钥鑰] | 密[钥鑰] | 助[记記][词詞] | PIN\s?[码碼] )
    (?! [\s-]?(?: manager | polic | prompt | reset | hint | rule | field | page | length | rotation | change
          | requirement | protect | expir | sharing | safe | generator | strength )
      | 管理 | 策略 | [规規]则 | [规規]則 | 提示 | 重置 | [长長]度 | 要求 | [弹彈]窗 | 生成 | [强強]度
      | 保[护護]
      | (?:改|更新|换|換)[过過了]? \s*$ )
"""
"""Words that announce a secret, but not where they begin a compound, as in "password manager"."""
_NO_VALUE = r"""
    (?! (?: on | in | at | under | behind | inside | near | next | by | above | below | from | with
      | without | for
        | to | posted | kept | stored | written | taped | saved | printed | pinned | stuck | hanging | hidden
        | managed | shared | known | sent | given | changed? | changing | changes | rotated | reset | renewed
        | required | needed | expired | expiring | due | wrong | right | correct | incorrect | invalid
        | different
        | same | not | never | always | only | no | none | too | very | so | weak | strong | long | short
        | safe
        | secure | lost | missing | unknown | empty | optional | being | going | supposed | up | available
        | found
        | there | ours | mine | theirs | ok(?:ay)? | fine | old | new | out | an? | the | my | our | your
        | their
        | what | who | where | how | when | if | something | anything | someone | everyone | confidential
        | secret | private | public | hard | easy | asked | entered | checked | one | two | three | all
        | about | case | at\sleast | longer | shorter | protected | encrypted | visible )\b
      | [贴貼写寫放存记記在由每要需应應不没沒错錯对對一什谁誰哪必随隨我他她公用怎空旧舊新过過保强強弱长長短挂
        掛藏印多几幾通从從被和与與跟可能会會] )
"""
_VALUE = r"""
    (?: [:=]\s* )? ["'“”‘’「『`]?
    (?P<value> (?=[a-z]{0,64}[\d\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e])[\x21-\x7e]{1,512}
      | [^\W\d_]{1,64}(?:[ -][^\W\d_]{1,64}){0,7} | [^\s,.;!?，。；！？"'“”」』]{1,512} )
"""
_NAMED = re.compile(rf"""(?xi)
    {_NAME}
    (?: \s(?:for|of|to|on|at)\s[^.;:!?\n=]{{1,60}}? | [^\s。，,；;！!？?\n:=：是为為]{{1,12}} )?
    \s* (?: (?:is|are|was|reads|(?:is\s)?set\sto|(?:is\s|was\s)?changed\sto)\b
            (?:\s(?:now|still|just|currently|simply)\b)?
          | 改?[为為] | 改成 | [设設]成 | [换換]成 | 就?是 | [:：=]+ ) \s*
    {_NO_VALUE} {_VALUE}
""")
_BESIDE = re.compile(
    rf"{_NAME} \s* (?:[:：] | [使采]?用 | [选選] )? \s* [\"'“‘「`]? "
    r"(?P<value> (?=[\x21-\x2f\x3a-\x7e]{0,64}\d)[\x21-\x7e]{4,512} )",
    re.VERBOSE | re.IGNORECASE,
)
_AS = re.compile(rf"""(?xi)
    (?<!\S) (?P<value> (?=[a-z'"-]{{0,64}}[\d@\#$%^&*!_])[\x21-\x7e]{{4,512}} ) \s
    (?:is|as) \s (?:(?:the|my|our|your|their|his|her)\s)? (?:[\w'-]+\s){{0,3}}? {_NAME}
""")
_KEY = re.compile(r"""(?xia)
      \b(?:token|secret|key)s?\s*(?:[:=]|\bis\b|是|为|為)\s*["'`]?
      (?P<value>(?=[\w-]*\d|abc\b)[\w.-]{3,})
    | \bbearer\s\S{8,} | -----begin\b[\s\S]* | \bsk-[\w-]{8,} | \bgh[oprsu]_\w{8,} | \bgithub_pat_\w+
    | \bxox[a-z]-[\w-]+ | \b(?:akia|asia)[0-9a-z]{12,} | \beyj[\w-]{8,}\.[\w.-]*
    | (?<=://)[^\s/@]{1,200}:[^\s/@]{1,200}(?=@)
    | (?<=[?&\#;])[\w-]{0,40}(?:token|key|secret|sig|signature|auth|code|password)=[^\s&\#]+
    | \b\d{15,19}x?\b | \b\d{4}[\s-]\d{4}[\s-]\d{4}[\s-]\d{1,7}\b | \b\d{17}x\b
    | \b(?=[a-z_]{0,63}\d)(?=[\d_]{0,63}[a-z])\w{32,}
""")
"""Numbers of 15 to 19 digits are cards (ISO/IEC 7812) or identity papers."""


def secrets_in(text: str) -> list[str]:
    """The secret values in a text, as they stand in it; all of it where they cannot be separated."""
    return [text[start:end] for start, end in _spans(text)]


def is_secret(text: str) -> bool:
    return bool(_spans(text))


def masked(text: str) -> str:
    """The text with MASK in the place of its secrets."""
    for start, end in reversed(_spans(text)):
        text = f"{text[:start]}{MASK}{text[end:]}"
    return text


def masked_row(row: MemoryRow) -> MemoryRow:
    """The memory as lists, events, prompts and other services are given it; a document as it is."""
    texts = {row.content, row.context or "", row.summary, *row.tags, *row.decisions, *row.refs}
    if row.source == "document" or not any(map(is_secret, texts)):
        return row
    return replace(
        row,
        content=masked(row.content),
        summary=masked(row.summary),
        context=masked(row.context) if row.context else None,
        tags=tuple(map(masked, row.tags)),
        decisions=tuple(map(masked, row.decisions)),
        refs=tuple(map(masked, row.refs)),
    )


def _spans(text: str) -> list[tuple[int, int]]:
    named = [each.span("value") for pattern in (_NAMED, _BESIDE, _AS) for each in pattern.finditer(text)]
    found = sorted({*named, *(each.span("value" if each["value"] else 0) for each in _KEY.finditer(text))})
    # The patterns take capitals for small letters: what differs in those alone is not looked at again.
    if not found and text and (plain := plain_form(text)) not in text.lower() and _spans(plain):
        return [(0, len(text))]
    joined: list[tuple[int, int]] = []
    for start, last in found:
        end = start + max(1, len(text[start:last].rstrip(_ENDS)))
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined

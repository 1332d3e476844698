"""Whether an endpoint's words say that a prompt is too long for the model, and which numbers they tell. Pure.

There is no list of endpoints: what counts is the meaning. A sentence says it when it names what the model
reads (prompt, input, messages, context, the tokens of a request) and says of its length that it is over a
limit. Limits of the rate, of money, of files, of the answer alone, and of anything else in a request are
other failures. The wordings that it is held to, from documentation and reports or made after them, are in
tests/model/test_overflow.py.
"""

import re

from gateway.errors import Overflow

_READ_MOST = 4_000
"""Characters of a message that are looked at: endpoints say it at the beginning, and some add the prompt."""
_SMALLEST_WINDOW, _LARGEST_WINDOW = 256, 100_000_000
"""Tokens. A number outside of this is no window."""


def overflow_in(message: str) -> Overflow | None:
    """What `message`, a failure's words, says of a prompt that is too long; None when it says no such thing.

    Read in English and in Chinese, in lower case, sentence by sentence; names with underscores are words.
    """
    text = " ".join(message[:_READ_MOST].lower().replace("_", " ").split())
    if _OTHER_LIMIT.search(text):
        return None
    plain = _OUTPUT.sub(" ", text)
    if not any(_says_too_long(sentence) for sentence in _SENTENCE_END.split(plain)):
        return None
    counted = "" if "string too long" in text else text  # that counts characters
    return Overflow(
        window=_number(_WINDOW, counted, _SMALLEST_WINDOW),
        prompt=_number(_PROMPT, counted),
        output=_number(_ASKED, counted),
    )


def _says_too_long(sentence: str) -> bool:
    """Whether a sentence, without what is said of the answer, tells that what the model reads is too long."""
    if _OTHER_THING.search(sentence) and not _CONTEXT.search(sentence):
        return False
    return _TOO_LONG.search(sentence) is not None


def _number(pattern: re.Pattern[str], text: str, least: int = 0) -> int | None:
    for found in pattern.finditer(text):
        digits = next(group for group in found.groups() if group)
        number = int(digits.replace(",", ""))
        if least <= number <= _LARGEST_WINDOW:
            return number
    return None


_SENTENCE_END = re.compile(r"[.!?;](?=\s|$)|[。！？；\n]")

_OTHER_LIMIT = re.compile(
    r"""\b(?:tpm|rpm|tpd|rpd|throttl\w*|quota\w*|credits?|balance|billing|insufficient|concurren\w+|afford)\b
    | \b(?:rate|usage|spending|spend|budget|hourly|daily|weekly|monthly|free|api)[ -]?(?:tokens?[ ])?limit
    | per[ -](?:minute|second|hour|day|week|month|user|key)\b
    | please\ wait | timed?[ ]?out | deadline | out\ of\ memory
    | 余额 | 餘額 | 配额 | 配額 | 额度 | 額度 | 欠费 | 欠費 | 限流
    | 频率 | 頻率 | 速率 | 并发 | 並發 | 次数 | 次數 | 超时 | 逾時""",
    re.VERBOSE,
)
"""Limits that are none of the length of a prompt, whatever else the message says."""

_OUTPUT = re.compile(
    r"""[`'"]?\bmax[ ](?:new[ ]|output[ ]|completion[ ]|generation[ ])?tokens\b[`'"]?
    | \b(?:maximum[ ](?:number[ ]of[ ])?)?(?:output|completion|generated|reasoning|thinking|response|answer)
      [ ](?:tokens?|length|size|limit)\b
    | \bbudget[ ]tokens\b | \b(?:produced|generated|wrote|written)[ ]too[ ]many[ ]tokens
    | (?:输出|輸出|生成|回答|回复|回覆)的?(?:内容|內容|文本)?的?(?:长度|長度)?""",
    re.VERBOSE,
)
"""Names of the answer's length: a limit of that alone is met by asking for less."""

_CONTEXT = re.compile(
    r"context[ -]?(?:window|length|limit|size)|(?:total|input|prompt|message)[ ]tokens?|token[ ]count"
    r"|tokens[ ]of|\bkv[ ](?:slot|cache)|上下文|提示词|提示詞"
)
"""What makes a sentence one about the prompt, although it names something else too."""

_OTHER_THING = re.compile(
    r"""\b(?:images?|pictures?|photos?|files?|pdfs?|documents?|attachments?|audio|video|pages|pixels?
      |dimensions?|fields?
    | resolution|bytes|[kmg]i?b|[\d.]+[ ]?[kmg]i?b|tools?|functions?|schema|names?|description
      |identifiers?|(?<!input[ ])ids?
    | headers?|urls?|uri|metadata|title|stop[ ]sequences?|temperature|top[ ][pkn]|user[ ]agent|api[ ]?key
    | batch(?:es)?|depth|nesting|properties|cache[ ](?:control|key)|password|model[ ]name)\b
    | 图片 | 圖片 | 图像 | 圖像 | 文件 | 檔案 | 工具 | 函数 | 函式 | 名称 | 名稱""",
    re.VERBOSE,
)

_READ = r"""(?:prompts?|inputs?|input[ ]ids|context|messages?|conversation|chat[ ]history|history|requests?
    |query|sequence|tokens?|text)\b"""
_OVER = r"""(?:exceed\w{0,8}|surpass\w{0,8}|over(?:flow\w{0,8}|[ ]the|[ ]its|[ ]limit)
    |too[ ](?:long|large|many|big)
    |longer[ ]than|larger[ ]than|greater[ ]than|bigger[ ]than|more[ ](?:tokens[ ])?than|beyond
    |(?:must|should)[ ](?:be|have|contain)[ ](?:at[ ]most|less[ ]than|fewer[ ]than|smaller|shorter|<=?
    |no[ ]more))"""
_LONG = r"(?:tokens?|length|len|lengthy|long|context|window|seq)\b"

_TOO_LONG = re.compile(
    rf"""
    # the context is over its limit, or there is a limit and a number for it
      context[ -]?(?:window|length|limit|size)\b.{{0,60}}?\b(?:{_OVER}|overflow|full|reached|is[ ]only
      |of[ ]only)
    | {_OVER}\b.{{0,60}}?\bcontext[ -]?(?:window|length|limit|size|len)?\b
    | \btokens\b.{{0,40}}?\bcontext[ ](?:window|length|size)[ ]is[ ]\d
    | maximum[ ]context[ ]length[ ](?:is|of) | context[ ](?:overflow|is[ ]full)
      | n[ ]ctx\b.{{0,20}}?{_OVER} | n[ ]keep\b.{{0,20}}>=[ ]?n[ ]ctx\b | \bfits?\b.{{0,30}}\bcontext\b
    | (?:ran|run|running)[ ]out[ ]of[ ]context
    | \bno[ ]?kv[ ]?(?:cache[ ]?)?slot | \bkv[ ]slot[ ]for\b | \bspace[ ]in[ ]the[ ]kv[ ]cache
      | \bkv[ ]cache[ ]is[ ]full
    # what is read is too long, or has more tokens than it may have
    | \b(?:prompts?|inputs?|messages|conversation|chat[ ]history|history|sequence
      |query)\b[^.]{{0,60}}?\b(?:is|are|was|were)?[ ]?
      too[ ](?:long|large|big|many[ ]tokens)\b
    | \b(?:prompt|input)[ ]too[ ](?:long|large|big)\b | too[ ]much[ ](?:text|input|context)\b
    | \bmessages\[\d+\]\.content\b.{{0,20}}too[ ]long
    | \b(?:prompt|input)\b.{{0,40}}\bonly[ ]supports\b
    | \b{_READ}.{{0,80}}?\b{_LONG}.{{0,60}}?{_OVER}
    | \b{_READ}.{{0,80}}?{_OVER}.{{0,80}}?\b{_LONG}
    | \b{_LONG}.{{0,40}}?\b(?:of|in)\b.{{0,30}}?\b{_READ}.{{0,60}}?{_OVER}
    | too[ ]many[ ](?:input[ ]|prompt[ ]|total[ ])?tokens | too[ ]long.{{0,30}}\b(?:prompt|input|context)\b
    | tokens?[ ]limit[ ](?:is[ ]|was[ ]|has[ ]been[ ])?(?:exceeded|reached)
    | exceed\w{{0,8}}.{{0,40}}token[ ]limit
    | total[ ]tokens\b.{{0,60}}?{_OVER} | \bmax(?:imum)?[ ]size[ :]*\d+[ ]tokens
    | \b(?:number|count|sum)[ ]of[ ](?:\w+[ ])?tokens\b.{{0,60}}?{_OVER}
    | \b(?:prompt|input|sequence|tokens?)\b.{{0,40}}?\d[ ]?>=?[ ](?:max\w*[ ])?\d
    # it says what a prompt may have at most
    | \b(?:prompt|input|request|messages)\b.{{0,40}}?\btokens\b.{{0,30}}?\bmaximum\b
    | \binput[ ]length\b.{{0,40}}?\bmax[ ]length\b
    | maximum[ ](?:prompt|input|sequence)[ ](?:length|size|tokens)
    | range[ ]of[ ]input[ ]length | reduce[ ](?:the[ ]length[ ]of[ ]|your[ ])(?:the[ ])?(?:messages|input
      |prompt)
    # Chinese, simplified and traditional
    | (?:超出|超过|超過|大于|大於|超长|超長|过长|過長|太长|太長|过大|過大).{{0,30}}?
      (?:上下文|最大长度|最大長度|长度限制|長度限制|最大输入|最大輸入|窗口|視窗|token)
    | (?:上下文|窗口|視窗).{{0,20}}?(?:满|滿)
    | (?:上下文|提示词|提示詞|提示|输入|輸入|消息|訊息|对话|對話|内容|內容|token|prompt|messages|文本|问题
      |問題|最大长度|最大長度).{{0,30}}?
      (?:超出|超过|超過|大于|大於|超长|超長|过长|過長|太长|太長|过大|過大|超限)
    """,
    re.VERBOSE,
)

_N = r"(\d[\d,]{1,11})\b"
_WINDOW = re.compile(
    rf"""n[ ]ctx["']?[ ]?[:=][ ]?{_N}
    | (?:maximum|max)[ ](?:allowed[ ])?(?:context|prompt|input|sequence|total)[ ](?:length|size|len
      |tokens)(?:[ ](?:is|of|limit))?[ :=]*\(?{_N}
    | (?:context[ -]?(?:size|length|window|limit)|max[ ]size)(?:[ ](?:is|of|limit))?(?:[ ]only)?[ :=]*\(?{_N}
      (?![ ]\+)
    | {_N}[ ](?:tokens?[ ])?(?:maximum[ ]context|context[ ](?:length|window|size))
    | \d[ ]\+[ ]\d+[ ]>[ ]{_N} | [ ]>[ ]{_N}(?:[ ]maximum)?
    | (?:<=?|less[ ]than|fewer[ ]than|at[ ]most|exceed\w{{0,8}})[ ]{_N}
    | input[ ]length[ ]should[ ]be[ ]\[1,[ ]?{_N}\]
    | token[ ]limit[ :]*{_N} | supports[ ]up[ ]to[ ]{_N} | limit[ ](?:of|is|for[ ]this[ ]model[ ]is)[ :]*{_N}
    | (?:allowed|maximum[ ](?:allowed[ ])?length|maximum[ ](?:input|model|sequence)[ ]length(?:[ ]of)?
      |max[ ]num[ ]tokens|maximum[ ]of|is[ ]set[ ]to)[ :]*\(?{_N}
    | tokens[ ]allowed[ ]\({_N}\)""",
    re.VERBOSE,
)
_PROMPT = re.compile(
    rf"""n[ ]prompt[ ]tokens["']?[ ]?[:=][ ]?{_N}
    | {_N}[ ](?:tokens?[ ])?(?:in|from|of)[ ](?:the[ ]|your[ ])?(?:input[ ]|text[ ])?(?:messages|prompt|input)
    | {_N}[ ][`'"]?(?:inputs?|prompt)[`'"]?[ ]tokens
    | (?:too[ ]long|input|request|prompt|length)[ :]*\(?{_N}[ ]?(?:tokens)
    | tokens[ ]in[ ](?:the[ ]|your[ ])?(?:prompt|input|request)[ ]\(?{_N}
    | \bprompt[ ](?:is|has)[ ]{_N}[ ]tokens
    | limit:[ ]{_N}[ ]\+[ ]\d | resulted[ ]in[ ]{_N}
    | request[ ]contains[ ]{_N} | prompt[ ]\(length[ ]{_N}
    | (?<!maximum[ ])(?<!max[ ])(?:prompt|input)[ ](?:token[ ]count|length|tokens)(?:[ ](?:is
      |of))?[ :]*\(?{_N}""",
    re.VERBOSE,
)
_ASKED = re.compile(
    rf"""{_N}[ ](?:tokens?[ ])?(?:in|for)[ ]the[ ]completion | {_N}[ ][`'"]?max[ ]new[ ]tokens
    | {_N}[ ](?:output|completion)[ ]tokens | limit:[ ]\d+[ ]\+[ ]{_N}
    | max[ ](?:completion[ ])?tokens['"`]?[ ]is[ ]too[ ]large:[ ]{_N}""",
    re.VERBOSE,
)

"""What the demo says by itself: it calls the tools a question is for, and then quotes what they returned."""

import re
from dataclasses import replace

from gateway.demo import attached, expressions, lasting, memory, notes, orders, recall, reports, skills
from gateway.demo.asked import Asked
from gateway.demo.directives import Call, Think, Wanted
from gateway.demo.statements import asks_for_a_fact, sentences, statements
from gateway.demo.wire import text_block

MAX_READ = 2000
"""Characters of a question that are read: `gateway dev` has the demo in its own event loop."""
_GREETING = re.compile(
    r"\s*(?:hi|hello|hey|good (?:morning|afternoon|evening)|how are you|你好|您好|嗨|哈[喽啰]|早上好|晚上好)"
    r"(?:\s+there)?[吗嗎]?[\s!！.。~,，?？]*",
    re.IGNORECASE,
)
_WHO = re.compile(r"\bwho are you\b|\bwhat are you\b|你是谁|你是誰|你是什么|你是什麼", re.IGNORECASE)
_OWN = re.compile(r"\bmy\b|\bremember\b|我的|[记記]住", re.IGNORECASE)
_LONG = re.compile(r"(?<!how )\blong\b|(?<![多])[长長](?!期|度|时|時|久)", re.IGNORECASE)
_THINK = re.compile(r"\bthink|思考|想一想|想想", re.IGNORECASE)
_SENTENCE_END = re.compile(r"([?？.。!！;；\n])")
_TIME = re.compile(
    r"\bwhat(?:'s| is)? the (?:current )?(?:time|date)\b|\bwhat time\b|\bwhat (?:day|date) is\b"
    r"|\bcurrent (?:time|date)\b|\btoday'?s date\b|\btime is it\b|\btime now\b"
    r"|几点|幾點|(?:现在|現在|当前|當前|什么|什麼|告诉我|告訴我).{0,4}(?:时间|時間|日期)|今天.{0,4}(?:号|號|星期|周几|日期)",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\b(?:how|what|why|where|which|when|can|does|explain|describe|tell|show|find|search|look)\b"
    r"|怎|如何|什么|什麼|为何|為何|哪|吗|嗎|介绍|介紹|说明|說明|解释|解釋|查|搜",
    re.IGNORECASE,
)
_TOPIC = re.compile(
    r"\b(?:gateway|resum\w*|stream\w*|reconnect\w*|sessions?|turns?|events?|replay\w*|cancel\w*|memor\w*|compress\w*"
    r"|skills?|tools?|prompts?|api|sse|curl|settings?|config\w*|deploy\w*|docker|auth\w*|traces?|metrics|errors?|limits?)\b"
    r"|网关|閘道|恢复|恢復|断线|斷線|重连|重連|流式|会话|會話|事件|回放|取消|停止|记忆|記憶|压缩|壓縮|技能|工具|提示词|提示詞"
    r"|接口|配置|设置|設定|部署|密钥|密鑰|认证|認證|日志|追踪|指标|错误|錯誤|限制",
    re.IGNORECASE,
)
_ASKING = (
    "a about also an and are as at be calculate can compute could did do does equal equals explain find for "
    "from get give have how i in into is it its let look many me much my of on or please search show some "
    "tell than that the then there this to up us was we what when where which who why will with work works "
    "would you your"
)
_STOP_WORDS = frozenset(_ASKING.split())
_STOP_PHRASES = re.compile(
    "为什么|為什麼|怎么样|怎麼樣|怎么|怎麼|怎样|怎樣|如何|什么|什麼|请问|請問|[请請]|一个|一個|一下|另外|还有|還有|以及|多少|等于|等於"
    "|结果|結果|计算|計算|帮我|幫我|告诉我|告訴我|能否|是否|可以|哪些|哪里|哪裡|吗|嗎|呢|啊|吧|的|是|我|你|并且|並且"
)
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]*|[\u3400-\u9fff]+")
_LONG_LINE = (
    "Line {} of {}: a long answer of the built-in demo model, so that you can press Stop or reload the page.",
    "第 {} 行，共 {} 行：这是内置演示模型的长回答，你可以随时按停止，也可以刷新页面，再接着往下读。",
)
_LONG_LINES = 28


def answer(asked: Asked) -> list[Wanted]:
    """The parts of the next model call's answer."""
    asked = replace(asked, text=asked.text[:MAX_READ])
    if (read := skills.reading(asked)) is not None:
        if steps := skills.steps_of(read.own_words):
            return skills.follow(asked, steps)
        # It spells no call out: the question is answered as if nothing had been read.
        asked = replace(asked, step=asked.step - 1, results=asked.results[1:], skills={})
        if asked.step == 1 and not tool_calls(asked):
            return [skills.only_read(read, chinese=asked.chinese)]
    if asked.step > 1:
        return orders.go_on(asked) or memory.go_on(asked) or [text_block(reports.report(asked))]
    return (
        skills.read(asked)
        or notes.note(asked)
        or orders.begin(asked)
        or _remembering(asked)
        or _files(asked)
        or _own(asked)
    )


def _files(asked: Asked) -> list[Wanted]:
    """What is attached, with the calls that the message is for; a question about it is none to the docs."""
    if not asked.files:
        return []
    told = attached.tell(asked.files, chinese=asked.chinese)
    calls = [call for call in tool_calls(asked) if call.name != "search_docs"]
    return [text_block(told if calls else f"{told}\n\n{reports.closing(asked.chinese)}"), *calls]


def _remembering(asked: Asked) -> list[Wanted]:
    """The calls of the memory, with those that the rest of the message is for."""
    if not (begun := memory.begin(asked)):
        return []
    rest = lasting.without_lasting(asked.text) if lasting.lasting(asked.text) else ""
    return [*begun, *tool_calls(replace(asked, text=rest))]


def _own(asked: Asked) -> list[Wanted]:
    if recall.is_for(asked) and (recalled := _recalled(asked)):
        return recalled
    thought = [Think(_thought(asked))] if asked.thinking and _THINK.search(asked.text) else []
    if _LONG.search(asked.text):
        return [*thought, text_block(_long(asked.chinese))]
    calls = [] if _only_states(asked.text) else tool_calls(asked)
    if all(call.name == "search_docs" for call in calls) and (known := _known(asked)):
        return [*thought, text_block(known)]
    if calls:
        return [*thought, text_block(_announcement(calls, asked.chinese)), *calls]
    heeded = memory.heeded(asked)
    if statements(asked.text) and not heeded:
        return [*thought, text_block(recall.say("noted", asked.chinese))]
    introduced = reports.introduce(asked, greeted=_is_greeting(asked.text))
    return [*thought, text_block(f"{heeded}\n\n{introduced}" if heeded else introduced)]


def _recalled(asked: Asked) -> list[Wanted]:
    """The answer to a question about what the user told; nothing when it may be one about the gateway."""
    if found := recall.from_conversation(asked) or memory.answer(asked):
        return [text_block(found)]
    if calls := recall.lookup(asked):
        return [text_block(recall.say("lookup", asked.chinese)), *calls]
    return [] if _TOPIC.search(asked.text) else [text_block(recall.say("unknown", asked.chinese))]


def _known(asked: Asked) -> str | None:
    """The answer that a memory clearly is to a question that names nothing of the gateway's."""
    if _TOPIC.search(asked.text) or not asks_for_a_fact(asked.text):
        return None
    return memory.answer(asked)


def tool_calls(asked: Asked) -> list[Call]:
    """The calls a question is for, among the tools the request offers."""
    found, rest = expressions.take(asked.text)
    calls: list[Call] = []
    without_time = _without_time(rest)
    query = search_query(without_time)
    if query and not _is_greeting(asked.text) and (_ASKS.search(without_time) or _TOPIC.search(without_time)):
        calls.append(Call("search_docs", {"query": query}))
    calls += [Call("calculate", {"expression": expression}) for expression in found]
    if without_time != rest or (not calls and re.search("时间|時間", rest)):
        calls.append(Call("current_time", {}))
    return [call for call in calls if call.name in asked.tools]


def _only_states(text: str) -> bool:
    """Whether a message tells of the user and asks nothing."""
    told = statements(text)
    about_others = any(_ASKS.search(each) and not _OWN.search(each) for each in told)
    return bool(told) and told == list(sentences(text)) and not _TOPIC.search(text) and not about_others


def _without_time(text: str) -> str:
    """`text` without the sentences that ask for the time."""
    return "".join(" " if _TIME.search(part) else part for part in _SENTENCE_END.split(text))


def search_query(text: str) -> str:
    """The words of a question that say what it is about."""
    words = _WORD.findall(_STOP_PHRASES.sub(" ", text))
    return " ".join(word.rstrip(".-/") for word in words if word.lower() not in _STOP_WORDS)[:200]


def _is_greeting(text: str) -> bool:
    return bool(_GREETING.fullmatch(text) or _WHO.search(text))


def _announcement(calls: list[Call], chinese: bool) -> str:
    names = {call.name for call in calls}
    english = {"search_docs": "look that up", "calculate": "calculate", "current_time": "check the clock"}
    han = {"search_docs": "查一下文档", "calculate": "算一下", "current_time": "看一下时间"}
    said = [words for name, words in (han if chinese else english).items() if name in names]
    return f"我来{'，再'.join(said)}。" if chinese else f"Let me {' and '.join(said)}."


def _thought(asked: Asked) -> str:
    names = [call.name for call in tool_calls(asked)]
    if asked.chinese:
        plan = f"我需要调用 {'、'.join(names)}。" if names else "没有合适的工具，我直接回答。"
        return f"用户问的是：“{asked.text[:200]}”。{plan}"
    plan = f"I need to call {', '.join(names)}." if names else "No tool fits, so I answer directly."
    return f"The user asks: “{asked.text[:200]}”. {plan}"


def _long(chinese: bool) -> str:
    """About 600 pieces."""
    return "\n".join(_LONG_LINE[chinese].format(n, _LONG_LINES) for n in range(1, _LONG_LINES + 1))

"""Cues in a message for or against a retrieval, in Chinese (either script) and English.

A wrong yes costs a few tokens, a wrong no gives an answer that has forgotten its user: so "no" needs more
cues than "yes".
"""

import re
from dataclasses import dataclass
from typing import Literal

from gateway.lexical import plain_form
from gateway.memory.known_languages import is_known

TimeRange = Literal["last_7_days", "last_30_days", "all"]

MAX_READ = 20_000
"""Characters of a message that are searched for quoted text; of a longer one both ends."""
ENDS = 400
"""Characters at each end of a message that are read: the request is before or after pasted text."""
MAX_NAMES = 40
"""Characters of a cue in a note."""


@dataclass(frozen=True, slots=True)
class Cues:
    """The words of a message for each cue; None: there are none. `history`: an earlier
    conversation; `decision`: what was decided; `ours`: a plan or project; `personal`: the user's own life and
    taste; `making`: something is to be made; `general`: everybody would get the same answer; `empty`: a
    greeting, thanks or a sum; `recent`: a time, with the `time_range` it stands for."""

    history: str | None
    decision: str | None
    ours: str | None
    personal: str | None
    making: str | None
    general: str | None
    empty: str | None
    recent: str | None
    time_range: TimeRange


def read(message: str) -> Cues:
    """The cues in `message`; quoted and pasted text, and text to be translated, have none,
    nor has a message in another language, in which these words mean something else. Pure; some 20
    microseconds for a typed message, 2 ms at most."""
    own = _own_words(message)
    text = plain_form(own)
    empty = _empty(text)
    if empty is None and not is_known(own):
        return Cues(*[None] * 8, time_range="all")
    recent, time_range = _time_in(text)
    history = _found(_HISTORY, _BEFORE_DOING.sub(" ", text))
    if history is None and _TOGETHER.search(text):
        history = recent
    ours, making = _found(_OURS, text), _found(_MAKING, text)
    decision = _found(_DECISION, text)
    if ours and "方案" in ours and not making and not _GENERAL.search(text):
        decision = decision or ours
    return Cues(
        history=history,
        decision=decision,
        ours=ours,
        personal=_found(_PERSONAL, text),
        making=making,
        general=None if ours else _general(text),
        empty=empty,
        recent=recent,
        time_range=time_range,
    )


def _own_words(message: str) -> str:
    if len(message) > MAX_READ:
        message = f"{message[: MAX_READ // 2]}\n{message[-MAX_READ // 2 :]}"
    own = _QUOTED.sub(" ", message)
    own = own if _WORD.search(own) else message
    if task := _ON_TEXT.match(own):
        own = task[0]
    return own if len(own) <= 2 * ENDS else f"{own[:ENDS]}\n{own[-ENDS:]}"


def _time_in(text: str) -> tuple[str | None, TimeRange]:
    if found := _found(_LAST_DAYS, text):
        return found, "last_7_days"
    found = _found(_LAST_WEEKS, text)
    return found, "last_30_days" if found else "all"


def _empty(text: str) -> str | None:
    sum_of = _COUNTING.sub("", _POLITE.sub("", text).strip())
    if not _WORD.search(_SMALL_TALK.sub("", text)) or _ARITHMETIC.fullmatch(sum_of):
        return text[:MAX_NAMES] or "no words"
    return None


def _general(text: str) -> str | None:
    asked = _POLITE.sub("", text).strip()
    return None if _PERSON.search(asked) else _found(_GENERAL, asked)


def _found(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match[0].strip()[:MAX_NAMES] if match else None


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))


# These two are searched in the message as it came, all others in its plain form: simplified, lower case,
# without blanks between characters.
_QUOTED = re.compile(
    r"```.*?```|`[^`\n]{2,400}`|“[^”]{2,400}”|「[^」]{2,400}」|『[^』]{2,400}』"
    r"|\"[^\"]{2,400}\"|(?<!\w)'[^'\n]{2,400}'(?!\w)",
    re.DOTALL,
)
_ON_TEXT = re.compile(
    r"[^\n:：]{0,30}\b(?:translate|proofread|polish|rephrase|rewrite)\b[^\n:：]{0,60}[:：\n]"
    r"|[^\n:：]{0,20}(?:翻译|翻譯|润色|潤色|校对|校對|改写|改寫)[^\n:：]{0,30}[:：\n]",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w")

_WE = "(?:我们|咱们|咱|我和你|我跟你)"
_TALKED = "(?:说|讲|聊|谈|讨论|提|商量|约|定|选|决定|敲定|推荐|建议|告诉|答应|问)"
_BEFORE_DOING = re.compile(r"在(?![我你咱])[^,。!?\s]{1,15}?之前(?!的|说|讨论|聊|提)")
_HISTORY = _any(
    r"之前|以前(?!的人)|上次|上回|上一次|前几次|前阵子|前些天|前几天|那次|往常|老样子|照旧|一如既往",
    r"还记得|还记不记得|[你您]记得|记得(?:我|吗|么)|记不记得|[你您](?:是不是)?忘了|没忘",
    rf"[我你您]{_TALKED}(?:到|起|及|给你|给我)?过",
    rf"{_WE}(?:已经|都|曾|曾经)?{_TALKED}(?:到|起|及)?[过好的了]",
    r"(?:讨论|聊|谈|商量)[到起及]?过|说好的|约好的|接着[上昨]|继续(?:[上昨]|我们|之前)",
    r"\blast (?:time|session|conversation|chat|meeting|discussion)\b",
    r"\bthe other day\b|\bback then\b|\bas (?:usual|before)\b|\bpreviously\b",
    r"\bas (?:i|we|you) (?:have )?(?:said|mentioned|told|discussed|agreed|always|usually)\b",
    r"\bremember (?:when|what|how|which|who|where|why|if|whether|me|my|our|the|us|anything)\b",
    r"\bdo you remember\b|\byou (?:forgot|remember)\b|\bremind me (?:what|wh(?:ich|o|ere|en|y)|how|of)\b",
    r"\b(?:did|have|had) (?:i|we|you) (?:ever |already )?"
    r"(?:tell|told|say|said|mention|talk|discuss|agree|decide|cho+se|pick|settle|plan|end up)",
    r"\b(?:i|we|you)(?:'ve| have| had)? (?:already |once |just )?"
    r"(?:said|mentioned|discussed|talked|agreed|decided|settled|told (?:you|me)|spoke|covered)\b",
    r"\bprevious (?:conversation|discussion|chat|session|decision|plan|message|answer|idea|project|time"
    r"|suggestion|design|version)s?\b",
    r"\bearlier(?: (?:i|we|you|today|discussion|conversation|chat|session|plan|decision|idea)\b|[,?!.]|$)",
    r"\b(?:i|we|you|said|mentioned|discussed|talked|our) (?:[\w']+ ){0,5}(?:earlier|before)(?:$|[,?!.])",
    r"\bwhere (?:we|i) (?:left off|stopped)\b|\bcontinue (?:our|where|from|with (?:our|what))\b",
)
_DECISION = _any(
    rf"{_WE}的?(?:最终|最后|到底|究竟|现在|目前)?"
    r"(?:决定|选择|选|约定|用的|用哪|用什么|采用|打算|计划|结论|目标|方案)",
    r"(?:决定|选定|敲定|商定|定下来)了?(?:什么|哪|用|的是)|决策|(?:最终|最后)的?(?:决定|结论|方案)",
    r"结论[是呢有]|(?:讨论|选|定|决定)[过了的]|(?:达成|得出)的",
    r"\bdid (?:we|i) (?:discuss|decide|agree|choose|pick|settle)|\bdecided (?:on|to|that|against)\b",
    r"\bwe(?:'ve| have)? (?:finally )?(?:decided|discussed|agreed|chose|chosen|picked|settled)\b",
    r"\b(?:was|were|been|got) decided\b|\bwhy (?:did|do|are) we\b",
    r"\b(?:do|did|are|should|will) we (?:use|using|go|pick)\b",
    r"\bour (?:decision|plan|approach|architecture|design|stack|database|deadline|budget|goal|roadmap"
    r"|project|convention|team|policy|agreement|schedule|conclusion)s?\b",
    r"\b(?:the|that) (?:decision|agreement|conclusion)s?\b",
)
_OURS = _any(
    r"(?:技术|设计|最终|那个|这个|现有|我们的?)?方案|项目|进度|计划|截止|预算|需求|上线|架构",
    r"团队|客户|排期|里程碑|待办|会议|\b(?:todo|action item)s?\b",
    r"\b(?:the|this|that|current) (?:plan|deadline|project|status|budget|schedule|stack|architecture"
    r"|requirement|roadmap|team|release|meeting|milestone|client|customer|codename)s?\b",
)
_PERSONAL = _any(
    r"我们?的(?!代码|函数|程序|脚本|问题|意思|查询|电脑上)|我们?家|我(?:叫什么|是谁|住哪|多大)|对我",
    r"我(?:最|更|很|比较|一直|平时|一般|通常|总是|从来)?[不没]?"
    r"(?:喜欢|爱|讨厌|偏好|偏爱|习惯|过敏|擅长|害怕|忌口)",
    r"我(?:今天|今晚|明天|周末|现在|到底)?(?:该|应该)|我们?[想要](?:买|吃|去|看|学|换|送|喝|玩|穿|听|读)",
    r"我(?:老婆|老公|妻子|丈夫|先生|太太|孩子|儿子|女儿|妈|爸|父|母|爷|奶|男友|女友|朋友|同事|老板)",
    r"[给帮为替][我咱]们?(?:选|挑|推荐|设计|规划|安排|搭配|起个?名|取个?名|决定|订|点|定制)",
    r"适合我|推荐(?!系统|算法|引擎|模型)",
    r"\b(?:my|mine)\b"
    r"(?! (?:code|function|script|query|error|bug|output|input|loop|regex|question|point|program|test)s?\b)",
    r"\brecommend(?!er|ation (?:system|engine|algorithm|model))|\bsuggest(?: (?:me|some|an?)|ions? for)\b",
    r"\b(?:who am i|am i|should i|do i|did i|have i|can i (?:eat|drink|wear))\b|\bsuit(?:s|able for)? me\b",
    r"\bi(?:'m| am)? (?:really |usually |always |never |also |don't |do not |can't )?"
    r"(?:like|love|prefer|hate|dislike|enjoy|allergic|live|work)\b",
    r"\bhelp me (?:choose|pick|decide|plan|design|find)\b|\bdesign me\b",
    r"\b(?:choose|pick|design|book|order)\b[^.?!]{0,40}\bfor (?:me|us)\b",
    r"\bwhat to (?:eat|cook|wear|watch|read|buy|give)\b",
)
_MAKING = _any(
    r"[帮给替为]我们?(?:做|写|画|设计|生成|起草|拟|编|制作|创建|搭|开发|实现|安排|规划|准备|起|取|出|想|弄)",
    r"^(?:请|麻烦|来)?[你您]?(?:做|写|画|设计|生成|起草|拟|编|制作|创建|开发|实现|规划|准备|出|来)"
    r"[一个份张篇段封套首些点]",
    r"^(?:please |can you |could you |would you |help me |i need you to |let's |now )*"
    r"(?:write|draft|make|create|design|build|generate|draw|compose|plan|prepare|come up with|implement)\b",
    r"\b(?:write|make|draw|draft|build|create) me\b|\bi (?:need|want) an? \w+",
)
_GENERAL = _any(
    r"什么是|(?:是什么|什么|啥)意思|(?:哪个|哪种|哪款|谁)(?:更|比较|最)|区别[是在]",
    r"(?:有什么|有何|有啥|的)(?:区别|不同|差异|差别)|优缺点|原理|翻译|首都|定义|是谁发明",
    r"(?:解释|讲解|科普|介绍).{2}|(?:如何|怎么|怎样)(?:使用|实现|用|写|理解|计算)",
    r"为什么|多少(?:公里|米|公斤|度|个?人口)|^(?:计算|算一下|证明)",
    r"^(?:what|where|when|why|how|which|who (?:invented|wrote|won|made|was))\b",
    r"^(?:is|are|does|do|was|were|did|can) (?!you\b|there any)|\bdifference between\b",
    r"^(?:explain|define|describe|translate|summari[sz]e|compare|convert|calculate|compute|prove)\b",
)
_LAST_DAYS = _any(
    r"[上这本]个?(?:周|星期|礼拜)|最近|近来|近期|这几天|前几天|前些天|昨天|昨晚|前天|今天早上",
    r"\b(?:last|this|past) week\b|\brecent(?:ly)?\b|\blately\b|\byesterday\b|\bthe other day\b",
    r"\bthese days\b|\b(?:last|past) (?:few|couple of|seven|7) days\b",
)
_LAST_WEEKS = _any(
    r"[上这本]个?月|近一个月|前阵子|前段时间|\b(?:last|this|past) month\b",
    r"\b(?:last|past) (?:30 days|few weeks|couple of weeks)\b",
)
_TOGETHER = _any(r"我|咱|你|\b(?:we|i|you|our|us)\b")
_PERSON = _any(r"我|咱|俺|\b(?:i|my|me|mine|we|our|ours)\b")
_POLITE = _any(
    r"请问|请|麻烦[你您]?|[帮给跟为向教]我|告诉我|我(?:想|要|还想)(?:知道|了解|问)(?:一?下)?",
    r"^[你您]?(?:能不能|可以|能否|可否|能)|\bplease\b|^(?:hi|hello|hey|ok|so|and|你好)[,!. ]+",
    r"\b(?:tell|show|give|help|teach|explain to|for) me\b|\blet me know\b",
    r"\bi(?:'d| would)? (?:like|want|need) to (?:know|understand|learn)\b|\b(?:can|could|would|will) you\b",
)
_COUNTING = _any(r"\b(?:calculate|compute|what(?:'s| is)|how much is)\b|计算|算一下|等于|是|多少|几")
_ARITHMETIC = re.compile(r"[\s+\-*/×÷^%().=,?]*\d[\d\s+\-*/×÷^%().=,?]*")
_SMALL_TALK = _any(
    r"\b(?:hi|hello|hey|yo|thanks?|thank you|thx|ok|okay|great|nice|cool|bye|goodbye|there|yes|no|sure"
    r"|good (?:morning|afternoon|evening|night)|you're welcome|(?:so|very) much|a lot)\b",
    r"早上好|下午好|晚上好|早安|晚安|[你您]好|嗨|哈喽|在吗|谢谢|多谢|感谢|好的|嗯|收到|明白|知道了|再见",
    r"拜拜|不客气|辛苦了|是的|不是|[早好对你您啊呀了哈吗]",
)

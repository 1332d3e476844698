"""Changes of what lasts for the user (their memories, their schedules), once a model has read what others
wrote.

A tool says with `FunctionTool.changes` what a call would change. Where the model has read a page, a file, a
tool's output or a conversation from elsewhere that the operator does not trust, such a call runs at once only
if the user's newest message asks for just that; otherwise a person is asked, whatever they granted. An
operator's rule that allows the tool counts more.

The words of the message decide, in English and in Chinese of either script: a verb for that kind of change in
one of its clauses, which is not negated, and with it words of what is changed, in that clause or, where the
verb has only "it" there, in the one before. "Forget my old address" asks to delete the memory with the
address, and no other one; what is quoted asks for nothing. Who says what is true now asks for the change that
makes it so.
"""

import asyncio
import re
from collections.abc import Mapping, Set
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Literal

import structlog

from gateway.errors import GatewayError
from gateway.lexical import is_cjk, plain_form, tokens
from gateway.memory.confirmation import entails
from gateway.memory.injection_cues import mentions_authority
from gateway.memory.sentences import clauses
from gateway.settings import Settings
from gateway.storage.turns.store import Turns
from gateway.tools.base import ChangeKind, Exchange, FunctionTool, Influence, LastingChange, Tool, ToolContext
from gateway.tools.policy import BROUGHT_ALONG, CLIENT_TOOL, DESCRIPTIONS, is_trusted

MIN_SHOWN = 0.6
"""The share of the words of what is changed that the answer before must have, for the user to mean it by
"that"."""
MIN_NAMED = 0.4
"""The share of the words by which a message names what is to change that what is changed must have."""
STEM = 6
"""Letters by which words of one family are known: "allergic", "allergy"."""
MAX_READ, MAX_CLAUSES, MAX_CLAUSE, MAX_VERBS = 10_000, 100, 300, 5
"""Characters of a message, clauses of it, characters of a clause, and verbs in one that are looked at: in
longer ones stands what was pasted, and its length is a stranger's choice."""
MAX_SUBJECT = 300
"""Characters of what is changed, as a person is told it."""

_VERBS: Mapping[ChangeKind, re.Pattern[str]] = MappingProxyType(
    {
        "remove": re.compile(r"""(?x)
            (?<!^i\s) (?<!\bi\s) \b(?: forget\w* | forgot )\b
            | \b(?: delet\w+ | remov\w+ | eras\w+ | drop\w* | discard\w* | wip\w+ | purg\w+ | scrap\w*
              | clear\w*(?!\sup) | cancel\w* | stop\w* | get(?:ting)?\srid | gone | unlearn\w* | unsave
              | omit\w* | bin
              | ditch\w* | dump\w* | expung\w+ | strik(?:e|ing) | throw\w*\s(?:away|out) | let\sgo
              | tak(?:e|ing)(?=\s(?:.*\s)?(?:out|off|away)\b) )\b
            | (?<!^i\s) (?<!\bi\s)
              \b(?: don't | do\snot | didn't | no\sneed\sto | needn't | no\slonger | never | stop )\s
              (?: (?!forget|ever|you\s)\w+\s ){0,2}? (?:you\sto\s)?
              (?: remember\w* | keep\w* | stor\w+ | sav\w+ | retain\w* | remind\w* )\b
            | \bi\s(?: don't | do\snot | no\slonger )\s(?:want|need)\syou\sto\s
              (?: remember | keep | store | save | retain | know | remind )\b
            | (?<!难)(?<!^我)(?<!^我都)(?<!不会)忘 | 删 | [移去消剔拿丢扔划抹](?:除|掉|去) | 清[除空掉理]
            | 撤[销掉下] | 作废 | 取消 | 停[止掉用]
            | (?: 别 | 不要 | 不用 | 不必 | 无需 | 不需要 | 勿 | 不许 | 停止 | 不想(?:让|要)?你? )
              再?(?: 记 | 保[留存] | 留着 | 提醒 )
        """),
        "change": re.compile(r"""(?x)
            \b(?: chang\w+ | updat\w+ | correct\w* | edit\w* | fix\w* | modif\w+ | renam\w+ | adjust\w*
              | replac\w+ | (?:un)?pin\w* | priorit\w+ | mark\w* | tag\w* | (?:re)?set | lower\w* | rais\w+
              | mak(?:e|ing) | treat\w* | paus\w+ | stop\w* | resum\w+ | continu\w+ | run\w* | start\w*
              | switch\w* | giv(?:e|ing) | put(?:ting)? | keep | label\w* | fil(?:e|ing) | important )\b
            | 改[成为到]? | 更[新正换] | 修[改正订] | 调[整高低到] | 置顶 | 固定 | 优先 | 标[记为注]
            | 设[为成置] | [换归移]到?[成类入到至] | [换归移]到
            | 重要 | 当[作成] | 降低 | 提高 | 加上 | 停 | 恢复 | 继续 | 运行 | 执行
        """),
        "add": re.compile(r"""(?x)
            \b(?: remind\w* | schedul\w+ | every | each | daily | weekly | monthly | hourly | tomorrow
              | tonight | alarm\w* | notif\w+ | wake | ping | nudge | let\sme\sforget )\b
            | 提醒 | 定时 | 每[天日周月年晚早个小隔] | 安排 | 明[天早晚] | 后天 | 今晚 | 通知 | [叫让]我
            | 日程 | 计划 | 闹钟
        """),
    }
)
_NEGATED = re.compile(
    r"(?:\b(?:do not|never|not|without|can't|cannot|nobody|no one|hate|bad|sad|wrong|mistake|afraid|worry)\b"
    r"|\b\w+n't\b)(?:\s(?!(?:so|and|then|please|but|just)\b)[\w']+){0,4}\s?$"
    r"|(?:别|不要|不用|不必|无需|不需要|勿|不准|不许|(?<!能)不能|(?<!可)不可以?|没有?|并未|不得)(?:把.{0,20}|[^,，]{0,4})$"
)
"""For what stands before a verb."""
_ASKS_BACK = re.compile(
    r"^(?:(?:do|have) (?:you|i|we|they)|did|has|had|does|don't you|didn't you|is(?! it possible)"
    r"|are(?! you able)|was|were|why|when|what(?! you)|who|how|which|where)\b"
)
"""A question about a change is no wish for it. In Chinese it is known by its end."""
_ASKED_BACK = re.compile(r"^(?!.*(?:可以|能)).*了吗|了没有?|过吗|没有$|为什么|怎么|什么时候|是不是|有没有")
_CONDITION = re.compile(r"^(?:if|unless|when|whenever|in case|should)\b|^(?:如果|要是|假如|除非|若)")
"""Whose clause, and the one after it, ask for nothing now."""
_QUOTED = re.compile(
    r"[“「『][^”」』\n]{0,300}[”」』]|\"[^\"\n]{0,300}\"|(?<!\w)['‘](?:[^'’\n]|(?<=\w)['’](?=\w)){0,300}['’](?!\w)"
    r"|^\s{0,9}[>＞][^\n]*|```[^`]*(?:```|$)"
    r"|\b(?:says?|said|reads?|writes?|wrote|translate)\b[^:\n.]{0,40}:[^\n]*|(?:说|写道|翻译|翻譯)[^:：\n。]{0,20}[:：][^\n]*",
    re.MULTILINE | re.IGNORECASE,
)
"""What others said, as the message repeats it."""
_NEXT = re.compile(r",(?=[\u3400-\u9fff])|然[后後]|接[着著]|并且|並且")
"""What begins another clause in Chinese."""
_ON_PAPER = re.compile(
    r"\b(?:from|in|on|of|off)\s(?:(?:the|this|that|these|those|its)\s)?(?:\w+\s){0,2}?"
    r"(?:page|site|article|text|paragraph|section|list|recipe|table|code|draft|document|file|summary|e?mail)s?\b"
    r"|\b(?:list|formatting|format|ads)\b"
    r"|(?:网页|页面|文章|文本|段落?|列表|食谱|表格|代码|草稿|文档|文件|摘要|邮件)(?:[里中内上]面?)?的?|格式|广告"
)
"""What is on a page or in a text, for what is about to be changed there: no memory."""
_OURS = re.compile(r"\b(?:memor(?:y|ies)|remember\w*|your (?:list|file|notes?))\b|记忆|记住|记得|记录")
_FILLER = re.compile(r"""(?x)
    \b(?: a | an | the | this | that | these | those | it | its | them | they | one | ones | my | our | your
      | me | i | we | us | you | he | she | his | her | of | for | in | on | at | to | from | with | about
      | and | or | as | by | is | are | was | were | be | been | do | does | did | has | have | had | not | no
      | any | all | every | everything | anything | both | more | most | now | again | also | just | please
      | can | could | would | will | should | longer | then | so | what | which | who | there | here
      | up | out | get | rid | ok | okay | yes | remember\w* | saved? | stored? | keep | kept | know\w*
      | told | tell | said | says? | wish\w* | likes? | prefers? | wants? | memory | memories | note[sd]?
      | entry | entries
      | items? | things? | facts? | info\w* | details? | users? | user's | old | new | important | importance
      | less | high | low | level | type | schedules?
      | reminders? | tasks? | jobs? | list | page | file )\b
    | 用户 | 记忆 | 记住 | 记得 | 记着 | 记下来? | 内容 | [这那][个条件些] | 一[下条个点]
    | 关于 | 有关 | 所有 | 全部 | 一切 | 东西 | 事情? | 信息 | 资讯 | 资料 | 消息 | 提醒 | 定时 | 日程
    | 计划 | 任务 | 现在 | 以后 | 之前 | 以前 | 喜欢 | 重要 | 优先 | 类型
    | [我你您他她它们的地得了吧呢吗啊把将请给和与或在是有都也就还再个条这那之]
""")
"""What any memory or schedule may have, and says nothing of what one is about."""
_WHOLE = re.compile(r"\b(?:all|everything|anything|every|both)\b|全部|所有|一切|都")

log = structlog.get_logger(__name__)


def foreign_in(settings: Settings, tools_read: Set[str]) -> tuple[str, ...]:
    """The names whose words the model has read and the operator does not trust, in order."""
    trusts = partial(is_trusted, settings.trusted_tools)
    return tuple(sorted(name for name in tools_read if not trusts(name)))


async def brought_along(turns: Turns, settings: Settings, session_id: str) -> frozenset[str]:
    """The turns of a session that did not run here: their words are not its user's, unless the operator
    trusts what is brought along."""
    return (
        frozenset() if is_trusted(settings.trusted_tools, BROUGHT_ALONG) else await turns.brought(session_id)
    )


async def influence_on(
    settings: Settings, tool: Tool, arguments: dict[str, object], context: ToolContext
) -> Influence:
    """The causes that may have led to a call: what was read from elsewhere, and whether the user asks for the
    change that it makes. `change` is None where it changes nothing that lasts."""
    foreign = foreign_in(settings, context.tools_read)
    changes = tool.changes if isinstance(tool, FunctionTool) else None
    if changes is None:
        return Influence(foreign)
    try:
        change = await changes(arguments, context)
    except GatewayError as error:  # unknown what it is about: nobody can have asked for it
        log.warning("change_not_known", tool=tool.spec.name, code=error.code)
        change = LastingChange("change", tool.spec.name, "")
    if change is not None and change.kind != "change" and _are_described_elsewhere(settings, context.offered):
        foreign = (*foreign, DESCRIPTIONS)
    exchange = context.exchange()
    # In a thread: the answer before may be long, and so may a message with many clauses.
    is_asked = (
        change is not None and exchange is not None and await asyncio.to_thread(asks_for, change, exchange)
    )
    return Influence(foreign, change, is_asked)


def _are_described_elsewhere(settings: Settings, offered: Set[str]) -> bool:
    """Whether the model reads descriptions of tools that MCP servers or clients wrote."""
    rules = settings.trusted_tools
    names = [name for name in offered if name == CLIENT_TOOL or name.startswith("mcp__")]
    return not (is_trusted(rules, DESCRIPTIONS) or all(is_trusted(rules, name) for name in names))


def why_ask(influence: Influence) -> str | None:
    """Why a person is to decide about a call, in words for them; None: it may run as it would."""
    change = influence.change
    if change is None or not influence.foreign or influence.is_asked:
        return None
    subject = f"{change.subject} → {change.new}" if change.new else change.subject
    what = f": {subject[:MAX_SUBJECT]}" if subject else "."
    return (
        f"It would {change.what}{what}\nYour message does not ask for that, and the assistant has read what "
        f"others wrote ({', '.join(influence.foreign)}), which may have led it there."
    )


def asks_for(change: LastingChange, exchange: Exchange) -> bool:
    """Whether the user's message asks for that change. Pure."""
    message = _NEXT.sub("，", _QUOTED.sub(" ", exchange.message.text[:MAX_READ]))
    if change.new and _states(message, change):
        return True
    if change.kind == "add" and mentions_authority(change.subject, message):
        return False  # with an address that the user has not given
    before, is_conditional, is_pointed_at = "", False, False
    for clause in clauses(message)[:MAX_CLAUSES]:
        text = plain_form(clause[:MAX_CLAUSE])
        if _CONDITION.search(text) or is_conditional:
            is_conditional = not is_conditional
        else:
            asked = _asked_in(clause, text, before, change)
            if asked == "this":
                return True
            is_pointed_at |= asked == "that"
        before = text
    return is_pointed_at and _was_shown(change.subject, exchange.answer[-MAX_READ:])


def _asked_in(clause: str, text: str, before: str, change: LastingChange) -> Literal["this", "that"] | None:
    """Whether a clause, with its plain text and that of the clause before, asks for the change: "that" if
    only of what the user was shown."""
    if _ASKS_BACK.search(text) or _ASKED_BACK.search(text):
        return None
    pattern, asked = _VERBS[change.kind], None
    for verb in islice(pattern.finditer(text), MAX_VERBS):
        if _NEGATED.search(text[: verb.start()]):
            continue
        if change.id and change.id in clause:
            return "this"
        after, around, in_chinese = text[verb.end() :], text[: verb.start()], is_cjk(verb[0][0])
        if _ON_PAPER.search(text if in_chinese else after) and not _OURS.search(text):
            continue
        places = (f"{around} {after}",) if in_chinese else (after, around)
        named = next(
            filter(None, (_words(pattern.sub(" ", place)) for place in (*places, before))), set[str]()
        )
        if named - (new := _words(change.new)):
            if _is_named(change, named - new, f"{before} {text}"):
                return "this"
        elif _WHOLE.search(text):
            return "this"
        else:
            asked = "that"
    return asked


def _states(message: str, change: LastingChange) -> bool:
    """Whether the user says what the new content says, and it is about the same as the old one."""
    return bool(_topics(change.subject) & _topics(change.new)) and any(
        entails(clause, change.new) for clause in (message, *clauses(message)[:MAX_CLAUSES])
    )


def _is_named(change: LastingChange, named: set[str], said: str) -> bool:
    """Whether those words are of what is changed. What is added is said in more words, of times; of it the
    user has to have said some."""
    subject = _words(change.subject)
    if change.kind == "add":
        return bool(named & subject) and len(_words(said) & subject) >= MIN_NAMED * len(subject)
    return len(named & subject) >= MIN_NAMED * len(named)


def _topics(text: str) -> set[str]:
    """The words of a text that another one on the same matter has: in Chinese also such as 住在."""
    plain = plain_form(text).replace("用户", " ")
    return _words(text) | {word for word in tokens(plain) if len(word) > 1 and is_cjk(word)}


def _words(text: str) -> set[str]:
    """The words that tell what a text is about: without those that any memory or schedule may have, of Latin
    ones the beginning ("allergic", "allergy"), and of Chinese in pairs."""
    found = tokens(_FILLER.sub(" ", plain_form(text)))
    return {word[:STEM] for word in found if len(word) > 1}


def _was_shown(subject: str, answer: str) -> bool:
    words = _words(subject)
    return bool(words) and len(words & _words(answer)) >= MIN_SHOWN * len(words)

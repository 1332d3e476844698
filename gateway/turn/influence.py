"""Changes of what lasts for the user (their memories, their schedules), once a model has read what others
wrote.

A tool says with `FunctionTool.changes` what a call would change. Where the model has read a page, a file, a
tool's output or a conversation from elsewhere that the operator does not trust, such a call runs at once only
if the user's newest message asks for just that; otherwise a person is asked, whatever they granted. An
operator's rule that allows the tool counts more.

The words of the message decide, in English and in Chinese of either script: a verb for that kind of change in
one of its clauses, which is not negated, and with it words of what is changed. "Forget my old address" asks
to delete the memory with the address, and no other one.
"""

import re
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

import structlog

from gateway.errors import GatewayError
from gateway.lexical import is_cjk, plain_form, tokens
from gateway.memory.sentences import clauses, word_share
from gateway.settings import Settings
from gateway.storage.turns import Turns
from gateway.tools.base import ChangeKind, Exchange, FunctionTool, Influence, LastingChange, Tool, ToolContext
from gateway.tools.policy import BROUGHT_ALONG, is_trusted

MIN_SHOWN = 0.6
"""The share of the words of what is changed that the answer before must have, for the user to mean it by
"that"."""
MAX_SUBJECT = 300
"""Characters of what is changed, as a person is told it."""

_VERBS: Mapping[ChangeKind, re.Pattern[str]] = MappingProxyType(
    {
        "remove": re.compile(r"""(?x)
            \b(?: forget\w* | forgot | delet\w+ | remov\w+ | eras\w+ | drop\w* | discard\w* | wip\w+
              | clear\w* | cancel\w* | stop\w* | get(?:ting)?\srid )\b
            | \b(?: don't | do\snot | no\sneed\sto | needn't | stop )\s(?:\w+\s)?
              (?: remember\w* | keep\w* | stor\w+ | sav\w+ | retain\w* | remind\w* )\b
            | 忘 | 删 | 移除 | 去掉 | 清[除空掉] | 抹[掉去除] | 撤[销掉] | 取消 | 停[止掉用]
            | (?: 别 | 不要 | 不用 | 不必 | 无需 | 不需要 | 勿 | 不许 | 停止 )
              再?(?: 记 | 保[留存] | 留着 | 提醒 )
        """),
        "change": re.compile(r"""(?x)
            \b(?: chang\w+ | updat\w+ | correct\w* | edit\w* | fix\w* | modif\w+ | renam\w+ | adjust\w*
              | replac\w+ | (?:un)?pin\w* | priorit\w+ | mark\w* | tag\w* | (?:re)?set | lower\w* | rais\w+
              | mak(?:e|ing) | treat\w* | paus\w+ | stop\w* | resum\w+ | continu\w+ | run\w* | start\w* )\b
            | 改 | 更[新正换] | 修[改正订] | 调[整高低] | 置顶 | 固定 | 优先 | 标[记为注] | 设[为成置] | 换成
            | 当[作成] | 降低 | 提高 | 停 | 恢复 | 继续 | 运行 | 执行
        """),
        "add": re.compile(r"""(?x)
            \b(?: remind\w* | schedul\w+ | every | each | daily | weekly | monthly | hourly | tomorrow
              | tonight | alarm\w* | notif\w+ | wake )\b
            | 提醒 | 定时 | 每[天日周月年晚早个小] | 安排 | 明[天早晚] | 后天 | 今晚 | 通知 | 叫我 | 日程
            | 计划
        """),
    }
)
_NEGATED = re.compile(
    r"\b(?:don't|do not|never|not|without|mustn't|shouldn't|can't|cannot|won't)(?:\s[\w']+){0,3}\s?$"
    r"|(?:别|不要|不用|不必|无需|不需要|勿|不准|不许|不能|不可|没有?|并未)[^,，]{0,4}$"
)
"""For what stands before a verb."""
_ASKS_BACK = re.compile(r"^(?:did|have|has|had|do|does|is|are|was|were|why|when|what|who|how|which|where)\b")
"""A question about a change is no wish for it. In Chinese it is known by its end."""
_ASKED_BACK = re.compile(r"(?:了吗|了没有?|过吗|没有|为什么|怎么|什么时候|是不是|有没有)")
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


def foreign_in(settings: Settings, tools_read: frozenset[str] | set[str]) -> tuple[str, ...]:
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
    exchange = context.exchange()
    is_asked = change is not None and exchange is not None and asks_for(change, exchange)
    return Influence(foreign, change, is_asked)


def why_ask(influence: Influence) -> str | None:
    """Why a person is to decide about a call, in words for them; None: it may run as it would."""
    change = influence.change
    if change is None or not influence.foreign or influence.is_asked:
        return None
    what = f": {change.subject[:MAX_SUBJECT]}" if change.subject else "."
    return (
        f"It would {change.what}{what}\nYour message does not ask for that, and the assistant has read what "
        f"others wrote ({', '.join(influence.foreign)}), which may have led it there."
    )


def asks_for(change: LastingChange, exchange: Exchange) -> bool:
    """Whether the user's message asks for that change. Pure."""
    subject = _words(change.subject)
    for clause in clauses(exchange.message.text):
        text = plain_form(clause)
        if _ASKS_BACK.search(text) or _ASKED_BACK.search(text):
            continue
        for verb in _VERBS[change.kind].finditer(text):
            if _NEGATED.search(text[: verb.start()]):
                continue
            if change.id and change.id in clause:
                return True
            named = _words(_VERBS[change.kind].sub(" ", _object_of(text, verb)))
            if named & subject:
                return True
            if not named and (_WHOLE.search(text) or _was_shown(change.subject, exchange.answer)):
                return True
    return False


def _object_of(text: str, verb: re.Match[str]) -> str:
    """What the verb is about: in English what follows it, in Chinese it may stand before."""
    return text if any(map(is_cjk, verb[0])) else text[verb.end() :]


def _words(text: str) -> set[str]:
    """The words that tell what a text is about: without those that any memory or schedule may have, and of
    Chinese in pairs."""
    return {word for word in tokens(_FILLER.sub(" ", plain_form(text))) if len(word) > 1}


def _was_shown(subject: str, answer: str) -> bool:
    words = _words(subject)
    return bool(words) and word_share(words, answer) >= MIN_SHOWN

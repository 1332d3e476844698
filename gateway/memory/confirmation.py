"""Whether the user's newest message confirms that something is to be remembered. Pure.

Neither a model's word nor a page with a claim that the user confirmed counts: the message itself has to
confirm, and its subject must have been shown to the user."""

import re

from gateway.lexical import plain_form, query_tokens, tokens
from gateway.memory.assents import is_yes
from gateway.memory.injection_cues import ADDRESS, is_plantable
from gateway.memory.sentences import QUESTION_END, clauses, sentences, word_share
from gateway.memory.similarity.comparison import contradicts
from gateway.tools.base import Exchange

MIN_SHARE = 0.6
"""The share of a content's words that a text must have to state it."""
MAX_CONFIRMATION = 300
"""Characters of a message that may be nothing but a confirmation."""

_KEEP = re.compile(r"""(?x)
    (?: (?: yes | yep | yeah | sure | ok(?:ay)? | right | correct | please | do | and | so | then | just
      | well
          | i\s(?:confirm|agree|insist) | (?:can|could|would)\syou | go\sahead(?:\sand)?
          | you\s(?:can|may|should) ) ,?\s )*
    (?: remember | keep | save | store | note | memori[sz]e | retain | confirm )
    (?: \s(?: that | this | it | them | these | those | both | all\sof\s(?:that|it|them)
            | (?:that|this|the|my|our|those|these)\s(?!(?:i|we|you|he|she|it|they|there|the|my|our|an?)\b)
              (?:(?:\s|\b)(?!(?:is|are|was|were|has|have|had|will|can|should|must)\b)[\w'-]+){1,5} ) )
    (?: \s(?: please | too | as\swell | then | now | down | anyway | anyhow | nevertheless | regardless
      | for\s(?:me|us)
            | in\smind | on\sfile | for\s(?:later|next\stime|the\sfuture|good)
            | to\s(?:memory|your\smemory) ) )*
    | (?: 是的? | 对 | 好的? | 嗯 | 行 | 可以 | 没错 | 请 | 麻烦 | 你 | 帮我 | 就 | 那 | 也 | 都 | 还是
    | 直接 | 确认 | 把 )*
      (?: (?:这|那)(?:个|条|些|件事|点)? | 它 | 这些 | 那些 )?
      (?: 也 | 都 | 就 | 请 | 给我 | 帮我 | 还是 )*
      (?: 记住 | 记下来? | 记着 | 记一下 | 记上 | 保存 | 存下来? | 存着 | 保留 | 留着 | 确认 )
      (?: 这 | 那 | 它 | 个 | 条 | 些 | 件事 | 一点 | 点 | 它们 | 吧 | 了 | 就好 | 就行 | 下来 | 一下 | 啊
        | 呀 | 好了 )*
""")
_NO = re.compile(r"""(?x)
      \b(?: no | nope | not | don't | do\snot | never | forget | wait | stop | cancel | wrong | rather
        | instead | but | except
        | delete | if | unless | maybe | perhaps | later )\b
    | 不 | 别 | 没(?!错|问题|关系) | 忘[掉记了] | 等[等一下] | 错了 | 先 | 但 | 除了 | 删 | 如果 | 要是
    | 也许 | 可能 | 以后再
""")
_ASKS_TO_KEEP = re.compile(
    r"\b(?:remember|keep|kept|save|store|note|confirm|memory|memori[sz]e)\w*\b|记|保存|存|确认|保留", re.ASCII
)
_ASKING = re.compile(
    r"\b(?:(?:remember|keep|kept|save|store|note|confirm|memor|conversation|session|sentence|fact|preference|detail"
    r"|information|thing|point)\w{0,4}|shall|should|would|like|want|right|correct|ok(?:ay)?|anyway|really|long|term"
    r"|later|future|next|time|info|secret|word|exactly|me|you|th(?:ese|is|at|ose|em|e|en)|it|i|we|our|my|your|for"
    r"|in|of|to|as|an?|do|is|so|on|with|from|about|again|please|now|both|all)\b"
    r"|记住|记下来?|记录|记|保存|存下来?|存|确认|保留|需要|要不要|要|是否|可以|句话|一?下|信息|资讯|资料|消息|事情"
    r"|内容|偏好|事实|长期|记忆|以后|下次|件事|[帮您你我吗呢么把这那条个些吧对是的了也都它请就为给替到里中进在想不]"
)
"""The words of the question whether something is to be remembered; what remains of it is what it is about."""
_INSISTS = re.compile(
    r"\b(?:anyway|anyhow|nevertheless|regardless|i\sinsist|even\s(?:so|though)|i\sknow\s(?:it|this|that)(?:'s|\sis))\b"
    r"|还是|就是要|坚持|尽管|我知道(?:这|它)?是"
)
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")


def entails(text: str, content: str) -> bool:
    """Whether a text states the content: with most of its words, all of its numbers and addresses, nothing to
    the contrary, and nothing beside it that would steer a model."""
    if plain_form(content) in plain_form(text):
        return True
    words = set(query_tokens(content))
    if word_share(words, text) < MIN_SHARE:
        return False
    exact, known = plain_form(content), plain_form(text)
    if any(each not in known for pattern in (_NUMBER, ADDRESS) for each in pattern.findall(exact)):
        return False
    if is_plantable(content, text):
        return False
    near = [each for each in clauses(text) if word_share(words, each) >= 0.5]
    return not any(contradicts(content, each) for each in (text, *near))


def confirms(exchange: Exchange, content: str, *, named: str = "") -> bool:
    """Whether the user's message confirms the content: it asks to remember that, or is a yes to an answer
    that asked; and a sentence of the answer, or the message, states the content, or the message names its id
    (`named`). A yes to a question about something else is none."""
    message = exchange.message
    if named and named in message.text:
        exchange = Exchange(content, message._replace(text=message.text.replace(named, "this")))
    if not asks_to_remember(exchange) or (
        not _says_to_keep(message.text) and _asks_of_another(exchange.answer, content)
    ):
        return False
    answer = exchange.answer
    parts = [exchange.message.text, *sentences(answer, semicolons=True), *answer.splitlines()]
    return plain_form(content) in plain_form(answer) or any(entails(part, content) for part in parts)


def asks_to_remember(exchange: Exchange) -> bool:
    """Whether the user's message asks to remember what was spoken of, or is a yes where the answer asked
    that. A question does not, nor a message with a condition or a refusal."""
    message = exchange.message.text
    parts = _clauses(message)
    if not parts or QUESTION_END.search(message) or any(_NO.search(clause) for clause in parts):
        return False
    if _says_to_keep(message):
        return True
    last = _last_sentence(exchange.answer)
    asked = QUESTION_END.search(last) and _ASKS_TO_KEEP.search(plain_form(last))
    return bool(asked) and len(message) <= MAX_CONFIRMATION and is_yes(parts[0])


def _clauses(message: str) -> list[str]:
    """In their plain form, also where only a comma is between them."""
    return [
        part for clause in clauses(message) for part in map(plain_form, re.split("[,，]", clause)) if part
    ]


def _says_to_keep(message: str) -> bool:
    return any(_KEEP.fullmatch(clause) for clause in _clauses(message))


def _last_sentence(answer: str) -> str:
    return ["", *sentences(answer, semicolons=True)][-1]


def _asks_of_another(answer: str, content: str) -> bool:
    """Whether the question at the end of an answer names what it is about, and that is not the content:
    "shall I remember that you like tea?", "要保存文件吗？"."""
    asked = {
        word for word in query_tokens(_ASKING.sub(" ", plain_form(_last_sentence(answer)))) if len(word) > 1
    }
    return bool(asked) and not asked & set(tokens(content))


def confirms_secret(exchange: Exchange) -> bool:
    """Whether the user's message asks to remember a secret although it is one."""
    message = plain_form(exchange.message.text)
    return asks_to_remember(exchange) or bool(_INSISTS.search(message) and _ASKS_TO_KEEP.search(message))

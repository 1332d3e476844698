"""Provenance of memories that a model saves: who stated it, the tools whose output the model had read, and
whether it waits for the user to confirm it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.errors import ToolError
from gateway.lexical import is_cjk, plain_form, query_tokens
from gateway.memory.confirmation import MIN_SHARE, confirms, confirms_secret, entails
from gateway.memory.extraction.transient_messages import transient_kind
from gateway.memory.injection_cues import is_injection, is_plantable, mentions_authority
from gateway.memory.secret_detection import secrets_in
from gateway.memory.sentences import clauses, word_share
from gateway.storage.memories import MAX_TOOLS, Evidence, Origin
from gateway.tools.base import MANAGE_MEMORY, Exchange, ToolContext, UserMessage
from gateway.tools.policy import MEMBER

MAX_QUOTE = 500
"""Characters of a stored quote."""
REFUSALS = {
    "secret": "That looks like a secret, which is kept only for a user who insists. Tell them so. Once they "
    "answer that it is to be remembered anyway, save it again; lists show it masked then.",
    "command": "That would steer the assistant, it tells nothing about the user: it is not remembered.",
}
_OWN = MANAGE_MEMORY
_ASSERTION = re.compile(r"""(?xa)
      \b(?: remember | memori[sz]e | keep\sin\smind | don't\sforget | note\b (?!\w) | for\sthe\srecord
        | by\sthe\sway
        | save | store | always | never | every | usually | from\snow\son | agreed | decided )\b
    | \b(?:i|we) (?:'(?:m|ve|re))? \s
      (?!(?:want|need|would|wish|wonder|can|could|cannot|have\sto|see|saw|read|found|got|hope)\b) \w
    | \b(?:my|our) (?:\s[\w'-]+){1,4}? \s (?:is|are|was|were|has|have|had|can't|cannot|likes?|lives?|works?
        |starts?|begins?|moved|needs?|gets?|goes|takes?)\b
    | 记(?!录|者|账) | 以后 | 从现在起 | 顺便 | 约定 | 说好 | 决定
    | (?:我|我们|咱们?) (?!想[知问看要查]|需要|看[到了]|要[看问查找]|能 | 可以 | 该怎)
""")
"""For the plain form of a clause: the user states something, or asks to keep it."""


_NAME = re.compile(r"(?<=[^\s.!?。]\s)[A-Z]\w+|[A-Z]{2,}|(?<=[\u3400-\u9fff])\s?[A-Za-z]{2,}")
"""A word that begins with a capital within a sentence, or a Latin one within a Chinese sentence."""
_DAYS = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september"
    r"|october|november|december"
)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a content comes from; `evidence` are the user's words for it. `quarantined`: it may have been
    planted, and waits for the user."""

    origin: Origin
    tools: tuple[str, ...] = ()
    evidence: Sequence[Evidence] = ()
    quarantined: bool = False


def provenance_of(
    content: str, context: ToolContext, trusts: Callable[[str], bool], *, tags: Sequence[str] = ()
) -> Provenance:
    """Who stated the content that a model saves, with its tags.

    The user: one of their messages states it, or the newest one confirms it. Else it is the model, in
    words of its own, and it is kept. After output of a tool that the operator does not trust (`trusts`, by
    name), it is kept if the user stated something or asked to remember it, and no attacker could use it;
    otherwise it waits in quarantine. The output of such tools itself counts where it mentions addresses or
    permissions.

    Raises:
        ToolError: (memory_unsafe) a command to a model, or a secret that the user does not insist on.
    """
    exchange, messages = context.exchange(), context.user_messages()
    user_text, whole = "\n".join(each.text for each in messages), "\n".join([content, *tags])
    _check(whole, exchange, user_text)
    tools = tuple(sorted(context.tools_read - {_OWN})[:MAX_TOOLS])
    # What is kept of a shared session is its members': what one of them says is nothing from elsewhere.
    outside = not all(trusts(name) or (context.is_shared and name == MEMBER) for name in context.tools_read)
    if any(entails(each.text, content) for each in messages) and not (
        outside and is_plantable(whole, user_text)
    ):
        return Provenance("user", tools, evidence_of(content, context))
    if exchange is not None and confirms(exchange, content) and not is_plantable("\n".join(tags), user_text):
        return Provenance("confirmed", tools, [quote_of(exchange.message, context)])
    if outside:
        newest = exchange.message.text if exchange is not None else ""
        asked = tells(newest) and _may_mean(content, newest, user_text)
        return Provenance("outside", tools, quarantined=not asked or is_plantable(whole, user_text))
    doubtful = not all(map(trusts, context.offered)) and mentions_authority(whole, user_text)
    return Provenance("model", tools, evidence_of(content, context), quarantined=doubtful)


def tells(message: str) -> bool:
    """Whether the user makes a statement that may last, or asks to remember it; requests and questions are
    neither."""
    return any(
        transient_kind(clause) is None and _ASSERTION.search(plain_form(clause))
        for clause in clauses(message)
    )


def evidence_of(content: str, context: ToolContext) -> Sequence[Evidence]:
    """The newest clause of the user that states the content, verbatim; none when there is none."""
    words = set(query_tokens(content))
    for message in reversed(context.user_messages()):
        quotes = [clause for clause in clauses(message.text) if clause in message.text]
        best = max(quotes, key=lambda quote: word_share(words, quote), default="")
        if word_share(words, best) >= MIN_SHARE:
            return [Evidence(context.session_id, message.position, best[:MAX_QUOTE])]
    return ()


def quote_of(message: UserMessage, context: ToolContext) -> Evidence:
    """The user's message as evidence."""
    return Evidence(context.session_id, message.position, message.text[:MAX_QUOTE])


def _check(content: str, exchange: Exchange | None, user_text: str) -> None:
    if is_injection(content):
        raise ToolError(REFUSALS["command"], code="memory_unsafe")
    secrets = secrets_in(content)
    insisted = (
        exchange is not None and confirms_secret(exchange) and all(each in user_text for each in secrets)
    )
    if secrets and not insisted:
        raise ToolError(REFUSALS["secret"], code="memory_unsafe")


def _may_mean(content: str, newest: str, user_text: str) -> bool:
    """Whether the content may be a paraphrase of the user's words: it has no name that they did not use, and
    in the same language a word of theirs."""
    names = {each[0].strip().casefold() for each in _NAME.finditer(content)}
    if any(name not in user_text.casefold() and not _DAYS.fullmatch(name) for name in names):
        return False
    words, theirs = set(query_tokens(content)), set(query_tokens(newest))
    same_language = any(map(is_cjk, words)) == any(map(is_cjk, theirs))
    pairs = {word for word in words if len(word) > 1}
    return not same_language or bool(pairs & theirs)

"""Provenance of what a model saves: the user's own messages, or tainted by the output of tools."""

from collections.abc import Sequence

from gateway.errors import ToolError
from gateway.lexical import query_tokens, tokens
from gateway.memory.learning.rejection import unsafe
from gateway.memory.learning.user_messages import clauses
from gateway.storage.memories import Evidence
from gateway.tools.base import ToolContext

TRUSTED_TOOLS = frozenset({"manage_memory", "read_skill", "current_time", "calculate", "search_docs"})
"""Tools whose output has no third-party text. Attachments and the archive are not among them: the archive has
attachments and the output of other tools."""
MIN_QUOTED_SHARE = 0.6
"""The share of a memory's words that must be in the user's messages once an untrusted tool has run."""
MAX_QUOTE = 500
"""Characters of a stored quote."""
REFUSALS = {
    "secret": "That looks like a secret: passwords and keys are not remembered.",
    "instruction": "That would steer the assistant, it tells nothing about the user: it is not remembered.",
}


def is_tainted(content: str, context: ToolContext) -> bool:
    """Whether the content may come from a tool: an untrusted one has run, and most of the words are not in
    the user's messages. Raises errors.ToolError for content that is never stored."""
    if (why := unsafe(content)) is not None:
        raise ToolError(REFUSALS[why], code="memory_unsafe")
    if not content or context.tools_read <= TRUSTED_TOOLS:
        return False
    return _share(content, "\n".join(each.text for each in context.user_messages())) < MIN_QUOTED_SHARE


def evidence_of(content: str, context: ToolContext) -> Sequence[Evidence]:
    """The newest clause of the user that states the content, verbatim; none when there is none."""
    for message in reversed(context.user_messages()):
        quotes = [clause for clause in clauses(message.text) if clause in message.text]
        best = max(quotes, key=lambda quote: _share(content, quote), default="")
        if _share(content, best) >= MIN_QUOTED_SHARE:
            return [Evidence(context.session_id, message.position, best[:MAX_QUOTE])]
    return ()


def _share(content: str, text: str) -> float:
    """The share of the content's words that are in a text."""
    words = set(query_tokens(content))
    return len(words & set(tokens(text))) / len(words) if words else 0.0

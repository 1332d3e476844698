"""What the user said themselves, and what a tool, a web page or a server may have said for them."""

from collections.abc import Sequence

from gateway.errors import ToolError
from gateway.lexical import query_tokens, tokens
from gateway.memory.learning.rejection import unsafe
from gateway.memory.learning.user_messages import clauses
from gateway.storage.memories import Evidence
from gateway.tools.base import ToolContext

OWN_TOOLS = frozenset({"manage_memory", "read_skill", "current_time", "calculate", "search_docs"})
"""Tools that bring in nothing that a stranger wrote. What was attached is not among them, nor is the archive:
it has what was attached, and what other tools said."""
SAID_SHARE = 0.6
"""Of the words of a memory, so many the user must have said themselves once anything else was heard."""
MAX_QUOTE = 500
"""Characters of a quote that is kept."""
REFUSED = {
    "secret": "That looks like a secret: passwords and keys are not remembered.",
    "instruction": "That would steer the assistant, it tells nothing about the user: it is not remembered.",
}


def from_outside(content: str, context: ToolContext) -> bool:
    """Whether the words may be those of a tool: one was heard, and the user did not say most of them. Raises
    errors.ToolError for what must not be remembered, whoever said it."""
    if (why := unsafe(content)) is not None:
        raise ToolError(REFUSED[why], code="memory_unsafe")
    if not content or context.heard <= OWN_TOOLS:
        return False
    return _share(content, "\n".join(each.text for each in context.said())) < SAID_SHARE


def evidence_of(content: str, context: ToolContext) -> Sequence[Evidence]:
    """The newest words of the user that say it, verbatim; none when they said nothing of the kind."""
    for said in reversed(context.said()):
        quotes = [clause for clause in clauses(said.text) if clause in said.text]
        best = max(quotes, key=lambda quote: _share(content, quote), default="")
        if _share(content, best) >= SAID_SHARE:
            return [Evidence(context.session_id, said.position, best[:MAX_QUOTE])]
    return ()


def _share(content: str, said: str) -> float:
    """How much of the words of a memory is in what was said."""
    words = set(query_tokens(content))
    return len(words & set(tokens(said))) / len(words) if words else 0.0

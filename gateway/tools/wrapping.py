"""Text from elsewhere, wrapped and labelled as data so that a model does not take it for instructions."""

import re

WRAPPER_TAGS = (
    "search_results",
    "retrieved_context",
    "long_term_memory",
    "tool_output",
    "skill",
    "conversation_summary",
    "conversation",
)
"""Every tag this gateway wraps text in. Text that contains one of them itself is defused first."""

_FORGED = re.compile(rf"[<＜](?=[\s/／]*(?:{'|'.join(WRAPPER_TAGS)})\b)", re.IGNORECASE)


def defuse(text: str) -> str:
    """`text` in which our own wrapper tags, opening or closing, no longer are tags: `<` is written `&lt;`."""
    return _FORGED.sub("&lt;", text)


def wrap(tag: str, note: str, text: str) -> str:
    """`text`, defused, between `<tag>` and `</tag>`, under a `note` that says what it is.

    Raises:
        ValueError: `tag` is not one of WRAPPER_TAGS.
    """
    if tag not in WRAPPER_TAGS:
        raise ValueError(f"{tag!r} is not one of the wrapper tags")
    return f"<{tag}>\n{note}\n\n{defuse(text)}\n</{tag}>"

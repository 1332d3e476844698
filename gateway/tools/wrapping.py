"""Text from elsewhere, wrapped and labelled as data so that a model does not take it for instructions."""

import re

WRAPPER_TAGS = (
    "search_results",
    "retrieved_context",
    "long_term_memory",
    "tool_output",
    "skill",
    "skills",
    "conversation_summary",
    "conversation",
)
"""Every tag this gateway wraps text in. Text that contains one of them itself is defused first."""

_FORGED = re.compile(rf"[<＜](?=[\s/／]*(?:{'|'.join(WRAPPER_TAGS)})\b)", re.IGNORECASE)


# C0 and C1 controls but tab and newline; zero-width space, word joiner, byte order mark; bidirectional
# overrides and isolates, which show text in another order than it is read; tag characters, which hide text.
# The zero-width joiner and non-joiner stay: emoji and several scripts need them.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2060\ufeff\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """`text` without the characters that show nothing, or show it in another order: whoever reviews a text
    must see what the model sees."""
    return _INVISIBLE.sub("", text)


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

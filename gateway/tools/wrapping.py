"""Text from elsewhere, wrapped and labelled as data so that a model does not take it for instructions."""

import re
from functools import cache

WRAPPER_TAGS = (
    "search_results",
    "retrieved_context",
    "long_term_memory",
    "tool_output",
    "attachment",
    "skill",
    "skills",
    "client_instructions",
    "conversation_summary",
    "conversation",
    "scheduled_message",
)
"""Every tag this gateway wraps text in. Text that contains one of them itself is escaped first."""

# Controls but tab and newline; tag characters and all else of Unicode's property Default_Ignorable_Code_Point
# (DerivedCoreProperties.txt), which shows nothing: fillers, invisible operators, variation selectors; and
# directions, which show text in another order than it is read. Two things stay. The zero-width joiner and
# non-joiner: emoji and several scripts need them. And U+FE0F once after a symbol, which many keyboards write
# with it (☀️): after a letter or one another, selectors could spell a hidden text.
_SYMBOLS = "\u00a9\u00ae\u203c-\u205f\u2070-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_LINE_END = re.compile("\r\n?|\x85|\u2028|\u2029")
_INVISIBLE = re.compile(rf"[{_UNSEEN}]|(?<![{_SYMBOLS}])\ufe0f")
_GAP = f"{_UNSEEN}\u200c\u200d\ufe0f"
# Only the letters in either case: for a class of characters that would be looked up for each of them.
_NAMES = "|".join(f"[{_GAP}]*".join(f"(?i:{letter})" for letter in tag) for tag in WRAPPER_TAGS)


@cache
def _forged() -> re.Pattern[str]:
    """Made when it is needed: it takes as long as all else that a short command loads from this package."""
    return re.compile(rf"[<＜](?=[\s/／{_GAP}]*(?:{_NAMES})\b)")


def visible(text: str) -> str:
    """`text` with LF line ends, without the characters that show nothing, or show it in another order: a
    reviewer of a text must see what the model sees."""
    return _INVISIBLE.sub("", _LINE_END.sub("\n", text))


def defuse(text: str) -> str:
    """`text` in which our own wrapper tags, opening or closing, no longer are tags: `<` is written `&lt;`. So
    it is where something invisible stands in the tag."""
    return _forged().sub("&lt;", text)


class Wrapped(str):
    """Text that this gateway itself put into its tags. Any other text that has them only looks like it."""

    __slots__ = ()


def wrap(tag: str, note: str, text: str) -> Wrapped:
    """What is visible of `text`, escaped, between `<tag>` and `</tag>`, under a `note` on what it is.

    Raises:
        ValueError: `tag` is not one of WRAPPER_TAGS.
    """
    if tag not in WRAPPER_TAGS:
        raise ValueError(f"{tag!r} is not one of the wrapper tags")
    return Wrapped(f"<{tag}>\n{note}\n\n{defuse(visible(text))}\n</{tag}>")

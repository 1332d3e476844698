"""Thinking that stands in a text, between `<think>` and `</think>`: models write so where their endpoint does
not take it apart. What begins an answer so is thinking from the model's edge on (model/leading_thought.py);
this is for the rest, and for what was stored before. The page has the same rule
(web/app/conversation/thinking.ts). Pure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

OPENING = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
CLOSING = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_ANY = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)
_TOKEN = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*$|^[ \t]*<think(?:ing)?>|</think(?:ing)?>|`[^`\n]*`",
    re.IGNORECASE | re.MULTILINE,
)
_SIGNED = frozenset({"redacted_thinking"})


def without_thinking(text: str) -> str:
    """What is said alone, its parts joined by empty lines; the same object when nothing is thought in it.

    A thought begins at the beginning of a line and ends with its mark, or with the text. Where only the end
    is marked, all before it was thought: a model's template may have written the beginning. Marks in code are
    text.
    """
    if _ANY.search(text) is None:
        return text
    parts = list(_said(text))
    return text if parts == [text] else "\n\n".join(part.strip() for part in parts)


def said_in(content: Sequence[Mapping[str, Any]]) -> list[str]:
    """The texts of an answer's blocks without what is thought in them; as they are where its thinking is
    signed: that model keeps its thoughts apart."""
    texts = [str(block["text"]) for block in content if block["type"] == "text"]
    return texts if has_signed(content) else [said for text in texts if (said := without_thinking(text))]


def has_signed(content: Sequence[Mapping[str, Any]]) -> bool:
    """Whether an answer has thinking with a signature, or such as only its maker can read."""
    return any(block["type"] in _SIGNED or block.get("signature") for block in content)


def _said(text: str) -> Iterator[str]:
    """The parts of the text that are no thinking and not blank, in their order."""
    begin, fence, is_thought, is_first = 0, "", False, True
    opening = OPENING.search(text)  # the first one from `begin` on, also within a line
    for token in _TOKEN.finditer(text):
        word, mark = token[0], token["fence"]
        is_end = word.startswith("</")
        if not is_thought:
            if mark is not None:
                if not fence:
                    fence = mark
                elif mark.startswith(fence) and word.strip() == mark:
                    fence = ""
            if mark is not None or fence or word.startswith("`"):
                continue
            if opening is not None and opening.start() < begin:
                opening = OPENING.search(text, begin)
            if is_end and (not is_first or (opening is not None and opening.start() < token.start())):
                continue  # behind words, or the end of what began within a line: words too
        elif not is_end:
            continue
        if (part := text[begin : token.start()]).strip():
            is_first = False
            if not is_thought and not is_end:
                yield part
        is_thought, begin = not is_end, token.end()
    if not is_thought and (part := text[begin:]).strip():
        yield part

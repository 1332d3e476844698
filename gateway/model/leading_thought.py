"""Thinking with which an answer's text begins, between `<think>` and `</think>`, parted from it as it
streams.

Only what opens a message is looked at: a tag that comes later may be what the answer is about, and where only
the end is marked, the text before it has been shown already (`gateway/thinking_in_text.py` reads such a text
whole).
"""

import re
from typing import Literal, NamedTuple

from gateway.thinking_in_text import CLOSING, OPENING

MAX_BLANKS = 64
"""Blanks before the first mark that are waited with."""
_MARKS = ("<think>", "<thinking>", "</think>", "</thinking>")
_TAG = re.compile(r"</?[a-z]{0,8}\Z", re.IGNORECASE)


class Parted(NamedTuple):
    """The next piece of a text: what is thought of it, and what is said after that."""

    thought: str
    said: str


class LeadingThought:
    """Reads one text from its beginning. `is_over`: all that follows is said, and need not be read.

    Nothing but the marks and the blanks behind them is left out, however the text is cut. What may become a
    mark is held back until it is one, or is none."""

    def __init__(self) -> None:
        self._at: Literal["beginning", "thought_begins", "thought", "text_begins", "text"] = "beginning"
        self._held = ""

    @property
    def is_over(self) -> bool:
        return self._at == "text"

    def read(self, text: str, *, last: bool) -> Parted:
        """Parts the next piece. Nothing is held back of the `last` one."""
        text, self._held, thought = self._held + text, "", ""
        if self._at == "beginning":
            plain = text.lstrip()
            is_near = len(text) - len(plain) <= MAX_BLANKS
            opening = OPENING.match(plain) if is_near else None
            if opening is None and not last and is_near and _may_open(plain):
                self._held = text
                return Parted("", "")
            self._at, text = ("text", text) if opening is None else ("thought_begins", plain[opening.end() :])
        if self._at == "thought_begins":
            text = text.lstrip()
            self._at = "thought" if text else self._at
        if self._at == "thought":
            thought, text = self._thought(text, last=last)
        if self._at == "text_begins":
            text = text.lstrip()
            self._at = "text" if text else self._at
        return Parted(thought, text)

    def _thought(self, text: str, *, last: bool) -> tuple[str, str]:
        """What is thought, and what comes after its end."""
        if (closing := CLOSING.search(text)) is not None:
            self._at = "text_begins"
            return text[: closing.start()], text[closing.end() :]
        begun = None if last else _TAG.search(text)
        if begun is not None and _may_be_mark(begun[0]):
            text, self._held = text[: begun.start()], begun[0]
        return text, ""


def _may_open(text: str) -> bool:
    return not text or (text.startswith("<") and _may_be_mark(text))


def _may_be_mark(begun: str) -> bool:
    return any(mark.startswith(begun.lower()) for mark in _MARKS)

"""Remarks in the text of an answer, where a dialect has no other words; texts as they are compared. Pure."""

from collections.abc import Sequence

from gateway.adapters.turn_parts import CallMade, Waiting

STARTS_OVER = "[The answer starts over.]"
_APPROVAL = "[Waiting for approval of "
_REMARKS = (
    ("<think>", "</think>"),
    ('<details type="reasoning"', "</details>"),
    (_APPROVAL, "]"),
    (STARTS_OVER, ""),
)
"""What an answer has in a client's history that is no part of it: thinking, as LibreChat and Open WebUI keep
it, and our own remarks. By beginning and end, as a pattern would take the square of the time for many of
them that never end."""

_SLICE = 65_536
"""Characters whose words are taken apart at a time: those of 30 MB at once keep Python's lock for a second,
and take half a gigabyte."""


def asks_approval(waits_for: Sequence[Waiting], page: str) -> str:
    """The question for the decisions that a turn waits for, at the address `page`; "": for none."""
    names = [each.call.name for each in waits_for if not isinstance(each, CallMade)]
    return f"{_APPROVAL}{', '.join(names)}: {page}]" if names else ""


def without_remarks(answer: str) -> str:
    """An answer without thinking and remarks."""
    for beginning, end in _REMARKS:
        kept: list[str] = []
        at = 0
        while (begins := answer.find(beginning, at)) >= 0:
            ends = answer.find(end, begins + len(beginning))
            if ends < 0:
                break
            kept.append(answer[at:begins])
            at = ends + len(end)
        answer = "".join(kept) + answer[at:]
    return answer


def comparable(answer: str) -> str:
    """An answer without what clients and proxies change of it."""
    return respaced(without_remarks(answer), "")


def respaced(text: str, between: str) -> str:
    """The words of a text with `between` between them."""
    if len(text) <= _SLICE:
        return between.join(text.split())
    made: list[str] = []
    is_apart = True
    for at in range(0, len(text), _SLICE):
        part = text[at : at + _SLICE]
        if words := between.join(part.split()):
            made += (between if made and (is_apart or part[0].isspace()) else "", words)
            is_apart = part[-1].isspace()
        else:
            is_apart = True
    return "".join(made)

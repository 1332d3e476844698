"""Thoughts at the beginning of an answer's text, in any pieces."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.model.leading_thought import LeadingThought


def parted(*pieces: str) -> tuple[str, str]:
    """What was thought and what was said in those pieces of a text."""
    reader, thought, said = LeadingThought(), "", ""
    for at, piece in enumerate(pieces):
        more = reader.read(piece, last=at == len(pieces) - 1)
        thought, said = thought + more.thought, said + more.said
    return thought, said


@pytest.mark.parametrize(
    ("text", "thought", "said"),
    [
        ("<think>\n先想一想。\n</think>\n\n答案是**二**。", "先想一想。\n", "答案是**二**。"),
        ("\n<thinking>hm</thinking>Well", "hm", "Well"),
        ("<THINK>hm</THINK> Well", "hm", "Well"),
        ("<think>\n\n</think>\n\nWell", "", "Well"),
        ("<think>a < b</thin </think>c </think> d", "a < b</thin ", "c </think> d"),
        ("<think>no end", "no end", ""),
        ("<think>", "", ""),
        ("<think>hm</thi", "hm</thi", ""),
        # What is no thought at the beginning stays as it is, to the last blank.
        ("<thin", "", "<thin"),
        ("  \n", "", "  \n"),
        ("<b>bold</b> <think>x</think>", "", "<b>bold</b> <think>x</think>"),
        ("Well. <think>x</think>", "", "Well. <think>x</think>"),
        ("hm\n</think>\nWell", "", "hm\n</think>\nWell"),
        ("", "", ""),
    ],
)
def test_what_is_thought_first_is_parted_from_what_is_said(text: str, thought: str, said: str) -> None:
    assert parted(text) == (thought, said)
    assert parted(*text, "") == (thought, said)


PIECES = st.lists(st.sampled_from(["<think>", "</think>", "<", "</", "thi", "\n", " ", "想", "a", "x < y"]))


@given(PIECES, st.lists(st.integers(0, 200)))
@example(["\n" * 70, "<think>"], [66])  # more blanks than are waited with
def test_the_cuts_between_the_pieces_change_nothing(words: list[str], cuts: list[int]) -> None:
    """And all is there, in its order: first what was thought, and what was said to the end."""
    text = "".join(words)
    thought, said = parted(text)
    ends = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    assert parted(*(text[begin:end] for begin, end in pairwise(ends))) == (thought, said)
    assert text.endswith(said)
    assert thought in text[: len(text) - len(said)]
    if not thought:
        assert not text[: len(text) - len(said)].replace("<think>", "").replace("</think>", "").strip()

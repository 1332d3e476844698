"""Texts without what is thought in them, by the rule that the page has too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.messages import texts_of
from gateway.thinking_in_text import without_thinking
from tests.product import Message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>\n先想一想。\n</think>\n\n答案是**二**。", "答案是**二**。"),
        ("先想一想。\n</think>\n\n答案。", "答案。"),
        ("<think>\n先想", ""),
        (
            "Well.\n\n<thinking>a\n\n```\nb\n```\n</thinking>\nDone. <think> is a tag.",
            "Well.\n\nDone. <think> is a tag.",
        ),
        ("```\n<think>\n```\nand `</think>`", "```\n<think>\n```\nand `</think>`"),
        ("<think></think>\n答案", "答案"),
        ("Use the tag <think> so.", "Use the tag <think> so."),
        ("plain\n", "plain\n"),
        ("", ""),
    ],
)
def test_what_is_thought_in_a_text_is_no_part_of_what_is_said(text: str, said: str) -> None:
    assert without_thinking(text) == said


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "\n", "a", " ", "`", "```", "想", "</thinking>"])).map(
        "".join
    )
)
def test_a_text_without_thoughts_stays_as_it_is(text: str) -> None:
    """To the same object, where no mark is in it; and what is said was in the text."""
    said = without_thinking(text)
    assert "think" in text or said is text
    assert all(part in text for part in said.split("\n\n"))


def test_an_answer_whose_thinking_is_signed_keeps_its_texts() -> None:
    """That model keeps its thoughts apart: a mark in its text is what it writes about."""
    text = {"type": "text", "text": "<think>x</think>y"}
    signed = {"type": "thinking", "thinking": "hm", "signature": "s"}
    assert texts_of(Message("assistant", [text])) == ["y"]
    assert texts_of(Message("assistant", [signed, text])) == ["<think>x</think>y"]
    assert texts_of(Message("user", [text])) == ["<think>x</think>y"]


def test_a_thought_that_begins_within_a_line_is_words() -> None:
    """An answer about the marks loses nothing."""
    told = "the <think>is a tag</think> of some"
    assert without_thinking(told) == told

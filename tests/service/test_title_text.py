"""Titles as models write them, and as they are kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.service.title_text import is_foreign, title_in
from gateway.storage.turns import TITLE_LENGTH, title_from_message


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("<think>\nThe user asks about tea.\n</think>\n\n绿茶的泡法", "绿茶的泡法"),
        ("The user asks about tea.\n</think>\n\nBrewing Green Tea", "Brewing Green Tea"),
        ("好的，以下是标题：\n绿茶的泡法", "绿茶的泡法"),
        ("好的，以下是标题：绿茶的泡法", "绿茶的泡法"),
        ("好的，這是對話的標題：\n\n**綠茶的泡法**", "綠茶的泡法"),
        ("标题：绿茶的泡法", "绿茶的泡法"),
        ("標題: 「綠茶的泡法」", "綠茶的泡法"),
        ("**标题：**绿茶的泡法", "绿茶的泡法"),
        ("## 标题：《绿茶的泡法》。", "绿茶的泡法"),
        ("根据对话内容，建议的标题为：绿茶的泡法", "绿茶的泡法"),
        ("Title: Brewing Green Tea", "Brewing Green Tea"),
        ("**Title:** Brewing Green Tea.", "Brewing Green Tea"),
        ('Sure! Here is a short title for this conversation:\n\n"Brewing Green Tea"', "Brewing Green Tea"),
        ("Here's the title: Brewing Green Tea", "Brewing Green Tea"),
        ("Of course. The title is: Brewing Green Tea", "Brewing Green Tea"),
        ("<title>Brewing Green Tea</title>", "Brewing Green Tea"),
        ('```json\n{"title": "绿茶的泡法"}\n```', "绿茶的泡法"),
        ("- Brewing Green Tea", "Brewing Green Tea"),
        ("# Brewing *Green* Tea", "Brewing *Green* Tea"),
        ("绿茶的泡法。", "绿茶的泡法"),
        ("Brewing Green Tea.", "Brewing Green Tea"),
        ("Titre : Le thé vert", "Le thé vert"),
        ("タイトル：緑茶の入れ方", "緑茶の入れ方"),
        # What only looks like it stays.
        ("Subject to change", "Subject to change"),
        ("如何写标题：三个技巧", "如何写标题：三个技巧"),
        ("《红楼梦》的作者", "《红楼梦》的作者"),
        ("Life in the U.S.", "Life in the U.S."),
        ("And then...", "And then..."),
        ("Using <div> in Vue 3", "Using <div> in Vue 3"),
    ],
)
def test_only_the_title_is_kept_of_an_answer(answer: str, title: str) -> None:
    """Thoughts, introductions, labels, Markdown, quotation marks and the full stop are left out."""
    assert title_in(answer) == title


@pytest.mark.parametrize(
    "answer", ["", "\n\n", "<think>\nThe user asks about tea", "“”", "好的，以下是标题：", "Title:"]
)
def test_an_answer_without_a_title_is_none(answer: str) -> None:
    """The words of the question stay then."""
    with pytest.raises(ValueError, match="says nothing"):
        title_in(answer)


@given(st.text())
def test_any_answer_gives_one_short_line_or_none(answer: str) -> None:
    """And a title that is read again stays as it is."""
    try:
        title = title_in(answer)
    except ValueError:
        return
    assert 0 < len(title) <= TITLE_LENGTH
    assert title.isprintable()


def test_a_title_is_in_a_script_of_the_chat() -> None:
    assert is_foreign("Brewing Green Tea", "绿茶怎么泡？\n水温八十度。")
    assert is_foreign("绿茶的泡法", "How do I brew green tea?\nAt 80 degrees.")
    assert not is_foreign("绿茶的泡法", "绿茶怎么泡？\n水温八十度。")
    assert not is_foreign("Brewing Green Tea", "How do I brew green tea?")
    assert not is_foreign("Kubernetes", "Kubernetes 怎么部署？\n用 kubectl apply。")
    assert not is_foreign("2048", "绿茶")


def test_the_title_from_a_message_has_no_thoughts() -> None:
    assert title_from_message("<think>\nhm\n</think>\nBrew tea\nplease") == "Brew tea"
    assert title_from_message("<think>") == "<think>"
    assert title_from_message("  \n") is None

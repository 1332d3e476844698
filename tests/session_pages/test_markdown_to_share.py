"""A session as Markdown: the words as they were written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gateway.session_pages.markdown_to_share import begin, closed, draw, line
from gateway.session_pages.shared_events import SharedEvents
from tests.session_pages.told import SESSION, told

PLAIN = MarkdownIt("commonmark", {"html": True})
WRITTEN = [
    "**历经10年发展，**年；`**具体：**与其说`",
    "\\[ E = mc^2 \\] and $x^2$, \\(a\\%\\)",
    "<b>raw</b> ![i](https://example.test/i.png) [l](/relative)",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "- [x] done\n- [ ] open\n\n[^1]: note",
    "9:00~12:00  \nline\ttab",
]


def document(said: str) -> str:
    return begin(SESSION) + draw(SharedEvents().of_turn(told(said)))


@pytest.mark.parametrize("said", WRITTEN)
def test_an_answer_is_what_the_model_wrote(said: str) -> None:
    assert f"\n\n{said}\n\n" in document(said)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_answer_is_there_letter_for_letter(said: str) -> None:
    """Unless it is thought."""
    events = SharedEvents().of_turn(told(said))
    for each in events:
        if each["type"] == "text":
            assert each["data"]["text"] in draw(events)


def test_a_chat_has_its_title_its_questions_and_the_names_of_its_files() -> None:
    text = document("- one\n- two")

    assert text.startswith("# s-secret\n\nMade 2026-11-")
    assert "> - one\n> - two" in text
    assert "- 📎 - one - two" in text
    assert "**Assistant** · model-1" in text
    assert "- **The handbook**\n\n  > - one\n  > - two" in text
    assert "<summary>→ calculator: ok</summary>" in text
    assert text.count("**User**") == 1
    assert "SECRET" not in text


@pytest.mark.parametrize(
    ("said", "end"),
    [
        ("see:\n```py\nprint()", "```"),
        ("~~~\n```\n", "~~~"),
        ("````\n```\n", "````"),
        ("```\ndone\n```", None),
        ("no fence", None),
        ("``` a ` b", None),
    ],
)
def test_a_block_of_code_that_is_left_open_does_not_swallow_the_rest(said: str, end: str | None) -> None:
    assert closed(said) == (said if end is None else f"{said}\n{end}")
    assert "<em>■ failed</em>" in PLAIN.render(document(said))


@given(st.text())
def test_a_title_and_a_name_are_only_text(words: str) -> None:
    drawn = PLAIN.render(f"{line(words)} end")
    assert not any(f"<{tag}" in drawn for tag in ("a", "img", "em", "strong", "h", "code", "script"))

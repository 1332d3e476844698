"""Text from elsewhere: nothing hidden in it, and nothing in it that is one of our tags."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.tools.wrapping import WRAPPER_TAGS, defuse, visible, wrap

HIDDEN = [
    *(
        "\u00ad",
        "\u034f",
        "\u061c",
        "\u115f",
        "\u1160",
        "\u180b",
        "\u180e",
        "\u200b",
        "\u2060",
        "\u2061",
        "\u2064",
    ),
    *("\u206a", "\u3164", "\ufe00", "\ufe0e", "\ufe0f", "\ufeff", "\uffa0", "\ufff0", "\U000e0041"),
    *("\U000e0100", "\U000e01ef", "\u202e", "\u2066", "\x1b"),
]


@pytest.mark.parametrize("hidden", HIDDEN, ids=ascii)
def test_what_shows_nothing_is_taken_out(hidden: str) -> None:
    """After letters of any script, alone, and repeated."""
    assert visible(f"a{hidden}月{hidden}{hidden}報 1{hidden}") == "a月報 1"
    assert wrap("tool_output", "A note.", f"a{hidden}b") == "<tool_output>\nA note.\n\nab\n</tool_output>"


@pytest.mark.parametrize("shown", ["☀️ 晴", "❤️‍🔥", "👩‍⚕️", "🏳️‍🌈", "👋🏽", "©️", "क्‍ष", "می‌خواهم", "a\tb\n"])
def test_emoji_and_scripts_stay_as_they_are_written(shown: str) -> None:
    """Joiners, and the selector that keyboards put after a symbol."""
    assert visible(shown) == shown


def test_selectors_spell_nothing() -> None:
    """One after a symbol is a picture; a row of them would be a hidden text."""
    assert visible("☀\ufe0f\ufe0f\ufe0e\ufe0f\U000e0120") == "☀\ufe0f"
    assert visible("☀\u200b\ufe0f") == "☀"
    assert visible("\u2060\ufe0f") == ""


@pytest.mark.parametrize("hidden", [*HIDDEN, "\u200d", "\u200c", " \u200b/ "], ids=ascii)
def test_a_tag_with_something_invisible_in_it_is_defused(hidden: str) -> None:
    """Behind the bracket or in the name, also where a text is only defused."""
    for forged in (f"<{hidden}skill>", f"<{hidden}/tool_output>", f"<\u200bto{hidden.strip(' /')}ol_output>"):
        assert defuse(forged) == f"&lt;{forged[1:]}"
        assert wrap("skill", "A note.", forged).count("<") == 2


PIECES = st.sampled_from(["<", "＜", "/", " ", "\n", "skill", "月", *WRAPPER_TAGS, *HIDDEN, "\u200d"])


@given(st.lists(PIECES, max_size=30).map("".join))
def test_whatever_the_text_only_our_own_tags_remain(text: str) -> None:
    """Of what is wrapped; and nothing more is taken out the second time."""
    wrapped = wrap("skill", "A note.", text)

    assert wrapped == wrap("skill", "A note.", visible(text))
    assert defuse(wrapped[len("<skill>") : -len("</skill>")]) == wrapped[len("<skill>") : -len("</skill>")]
    assert not any(unicodedata.category(each) == "Cf" and each != "\u200d" for each in wrapped)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Rebasing (1/1)\rSuccessfully rebased", ["Rebasing (1/1)", "Successfully rebased"]),
        ("10%\r20%\r\n", ["10%", "20%"]),
        ("第一行\r第二行\u2028第三行\x85第四行", ["第一行", "第二行", "第三行", "第四行"]),
    ],
)
def test_every_line_end_is_one(text: str, lines: list[str]) -> None:
    assert visible(text).splitlines() == lines
    assert "\n".join(lines) in wrap("tool_output", "Of a tool.", text)

"""Front matter: where it begins and ends, and YAML that means harm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.files.front_matter import MAX_SIZE, parse, quoted, split


def test_only_a_line_of_its_own_ends_the_front_matter() -> None:
    """Three hyphens inside a value, indented, or in the body end nothing."""
    head, body = split("---\nname: a---b\ntext: |\n  one\n  ---\n  two\n---\nBody\n\n---\n\nmore\n")

    assert parse(head) == {"name": "a---b", "text": "one\n---\ntwo\n"}
    assert body == "Body\n\n---\n\nmore"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not begin"),
        ("name: x\n", "does not begin"),
        (" ---\nname: x\n---\n", "does not begin"),
        ("---", "does not end"),
        ("---\nname: x\n", "does not end"),
        ("---\nname: x\n --- \n", "does not end"),
        (f"---\n# {'x' * MAX_SIZE}\n---\n", "longer than"),
    ],
)
def test_a_text_without_front_matter_says_what_is_missing(text: str, message: str) -> None:
    """The author reads what to add."""
    with pytest.raises(ValueError, match=message):
        split(text)


def test_every_value_is_the_text_that_was_written() -> None:
    """Versions, dates, numbers and booleans stay as they are, and Chinese too."""
    text = "version: 1.10\ndate: 2026-01-02\nyes: no\nnone: null\nempty:\nlist: [1, 二]\nmap: {a: 0x10}"

    assert parse(text) == {
        "version": "1.10",
        "date": "2026-01-02",
        "yes": "no",
        "none": "null",
        "empty": "",
        "list": ["1", "二"],
        "map": {"a": "0x10"},
    }
    assert parse("") == parse("# a comment") == {}


BILLION = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BILLION, "line 2: anchors and aliases"),
        ("a: &x {<<: *x}", "line 2: anchors and aliases"),
        ("name: x\nb: *nowhere", "line 3: anchors and aliases"),
        ("[" * 16_000, "nested more than"),
        ("{" * 16_000, "nested more than"),
        ("- " * 8000, "nested more than"),
        ("? " * 8000, "nested more than"),
        ("a: 1\nb: 2\na: 3", "line 4: 'a' is given twice"),
        ("? [a, b]\n: c", "line 2: a key is not a word"),
        ("a: b\n...\n---\nc: d", "more than one document"),
        ("only words", "not a list of"),
        ("- a\n- b", "not a list of"),
        ("\ta: b", "line 2: "),
        ("a: 'b", "line"),
        ("a: b: c", "line 2: mapping values"),
        ("a: \x07", "a character that YAML does not allow"),
        ("%YAML 9.9\n---\na: b", "line 2: "),
    ],
)
def test_yaml_that_is_broken_or_means_harm_is_refused_with_its_place(text: str, message: str) -> None:
    """No alias is expanded, nothing nests deeply, no key hides another."""
    with pytest.raises(ValueError, match=message):
        parse(text)


def test_a_tag_makes_no_object() -> None:
    """Whatever type a value claims to be, it stays text."""
    assert parse("a: !!python/object/apply:os.system [id]\nb: !!int x") == {"a": ["id"], "b": "x"}


def test_characters_no_database_takes_are_mended() -> None:
    """An escaped NUL or lone surrogate does not get further than the front matter."""
    assert parse(r'a: "x\0y"') == {"a": "xy"}


def test_values_with_a_colon_are_quoted_and_nothing_else() -> None:
    """What is quoted, a block or a plain address stays as it is."""
    kept = "url: https://x.example\nnote: 'a: b'\nblock: |\nmap: {a: b}\n"

    assert (
        quoted(f"description: Use when: it's so\n{kept}end: so:")
        == f"description: 'Use when: it''s so'\n{kept}end: 'so:'"
    )
    assert parse("description: '用于: 报错'") == parse(quoted("description: 用于: 报错"))


@given(st.text(max_size=300))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    """Nothing but ValueError leaves the parser."""
    for each in (text, f"---\n{text}\n---\n"):
        try:
            parse(quoted(split(each)[0]))
        except ValueError:
            continue

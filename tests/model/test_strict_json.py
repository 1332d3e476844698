"""What a model writes as a tool's input is taken to the letter or refused with a reason."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model.strict_json import MAX_DEPTH, parse_event, parse_object

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(texts, values, max_size=5), st.booleans())
def test_every_ordinary_object_is_taken_as_it_is(written: dict[str, Any], ascii_only: bool) -> None:
    """Strictness refuses nothing that is valid."""
    assert parse_object(json.dumps(written, ensure_ascii=ascii_only)) == written


def nested(levels: int) -> str:
    return '{"a":' + "[" * (levels - 1) + "]" * (levels - 1) + "}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not valid JSON"),
        ('{"a": 10', "not valid JSON"),
        ('{"a": tru', "not valid JSON"),
        ('{"a":1}x', "not valid JSON"),
        ('{"a":1} {"b":2}', "not valid JSON"),
        ('{"a":"line\nbreak"}', "not valid JSON"),
        ("[1,2]", "not a JSON object"),
        ("null", "not a JSON object"),
        ('{"a":NaN}', "NaN"),
        ('{"a":-Infinity}', "Infinity"),
        ('{"a":1e999}', "out of range"),
        ('{"a":18446744073709551616}', "out of range"),
        ('{"a":%s}' % ("9" * 5000), "out of range"),
        ('{"a":1,"a":2}', "twice"),
        ('{"b":{"a":1,"a":1}}', "twice"),
        ('{"a":"\\ud800"}', "surrogate"),
        ('{"a":"x\\u0000"}', "NUL"),
        (nested(MAX_DEPTH + 1), "nested"),
        (nested(100_000), "nested"),
    ],
)
def test_anything_else_is_refused_with_its_reason(text: str, reason: str) -> None:
    """No repair, no guess: the model reads what was wrong with its input."""
    with pytest.raises(ValueError, match=reason):
        parse_object(text)


def test_depth_is_allowed_up_to_its_bound() -> None:
    """The deepest allowed input passes."""
    assert parse_object(nested(MAX_DEPTH))


def test_an_event_may_hold_half_a_surrogate_pair_but_not_broken_json() -> None:
    """One bad character does not spoil an event; bad bytes and bad JSON do."""
    assert parse_event(rb'{"text":"a\ud83d"}') == {"text": "a\ud83d"}
    for data in (b'{"a"', b'{"a":"\xff"}', rb'{"a":"\ud800",}', rb'{"a":"\ud800","b":NaN}'):
        with pytest.raises(ValueError, match=r"."):
            parse_event(data)

"""What parameters ask for, and what is said of those that ask for nothing there can be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.artifacts.reading.selector import Bytes, JsonPath, LineRange, LineSearch, Selector, selector_of
from tests.product import InvalidRequest


@pytest.mark.parametrize(
    ("given", "selector"),
    [
        ({"lines": "1-50"}, LineRange(1, 50)),
        ({"lines": "5"}, LineRange(5, 5)),
        ({"lines": " 5 - "}, LineRange(5, None)),
        ({"bytes": "0-0"}, Bytes(0, 0)),
        ({"json_path": " $.a "}, JsonPath("$.a")),
        ({"search": "订单"}, LineSearch("订单", LineRange(1, None))),
        ({"search": "a", "lines": "7-"}, LineSearch("a", LineRange(7, None))),
    ],
)
def test_one_way_of_reading_is_asked_for(given: dict[str, str], selector: Selector) -> None:
    assert selector_of(**given) == selector


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ({}, "bad_range", "not nothing"),
        ({"lines": "1-2", "bytes": "1-2"}, "bad_range", "not lines and bytes"),
        ({"search": "a", "json_path": "$"}, "bad_range", "Give one of"),
        ({"lines": "9-5"}, "bad_range", "write lines=5-9"),
        ({"lines": "0-5"}, "bad_range", "count from 1: write lines=1-50"),
        ({"lines": "-5"}, "bad_range", "no range of lines: write lines=1-50"),
        ({"lines": "五"}, "bad_range", "write lines=1-50"),
        ({"lines": "1" * 5000}, "bad_range", "no range"),
        ({"bytes": "5-1"}, "bad_range", "write bytes=1-5"),
        ({"bytes": "0x10"}, "bad_range", "write bytes=0-50"),
        ({"json_path": "data.items"}, "bad_json_path", "begins with $"),
        ({"json_path": "$" * 501}, "bad_json_path", "at most 500"),
        ({"search": " "}, "bad_search", "search=word"),
        ({"search": "a\nb"}, "bad_search", "one line"),
        ({"search": "长" * 201}, "bad_search", "at most 200"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write(given: dict[str, str], code: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        selector_of(**given)

    assert refused.value.code == code
    assert message in refused.value.message
    assert len(refused.value.message) < 300


@given(st.text(max_size=60))
def test_any_text_is_a_range_or_refused(text: str) -> None:
    try:
        selector = selector_of(lines=text)
    except InvalidRequest:
        return
    assert isinstance(selector, LineRange)
    assert selector.first >= 1
    assert selector.last is None or selector.last >= selector.first

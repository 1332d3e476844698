"""How the parts of a message are counted."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from gateway.json_parts import PartCounter


@given(st.lists(st.text('a"\\\\[{'), max_size=6), st.integers(1, 9))
def test_parts_are_counted_outside_strings(texts: list[str], length: int) -> None:
    """In whatever pieces they come."""
    data = orjson.dumps([{text: text} for text in texts])
    parts = PartCounter()
    for start in range(0, len(data), length):
        parts.add(data[start : start + length])

    assert parts.add(b"") == 1 + len(texts)


def test_a_string_that_was_not_closed_hides_nothing_after_its_line() -> None:
    """A stray quote in a stream of events is no way around the bound."""
    assert PartCounter().add(b': "\r\ndata: [[[]]]\n') == 3

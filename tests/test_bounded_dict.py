"""A dict with a limit."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.bounded_dict import BoundedDict


@given(st.lists(st.tuples(st.integers(0, 9), st.integers())), st.integers(1, 5))
def test_the_keys_that_were_set_last_stay(entries: list[tuple[int, int]], limit: int) -> None:
    """A key that is set, first or again, is the newest, and only the newest `limit` are there."""
    bounded = BoundedDict[int, int](limit)
    for key, value in entries:
        bounded[key] = value

    newest = list(dict.fromkeys(key for key, _ in reversed(entries)))[:limit]

    assert list(bounded) == newest[::-1]
    assert all(bounded[key] == dict(entries)[key] for key in newest)

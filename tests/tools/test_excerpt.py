"""A bounded JSON form of any value."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from gateway.tools.excerpt import EXCERPT_SIZE, excerpt


def many(values: list[Any]) -> list[Any]:
    return values * 900


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.text() | st.integers() | st.none()
    containers = st.lists(inner) | st.dictionaries(keys, inner) | st.tuples(inner, inner)
    return containers | st.lists(inner, min_size=1).map(many)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.binary() | st.builds(object)
TEXTS = st.text() | st.integers(0, 9000).map("长".__mul__) | st.integers(0, 9000).map("\x01".__mul__)
VALUES = st.recursive(LEAVES | TEXTS, nested, max_leaves=20)
SMALL = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text("a 中\n", max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("键k", max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


class Size(Enum):
    LARGE = "大"


class Order(BaseModel):
    number: int


@dataclass
class Place:
    name: str
    order: Order


class Endless(list[int]):
    def __iter__(self) -> Iterator[int]:
        return itertools.count()


class Broken(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        yield "a"
        raise SystemError("secret")

    def __len__(self) -> int:
        return 2


class Unspeakable:
    def __repr__(self) -> str:
        raise AssertionError("nobody asks for it")

    __str__ = __repr__


@given(VALUES, st.sampled_from([1024, EXCERPT_SIZE]))
def test_an_excerpt_is_json_of_at_most_its_size(value: Any, size: int) -> None:
    """Whatever the value is."""
    assert len(orjson.dumps(excerpt(value, size))) <= size


@given(SMALL)
def test_small_json_is_shown_as_it_is(value: Any) -> None:
    """Nothing of it is changed, nor cut."""
    assert excerpt(value) == value


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"a": (1, 2), "b": {3}}, {"a": [1, 2], "b": [3]}),
        (Place("北京", Order(number=7)), {"name": "北京", "order": {"number": 7}}),
        ({date(2026, 1, 2): Size.LARGE, None: Decimal("1.5")}, {"2026-01-02": "大", "None": "1.5"}),
        ([float("nan"), float("-inf")], ["nan", "-inf"]),
        (10**400, "<a number of 1329 bits>"),
        (b"secret", "<6 bytes>"),
        ((x for x in "ab"), "<generator>"),
        (ValueError("secret"), "<ValueError>"),
        (Unspeakable(), "<Unspeakable>"),
        ({"kept": 1, "not": Broken()}, {"kept": 1, "not": "<Broken>"}),
        ("\ud83d\x00 half", "\ufffd half"),
    ],
)
def test_what_is_no_json_is_told_by_what_it_is(value: Any, shown: Any) -> None:
    """Never by its repr: nobody knows how long that is, or what it tells."""
    assert excerpt(value) == shown


def test_what_contains_itself_ends() -> None:
    """The second time it is only said that there is more."""
    around: dict[str, Any] = {"name": "环"}
    around["again"] = [around]

    assert excerpt(around) == {"name": "环", "again": ["<more inside>"]}


@pytest.mark.parametrize(
    ("make", "end"),
    [
        (lambda: "长" * 20_000_000, " more characters"),
        (lambda: ["x" * 30] * 1_000_000, " more"),
        (lambda: {str(number): "值" for number in range(5000)}, " more"),
        (lambda: Endless([0]), " more"),
        (lambda: {"key" * 9999: 1}, "…"),
    ],
)
def test_what_is_large_is_cut_and_says_so(make: Callable[[], Any], end: str) -> None:
    """What is left is still JSON, and its last text says what is missing."""
    shown = excerpt(make())
    while isinstance(shown, dict | list):
        shown = list(shown.values() if isinstance(shown, dict) else shown)[-1]

    assert shown.endswith(end)

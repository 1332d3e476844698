"""What a function gave back, as text."""

import asyncio
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from gateway.tools import result_content as content
from gateway.tools.base import File
from gateway.tools.result_content import content_of
from tests.product import ToolError

pytestmark = pytest.mark.anyio

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


class Colour(StrEnum):
    RED = "红"


class Order(BaseModel):
    number: int = Field(serialization_alias="orderNumber")
    due: date


@dataclass
class Place:
    name: str
    orders: list[Order]


class Endless(list[int]):
    """A list without an end."""

    def __iter__(self) -> Iterator[int]:
        return itertools.count()


class Hostile:
    def __str__(self) -> str:
        raise SystemError("secret")

    __repr__ = __str__


def cycle() -> list[Any]:
    around: list[Any] = [{"name": "环"}]
    around[0]["again"] = around
    return around


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


async def coroutine() -> None:
    pass


@given(VALUES.filter(lambda value: not isinstance(value, str)))
def test_json_comes_back_as_it_was(value: Any) -> None:
    """The text is JSON that says what the value says, in as few characters as it takes."""
    text = asyncio.run(content_of("any", value))

    assert json.loads(text) == value


async def test_text_is_told_as_it_is() -> None:
    """It is not put in quotes."""
    assert await content_of("any", '你好 "x"') == '你好 "x"'


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            Place("北京", [Order(number=7, due=date(2026, 1, 2))]),
            '{"name":"北京","orders":[{"orderNumber":7,"due":"2026-01-02"}]}',
        ),
        (MappingProxyType({"colour": Colour.RED}), '{"colour":"红"}'),
        ({"set": {1}, "tuple": (1, 2)}, '{"set":[1],"tuple":[1,2]}'),
        ([Decimal("1.10"), UUID(int=7)], f'["1.10","{UUID(int=7)}"]'),
        (None, "null"),
    ],
)
async def test_what_python_people_give_back_is_told_as_json(value: Any, message: str) -> None:
    """Models, dataclasses, dates, enums and the like, also inside each other."""
    assert await content_of("any", value) == message


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: {"x": float("nan")}, "it holds NaN or Infinity; use null or a word instead"),
        (lambda: [float("-inf")], "it holds NaN or Infinity"),
        (lambda: [b"\xff\xd8"], "it holds bytes; give them back as a File, alone or in the files of a Tool"),
        (lambda: {"cover": File(b"\xff\xd8", "image/jpeg")}, "it holds bytes; give them back as a File"),
        (lambda: {"image": bytearray(9)}, "it holds bytes"),
        (cycle, "it contains itself"),
        (deep, "it is nested too deeply"),
        (lambda: (x for x in "ab"), "it holds a generator; give back a list"),
        (lambda: {"rows": map(str, [1])}, "it holds a map; give back a list"),
        (lambda: {"x": object()}, "it holds a object"),
        (Hostile, "it holds a Hostile"),
        (lambda: {(1, 2): 3}, "keys must be str, int, float, bool or None, not tuple"),
    ],
)
async def test_what_is_no_json_is_an_error_that_says_what_to_mend(make: Callable[[], Any], why: str) -> None:
    """The model reads that the call took place, and why it gets no answer."""
    with pytest.raises(ToolError) as caught:
        await content_of("pay", make())

    message = caught.value.message
    assert message.startswith("pay was carried out, but what it gave back cannot be told as JSON: " + why)
    assert "secret" not in message


async def test_no_more_of_a_value_is_written_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list without an end, and one long text, end at the limit."""
    monkeypatch.setattr(content, "MAX_CONTENT", 10_000)

    for value in (Endless([0]), "长" * 10_001, ["长" * 10_001]):
        with pytest.raises(ToolError, match="list was carried out, but gave back more than 10,000 char"):
            await content_of("list", value)


async def test_other_work_goes_on_while_a_large_value_is_written() -> None:
    """Between two pieces of it the event loop does what else it has to do."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    text = await content_of("rows", [[number] for number in range(100_000)])
    counting.cancel()

    assert text.endswith(",[99999]]")
    assert turns > 50


async def test_long_pieces_are_counted_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that repeats one long text is given up at the bound, not some thousand texts later."""
    monkeypatch.setattr(content, "MAX_CONTENT", 1000)
    looked_at: list[str] = []

    class Repeated(list[str]):
        def __iter__(self) -> Iterator[str]:
            for text in super().__iter__():
                looked_at.append(text)
                yield text

    with pytest.raises(ToolError, match="more than 1,000 characters"):
        await content_of("repeat", Repeated(["很" * 400] * 1990))

    assert len(looked_at) == 3

"""What a model says is checked in time that grows with what it said."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, JsonValue

from gateway.tools.arguments import check_arguments
from gateway.tools.function import tool
from tests.product import BadArguments

pytestmark = pytest.mark.anyio


class And(BaseModel):
    op: Literal["and"]
    of: list["And | Or | Leaf"]


class Or(BaseModel):
    op: Literal["or"]
    of: list["And | Or | Leaf"]


class Leaf(BaseModel):
    op: Literal["is"]
    value: str


class TaggedAnd(BaseModel):
    op: Literal["and"]
    of: list[Annotated["TaggedAnd | TaggedOr | Leaf", Field(discriminator="op")]]


class TaggedOr(BaseModel):
    op: Literal["or"]
    of: list[Annotated["TaggedAnd | TaggedOr | Leaf", Field(discriminator="op")]]


class Folder(BaseModel):
    name: str
    inside: "Folder | list[Folder] | None" = None


def nested(depth: int, key: str, innermost: Any) -> Any:
    for _ in range(depth):
        innermost = {"op": "and", "name": "文件夹", key: innermost if key == "inside" else [innermost]}
    return innermost


def test_a_function_whose_arguments_take_exponential_time_to_check_is_refused() -> None:
    """Its author reads what to do, before any model can send such arguments."""

    def search(filter: And | Or | Leaf) -> str:
        """Searches."""
        return filter.op

    with pytest.raises(TypeError, match=r"search: a recursive union .* Field\(discriminator=...\)"):
        tool(effect="read_only")(search)


async def test_recursive_arguments_are_checked_by_what_made_the_schema() -> None:
    """A discriminated union, a tree and any JSON: wrong at the bottom of 40 levels, and told at once. A
    validator that tries each member at each level would not end."""

    @tool(effect="read_only")
    def search(filter: Annotated[TaggedAnd | TaggedOr | Leaf, Field(discriminator="op")]) -> str:
        """Searches."""
        return filter.op

    @tool(effect="read_only")
    def sort(folder: Folder, how: JsonValue = None) -> str:
        """Sorts."""
        return f"{folder.name} {how}"

    with pytest.raises(BadArguments, match="value: is required and missing"):
        await check_arguments(search, {"filter": nested(40, "of", {"op": "is"})})
    with pytest.raises(BadArguments, match="name: is required and missing"):
        await check_arguments(sort, {"folder": nested(40, "inside", {})})
    await check_arguments(sort, {"folder": nested(40, "inside", None), "how": [{}]})


async def test_a_validator_that_raises_is_an_answer() -> None:
    """An author's own check may go wrong in any way."""

    class Never(BaseModel):
        def model_post_init(self, context: Any, /) -> None:
            raise KeyError("密码")

    @tool(effect="read_only")
    def take(value: Never) -> str:
        """Takes."""
        return str(value)

    with pytest.raises(BadArguments, match=r"The arguments of take cannot be checked: KeyError\."):
        await check_arguments(take, {"value": {}})

"""A typed function as a tool."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from pydantic import Field

from gateway.tools.base import ToolOutput
from gateway.tools.function import Progress, ToolContext, tool
from tests.product import BadArguments, ToolError
from tests.tools.calling import context

pytestmark = pytest.mark.anyio


@tool(effect="read_only", timeout=3)
async def book(
    place: str,
    context: ToolContext,
    seats: Annotated[int, Field(ge=1, le=9)] = 1,
    kind: Literal["window", "aisle"] = "aisle",
) -> str:
    """Books seats.

    For trains only.

    Args:
        place: Where to go,
            by its English name.
        seats: How many.

    Returns:
        A confirmation.
    """
    return f"{context.owner}: {seats} {kind} to {place}"


def test_hints_and_docstring_become_the_specification() -> None:
    """Name, description and schema come from the function; the context parameter is not shown."""
    assert (book.spec.name, book.effect, book.timeout) == ("book", "read_only", 3)
    assert book.spec.description == "Books seats.\n\nFor trains only."
    jsonschema.Draft202012Validator.check_schema(book.spec.input_schema)
    assert book.spec.input_schema == {
        "type": "object",
        "properties": {
            "place": {"type": "string", "description": "Where to go, by its English name."},
            "seats": {
                "type": "integer",
                "minimum": 1,
                "maximum": 9,
                "default": 1,
                "description": "How many.",
            },
            "kind": {"type": "string", "enum": ["window", "aisle"], "default": "aisle"},
        },
        "required": ["place"],
        "additionalProperties": False,
    }


async def test_valid_arguments_reach_the_function_with_context_and_defaults() -> None:
    """Defaults are filled in, and the context is passed under the parameter's own name."""
    assert await book.run({"place": "上海", "seats": 2}, context()) == ToolOutput("local: 2 aisle to 上海")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "place: is required and missing"),
        ({"place": "x", "seats": "2"}, "seats: must be a whole number, got '2'"),
        ({"place": "x", "seats": 10}, "seats: must be less than or equal to 9, got 10"),
        ({"place": "x", "kind": "roof"}, "kind: must be 'window' or 'aisle', got 'roof'"),
        ({"place": "x", "context": {}}, "context: there is no such parameter"),
        ({"place": "\ud800"}, "wrong"),
        ({"place": 7}, "place: must be text, got 7"),
    ],
)
async def test_wrong_arguments_are_refused_with_what_to_mend(arguments: dict[str, Any], message: str) -> None:
    """The message names the parameter, what is wrong, and what parameters there are."""
    with pytest.raises(BadArguments) as caught:
        await book.run(arguments, context())

    assert message in caught.value.message
    assert caught.value.message.endswith("Its parameters: place, seats?, kind?.")


async def test_arguments_nested_without_end_are_refused() -> None:
    """A hostile depth is an answer to the model, not a crash."""
    nested: Any = "x"
    for _ in range(20_000):
        nested = [nested]

    with pytest.raises(BadArguments, match="book"):
        await book.run({"place": nested}, context())


async def test_a_plain_function_runs_in_a_thread_and_returns_json() -> None:
    """It does not hold the event loop, and dataclasses and lists are told as JSON."""

    @dataclass
    class Place:
        name: str
        thread: int

    @tool(effect="idempotent")
    def places(json: str, copy: int = 1) -> list[Place]:
        """Lists places. Its parameters are called like methods of a pydantic model."""
        return [Place(json, threading.get_ident())] * copy

    output = await places.run({"json": "北京"}, context())

    assert output.content.startswith('[{"name":"北京","thread":')
    assert str(threading.get_ident()) not in output.content


async def test_an_output_is_passed_on_as_it_is() -> None:
    """A function can mark its own failure."""

    @tool(effect="read_only")
    async def failing() -> ToolOutput:
        """Fails."""
        await asyncio.sleep(0)
        return ToolOutput("no luck", is_error=True)

    assert await failing.run({}, context()) == ToolOutput("no luck", is_error=True)
    assert failing.spec.input_schema["properties"] == {}


async def test_a_result_that_is_not_json_is_a_tool_error() -> None:
    """The model reads that the tool is at fault."""

    @tool(effect="read_only")
    async def strange() -> object:
        """Gives back an object."""
        return object()

    with pytest.raises(ToolError, match=r"strange was carried out, but .* it holds a object"):
        await strange.run({}, context())


def test_a_function_that_cannot_be_told_is_refused_when_it_is_made_a_tool() -> None:
    """No docstring, no hint, open-ended parameters, or pieces: a TypeError that says which function."""

    def silent(x: int) -> str:
        return str(x)

    def untyped(x) -> str:  # type: ignore[no-untyped-def]
        """Says."""
        return str(x)

    def open_ended(*x: int) -> str:
        """Says."""
        return str(x)

    def piecemeal(x: int) -> Iterator[str]:
        """Says."""
        yield str(x)

    async def later(x: int) -> AsyncIterator[str]:
        """Says."""
        yield str(x)

    for function in (silent, untyped, open_ended, piecemeal, later):
        with pytest.raises(TypeError, match=function.__name__):
            tool(effect="read_only")(function)


def test_a_name_that_the_model_cannot_use_is_refused_when_the_tool_is_made() -> None:
    """A function may have a Chinese name; its tool needs another."""

    async def weather(city: str) -> str:
        """Tells the weather."""
        return city

    weather.__name__ = "天气"
    with pytest.raises(ValueError, match="'天气' cannot be a tool's name: use 1 to 64 letters"):
        tool(effect="read_only")(weather)
    assert tool(effect="read_only", name="weather")(weather).spec.name == "weather"


def test_category_and_examples_are_for_people() -> None:
    """They are kept beside what the model is told."""

    @tool(effect="read_only", category="旅行", examples=["去上海的车票"])
    async def tickets() -> str:
        """Finds tickets."""
        return ""

    assert (tickets.category, tickets.examples) == ("旅行", ("去上海的车票",))


async def test_what_the_gateway_provides_is_recognised_by_its_type() -> None:
    """Whatever the parameter is called, and both may be asked for."""

    @tool(effect="read_only")
    async def look(where: str, how_far: Progress, call: ToolContext) -> str:
        """Looks."""
        how_far("almost")
        return f"{where} {call.session_id}"

    assert (await look.run({"where": "这里"}, context())).content == "这里 s_1"
    assert list(look.spec.input_schema["properties"]) == ["where"]

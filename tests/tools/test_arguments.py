"""Arguments are checked with a bound of work, whatever the schema."""

import asyncio
from typing import Any

import pytest

from gateway.tools import arguments as checks
from gateway.tools.arguments import check_arguments
from gateway.tools.base import FunctionTool, ToolContext, ToolOutput
from gateway.tools.client_tools import usable_tools
from gateway.tools.function import tool
from gateway.tools.mcp.tool_schemas import usable_schema
from tests.loopback import TIMEOUT
from tests.product import BadArguments, ToolSpec

pytestmark = pytest.mark.anyio

CONSTANTS = [{"const": number} for number in range(1900)]
UNKNOWN = {f"x-{number}": 1 for number in range(4000)}
SCHEMAS: dict[str, dict[str, Any]] = {
    "anyOf": {"items": {"anyOf": CONSTANTS}},
    "oneOf": {"items": {"oneOf": CONSTANTS}},
    "not": {"items": {"not": {"anyOf": CONSTANTS}}},
    "if": {"items": {"if": {"anyOf": CONSTANTS}, "then": True, "else": {"enum": [*range(500)]}}},
    "enum": {"items": {"enum": [*range(9000)]}},
    "enum within": {"anyOf": [{"items": {"enum": [*range(4000)]}}, {"items": {"type": "null"}}]},
    "contains": {"contains": {"anyOf": CONSTANTS}, "minContains": 1900},
    "uniqueItems": {"uniqueItems": True},
    "unique and alternatives": {"uniqueItems": True, "items": {"anyOf": CONSTANTS}},
    "references": {"items": {"$ref": "#/$defs/one"}},
    "unknown keywords": {"items": UNKNOWN},
    "unevaluatedItems": {
        "prefixItems": [{"enum": [1]}] * 900,
        "unevaluatedItems": {"anyOf": CONSTANTS[:900]},
    },
    "all of them": {"allOf": [{"items": {"minimum": -number}} for number in range(900)]},
}
"""Of an array: each within the 64 kB that a schema may have."""
VALUES: dict[str, list[Any]] = {
    "the last number": [1899] * 2000,
    "numbers": [*range(6000)],
    "objects": [{"a": number, "b": [number]} for number in range(6000)],
    "lists in lists": [[[number]] * 20 for number in range(2000)],
    "long texts": ["x" * 100_000] * 20,
}


async def _run(_arguments: dict[str, Any], _context: ToolContext) -> ToolOutput:
    return ToolOutput("")


def _tool(schema: dict[str, Any]) -> FunctionTool:
    definitions = {"one": {"anyOf": CONSTANTS[:1500]}} if "$ref" in str(schema) else {}
    given = {"type": "object", "properties": {"x": schema}, "$defs": definitions}
    return FunctionTool(ToolSpec("count", "", usable_schema(given)), "read_only", 5, _run)


async def _answered(count: FunctionTool, value: object) -> BadArguments | None:
    """What is wrong with it; None: nothing. In a task of the gateway's, as the watchdog looks at those."""
    checked = asyncio.create_task(check_arguments(count, {"x": value}))
    await asyncio.wait([checked])
    error = checked.exception()
    assert error is None or isinstance(error, BadArguments)
    return error


@pytest.mark.parametrize("schema", SCHEMAS)
async def test_no_schema_holds_the_event_loop(monkeypatch: pytest.MonkeyPatch, schema: str) -> None:
    """The watchdog of all tests says so. The check ends by itself, with an answer."""
    checks.prepare_checks()
    monkeypatch.setattr("gateway.tools.arguments.WALL_SECONDS", 0.5)
    count = _tool(SCHEMAS[schema])
    for values in VALUES.values():
        async with asyncio.timeout(TIMEOUT):
            await _answered(count, values)


@pytest.mark.parametrize(
    "schema",
    [
        {"patternProperties": {f"^{number}": {"type": "string"} for number in range(900)}},
        {"additionalProperties": {"anyOf": CONSTANTS}},
        {"propertyNames": {"enum": [*map(str, range(6000))]}},
        {"unevaluatedProperties": {"anyOf": CONSTANTS}},
        {"dependentSchemas": {str(number): {"minProperties": number} for number in range(1500)}},
        {"properties": {str(number): {"type": "string"} for number in range(1900)}},
        {"required": [*map(str, range(9000))]},
    ],
    ids=lambda schema: next(iter(schema)),
)
async def test_no_schema_of_objects_holds_it(monkeypatch: pytest.MonkeyPatch, schema: dict[str, Any]) -> None:
    """Of many names."""
    checks.prepare_checks()
    monkeypatch.setattr("gateway.tools.arguments.WALL_SECONDS", 0.5)
    names = {str(number): number for number in range(6000)}
    await _answered(_tool(schema), names)


async def test_what_takes_more_than_the_loop_may_is_checked_in_a_program() -> None:
    """With the same words."""
    count = _tool({"type": "array", "items": {"type": "integer"}})
    many = [*range(3000)]

    await check_arguments(count, {"x": many})
    with pytest.raises(BadArguments, match=r"x/3000: '3000' is not of type 'integer'\. Its parameters: x\?"):
        await check_arguments(count, {"x": [*many, "3000"]})


async def test_a_check_that_takes_too_long_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model reads what it may do, and the program has ended."""
    monkeypatch.setattr("gateway.tools.arguments.WALL_SECONDS", 0.3)
    with pytest.raises(BadArguments, match="take too long to check against its schema: send fewer values"):
        await check_arguments(_tool(SCHEMAS["anyOf"]), {"x": [1899] * 2001})
    # When the call is to run it is checked once more, and no program is started for that.
    monkeypatch.setattr("gateway.tools.arguments.answer_of", None)
    with pytest.raises(BadArguments, match="take too long"):
        await check_arguments(_tool(SCHEMAS["anyOf"]), {"x": [1899] * 2001})


@pytest.mark.parametrize(
    ("values", "unique"),
    [
        ([1, True, "1", [1], {"a": 1}, {"a": True}, None, False, 0], True),
        ([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1.0}], False),
        ([[1, 2], [2, 1]], True),
        ([False, False], False),
        ([1, 1.0], False),
    ],
)
async def test_equal_elements_are_what_json_schema_calls_equal(values: list[Any], unique: bool) -> None:
    """1 and 1.0 are, 1 and true are not, and the order of names does not matter. (JSON Schema Core, 4.2.2)"""
    assert (await _answered(_tool({"uniqueItems": True}), values) is None) == unique


async def test_a_function_with_many_wrong_values_is_an_answer_soon() -> None:
    """What is wrong with each is not put into words."""

    @tool(effect="read_only")
    def add(numbers: list[int]) -> int:
        """Adds."""
        return sum(numbers)

    checked = asyncio.create_task(check_arguments(add, {"numbers": ["1"] * 15_000}))
    await asyncio.wait([checked])
    error = checked.exception()
    assert isinstance(error, BadArguments)
    assert "15,000 values of them do not fit" in error.message


async def test_a_schema_of_too_many_objects_is_refused_when_it_comes() -> None:
    """To look at each takes as long as hundreds of checks. The reason says what to do instead."""
    with pytest.raises(ValueError, match=r"more than 2000 objects: name fewer .*constants in an enum"):
        _tool({"items": {"anyOf": [{"const": number} for number in range(2500)]}})
    tools = [ToolSpec(f"t{number}", "", {"type": "object", "allOf": [{}] * 1500}) for number in range(3)]
    with pytest.raises(ValueError, match="t2 cannot be used: the schemas of all tools have more than 4000"):
        usable_tools(tools)


@pytest.mark.parametrize(
    "schema", [{"multipleOf": 0.1}, {"multipleOf": 3}, {"maximum": 5}, {"enum": [1.0]}, {"type": "string"}]
)
@pytest.mark.parametrize("number", [10**400, 10**5000, -(10**5000)], ids=["1e400", "1e5000", "-1e5000"])
async def test_a_number_that_python_cannot_compute_with_is_a_wrong_argument(
    schema: dict[str, Any], number: int
) -> None:
    """Or a right one, where the schema takes it: never another failure."""
    await _answered(_tool(schema), number)

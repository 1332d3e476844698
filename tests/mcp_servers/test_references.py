"""What a schema that refers to itself may come to."""

from typing import Any

import pytest

from gateway.tools.mcp.tool_schemas import usable_schema

OBJECT: dict[str, Any] = {"type": "object"}


def test_references_that_multiply_are_refused() -> None:
    """2 to the 40 checks in a kilobyte: nobody begins them. References that say the same once are fine."""
    steps = {f"s{n}": {"allOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(40)}
    with pytest.raises(ValueError, match="its references come to more than"):
        usable_schema({**OBJECT, "properties": {"a": {"$ref": "#/$defs/s0"}}, "$defs": {**steps, "s40": {}}})

    tree = {**OBJECT, "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}
    assert usable_schema(tree) == tree


def test_a_chain_of_references_without_end_is_refused() -> None:
    """As deep as a schema can be written, deeper than it can be followed."""
    steps = {f"s{n}": {"$ref": f"#/$defs/s{n + 1}"} for n in range(1500)}
    with pytest.raises(ValueError, match="its schema is nested too deeply"):
        usable_schema(
            {**OBJECT, "properties": {"a": {"$ref": "#/$defs/s0"}}, "$defs": {**steps, "s1500": {}}}
        )


def recursive(*alternatives: dict[str, Any]) -> dict[str, Any]:
    ref = {"$ref": "#/$defs/n"}
    return {**OBJECT, "properties": {"a": ref}, "$defs": {"n": {"anyOf": list(alternatives)}}}


A: dict[str, Any] = {"properties": {"a": {"$ref": "#/$defs/n"}}}
LIST: dict[str, Any] = {"properties": {"args": {"type": "array", "items": {"$ref": "#/$defs/n"}}}}


@pytest.mark.parametrize(
    "schema",
    [
        recursive({**A, "required": ["x"]}, {**A, "required": ["y"]}),
        recursive(LIST, {"allOf": [LIST]}),
        recursive(A, {"additionalProperties": {"$ref": "#/$defs/n"}}),
        recursive({"not": A}, {"if": A}),
        recursive({"unevaluatedProperties": False, "anyOf": [A]}),
    ],
)
def test_a_schema_that_is_in_itself_in_two_alternatives_is_refused(schema: dict[str, Any]) -> None:
    """Each level of the arguments would double the work of checking them."""
    with pytest.raises(ValueError, match="its schema refers to itself in more than one alternative"):
        usable_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [
        recursive(A, {"type": "null"}),
        recursive({"items": {"$ref": "#/$defs/n"}}, {"additionalProperties": {"$ref": "#/$defs/n"}}),
        recursive({**A, "additionalProperties": {"$ref": "#/$defs/n"}}),
        recursive(LIST, {"properties": {"left": {"$ref": "#/$defs/n"}, "right": {"$ref": "#/$defs/n"}}}),
        recursive({"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "number"}}}),
    ],
)
def test_a_schema_that_is_in_itself_once_is_offered(schema: dict[str, Any]) -> None:
    """Lists, trees, and any value of JSON: each value is checked against the schema once."""
    assert usable_schema(schema) == schema

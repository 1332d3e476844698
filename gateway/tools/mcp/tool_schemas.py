"""The schema of a server's tool, made into one that the model's endpoint accepts and that is safe to check
arguments against."""

import re
from typing import Any

import orjson

from gateway.messages import clean_text
from gateway.tools.mcp import bounds
from gateway.tools.mcp.schema_mending import mended_schema
from gateway.tools.mcp.schema_references import check_references
from gateway.tools.wrapping import defuse, visible

_COMBINED = ("oneOf", "anyOf", "allOf")
_PARAMETER = re.compile(r"[a-zA-Z0-9_.-]{1,64}")  # Anthropic Messages API, keys of "input_schema.properties"
_DATA = frozenset({"const", "default", "enum", "examples", "required"})
_BY_NAME = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
_LEFT_OUT = frozenset({"$schema", "$id", "pattern", "patternProperties"})
_TEXT_KEYWORDS = ("title", "description", "$comment")


def usable_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The form of `schema` for the model, against which its arguments are checked; the server itself
    still checks them against all of it.

    One tool that the endpoint refuses would cost every model call, so it gets what the Messages API demands:
    alternatives at the top are folded into one object. Regular expressions are shown and not checked, since
    one can take for ever.

    Raises:
        ValueError: it cannot be used; the message has the reason.
    """
    try:
        written = orjson.dumps(schema)
    except TypeError as error:
        raise ValueError("its schema cannot be told as JSON") from error
    if len(written) > bounds.SCHEMA:
        raise ValueError(f"its schema has {len(written)} bytes, more than {bounds.SCHEMA}")
    if written.count(b"{") > bounds.OBJECTS:
        raise ValueError(
            f"its schema has more than {bounds.OBJECTS} objects: name fewer properties and alternatives, "
            "and constants in an enum"
        )
    try:
        usable = _repaired(_folded(_of_object(mended_schema(schema))))
        _check(usable)
    except RecursionError:
        raise ValueError("its schema is nested too deeply") from None
    return usable


def _of_object(schema: dict[str, Any]) -> dict[str, Any]:
    """Arguments are an object, whether a schema says so, leaves it out, or allows more. Raises ValueError
    where it does not allow that."""
    kind = schema.get("type", None if "$ref" in schema else "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise ValueError("its schema is not of type object")
    return schema | {"type": "object"}


def _check(schema: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - 0.1 s, and only servers' tools need it

    check_references(schema)
    Draft202012Validator(schema).is_valid({})  # RecursionError where it refers to itself without end
    for name in _properties(schema):
        if not _PARAMETER.fullmatch(name):
            raise ValueError(f"the Messages API refuses the name of its parameter {name[:100]!r}")


def _folded(schema: dict[str, Any]) -> dict[str, Any]:
    """Without alternatives at the top: the parameters of all of them, and a word on how they go together."""
    combined = {key: schema[key] for key in _COMBINED if key in schema}
    if not combined:
        return schema
    properties: dict[str, Any] = {}
    for branches in combined.values():
        for branch in branches if isinstance(branches, list) else ():
            properties |= _properties(branch)
    own = {key: value for key, value in schema.items() if key not in (*_COMBINED, "unevaluatedProperties")}
    text = f"The parameters must also fit {orjson.dumps(combined).decode()}"[: bounds.DESCRIPTION]
    return own | {
        "properties": properties | _properties(schema),
        "description": f"{own.get('description', '')}\n{text}".strip(),
    }


def _properties(schema: Any) -> dict[str, Any]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _repaired(schema: Any) -> Any:
    """The schema and all in it, without what is dangerous to check, and with nothing hidden in its words."""
    if isinstance(schema, list):
        return [_repaired(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    mended = {key: _part(key, value) for key, value in schema.items() if key not in _LEFT_OUT}
    if "patternProperties" in schema:
        mended.pop("additionalProperties", None)
        mended.pop("unevaluatedProperties", None)
    if "pattern" in schema:
        text = f"{schema.get('description', '')} (pattern: {schema['pattern']})".strip()
        mended["description"] = shown(text)
    return mended


def _part(key: str, value: Any) -> Any:
    if key in _DATA:
        return value
    if key in _TEXT_KEYWORDS and isinstance(value, str):
        return shown(value)
    if key in _BY_NAME and isinstance(value, dict):
        return {name: _repaired(each) for name, each in value.items()}
    return _repaired(value)


def shown(text: str) -> str:
    """Words of a server as ones that nothing hides in: without invisible characters and tags of ours."""
    return defuse(visible(clean_text(text)))

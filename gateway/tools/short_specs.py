"""Short forms of tools for models with a small window: fewer words, the same calls. Pure.

What fits the short schema fits the full one: parameters that may be left out are left out, and words that say
what a schema says anyway. Arguments are held to the full schema, whichever the model was shown.
"""

import re
from collections.abc import Mapping
from typing import Any

from gateway.messages import ToolSpec, shortened

MAX_DESCRIPTION = 160
"""Characters of a tool's short description, unless its author wrote one."""
MAX_PARAMETER = 60
"""Characters that are said of a parameter."""
_DEPTH = 6  # of schemas within schemas; what lies deeper stays as it is

_SENTENCE = re.compile(r"(?<=[.!?])\s|(?<=[。！？])|\n")
_DROPPED = frozenset({"title", "examples", "default", "$schema", "$comment"})


def short_spec(
    spec: ToolSpec, description: str | None = None, parameters: Mapping[str, str] | None = None
) -> ToolSpec:
    """The short form of a tool: with that `description`, or the first sentence of its own. Of its parameters
    it has the required ones and those in `parameters`, with what is said of them there ("": nothing); without
    `parameters` all of them, with the beginning of what is said of each."""
    schema = _shorter(spec.input_schema, 0)
    if parameters is not None:
        required = schema.get("required", ())
        schema["properties"] = {
            name: _told(each, parameters.get(name, ""))
            for name, each in schema.get("properties", {}).items()
            if name in parameters or name in required
        }
    return ToolSpec(spec.name, description or _first(spec.description, MAX_DESCRIPTION), schema)


def _told(schema: Any, words: str) -> Any:
    if not isinstance(schema, dict):
        return schema
    bare = {key: value for key, value in schema.items() if key != "description"}
    return {**bare, "description": words} if words else bare


def _shorter(schema: Any, depth: int) -> Any:
    """A schema without what a model can do without. Names of properties are no keywords."""
    if not isinstance(schema, dict) or depth > _DEPTH:
        return schema
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _DROPPED or (key == "additionalProperties" and isinstance(value, bool)):
            continue
        if key == "description" and isinstance(value, str):
            found[key] = _first(value, MAX_PARAMETER)
        elif key == "properties" and isinstance(value, dict):
            required = schema.get("required") or ()
            shorter = {name: _shorter(each, depth + 1) for name, each in value.items()}
            found[key] = {n: each if n in required else _without_null(each) for n, each in shorter.items()}
        elif key in {"$defs", "definitions"} and isinstance(value, dict):
            found[key] = {name: _shorter(each, depth + 1) for name, each in value.items()}
        elif key == "items":
            found[key] = _shorter(value, depth + 1)
        elif key in {"anyOf", "oneOf", "allOf"} and isinstance(value, list):
            found[key] = [_shorter(each, depth + 1) for each in value]
        else:
            found[key] = value
    return found


def _without_null(schema: Any) -> Any:
    """Of "this or null" the former: what may be left out need not be null."""
    match schema:
        case {"anyOf": [dict(one), {"type": "null"}] | [{"type": "null"}, dict(one)], **rest}:
            return {**one, **rest}
        case _:
            return schema


def _first(text: str, most: int) -> str:
    """The first sentence of a text, in at most `most` characters."""
    return shortened(_SENTENCE.split(" ".join(text.split()), maxsplit=1)[0], most)

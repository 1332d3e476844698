"""Writes the types of the TypeScript client: src/events.ts from the JSON Schema of events, src/api.ts from
the models of the routes.

With --check nothing is written: it exits 1 and shows the difference where a file is stale.
"""

import difflib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from gateway.api.url_table import ENDPOINTS
from gateway.events.contract import json_schema
from gateway.http.error_responses import ProblemReply

SOURCES = Path(__file__).resolve().parent / "src"
DIFFERENCE_SHOWN = 20
"""Lines of a stale file's difference that are shown."""
HEAD = "// Generated from {source} by generate.py: edit there.\n\n"
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}

Schema = dict[str, Any]


def events() -> str:
    """A type for the data of each event and for each event, the union of all, and their names."""
    schema = json_schema()
    definitions: dict[str, Schema] = schema["$defs"]
    mapping: dict[str, str] = schema["discriminator"]["mapping"]
    names = [_name(choice) for choice in schema["oneOf"]]
    parts = [_interface(name, definition) for name, definition in definitions.items()]
    parts.append(f"/** {schema['title']}. */\nexport type KnownEvent =\n  | " + "\n  | ".join(names) + ";\n")
    known = "".join(f"  {json.dumps(each)},\n" for each in mapping)
    parts.append("/** Every type of event that this version knows. */")
    parts.append(f"export const EVENT_TYPES = [\n{known}] as const;\n")
    return HEAD.format(source="gateway/events/") + "\n".join(parts)


def api() -> str:
    """A type for each body and query that a route takes and for each answer."""
    bodies = {given for each in ENDPOINTS for given in (each.body, each.query) if given is not None}
    answers = {
        answer
        for each in ENDPOINTS
        for given in each.answers.values()
        for answer in given
        if isinstance(answer, type)
    }
    taken, sent = _definitions(bodies, "validation"), _definitions(answers | {ProblemReply}, "serialization")
    both = {name: taken[name] for name in taken.keys() - sent.keys()} | {
        name: _sent(each) for name, each in sent.items()
    }
    return HEAD.format(source="gateway/api/") + "\n".join(
        _interface(name, both[name]) for name in sorted(both)
    )


def _definitions(models: set[type[BaseModel]], mode: Any) -> dict[str, Schema]:
    ordered = sorted(models, key=lambda model: model.__name__)
    return models_json_schema([(model, mode) for model in ordered], by_alias=False)[1]["$defs"]


def _sent(definition: Schema) -> Schema:
    """Of an answer only None is left out: a field that has another default is always there."""
    fields = definition.get("properties", {})
    return {
        **definition,
        "required": [name for name, each in fields.items() if each.get("default", ...) is not None],
    }


def _interface(name: str, definition: Schema) -> str:
    if "enum" in definition or "properties" not in definition:
        return f"{_comment(definition)}export type {name} = {_type(definition)};\n"
    return f"{_comment(definition)}export interface {name} {{\n{''.join(_fields(definition))}}}\n"


def _fields(definition: Schema) -> Iterator[str]:
    required = definition.get("required", [])
    for name, field in definition["properties"].items():
        optional = "" if name in required else "?"
        yield f"{_comment(field, '  ')}  readonly {name.rstrip('_')}{optional}: {_type(field)};\n"


def _comment(schema: Schema, indent: str = "") -> str:
    text = " ".join(schema.get("description", "").split()).replace("*/", "* /")
    return f"{indent}/** {text} */\n" if text else ""


def _type(field: Schema) -> str:  # noqa: PLR0911 - a line for each form
    if "$ref" in field:
        return _name(field)
    if choices := field.get("anyOf") or field.get("oneOf"):
        types = dict.fromkeys(_type(each) for each in choices if each != {"type": "null"})
        return " | ".join(each for each in types if each != '""' or "string" not in types)
    if "const" in field:
        return json.dumps(field["const"])
    if "enum" in field:
        return " | ".join(json.dumps(each) for each in field["enum"])
    match field.get("type"):
        case "array":
            items = _type(field.get("items", {}))
            return f"readonly ({items})[]" if "|" in items else f"readonly {items}[]"
        case "object":
            values = field.get("additionalProperties")
            return f"Readonly<Record<string, {_type(values) if isinstance(values, dict) else 'unknown'}>>"
        case str(plain):
            return PLAIN[plain]
        case _:
            return "unknown"


def _name(reference: Schema) -> str:
    return reference["$ref"].rpartition("/")[2]


def main(arguments: list[str]) -> int:
    """Writes or checks both files; returns the exit code."""
    stale = False
    for name, write in {"events.ts": events, "api.ts": api}.items():
        path = SOURCES / name
        found = path.read_text(encoding="utf-8") if path.exists() else ""
        fresh = write()
        if found == fresh:
            continue
        if "--check" not in arguments:
            path.write_text(fresh, encoding="utf-8")
            print(f"wrote {name}")
            continue
        stale = True
        print(f"web/client/src/{name} is stale; `python web/client/generate.py` writes it:")
        lines = difflib.unified_diff(
            found.splitlines(), fresh.splitlines(), "there", "should be", "", "", 0, ""
        )
        print("\n".join(f"  {line}" for line in list(lines)[:DIFFERENCE_SHOWN]))
    return int(stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

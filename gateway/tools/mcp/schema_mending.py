"""A server's schema as a valid one (JSON Schema 2020-12) that means the same, where its meaning is plain.
What is left out of it is for the server alone to check.

    older versions, other languages' names of types, empty lists for objects ──▶ mended
    what then is still no JSON Schema ──▶ that keyword is left out
"""

from typing import Any, Final

_BY_NAME: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMAS: Final = (
    *("items", "contains", "additionalProperties", "unevaluatedProperties", "unevaluatedItems"),
    *("not", "if", "then", "else", "propertyNames", "contentSchema"),
)
_VALUES: Final = ("const", "default")  # may be null
_TYPES: Final = {"array", "boolean", "integer", "null", "number", "object", "string"}
_TYPE_NAMES: Final = {
    "str": "string", "text": "string", "char": "string", "date": "string", "datetime": "string",
    "int": "integer", "long": "integer", "int32": "integer", "int64": "integer",
    "float": "number", "double": "number", "decimal": "number", "bool": "boolean",
    "dict": "object", "map": "object", "list": "array", "none": "null",
}  # fmt: skip
_LIMITS: Final = ("minimum", "maximum")
_ROUNDS: Final = 3


def mended_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, and all in it, by the rules of 2020-12. Raises ValueError: it cannot be; the message has
    the reason."""
    mended: dict[str, Any] = _mended(schema)
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - 0.1 s, and only servers' tools need it

    validator = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    path: tuple[str | int, ...] = ()
    for _ in range(_ROUNDS):
        paths = {tuple(error.absolute_path) for error in validator.iter_errors(mended)}
        if not paths:
            return mended
        for path in paths:
            _leave_out(mended, path)
    where = "/".join(str(part) for part in path) or "the top"
    raise ValueError(f"its schema is no JSON Schema (2020-12), at {where[:100]}")


def _mended(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema if isinstance(schema, bool) else {}
    mended = {key: _part(key, value) for key, value in schema.items() if value is not None or key in _VALUES}
    for key in [key for key in (*_BY_NAME, *_LISTS) if mended.get(key, True) in ([], None)]:
        del mended[key]
    _mend_type(mended)
    _mend_items(mended)
    _mend_limits(mended)
    _mend_required(mended, schema.get("properties"))
    return mended


def _part(key: str, value: Any) -> Any:
    if key in _BY_NAME:
        return {name: _mended(each) for name, each in value.items()} if isinstance(value, dict) else None
    if key in _LISTS:
        return [_mended(each) for each in value] if isinstance(value, list) else None
    if key == "items" and isinstance(value, list):
        return [_mended(each) for each in value]
    return _mended(value) if key in _SCHEMAS else value


def _mend_type(schema: dict[str, Any]) -> None:
    """Names of types as other languages have them; one that is none leaves the value open."""
    if "type" not in schema:
        return
    given = schema["type"]
    known = [_type(each) for each in (given if isinstance(given, list) else [given])]
    types = list(dict.fromkeys(each for each in known if each is not None))
    if not types or None in known:
        del schema["type"]
    else:
        schema["type"] = types if isinstance(given, list) else types[0]


def _type(name: Any) -> str | None:
    lower = name.strip().lower() if isinstance(name, str) else ""
    return lower if lower in _TYPES else _TYPE_NAMES.get(lower)


def _mend_items(schema: dict[str, Any]) -> None:
    """A list of items was, before 2020-12, what each place holds."""
    rest = schema.pop("additionalItems", None)
    items = schema.get("items")
    if isinstance(items, list):
        del schema["items"]
        if items:
            schema["prefixItems"] = items
            if isinstance(rest, dict | bool):
                schema["items"] = _mended(rest)


def _mend_limits(schema: dict[str, Any]) -> None:
    """Before draft 6, whether a limit itself was left out stood beside it. Numbers may be written as text."""
    for limit in _LIMITS:
        exclusive = f"exclusive{limit.capitalize()}"
        for key in (limit, exclusive):
            if isinstance(schema.get(key), str) and schema[key].removeprefix("-").isdecimal():
                schema[key] = int(schema[key])
        if (is_exclusive := schema.get(exclusive)) is True and limit in schema:
            schema[exclusive] = schema.pop(limit)
        elif isinstance(is_exclusive, bool):
            del schema[exclusive]


def _mend_required(schema: dict[str, Any], properties: Any) -> None:
    """Names, each once. Before draft 4, a property itself said that it must be there."""
    given = schema.pop("required", None)
    names = [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
    if isinstance(properties, dict):
        names += [
            name
            for name, each in properties.items()
            if isinstance(each, dict) and each.get("required") is True
        ]
    if names:
        schema["required"] = list(dict.fromkeys(names))


def _leave_out(schema: dict[str, Any], path: tuple[str | int, ...]) -> None:
    """Takes the keyword away in which the path ends."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    found: Any = schema
    for part in path[:-1]:
        if isinstance(found, dict) and part not in found:  # gone with another keyword
            return
        found = found[part]
    if path and isinstance(found, dict):
        found.pop(path[-1], None)

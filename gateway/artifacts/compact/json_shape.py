"""The form of JSON, its shape: types, keys, lengths, and an example value of each."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

import orjson

from gateway.artifacts.compact.base import MAX_TOKENS, Compact, counted, fitted, flat
from gateway.artifacts.compact.text import text_form
from gateway.artifacts.content import ArtifactContent, Measured
from gateway.artifacts.lossless_json import lossless_json

LARGEST_PARSED = 1_048_576
"""Bytes of a JSON that is parsed; of a larger one, only its head."""
MAX_CHARACTERS = 65_536
"""Commas and opening brackets in a JSON that is parsed: each stands for a value, and the smallest object
takes 200 bytes of memory."""

_DEEPEST = 4
_KEYS = 30  # of one object that are shown
_ITEMS = 200  # of one array, and keys of one object, that are looked at
_TOKENS = 14  # of a key or an example
# A name that needs no quotes in a path. RFC 9535 allows all planes of Unicode, python-jsonpath the first one.
_BEYOND = "\U00010000-\U0010ffff"
_PLAIN_KEY = re.compile(rf"[^\W\d{_BEYOND}][^\W{_BEYOND}]{{0,39}}")
_SIGNS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[{}\[\],]', re.DOTALL)
_TYPES = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_CLOSES = {b"{": b"}", b"[": b"]"}


class _OpenArray(list[Any]):
    """One that goes on behind the part that is counted."""


def json_form(content: ArtifactContent, measured: Measured) -> Compact:
    """As text, with a remark, when it cannot be parsed."""
    whole = measured.size <= LARGEST_PARSED and _signs(content) <= MAX_CHARACTERS
    data = b"".join(content.chunks()) if whole else closed(measured.head)
    try:
        value = lossless_json(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        lines = counted(measured.lines or 0, "line")
        return text_form(content, measured, f"JSON, {_reason(error, whole=whole)}: {lines}")
    if not whole:
        value = _opened(value)
    scope = "" if whole else f" (counted in its first {len(measured.head):,} bytes)"
    path = _path(value)
    examples = {"json_path": path} if path else {}
    if keys := _PLAIN_KEY.findall(path or ""):
        examples["search"] = keys[-1]
    return Compact("\n".join(_shape(f"JSON{scope}: ", value)), examples)


def _signs(content: ArtifactContent) -> int:
    return sum(chunk.count(sign) for chunk in content.chunks() for sign in (b",", b"[", b"{"))


def _reason(error: orjson.JSONDecodeError, *, whole: bool) -> str:
    if "depth limit" in str(error):
        return "too deep to be parsed"
    return f"broken in line {error.lineno:,}" if whole else "too large to be parsed"


def closed(head: bytes) -> bytes:
    """The beginning of a JSON up to the last comma, and closed there so that it is one."""
    cut = max((match.start() for match in _SIGNS.finditer(head) if match[0] == b","), default=0)
    around: list[bytes] = []
    for match in _SIGNS.finditer(head, 0, cut):
        if match[0] in _CLOSES:
            around.append(_CLOSES[match[0]])
        elif match[0] in (b"}", b"]") and around:
            around.pop()
    return head[:cut] + b"".join(reversed(around))


def _opened(value: Any, levels: int = _DEEPEST) -> Any:
    """The value with its open arrays known as such: the cut is behind the last item of each container."""
    if not value or not levels or not isinstance(value, dict | list):
        return value
    if isinstance(value, dict):
        key = next(reversed(value))
        return {**value, key: _opened(value[key], levels - 1)}
    return _OpenArray([*value[:-1], _opened(value[-1], levels - 1)])


def _shape(title: str, value: Any) -> list[str]:
    """As many whole levels as fit."""
    fits: list[str] = []
    for deepest in range(_DEEPEST + 1):
        lines = [title + _describe([value]), *_inside([value], 0, deepest)]
        kept = fitted(lines, MAX_TOKENS)
        if len(kept) < len(lines):
            return fits if len(fits) > 1 else [*kept, "…"]
        fits = lines
    return fits


def _inside(values: Sequence[Any], depth: int, deepest: int) -> Iterator[str]:
    """What is in the containers among `values`, which all stand at the same place: the fields of the objects,
    the items of the arrays. An array of objects is shown by their fields."""
    if depth == deepest:
        return
    indent = "  " * depth
    objects = [value for value in values if isinstance(value, dict)]
    fields: dict[str, list[Any]] = {}
    for key, inner in chain.from_iterable(islice(each.items(), _ITEMS) for each in objects):
        fields.setdefault(key, []).append(inner)
    count = max([len(fields), *map(len, objects)])
    for key, inner in islice(fields.items(), _KEYS):
        sometimes = "?" if len(inner) < len(objects) else ""
        yield f"{indent}{_key(key)}{sometimes}: {_describe(inner)}"
        yield from _inside(inner, depth + 1, deepest)
    if count > _KEYS:
        yield f"{indent}… {counted(count - _KEYS, 'more key')}"
    items = _items(values)
    if items and all(isinstance(item, dict) for item in items):
        yield from _inside(items, depth, deepest)
    elif any(isinstance(item, dict | list) for item in items):
        yield f"{indent}each: {_describe(items)}"
        yield from _inside(items, depth + 1, deepest)


def _items(values: Sequence[Any]) -> list[Any]:
    return list(islice(chain.from_iterable(value for value in values if isinstance(value, list)), _ITEMS))


def _describe(values: Sequence[Any]) -> str:
    """What stands at one place, in words: "array of 3 strings, e.g. "a"", "integer or null, e.g. 1"."""
    types = dict.fromkeys(map(_type, values))
    words = [_array(values) if each == "array" else each for each in types]
    if objects := [value for value in values if isinstance(value, dict)]:
        keys = len(objects[0]) if len(objects) == 1 else None
        words = [f"object with {counted(keys, 'key')}" if w == "object" and keys else w for w in words]
    scalars = [value for value in chain(values, _items(values)) if not isinstance(value, dict | list | None)]
    example = f", e.g. {_example(scalars[0])}" if scalars else ""
    return " or ".join(words) + example


def _array(values: Sequence[Any]) -> str:
    lengths = {len(value) for value in values if isinstance(value, list)}
    least, most = min(lengths), max(lengths)
    if not most:
        return "empty array"
    plural = "" if most == 1 else "s"
    types = " or ".join(f"{each}{plural}" for each in dict.fromkeys(map(_type, _items(values))))
    length = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    at_least = "at least " if len(values) == 1 and isinstance(values[0], _OpenArray) else ""
    return f"array of {at_least}{length} {types}"


def _type(value: Any) -> str:
    return _TYPES[list if isinstance(value, list) else type(value)]


def _example(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return flat(str(value), 3 * _TOKENS)  # orjson writes none beyond 64 bits
    return orjson.dumps(flat(value, _TOKENS) if isinstance(value, str) else value).decode()


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else _example(key)


def _path(value: Any) -> str | None:
    """A path (RFC 9535) to a part of `value`: its largest member, of that the first item."""
    path = "$"
    if isinstance(value, dict):
        sizes: dict[str, int] = {
            key: len(inner) if isinstance(inner, dict | list) else 0
            for key, inner in islice(value.items(), _ITEMS)
            if _PLAIN_KEY.fullmatch(key)
        }
        if not sizes:
            return "$.*" if value else None
        name = max(sizes, key=sizes.__getitem__)
        path, value = f"$.{name}", value[name]
    if isinstance(value, list) and value:
        path += "[0]"
    return path if path != "$" else None

"""Evaluates a JSON path on a content. A program of its own: expressions and contents come from anywhere, and
only a process can be held to its time and memory. It imports nothing of the gateway.

Its input is a line of JSON, {"path", "most_bytes", "outline"}, and the content. Its output is JSON:
{"refused", "reason"}, or {"count", "at_least", "whole"}: `whole` is the JSON of what was selected, as text,
and null where that has more than `most_bytes`. With an outline there is beside it what `_outline` gives.
"""

import gc
import json
import os
import re
import resource
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

CPU_SECONDS = 2
MEMORY = 1_073_741_824  # bytes of address space
MAX_COUNTED = 2000  # values, where they are outlined; otherwise time, memory and bytes bound them
_ROW = 1000  # bytes of JSON of a value within an outline; a larger one is described
_KEYS, _KEY, _TEXT = 8, 40, 80  # keys, and characters of keys and texts, in a description
_MAX_PATH_LENGTH = 400  # characters of a path in an answer
_LONG = re.compile(rb"[0-9]{19}")  # a number that may be beyond 64 bits: orjson would give a float
_BOUNDED = re.compile(r"[?,]|\.\.|:\s*-?[0-9]|(?:\*|:).*(?:\*|:)")
"""Of a path whose values may not be all that follow one of them: a filter, a list, all descendants, a slice
with an end, more than one wildcard or slice."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

Place = tuple[int | str, ...]


class _Run(NamedTuple):
    """Places that follow one another in an array, by the index at `at`, up to, and without, `end`. Their
    paths differ between `before` and `after`; `after` is "" for elements of the array itself."""

    at: int
    before: str
    after: str
    end: int


class PathRefused(Exception):
    """Code and message."""


def main() -> None:
    _limit()
    gc.disable()  # it would look through millions of values again and again
    import orjson  # noqa: PLC0415 - within the limits

    source = sys.stdin.buffer
    request = orjson.loads(source.readline())
    try:
        answer = _answer(request, source.read().removeprefix(b"\xef\xbb\xbf"))
    except PathRefused as refused:
        answer = dict(zip(("refused", "reason"), refused.args, strict=True))
    except (MemoryError, RecursionError):
        answer = {"refused": "json_path_too_slow", "reason": "it takes too much memory"}
    with suppress(BrokenPipeError):
        sys.stdout.buffer.write(orjson.dumps(answer))
        sys.stdout.buffer.flush()
    os._exit(0)  # no time for taking millions of values apart


def _limit() -> None:
    limits = ((resource.RLIMIT_CPU, CPU_SECONDS), (resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CORE, 0))
    for limit, most in limits:
        with suppress(ValueError, OSError):  # a system that has no such limit; the clock ends it there
            resource.setrlimit(limit, (most, most))


def _answer(request: dict[str, Any], content: bytes) -> dict[str, Any]:
    most, outline = request["most_bytes"], request["outline"]
    found = _selected(request["path"], _parsed(content), MAX_COUNTED + 1 if outline else None)
    at_least = outline and len(found) > MAX_COUNTED
    whole = _whole([value for _, value in found], most, as_list=not outline)
    counted = {"count": len(found) - at_least, "at_least": at_least, "whole": whole}
    if not outline or not found:
        return counted
    is_open = not _BOUNDED.search(request["path"])
    return {**counted, **_outline(found, most, at_least=at_least, is_open=is_open)}


def _parsed(content: bytes) -> Any:
    import orjson  # noqa: PLC0415

    try:
        value = orjson.loads(content)
        if not _LONG.search(content):
            return value
        value = None  # before there is another
        return json.loads(content)
    except RecursionError:
        raise PathRefused("not_json", "it has numbers beyond 64 bits and is nested too deeply") from None
    except orjson.JSONDecodeError as error:
        if "depth" in error.msg or "recursion" in error.msg.lower():
            raise PathRefused("not_json", "it is nested deeper than 1024 levels") from None
        if "memory" in error.msg.lower():
            raise MemoryError from None
        raise PathRefused("not_json", f"it is no single JSON value ({error.msg[:80]})") from None


def _selected(path: str, value: Any, most: int | None) -> list[tuple[Place, Any]]:
    """What the path selects, `most` of it, with the place of each."""
    import jsonpath  # noqa: PLC0415

    environment = jsonpath.JSONPathEnvironment(strict=True)
    for name in ("match", "search"):  # regular expressions may take exponential time
        del environment.function_extensions[name]
    # Content that is one string would be taken for the text of a document.
    document = value if isinstance(value, list | dict) else [value]
    try:
        query = environment.compile(path)
        if document is not value:
            return [((), value)] if path == "$" else []
        return [(each.parts, each.obj) for each in islice(query.finditer(document), most)]
    except jsonpath.JSONPathNameError:
        json_text = "there is no such function; there are length(), count() and value()"
        raise PathRefused("bad_json_path", json_text) from None
    except RecursionError:
        json_text = "it is nested too deeply for ..: give the way step by step"
        raise PathRefused("bad_json_path", json_text) from None
    except jsonpath.JSONPathError as error:
        raise PathRefused("bad_json_path", str(error.args[0])[:200]) from None


def _whole(values: Sequence[Any], most: int, *, as_list: bool) -> str | None:
    """The JSON of one value, or of a list of several, a line each; None when that is too large."""
    pieces: list[str] = []
    size = 0
    for value in values:
        if (piece := _json(value)) is None:
            return None
        pieces.append(piece)
        size += len(piece.encode()) + 2
        if size > most:
            return None
    if len(pieces) == 1 and not as_list:
        return pieces[0]
    return "[\n" + ",\n".join(pieces) + "\n]" if pieces else "[]"


def _json(value: Any) -> str | None:
    import orjson  # noqa: PLC0415

    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError as error:
        if "64-bit" not in str(error):  # more than 254 levels
            return None
    json_text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        orjson.loads(
            orjson.dumps(orjson.loads(json_text))
        )  # which takes no more levels than without such numbers
    except (orjson.JSONEncodeError, orjson.JSONDecodeError):
        return None
    return json_text


def _outline(found: list[tuple[Place, Any]], most: int, *, at_least: bool, is_open: bool) -> dict[str, Any]:
    """What is too large, by its parts: `rows` of them within `most` bytes, of `size` in all. `following`
    gives, for each row, the path of what comes after it, where there is such a path; `deeper` is the path of
    the first part that is described only."""
    place, value = found[0]
    form = "values"
    if len(found) == 1 and isinstance(value, str):
        return {
            "form": "text",
            "size": len(value),
            "rows": [value[:most]],
            "following": [None],
            "deeper": None,
        }
    if len(found) == 1 and isinstance(value, dict):
        form, found = "members", [((*place, name), inner) for name, inner in value.items()]
    elif len(found) == 1 and isinstance(value, list):
        form, found = "elements", [((*place, index), inner) for index, inner in enumerate(value)]
    run = _run([place for place, _ in found])
    if run is not None and run.after == "":
        form = "elements"
    if at_least and not is_open:
        run = None  # what follows an element that was selected may not be
    until = "" if at_least or run is None else run.end
    rows: list[str] = []
    following: list[str | None] = []
    deeper, size = None, 0
    for each, inner in found:
        json = _json(inner)
        if json is None or len(json.encode()) > _ROW:
            json, deeper = _described(inner), deeper or _path(each)
        row = f"{_label(form, each)}{json}"
        size += len(row.encode()) + 1
        if size > most:
            break
        rows.append(row)
        reached = 0 if run is None else int(each[run.at]) + 1
        if run is None or reached == run.end:
            following.append(None)
        else:
            following.append(f"{run.before}[{reached}:{until}]{run.after}")
    return {"form": form, "size": len(found), "rows": rows, "following": following, "deeper": deeper}


def _run(places: list[Place]) -> _Run | None:
    """What these places go through, if they differ in one index alone, which counts up by one."""
    if not places or not places[0]:
        return None
    head, tail = places[0], places[-1]
    differ = (at for at, (one, other) in enumerate(zip(head, tail, strict=False)) if one != other)
    at = next(differ, len(head) - 1)
    first, left, right = head[at], head[:at], head[at + 1 :]
    before, after = _path(left), _path(right)
    if not isinstance(first, int) or before is None or after is None:
        return None
    if any(place != (*left, number, *right) for number, place in enumerate(places, first)):
        return None
    return _Run(at, before, after.removeprefix("$"), first + len(places))


def _label(form: str, place: Place) -> str:
    if form == "values":
        return f"{_path(place) or '…'}  "
    if form == "elements":
        return f"[{place[-1]}]  "
    return f"{_cut(str(place[-1]), _MAX_PATH_LENGTH)}: "


def _described(value: Any) -> str:
    if isinstance(value, dict):
        names = [_cut(name, _KEY) for name in islice(value, _KEYS)]
        more = ", …" if len(value) > _KEYS else ""
        return f"an object of {len(value):,}: {', '.join(names)}{more}"
    if isinstance(value, list):
        return f"an array of {len(value):,}"
    return f"a string of {len(value):,} characters: {_cut(value, _TEXT)}"


def _cut(text: str, most: int) -> str:
    """As JSON, so that it is one line."""
    return _json(text if len(text) <= most else text[:most] + "…") or ""


def _path(place: Place) -> str | None:
    """The path of a place; None for one that would be too long to repeat."""
    from jsonpath.serialize import canonical_string  # noqa: PLC0415

    path = "$"
    for each in place:
        if isinstance(each, int):
            path += f"[{each}]"
        else:
            path += f".{each}" if _NAME.fullmatch(each) else f"[{canonical_string(each)}]"
        if len(path) > _MAX_PATH_LENGTH:
            return None
    return path


if __name__ == "__main__":
    main()

"""The requested part of an artifact, from the text of parameters or of a tool's arguments."""

import re
from dataclasses import dataclass

from gateway.errors import InvalidRequest

MAX_PATH_LENGTH = 500
"""Characters of a JSON path."""
MAX_WORD_LENGTH = 200
"""Characters that can be searched for."""

_RANGE = re.compile(r"\s*(\d{1,18})\s*(-\s*(\d{1,18})?\s*)?", re.ASCII)
_HOW = "Give one of lines (1-50), bytes (0-999), json_path ($.items[0]) and search (a word)"


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines from `first`, counted from 1, to `last`, which is one of them; None is the end."""

    first: int
    last: int | None


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes from `first`, counted from 0, to `last`, which is one of them, as in HTTP; None is the end."""

    first: int
    last: int | None


@dataclass(frozen=True, slots=True)
class JsonPath:
    """What an expression of RFC 9535 selects."""

    path: str


@dataclass(frozen=True, slots=True)
class LineSearch:
    """Lines with that text in them, in capitals or not, among `lines`."""

    word: str
    lines: LineRange


Selector = LineRange | Bytes | JsonPath | LineSearch

BEGINNING = Bytes(0, None)
"""As much from the beginning on as fits."""


def selector_of(
    *,
    lines: str | None = None,
    bytes: str | None = None,
    json_path: str | None = None,
    search: str | None = None,
) -> Selector:
    """What the texts of parameters ask for: exactly one of them; but `lines` may bound a search.

    A range is `1-50`, `5-` (to the end) or `5` (that one alone).

    Raises:
        errors.InvalidRequest: (bad_range) none or several, or no such range; (bad_json_path) a path that is
            too long or begins with no $; (bad_search) nothing to search for, or what stands in no line.
    """
    given = [name for name, value in _named(lines, bytes, json_path, search) if value is not None]
    if len(given) != 1 and given != ["lines", "search"]:
        found = " and ".join(given) if given else "nothing"
        raise InvalidRequest(f"{_HOW}, not {found}; lines may bound a search.", code="bad_range")
    if search is not None:
        return LineSearch(
            _word(search), LineRange(1, None) if lines is None else LineRange(*_range("lines", lines, 1))
        )
    if lines is not None:
        return LineRange(*_range("lines", lines, 1))
    if bytes is not None:
        return Bytes(*_range("bytes", bytes, 0))
    return JsonPath(path_of(json_path or ""))


def path_of(text: str) -> str:
    """A JSON path as it may be evaluated. Raises errors.InvalidRequest (bad_json_path)."""
    path = text.strip()
    if not path.startswith("$"):
        raise InvalidRequest(
            "A JSON path begins with $, which is the whole: $.items[0].name", code="bad_json_path"
        )
    if len(path) > MAX_PATH_LENGTH:
        raise InvalidRequest(
            f"A JSON path has at most {MAX_PATH_LENGTH} characters: select less, or in steps.",
            code="bad_json_path",
        )
    return path


def _named(lines: str | None, bytes: str | None, json_path: str | None, search: str | None):
    return (("lines", lines), ("bytes", bytes), ("json_path", json_path), ("search", search))


def _range(name: str, text: str, least: int) -> tuple[int, int | None]:
    forms = f"write {name}={least}-50, {name}=50- for the rest, or {name}=50"
    if (read := _RANGE.fullmatch(text)) is None:
        raise InvalidRequest(f"{text[:40]!r} is no range of {name}: {forms}.", code="bad_range")
    first = int(read[1])
    if first < least:
        raise InvalidRequest(f"{name.capitalize()} count from {least}: {forms}.", code="bad_range")
    if read[2] is None:
        return first, first
    if read[3] is None:
        return first, None
    if int(read[3]) < first:
        raise InvalidRequest(
            f"{name}={first}-{int(read[3])} runs backwards: write {name}={int(read[3])}-{first}.",
            code="bad_range",
        )
    return first, int(read[3])


def _word(text: str) -> str:
    if not text.strip():
        raise InvalidRequest("There is nothing to search for: write search=word.", code="bad_search")
    if len(text) > MAX_WORD_LENGTH:
        raise InvalidRequest(
            f"What is searched for has at most {MAX_WORD_LENGTH} characters: a word or two find it.",
            code="bad_search",
        )
    if "\n" in text or "\r" in text:
        raise InvalidRequest("A search looks into single lines: give text of one line.", code="bad_search")
    return text

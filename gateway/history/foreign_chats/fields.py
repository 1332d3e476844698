"""Fields of exports of others: each may be missing, or something else than it was."""

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from gateway.messages import clean_text

MAX_TIME = 253_402_300_799_000
"""Milliseconds; the year 9999 ends."""
MAX_TITLE = 200
_ID = re.compile(r"[A-Za-z0-9_-]{1,55}")


def text(value: object) -> str:
    """A text that can be stored; "" where there is none."""
    return clean_text(value) if isinstance(value, str) else ""


def title(value: object) -> str | None:
    """One line of at most MAX_TITLE characters."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text(value)).split())
    return line[:MAX_TITLE] or None


def fields(value: object) -> Mapping[str, Any]:
    """The fields of an object; none where it is no object."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def items(value: object) -> list[Any]:
    """The items of a list; none where it is no list."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def id_of(value: object) -> str | None:
    """An id that can be a part of one of ours."""
    return value if isinstance(value, str) and _ID.fullmatch(value) else None


def seconds(value: object) -> int | None:
    """Unix seconds, as milliseconds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return _within(int(value * 1000))


def moment(value: object) -> int | None:
    """A time of ISO 8601, as milliseconds."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value[:40])
    except ValueError:
        return None
    return _within(int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000))


def branch(
    leaf: object, message: Callable[[str], tuple[Mapping[str, Any], object] | None]
) -> list[Mapping[str, Any]]:
    """The messages from the first one to this leaf. `message` gives one by its id, with the id of the
    one that it follows; None: there is none of that id. What goes in a circle ends."""
    found: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    at = leaf
    while isinstance(at, str) and at not in seen and (here := message(at)) is not None:
        seen.add(at)
        found.append(here[0])
        at = here[1]
    return found[::-1]


def enclosed(
    said: str, begins: re.Pattern[str], ends: str, shown: Callable[[re.Match[str], str], str]
) -> str:
    """The text with what is `shown` in the place of each part between a beginning and its end."""
    pieces, at = list[str](), 0
    while (begun := begins.search(said, at)) and (end := said.find(ends, begun.end())) >= 0:
        pieces += [said[at : begun.start()], shown(begun, said[begun.end() : end])]
        at = end + len(ends)
    return "".join([*pieces, said[at:]])


def nothing(begun: re.Match[str], content: str) -> str:
    """What is shown in the place of something that nobody is to see."""
    del begun, content
    return ""


def fenced(content: str, language: str = "") -> str:
    """A content in a fence that it cannot close."""
    longest = max((len(run) for run in re.findall(r"`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    named = language if re.fullmatch(r"[A-Za-z0-9+#.-]{1,30}", language) else ""
    return f"{fence}{named}\n{content}\n{fence}"


def _within(at: int) -> int | None:
    return at if 0 < at < MAX_TIME else None

"""Parts of a download (RFC 9110, section 14)."""

import re

from starlette.datastructures import Headers

from gateway.errors import InvalidRequest

_RANGE = re.compile(r"bytes=\s*(?:(\d{1,18})-(\d{1,18})?|-(\d{1,18}))\s*", re.ASCII | re.IGNORECASE)


class Unsatisfiable(InvalidRequest):
    """No byte of the content is in the range that was asked for."""

    code = "range_not_satisfiable"


def range_of(headers: Headers, size: int, etag: str) -> tuple[int, int] | None:
    """The first byte that is asked for, and the one after the last; None: all of them. As the RFC has it, a
    header that asks for several ranges, or is none, counts as absent; so does one for a content that is
    another by now (If-Range).

    Raises:
        Unsatisfiable: see there.
    """
    asked = _RANGE.fullmatch(headers.get("range", ""))
    if asked is None or headers.get("if-range", etag).strip() != etag:
        return None
    first, last, from_end = asked.groups()
    if first is None:
        start, end = max(size - int(from_end), 0), size
    else:
        start, end = int(first), min(int(last) + 1, size) if last is not None else size
        if last is not None and int(last) < start:
            return None
    if start >= end:
        raise Unsatisfiable(
            f"The content has {size} bytes; none of them is in this range.", details={"size": size}
        )
    return start, end

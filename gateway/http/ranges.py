"""Parts of a download, and downloads that a client has already (RFC 9110, sections 13 and 14)."""

import re
from hashlib import sha256

from starlette.datastructures import Headers
from starlette.responses import Response

from gateway.errors import InvalidRequest

_RANGE = re.compile(r"bytes=\s*(?:(\d{1,18})-(\d{1,18})?|-(\d{1,18}))\s*", re.ASCII | re.IGNORECASE)
_ETAG = re.compile(r'(?:W/)?("[^"]*")')


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


def is_known(headers: Headers, etag: str) -> bool:
    """Whether the client has the content already (If-None-Match)."""
    given = headers.get("if-none-match", "")
    return given.strip() == "*" or etag in _ETAG.findall(given)


def unless_known(headers: Headers, body: bytes) -> Response:
    """A response of JSON that its reader may keep and ask about again, or a 304 where it has it already."""
    etag = f'"{sha256(body).hexdigest()[:32]}"'
    about = {"cache-control": "private, no-cache", "etag": etag, "vary": "authorization"}
    if is_known(headers, etag):
        return Response(status_code=304, headers=about)
    return Response(body, 200, about, "application/json")

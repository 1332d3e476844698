"""Responses that a client has already: ETag, If-None-Match, 304 (RFC 9110, section 13)."""

import re
from hashlib import sha256

from starlette.datastructures import Headers
from starlette.responses import Response

_ETAG = re.compile(r'(?:W/)?("[^"]*")')


def is_known(headers: Headers, etag: str) -> bool:
    """Whether the client has the content already (If-None-Match)."""
    given = headers.get("if-none-match", "")
    return given.strip() == "*" or etag in _ETAG.findall(given)


def unless_known(headers: Headers, body: bytes) -> Response:
    """A response of JSON that its reader may keep and ask about again, or a 304 where it has it already."""
    etag = f'"{sha256(body).hexdigest()[:32]}"'
    about = {"cache-control": "private, no-cache", "etag": etag}
    if is_known(headers, etag):
        return Response(status_code=304, headers=about)
    return Response(body, 200, about, "application/json")

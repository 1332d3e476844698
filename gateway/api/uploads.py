"""Files that are sent to the gateway, piece by piece."""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic

from starlette.requests import ClientDisconnect, Request

from gateway.api.requests import settings_of
from gateway.errors import BadImport, InvalidRequest, RequestRefused, TooLarge

NDJSON = "application/x-ndjson"
UPLOADS = frozenset({NDJSON, "application/jsonl", "application/octet-stream", ""})
"""Content types of an import; "" is an absent one."""

LONGEST_CONTENT = 600.0
"""Seconds in which the content of an artifact must have come in: who sends a byte now and then must not keep
the place of others."""


def content_type(request: Request) -> str:
    """Without its parameters; "" when there is none."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def upload(request: Request) -> AsyncIterator[bytes]:
    """The body as it comes in, at most `max_import_size` bytes of it.

    Raises:
        InvalidRequest: it is of another content type, at once.
        TooLarge: at once if it says so itself, else when it has come to that.
        BadImport: it stops coming.
    """
    kind = content_type(request)
    if kind not in UPLOADS:
        raise InvalidRequest(f"The content type must be {NDJSON}, not {kind[:100]}.")
    most = settings_of(request).max_import_size
    return _bounded(request, most, "max_import_size", broken=BadImport)


def content(request: Request) -> AsyncIterator[bytes]:
    """The body as it comes in, whatever it is: at most `artifact_max_size` bytes, for LONGEST_CONTENT seconds
    at most.

    Raises:
        TooLarge: as in `upload`.
        InvalidRequest: it stops coming, or takes too long.
    """
    most = settings_of(request).artifact_max_size
    return _bounded(request, most, "artifact_max_size", broken=InvalidRequest, longest=LONGEST_CONTENT)


def _bounded(
    request: Request, most: int, limit: str, *, broken: type[RequestRefused], longest: float | None = None
) -> AsyncIterator[bytes]:
    told = request.headers.get("content-length", "")
    if told.isdigit() and int(told) > most:
        raise _too_large(most, limit)
    return _chunks(request, most, limit, broken, longest)


async def _chunks(
    request: Request, most: int, limit: str, broken: type[RequestRefused], longest: float | None
) -> AsyncIterator[bytes]:
    stream, size, patience = request.stream(), 0, settings_of(request).send_timeout
    end = None if longest is None else monotonic() + longest
    while True:
        if end is not None and monotonic() > end:
            raise broken(f"The file did not come within {longest:g} seconds.")
        try:
            async with asyncio.timeout(patience):
                chunk = await anext(stream, None)
        except TimeoutError:
            raise broken(f"Nothing of the file came for {patience:g} seconds.") from None
        except ClientDisconnect:
            raise broken("The upload broke off.") from None
        if chunk is None:
            return
        if (size := size + len(chunk)) > most:
            raise _too_large(most, limit)
        yield chunk


def _too_large(most: int, limit: str) -> TooLarge:
    return TooLarge(
        f"The file is larger than {most} bytes: see GATEWAY_{limit.upper()}.", details={limit: most}
    )

"""Files that are sent to the gateway, piece by piece."""

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect, Request

from gateway.api.requests import settings_of
from gateway.errors import BadImport, InvalidRequest, TooLarge

NDJSON = "application/x-ndjson"
UPLOADS = frozenset({NDJSON, "application/jsonl", "application/octet-stream", ""})
"""Content types of an import; "" is an absent one."""


def upload(request: Request) -> AsyncIterator[bytes]:
    """The body as it comes in, at most `max_import_size` bytes of it.

    Raises:
        InvalidRequest: it is of another content type, at once.
        TooLarge: at once if it says so itself, else when it has come to that.
        BadImport: it stops coming.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in UPLOADS:
        raise InvalidRequest(f"The content type must be {NDJSON}, not {kind[:100]}.")
    most, told = settings_of(request).max_import_size, request.headers.get("content-length", "")
    if told.isdigit() and int(told) > most:
        raise _too_large(most)
    return _chunks(request, most, settings_of(request).send_timeout)


async def _chunks(request: Request, most: int, patience: float) -> AsyncIterator[bytes]:
    stream, size = request.stream(), 0
    while True:
        try:
            async with asyncio.timeout(patience):
                chunk = await anext(stream, None)
        except TimeoutError:
            raise BadImport(f"Nothing of the file came for {patience:g} seconds.") from None
        except ClientDisconnect:
            raise BadImport("The upload broke off.") from None
        if chunk is None:
            return
        if (size := size + len(chunk)) > most:
            raise _too_large(most)
        yield chunk


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"The file is larger than {most} bytes.", details={"max_import_size": most})

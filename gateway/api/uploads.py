"""Files that are sent to the gateway, piece by piece."""

from collections.abc import AsyncIterator

from starlette.requests import Request

from gateway.api.requests import receive_body, settings_of
from gateway.errors import InvalidRequest, TooLarge

NDJSON = "application/x-ndjson"
UPLOADS = frozenset({NDJSON, "application/jsonl", "application/octet-stream", ""})
"""Content types of an import; "" is an absent one."""


def content_type(request: Request) -> str:
    """Without its parameters; "" when there is none."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def upload(request: Request) -> AsyncIterator[bytes]:
    """The body as it comes in, at most `max_import_size` bytes of it.

    Raises:
        InvalidRequest: it is of another content type, at once.
        TooLarge: at once if it says so itself, else when it has come to that.
        BodyTooSlow, ClientLeft: see `receive_body`.
    """
    kind = content_type(request)
    if kind not in UPLOADS:
        raise InvalidRequest(f"The content type must be {NDJSON}, not {kind[:100]}.")
    return _bounded(request, settings_of(request).max_import_size, "max_import_size")


def content(request: Request) -> AsyncIterator[bytes]:
    """The body as it comes in, of any type: at most `artifact_max_size` bytes.

    Raises:
        TooLarge, BodyTooSlow, ClientLeft: as in `upload`.
    """
    return _bounded(request, settings_of(request).artifact_max_size, "artifact_max_size")


def _bounded(request: Request, most: int, limit: str) -> AsyncIterator[bytes]:
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > most:
        raise _too_large(most, limit)
    return _chunks(request, most, limit)


async def _chunks(request: Request, most: int, limit: str) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in receive_body(request):
        if (size := size + len(chunk)) > most:
            raise _too_large(most, limit)
        yield chunk


def _too_large(most: int, limit: str) -> TooLarge:
    return TooLarge(
        f"The file is larger than {most} bytes: see GATEWAY_{limit.upper()}.", details={limit: most}
    )

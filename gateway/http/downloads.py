"""Files that are made or read while they are sent."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from contextlib import aclosing
from urllib.parse import quote

import structlog
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from gateway.errors import GatewayError
from gateway.history.copies.export import ExportIncomplete, trouble_line

log = structlog.get_logger(__name__)


class StreamedBody(StreamingResponse):
    """A body that is made while it is sent. A reader that takes nothing for `send_timeout` seconds is
    dropped. Content that fails on the way breaks the answer off, so that nobody takes it for whole."""

    def __init__(
        self,
        content: AsyncIterable[bytes],
        *,
        media_type: str,
        send_timeout: float,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(content, status, {"cache-control": "no-store", **(headers or {})}, media_type)
        self._send_timeout = send_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(self._send_timeout):
                await send(message)

        try:
            await super().__call__(scope, receive, send_in_time)
        except TimeoutError:
            log.info("slow_reader_dropped", path=scope["path"])
        except ExportIncomplete:
            return  # the log has it
        except GatewayError as error:
            log.warning("download_broken_off", path=scope["path"], code=error.code, reason=str(error))


class Download(StreamedBody):
    """`content` as a file `name` to keep; `headers` are added, in place of those of the same name."""

    def __init__(
        self,
        content: AsyncIterable[bytes],
        *,
        name: str,
        media_type: str,
        send_timeout: float,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        safe = {"content-disposition": attachment(name), "x-content-type-options": "nosniff"}
        super().__init__(
            content,
            media_type=media_type,
            send_timeout=send_timeout,
            status=status,
            headers=safe | dict(headers or {}),
        )


async def with_trouble(chunks: AsyncGenerator[bytes], event: str, **about: str) -> AsyncGenerator[bytes]:
    """The lines of an export. One that fails on the way ends with a line that says so, behind which the
    answer is broken off (ExportIncomplete): who only saves it sees that too. The log has it as `event`."""
    try:
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk
    except ExportIncomplete:
        raise
    except GatewayError as error:
        log.warning(event, **about, reason=str(error))
        yield trouble_line(error)
        raise ExportIncomplete(error.message) from error


def attachment(name: str) -> str:
    """The Content-Disposition of a file to keep, by RFC 6266: a name that is not plain ASCII stands there in
    UTF-8 (RFC 8187), and before it with a `_` for every such character, for clients that do not know that."""
    plain = "".join(
        sign if sign.isascii() and sign.isprintable() and sign not in '"\\%' else "_" for sign in name
    )
    also = "" if plain == name else f"; filename*=UTF-8''{quote(name, safe='')}"
    return f'attachment; filename="{plain}"{also}'

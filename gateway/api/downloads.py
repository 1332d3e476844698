"""A file that is made while it is sent."""

import asyncio
from collections.abc import AsyncIterable

import structlog
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

log = structlog.get_logger(__name__)


class Download(StreamingResponse):
    """`content` as a file `name` to keep. A reader that takes nothing for `send_timeout` seconds is
    dropped."""

    def __init__(
        self, content: AsyncIterable[bytes], *, name: str, media_type: str, send_timeout: float
    ) -> None:
        headers = {
            "cache-control": "no-store",
            "content-disposition": f'attachment; filename="{name}"',
            "x-content-type-options": "nosniff",
        }
        super().__init__(content, headers=headers, media_type=media_type)
        self._patience = send_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(self._patience):
                await send(message)

        try:
            await super().__call__(scope, receive, send_in_time)
        except TimeoutError:
            log.info("slow_reader_dropped", path=scope["path"])

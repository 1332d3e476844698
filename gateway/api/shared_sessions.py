"""Sessions to share, made while they are sent: a turn at a time, each in a thread, so that nobody waits for a
long answer."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import structlog

from gateway.auth import Principal
from gateway.errors import GatewayError
from gateway.service.artifacts import UserArtifacts
from gateway.session_pages import markdown_to_share
from gateway.session_pages.reader_page import ReaderPage, picture_line
from gateway.session_pages.shared_events import MAX_PICTURE, PICTURES, Picture, SharedEvents

log = structlog.get_logger(__name__)

Turns = AsyncGenerator[tuple[str, list[dict[str, Any]]]]
"""The id of each turn with its events."""


async def markdown(session: dict[str, Any], turns: Turns) -> AsyncGenerator[bytes]:
    """The session as a Markdown file. Raises what reading the turns raises."""
    shared = SharedEvents()

    def drawn(events: list[dict[str, Any]]) -> bytes:
        return markdown_to_share.draw(shared.of_turn(events)).encode()

    yield markdown_to_share.begin(session).encode()
    async with aclosing(turns):
        async for _, events in turns:
            yield await asyncio.to_thread(drawn, events)


async def web_page(
    page: ReaderPage, turns: Turns, artifacts: UserArtifacts, who: Principal
) -> AsyncGenerator[bytes]:
    """The session as a page of its own, with the pictures that `who` may see. Raises what reading the turns
    raises."""
    shared = SharedEvents()

    def drawn(events: list[dict[str, Any]]) -> bytes:
        return "".join(page.events(shared.of_turn(events))).encode()

    yield page.begin().encode()
    async with aclosing(turns):
        async for _, events in turns:
            yield await asyncio.to_thread(drawn, events)
    yield page.pictures().encode()
    for picture in shared.pictures.wanted:
        async for line in _content(picture, artifacts, who):
            yield line
    yield page.end().encode()


async def _content(picture: Picture, artifacts: UserArtifacts, who: Principal) -> AsyncIterator[bytes]:
    """The picture's line; nothing where it is gone, or is none."""
    try:
        row = await artifacts.get(who, picture.ref)
        if row.mime not in PICTURES or row.size > MAX_PICTURE:
            return
        async with aclosing(await artifacts.content(row, 0, row.size)) as chunks:
            content = b"".join([chunk async for chunk in chunks])
    except GatewayError as error:
        log.info("shared_picture_left_out", ref=picture.ref, code=error.code)
        return
    yield (await asyncio.to_thread(picture_line, picture.name, row.mime, content)).encode()

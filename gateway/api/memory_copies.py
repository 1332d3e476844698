"""Your memories as a file, and back."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import structlog
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from gateway.api.bodies import Reply
from gateway.api.downloads import Download
from gateway.api.replies import json_reply
from gateway.api.requests import gateway_of, principal_of, settings_of
from gateway.api.uploads import NDJSON, upload
from gateway.errors import GatewayError
from gateway.history.copies.export import trouble_line
from gateway.memory.import_file import ImportReport

log = structlog.get_logger(__name__)


class RefusedLine(Reply):
    line: int = Field(description="From 1.")
    reason: str


class Imported(Reply):
    """What became of a file."""

    imported: int
    reinforced: int = Field(description="Were remembered already, word for word.")
    known: int = Field(description="Were there already, under their id: they stay as they are.")
    refused: int
    refusals: list[RefusedLine] = Field(description="The first 100 of the refused.")
    quotes_dropped: int = Field(description="Of what was taken: quotes that are not in your sessions.")
    links_dropped: int = Field(description="Of what was taken: links to memories that are not here.")

    @classmethod
    def of(cls, report: ImportReport) -> "Imported":
        return cls.model_validate(report, from_attributes=True)


async def export(request: Request) -> Response:
    """All your memories as a file that can be imported, one JSON object a line, with those that are frozen or
    were replaced."""
    chunks = gateway_of(request).memory.export(principal_of(request))
    return Download(
        _lines(chunks),
        name="memories.jsonl",
        media_type=NDJSON,
        send_timeout=settings_of(request).send_timeout,
    )


async def import_(request: Request) -> Response:
    """Takes the memories of a file, one JSON object with at least a `content` a line. Lines that cannot be
    used are told, with their numbers; the others are taken."""
    report = await gateway_of(request).memory.import_(principal_of(request), upload(request))
    return json_reply(Imported.of(report))


async def _lines(chunks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    try:
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk
    except GatewayError as error:
        log.warning("memory_export_failed", reason=error.message)
        yield trouble_line(error)

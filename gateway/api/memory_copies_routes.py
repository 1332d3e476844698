"""Your memories as a file, and back."""

from pydantic import Field
from starlette.responses import Response

from gateway.http.downloads import Download, with_trouble
from gateway.http.endpoint import Cost, endpoint
from gateway.http.json_types import Reply, json_reply
from gateway.http.requests import NDJSON, ApiRequest


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


@endpoint("GET", "/api/memory/export", "memory.export", {200: (NDJSON,)}, refusals=(404,), cost=Cost("copy"))
async def export(request: ApiRequest) -> Response:
    """All your memories as a file that can be imported, one JSON object a line, with those that are frozen or
    were replaced."""
    chunks = request.gateway.memory.export(request.principal)
    return Download(
        with_trouble(chunks, "memory_export_failed"),
        name="memories.jsonl",
        media_type=NDJSON,
        send_timeout=request.settings.send_timeout,
    )


@endpoint(
    "POST",
    "/api/memory/import",
    "memory.import",
    {200: (Imported,)},
    upload=NDJSON,
    refusals=(404, 409, 413, 429),
    cost=Cost("import"),
)
async def import_(request: ApiRequest) -> Response:
    """Takes the memories of a file, one JSON object with at least a `content` a line. Lines that cannot be
    used are told, with their numbers; the others are taken."""
    report = await request.gateway.learning_and_import.import_(request.principal, request.read_import())
    return json_reply(Imported.from_row(report))

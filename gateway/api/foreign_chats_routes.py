"""Chats from the exports of other products."""

from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from typing import Any

import orjson
from pydantic import Field
from starlette.responses import Response

from gateway.errors import GatewayError, InvalidRequest
from gateway.http.downloads import StreamedBody
from gateway.http.endpoint import Cost, endpoint
from gateway.http.json_types import Query
from gateway.http.requests import NDJSON, ApiRequest
from gateway.service.foreign_chats import ForeignOutcome


class ForeignChatsQuery(Query):
    """What becomes of the chats of the file."""

    preview: bool = Field(False, description="true: tell what is in the file, and import nothing.")
    only: str | None = Field(
        None,
        max_length=8000,
        pattern=r"^[0-9]{1,6}(-[0-9]{1,6})?(,[0-9]{1,6}(-[0-9]{1,6})?)*$",
        description="Numbers of chats in the file, as the preview tells them: `1-40,55`. Absent: all.",
    )


@endpoint(
    "POST",
    "/api/import/chats",
    "session.import_chats",
    {200: (NDJSON,)},
    query=ForeignChatsQuery,
    upload="application/octet-stream",
    refusals=(413, 429, 503),
    cost=Cost("import"),
)
async def import_chats(request: ApiRequest) -> Response:
    """Makes sessions of the chats in a file that ChatGPT or Claude exported (the zip file, or the
    `conversations.json` in it), or LibreChat or Open WebUI (JSON), with their titles and dates.
    Answers a line of JSON for each as it is done:
    `number`, `state` (new, there, imported, refused), `title`, `created_at`, `messages`, `left_out`,
    `session_id`, `reason`; and a last one of kind `end`. What is there already is left as it is."""
    query = await request.read_query(ForeignChatsQuery)
    outcomes = request.gateway.foreign_chats.outcomes(
        request.principal, request.read_import(), only=_numbers(query.only), preview=query.preview
    )
    try:
        first = await anext(outcomes, None)  # what is no export is refused as a whole
    except BaseException:
        await outcomes.aclose()
        raise
    return StreamedBody(
        _lines(request, first, outcomes),
        media_type=NDJSON,
        send_timeout=request.settings.send_timeout,
    )


async def _lines(
    request: ApiRequest, first: ForeignOutcome | None, outcomes: AsyncGenerator[ForeignOutcome]
) -> AsyncGenerator[bytes]:
    counts: dict[str, int] = {}
    async with aclosing(outcomes):
        try:
            each = first
            while each is not None:
                counts[each.state] = counts.get(each.state, 0) + 1
                if each.state == "imported":
                    request.app.state.indexer.nudge(each.session_id)
                yield _line({"kind": "chat", **_shown(each)})
                each = await anext(outcomes, None)
        except GatewayError as error:
            yield _line({"kind": "error", "code": error.code, "message": error.message})
            raise
    yield _line({"kind": "end", **counts})


def _shown(outcome: ForeignOutcome) -> dict[str, Any]:
    shown: dict[str, Any] = {"number": outcome.number, "state": outcome.state}
    if (chat := outcome.chat) is not None:
        shown |= {
            "source": chat.source,
            "title": chat.title,
            "created_at": chat.created_at,
            "updated_at": chat.updated_at,
            "messages": len(chat.messages),
            "left_out": chat.left_out,
        }
    shown |= {"session_id": outcome.session_id, "reason": outcome.reason}
    return {name: value for name, value in shown.items() if value is not None}


def _line(value: dict[str, Any]) -> bytes:
    return orjson.dumps(value) + b"\n"


def _numbers(only: str | None) -> Collection[int] | None:
    """Raises errors.InvalidRequest: a range ends before it begins."""
    if only is None:
        return None
    found: list[range] = []
    for part in only.split(","):
        first, _, last = part.partition("-")
        chosen = range(int(first), int(last or first) + 1)
        if not chosen:
            raise InvalidRequest(f"only: the range {part} ends before it begins.")
        found.append(chosen)
    return _Ranges(found)


class _Ranges(Collection[int]):
    """Numbers, as the ranges that they were asked for in: none of them is held."""

    def __init__(self, ranges: list[range]) -> None:
        self._ranges = ranges

    def __contains__(self, number: object) -> bool:
        return any(number in each for each in self._ranges)

    def __iter__(self) -> Any:
        return (number for each in self._ranges for number in each)

    def __len__(self) -> int:
        return sum(map(len, self._ranges))

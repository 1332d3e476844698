"""JSON out: fields without a value are left out."""

from pydantic import BaseModel
from starlette.responses import Response


def json_reply(reply: BaseModel, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    body = reply.model_dump_json(exclude_none=True)
    return Response(body, status, {"cache-control": "no-store", **(headers or {})}, "application/json")

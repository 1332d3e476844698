"""JSON out: fields without a value are left out."""

from pydantic import BaseModel
from starlette.responses import Response


def json_reply(reply: BaseModel, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(
        json_body(reply), status, {"cache-control": "no-store", **(headers or {})}, "application/json"
    )


def json_body(reply: BaseModel) -> bytes:
    """The JSON itself."""
    return reply.model_dump_json(exclude_none=True).encode()

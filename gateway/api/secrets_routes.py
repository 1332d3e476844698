"""Encryption at rest: everything under the first key."""

from pydantic import Field
from starlette.responses import Response

from gateway.http.endpoint import endpoint
from gateway.http.json_types import Body, Reply, json_reply
from gateway.http.requests import ApiRequest


class RotateBody(Body):
    """Where to go on."""

    after: str | None = Field(
        None, max_length=4096, description="That of the answer before; absent: from the start."
    )


class RotationReply(Reply):
    """What this slice came to."""

    rows: int = Field(description="Secrets that were encrypted anew with the first key.")
    memories: int = Field(0, description="Memories that were not encrypted before.")
    blobs: int = Field(description="Artifacts and archives that were encrypted anew.")
    unreadable: int = Field(description="Those that no key opens; the log names blobs.")
    after: str | None = Field(None, description="For the next slice; absent: this was the last.")


@endpoint(
    "POST",
    "/api/secrets/rotate",
    "secret.rotate",
    {200: (RotationReply,)},
    RotateBody,
    refusals=(403, 409, 413),
)
async def rotate(request: ApiRequest) -> Response:
    """Encrypts a slice of what is stored with the first key; for the operator."""
    asked = await request.read_body(RotateBody)
    return json_reply(RotationReply.from_row(await request.gateway.secrets.rotate(asked.after)))

"""What comes in and goes out of artifacts."""

import base64
from typing import Annotated, Any, Literal, Self

import orjson
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from gateway.artifacts.artifact_store import EXAMPLES
from gateway.artifacts.content import ArtifactContent, bytes_content, text_content
from gateway.artifacts.reading import MAX_TOKENS, MIN_TOKENS, ContentPart
from gateway.http.json_types import (
    Base64,
    Body,
    FileName,
    FileText,
    Id,
    Mime,
    Query,
    Reply,
    SessionId,
    UserId,
    not_blank,
)
from gateway.memory.documents.document import milliseconds
from gateway.messages import FileReading
from gateway.storage.artifacts import ArtifactRow, Kind

MAX_METADATA = 4096
"""Bytes of what a client notes of an artifact, as JSON."""


def _small(metadata: dict[str, Any]) -> dict[str, Any]:
    if EXAMPLES in metadata:
        raise ValueError(f"the name {EXAMPLES} is taken: choose another")
    try:
        size = len(orjson.dumps([metadata])) - 2  # a line of an export has it within an object
    except orjson.JSONEncodeError:
        raise ValueError("is nested too deeply, or has whole numbers beyond 64 bits") from None
    if size > MAX_METADATA:
        raise ValueError(f"has at most {MAX_METADATA} bytes as JSON")
    return metadata


class PlaceFields(Body):
    """Where an artifact belongs, and until when it is wanted."""

    session_id: SessionId | None = Field(
        None, description="A session of yours that it belongs to, and that keeps it."
    )
    user_id: UserId | None = Field(None, description="You; for another user nothing is kept.")
    project_id: Id | None = Field(None, description="Absent: the session's.")
    tool_call_id: Id | None = Field(None, description="The call that it is a result of.")
    expires_at: Annotated[int, BeforeValidator(milliseconds)] | None = Field(
        None,
        description="When it may go: Unix milliseconds or seconds, or a date in ISO 8601. At the latest, and "
        "where it is absent, that is GATEWAY_ARTIFACT_TTL from now.",
        json_schema_extra={"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
    )


class ArtifactBody(PlaceFields):
    """Exactly one of `text` (or `content`, which is the same) and `data`. What is larger than a JSON body may
    be is sent as it is, with its own content type."""

    text: FileText | None = None
    content: FileText | None = Field(None, description="The same as text.")
    data: Base64 | None = None
    name: FileName | None = None
    mime: Mime | None = None
    mime_type: Mime | None = Field(None, description="The same as mime.")
    metadata: Annotated[dict[str, Any], AfterValidator(_small)] | None = Field(
        None, description=f"What you want to note of it: at most {MAX_METADATA} bytes of JSON."
    )

    @model_validator(mode="after")
    def _one_content(self) -> "ArtifactBody":
        if sum(each is not None for each in (self.text, self.content, self.data)) != 1:
            raise ValueError("give either text or data")
        if self.mime is not None and self.mime_type is not None:
            raise ValueError("give mime or mime_type, not both")
        return self

    @property
    def given(self) -> ArtifactContent:
        text, mime = self.text or self.content, self.mime or self.mime_type
        if text is not None:
            return text_content(text, self.name, mime)
        return bytes_content(base64.b64decode(self.data or ""), self.name, mime)


class UploadQuery(PlaceFields, Query):
    """Of a body that is the content itself."""

    name: FileName | None = None
    raw: Literal["0", "1"] = Field(
        "0", description="1: a body of application/json is the content itself, too."
    )


class ArtifactsQuery(Query):
    session_id: SessionId | None = Field(None, description="Those that this session uses.")
    turn_id: Id | None = Field(None, description="Those that this turn made.")
    kind: Kind | None = Field(None, description="Those of this kind.")
    q: Annotated[str, AfterValidator(not_blank)] | None = Field(
        None,
        max_length=200,
        description="Words in the name or the summary, all of them, the last by its beginning. A page may "
        "be empty and have a `next`: so many were looked through.",
    )
    limit: int = Field(50, ge=1, le=200)
    before: str | None = Field(None, description="The `next` of the former page.")


class PartQuery(Query):
    """Without any of them the answer is the content itself. One alone, but for `lines` beside `search`."""

    lines: str | None = Field(
        None, description="Lines from 1, both ends included: 1-50, 50- (as far as fits), 50."
    )
    bytes: str | None = Field(
        None, description="Bytes from 0, both ends included: 0-999, 1000-. Characters are left whole."
    )
    json_path: str | None = Field(None, description="What to select of JSON, by RFC 9535: $.items[0].name.")
    search: str | None = Field(
        None, description="Text of one line, in capitals or not: the lines that have it, and those around."
    )
    max_tokens: int | None = Field(
        None,
        ge=MIN_TOKENS,
        le=MAX_TOKENS,
        description=f"Of the part, estimated: from {MIN_TOKENS} to {MAX_TOKENS}, which is the default.",
    )


class ArtifactItem(Reply):
    """An artifact. Times are Unix milliseconds."""

    ref: str
    name: str | None = None
    mime: str = Field(description="As the content itself shows.")
    kind: Kind
    size: int = Field(description="Bytes.")
    lines: int | None = Field(None, description="Absent where it is no text.")
    sha256: str = Field(description="Of the content, in hex: the ETag.")
    session_id: str | None = Field(None, description="Where it was made.")
    used_in: str | None = Field(None, description="In a list: the session that used it last.")
    turn_id: str | None = None
    tool_call_id: str | None = None
    project_id: str | None = None
    summary: str | None = Field(None, description="In a model's words, if one was asked.")
    metadata: dict[str, Any] | None = Field(None, description="What was noted of it.")
    created_at: int
    expires_at: int = Field(
        description="It is removed some time after that; it counts only while no session uses it."
    )

    @classmethod
    def of(cls, row: ArtifactRow, **fields: object) -> Self:
        noted = {name: value for name, value in row.metadata.items() if name != EXAMPLES}
        return cls.from_row(row, metadata=noted or None, **fields)


class ArtifactPage(Reply):
    artifacts: list[ArtifactItem]
    used: int = Field(description="Bytes of all your artifacts, as they count against the quota.")
    quota: int
    next: str | None = Field(None, description="Cursor of the next page; absent on the last one.")


class ArtifactCompact(ArtifactItem):
    """An artifact with what is in it, in short."""

    compact: str = Field(description="By its kind: a shape, columns, headings, the first and last lines, …")
    locators: dict[str, str] = Field(description="Queries that read a part of this very artifact.")
    reading: FileReading | None = Field(
        None,
        description="What the model gets of it when it is the only file of a message; absent where that "
        "cannot be told now.",
    )

    @classmethod
    def whole(cls, row: ArtifactRow, reading: FileReading | None, summary: str | None = None) -> Self:
        return cls.of(row, locators=row.metadata.get(EXAMPLES, {}), reading=reading, summary=summary)


class ArtifactPart(Reply):
    """A part of an artifact. `first` to `last` of `total` are lines from 1, bytes from 0, or what a JSON path
    or a search found, from 1; all are 0 where there is nothing."""

    ref: str
    how: Literal["lines", "bytes", "json_path", "search"]
    content: str
    first: int
    last: int
    total: int
    at_least: bool | None = Field(None, description="True: there are more than `total`, not counted.")
    next: str | None = Field(
        None, description="How to go on, such as lines=51-100; beside the same search. Absent at the end."
    )
    remark: str | None = Field(None, description="What else there is to know of how it is shown.")

    @classmethod
    def of(cls, ref: str, part: ContentPart) -> Self:
        return cls.from_row(part, ref=ref, content=part.text, at_least=part.at_least or None)

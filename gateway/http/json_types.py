"""JSON in and out: snake_case out, snake_case or camelCase in, strict either way."""

import base64
import binascii
import re
from collections.abc import Iterable
from typing import Annotated, Self, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetJsonSchemaHandler, field_validator
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema
from starlette.responses import Response

from gateway.http.validation import Bounded
from gateway.ids import ARTIFACT_PATTERN, ID_PATTERN, USER_PATTERN
from gateway.tools.wrapping import visible

NULL = {"type": "null"}


def no_nul(text: str) -> str:
    """Raises ValueError."""
    if "\x00" in text:
        raise ValueError("must not contain NUL characters")
    return text


def without_nul(text: str) -> str:
    return text.replace("\x00", "")


def not_blank(text: str) -> str:
    """Raises ValueError."""
    if not text.strip():
        raise ValueError("must not be empty")
    return no_nul(text)


def _plain(text: str) -> str:
    """The visible part of a text: without control characters, and such as hide a part or change its order."""
    return visible(text).strip()


def _on_one_line(text: str) -> str:
    return " ".join(_plain(text).split())


def artifact_ref(text: str) -> str:
    """Raises ValueError."""
    if not re.fullmatch(ARTIFACT_PATTERN, text):
        raise ValueError("must be the reference of an artifact, such as ART-0h4k2m7qxz")
    return text


def _not_empty(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


def _is_base64(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("must be base64 (RFC 4648) with padding, without spaces and without data:") from None
    return text


class SessionName(str):
    """What a client calls a session, its id or a name of the client's own. What `ApiRequest` reads has the
    id in its place."""

    __slots__ = ()


Line = Annotated[
    str, AfterValidator(no_nul), AfterValidator(_on_one_line), AfterValidator(not_blank), Field(min_length=1)
]
"""A name or a title: what is visible of it, on one line."""
Prose = Annotated[str, AfterValidator(no_nul), AfterValidator(_plain)]
"""A reason or a remark: what is visible of it."""
Id = Annotated[str, Field(pattern=ID_PATTERN)]
UserId = Annotated[str, Field(pattern=USER_PATTERN)]
Message = Annotated[str, AfterValidator(not_blank), Field(description="The user's message.")]
SessionId = Annotated[str, Field(pattern=ID_PATTERN), AfterValidator(SessionName)]
FileName = Annotated[
    str,
    AfterValidator(no_nul),
    Field(min_length=1, max_length=1000, description="The name of a file; of a path the last part is kept."),
]
Base64 = Annotated[
    str,
    AfterValidator(_not_empty),
    AfterValidator(_is_base64),
    Field(description="The content in base64.", json_schema_extra={"minLength": 1}),
]
FileText = Annotated[
    str,
    AfterValidator(_not_empty),
    AfterValidator(no_nul),
    Field(description="The content, if it is text.", json_schema_extra={"minLength": 1}),
]
Mime = Annotated[
    str, Field(min_length=1, max_length=200, description="Its type: believed where the content agrees.")
]


class Body(Bounded):
    """What a client sends. Unknown names are refused: they are mostly typing mistakes."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=to_camel,
        populate_by_name=True,
        loc_by_alias=False,  # errors name fields as the documentation does
        defer_build=True,  # built when it is used first, not at the start
    )

    @field_validator("*")
    @classmethod
    def _without_nul(cls, value: object) -> object:
        """PostgreSQL keeps it in no text: a request means the same on either engine."""
        texts = value if isinstance(value, list) else (value,)
        for each in cast("Iterable[object]", texts):
            if isinstance(each, str):
                no_nul(each)
        return value


class Query(Body):
    """Query parameters: text, so numbers are read from it."""

    model_config = ConfigDict(strict=False)


class Reply(BaseModel):
    """What the server answers. Fields without a value are left out."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        described = handler.resolve_ref_schema(handler(schema))
        if "required" in described:  # also where whoever makes it has to say that there is none
            properties = described["properties"]
            described["required"] = [
                name for name in described["required"] if NULL not in properties[name].get("anyOf", ())
            ]
        return described

    @classmethod
    def from_row(cls, row: object, **fields: object) -> Self:
        """Made of what `row` has under the same names, and of `fields`."""
        names = [name for name in cls.model_fields if name not in fields and hasattr(row, name)]
        return cls.model_validate({name: getattr(row, name) for name in names} | fields, from_attributes=True)


def json_reply(reply: BaseModel, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response of JSON that nobody stores."""
    headers = {"cache-control": "no-store", **(headers or {})}
    return Response(json_body(reply), status, headers, "application/json")


def json_body(reply: BaseModel) -> bytes:
    """The JSON itself: fields without a value are left out."""
    return reply.model_dump_json(exclude_none=True).encode()

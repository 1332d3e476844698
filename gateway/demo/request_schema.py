"""The shape of a request to the Messages API: pydantic's messages are the API's own words.

Rules: docs.claude.com, "Messages", "Tool use", "Vision" and "PDF support". A URL is taken as it is: the demo
fetches nothing.
"""

import binascii
from base64 import b64decode
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

MAX_IMAGE = 5_242_880
"""Bytes of an image in base64, as which the API counts its 5 MB."""
_OTHERS = """
    stream top_p top_k stop_sequences tool_choice metadata service_tier container context_management
    mcp_servers output_config output_format cache_control
"""
OTHER_FIELDS = frozenset(_OTHERS.split())
THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_OF_ASSISTANTS = frozenset({"tool_use", *THOUGHTS})
_OF_USERS = frozenset({"tool_result", "image", "document"})
M = TypeVar("M", bound=str)
_MAGIC = {
    "image/jpeg": b"\xff\xd8\xff",
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
    "application/pdf": b"%PDF-",
}


def _wrong(message: str) -> PydanticCustomError:
    return PydanticCustomError("refused", "{message}", {"message": message})


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Cacheable(_Strict):
    cache_control: dict[str, Any] | None = None


class _Text(_Cacheable):
    type: Literal["text"]
    text: str
    citations: list[Any] | None = None

    @model_validator(mode="after")
    def _is_not_empty(self) -> "_Text":
        if not self.text.strip():
            blank = "contain non-whitespace text" if self.text else "be non-empty"
            raise _wrong(f"text content blocks must {blank}")
        return self


class _ToolUse(_Cacheable):
    type: Literal["tool_use"]
    id: Annotated[str, Field(pattern="^[a-zA-Z0-9_-]+$")]
    name: str
    input: dict[str, Any]
    caller: Any = None


class _Thought(_Strict):
    type: Literal["thinking"]
    thinking: str
    signature: str


class _Redacted(_Strict):
    type: Literal["redacted_thinking"]
    data: str


class _Novelty(_Strict):
    """A block of the future, as the fault `unknown_block` writes it."""

    type: Literal["demo_novelty"]
    payload: Any = None


class _Url(_Strict):
    type: Literal["url"]
    url: str


class _Plain(_Strict):
    type: Literal["text"]
    media_type: Literal["text/plain"]
    data: Annotated[str, Field(pattern=r"\S")]


class _Base64(_Strict, Generic[M]):
    type: Literal["base64"]
    media_type: M
    data: Annotated[str, Field(min_length=1)]

    @model_validator(mode="after")
    def _is_of_its_type(self) -> Self:
        if self.media_type.startswith("image/") and (size := len(self.data)) > MAX_IMAGE:
            raise _wrong(f"image exceeds 5 MB maximum: {size} bytes > {MAX_IMAGE} bytes")
        try:
            b64decode(self.data, validate=True)
            head = b64decode(self.data[:64])
        except (binascii.Error, ValueError):
            raise _wrong("Invalid base64 data") from None
        if not head.startswith(_MAGIC[self.media_type]):
            raise _wrong(f"It was specified using the {self.media_type} media type, but is of another")
        return self


_Picture = _Base64[Literal["image/jpeg", "image/png", "image/gif", "image/webp"]]
_Pdf = _Base64[Literal["application/pdf"]]


class _Image(_Cacheable):
    type: Literal["image"]
    source: Annotated[_Picture | _Url, Field(discriminator="type")]


class _Document(_Cacheable):
    type: Literal["document"]
    source: Annotated[_Pdf | _Plain | _Url, Field(discriminator="type")]
    title: str | None = None
    context: str | None = None
    citations: dict[str, Any] | None = None


def _as_blocks(content: Any) -> Any:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


class _ToolResult(_Cacheable):
    type: Literal["tool_result"]
    tool_use_id: str
    content: Annotated[
        list[Annotated[_Text | _Image | _Document, Field(discriminator="type")]],
        BeforeValidator(lambda content: _as_blocks(content) if content else []),
    ] = Field(default_factory=list)
    is_error: bool | None = None


_Block = Annotated[
    _Text | _ToolUse | _ToolResult | _Thought | _Redacted | _Image | _Document | _Novelty,
    Field(discriminator="type"),
]


class _Message(_Strict):
    role: Literal["user", "assistant", "system"]
    content: Annotated[list[_Block], BeforeValidator(_as_blocks)]

    @model_validator(mode="after")
    def _suits_its_role(self) -> "_Message":
        if not self.content:
            raise _wrong("all messages must have non-empty content")
        foreign = {"user": _OF_ASSISTANTS, "assistant": _OF_USERS}.get(self.role, frozenset[str]())
        for block in self.content:
            if block.type in foreign:
                raise _wrong(f"`{block.type}` blocks are not permitted in `{self.role}` messages")
        return self


class ToolDefinition(BaseModel):
    """`type` names one of the API's own tools."""

    name: Annotated[str, Field(pattern="^[a-zA-Z0-9_-]{1,128}$")]
    type: str | None = None
    input_schema: dict[str, Any] | None = None


class MessagesRequest(BaseModel):
    """What is looked at; `OTHER_FIELDS` may stand beside it."""

    model_config = ConfigDict(strict=True)
    model: Annotated[str, Field(min_length=1)]
    messages: list[_Message]
    max_tokens: Annotated[int | None, Field(ge=1)] = None
    system: Annotated[list[_Text], BeforeValidator(_as_blocks)] = Field(default_factory=list)
    temperature: Annotated[float | None, Field(ge=0, le=1)] = None
    tools: list[ToolDefinition] = Field(default_factory=list)
    thinking: dict[str, Any] = Field(default_factory=dict)

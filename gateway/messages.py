"""What the model sees: roles and content blocks, in the shape of the Anthropic Messages API.

Blocks stay plain JSON objects: a block type this version does not know (or a signed thinking block) must go
back to the model exactly as it came.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from gateway.thinking_in_text import said_in

Block = dict[str, Any]
Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message: `content` is a non-empty sequence of blocks."""

    role: Role
    content: Sequence[Block]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it; `input_schema` is a JSON Schema of type object."""

    name: str
    description: str
    input_schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a client wants the model to write: most tokens of one model call, texts at which the model stops,
    and what chooses its words. None, or no texts: as the gateway is set up."""

    max_tokens: int | None = None
    stop_sequences: tuple[str, ...] = ()
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None


UNCHANGED = Sampling()
"""A client that wants nothing of its own."""


class Usage(BaseModel):
    """Tokens of one or several model calls, as the endpoint counts them: `input_tokens` excludes what was
    read from or written to the prompt cache (Anthropic Messages API, "usage")."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)
    cache_read_input_tokens: int = Field(default=0, ge=0)
    cache_creation_input_tokens: int = Field(default=0, ge=0)

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_input_tokens=self.cache_read_input_tokens + other.cache_read_input_tokens,
            cache_creation_input_tokens=self.cache_creation_input_tokens + other.cache_creation_input_tokens,
        )

    @property
    def total(self) -> int:
        """Every token that passed, cached or not."""
        return (
            self.input_tokens
            + self.output_tokens
            + self.cache_read_input_tokens
            + self.cache_creation_input_tokens
        )


RECALLED = "recalled"
"""The type of a block of our own that records the memories of a turn: `memories`, a list of
`Recalled`. It is no one's words, and becomes text only in the view that the model gets."""


FORGOTTEN = "forgotten"
"""The digest of a memory whose deletion was shown to the model in a turn."""


class Recalled(BaseModel):
    """A memory as rendered in a turn: its summary, one `passage` of it, or everything (`full`).
    `digest` is of all its text: with another one the memory has changed. `text` is empty for one
    that the model itself changed in the conversation, and for one that was erased since."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: str
    digest: str
    full: bool
    text: str
    passage: int | None = None


def recalled_block(memories: Sequence[Recalled], *, changes: bool = False, more: int = 0) -> Block:
    """`changes`: not looked up for a message, but changed since the session began; `more` are not shown."""
    block: Block = {"type": RECALLED, "memories": [each.model_dump(exclude_none=True) for each in memories]}
    return block | {"changes": more} if changes else block


def recalled_in(block: Block) -> list[Recalled]:
    """What a block records; nothing for those of other types."""
    if block["type"] != RECALLED:
        return []
    return [Recalled.model_construct(**each) for each in block["memories"]]


ATTACHED = "attached"
"""The type of a block of our own that records a file which the user attached to a message: an `Attached`. It
is no one's words, and becomes blocks of the Messages API only in the view that the model gets."""

ARTIFACT = "artifact"
"""The type of the source of an image or a document in the view whose content is an artifact (`ref`,
`media_type`, `size` in bytes, `tokens` as estimated). It is read when the model is asked, so that no history
holds it."""

IMAGE_TOKENS = 1600
"""The most that one image takes (docs.claude.com "Vision"): larger ones are scaled down."""
PAGE_TOKENS = 2500
"""Of a page of a PDF: 1500 to 3000 for its text, and more for its picture (docs.claude.com "PDF support")."""
DOCUMENT_PAGES = 100
"""Pages of all PDFs of one request (ibid.)."""
_PIXELS, _BYTES = 750, 25  # of an image (ibid.) and of a PDF for one token


NotRead = Literal[
    "empty", "format", "encoding", "encrypted", "too_large", "too_many_pixels", "too_many_pages", "damaged"
]
"""Why the model gets no more of a file than a description."""


class FileReading(BaseModel):
    """What the model gets of a file, for people: all of its text, a part of it (and it may read on), the
    picture, the pages, or none of its content and why."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    how: Literal["text", "part", "image", "pages", "none"]
    lines: int | None = Field(default=None, ge=1, description="Of a text.")
    damaged: int | None = Field(
        default=None,
        ge=1,
        description="Bytes of a text that are no UTF-8: the model reads marks there.",
    )
    scaled: Literal[True] | None = Field(
        default=None, description="The picture is larger than the model looks at it."
    )
    pages: int | None = Field(default=None, ge=1, description="Of a PDF, where they can be counted.")
    why: NotRead | None = Field(
        default=None, description="Of what the model gets nothing of but a description."
    )


class Attached(BaseModel):
    """A file that the user attached: the artifact `ref` that holds it, and its description for the model
    (`text`): the whole of a small text, the compact form of a larger one or of what can only be looked
    at through tools. An image or a document is shown to the model itself, and takes about `tokens` (None: not
    known). `reading` tells people the same (None: it is older)."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    ref: str
    name: str
    mime: str
    size: int = Field(ge=0)
    shown: Literal["text", "compact", "image", "document"]
    text: str
    tokens: int | None = Field(default=None, ge=0, le=DOCUMENT_PAGES * PAGE_TOKENS)
    reading: FileReading | None = None

    @classmethod
    def trusted(cls, fields: Mapping[str, Any]) -> Self:
        """What was dumped before, without a check."""
        reading = fields.get("reading")
        known = FileReading.model_construct(**reading) if reading is not None else None
        return cls.model_construct(None, **{**fields, "reading": known})


def attached_block(attached: Attached) -> Block:
    return {"type": ATTACHED, **attached.model_dump(exclude={"reading"})}


def attached_in(block: Block) -> Attached | None:
    """What a block records; None for those of other types."""
    if block["type"] != ATTACHED:
        return None
    return Attached.model_construct(**{name: block[name] for name in Attached.model_fields if name in block})


def image_tokens(width: int, height: int) -> int:
    """About how many tokens an image of so many pixels takes."""
    return min(IMAGE_TOKENS, -(-width * height // _PIXELS))


def document_tokens(size: int, pages: int | None = None) -> int:
    """About how many tokens a PDF takes; by its size in bytes where its pages are not known."""
    most = DOCUMENT_PAGES * PAGE_TOKENS
    return min(most, pages * PAGE_TOKENS if pages is not None else max(PAGE_TOKENS, size // _BYTES))


def looked_at_tokens(attached: Attached) -> int:
    """About how many tokens a file takes beside its text: what the model looks at itself."""
    if attached.shown not in {"image", "document"}:
        return 0
    if attached.tokens is not None:
        return attached.tokens
    return IMAGE_TOKENS if attached.shown == "image" else document_tokens(attached.size)


def texts_of(message: Message) -> list[str]:
    """The texts of a message, in order; of an answer what they say, without what is thought in them."""
    if message.role == "assistant":
        return said_in(message.content)
    return [block["text"] for block in message.content if block["type"] == "text"]


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def tool_result_block(tool_call_id: str, content: str, *, is_error: bool) -> Block:
    """The answer to one tool call. Empty content becomes a phrase: the API refuses an empty text block."""
    block: Block = {"type": "tool_result", "tool_use_id": tool_call_id, "content": content or "(no output)"}
    if is_error:
        block["is_error"] = True
    return block


def shortened(text: str, most: int) -> str:
    """The text in at most `most` characters; the last of one that was longer is an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def cut_off(text: str, most: int, where: str) -> str:
    """The text in `most` characters, for whoever decides by it: of a longer one it says how many are missing,
    and where these are seen."""
    missing = len(text) - most
    return text if missing <= 0 else f"{text[:most]}\n… cut: {missing} characters more, see {where}"


def clean_text(text: str) -> str:
    """`text` without NUL and with lone surrogates as U+FFFD: what every database, JSON encoder and browser
    accepts. Returns the same object when there is nothing to mend."""
    if "\x00" in text:
        text = text.replace("\x00", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text

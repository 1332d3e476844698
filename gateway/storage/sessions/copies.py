"""A session as a whole: what an export reads of it and an import writes. Events and messages have their own
way, page by page; the rest is small and is here.

Owners are no part of a copy: the user who imports it owns it. Neither are the places of archives.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, Self, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from gateway.events.lifecycle import Outcome
from gateway.events.session_changes import Feedback
from gateway.ids import ARTIFACT_PATTERN, ID_PATTERN
from gateway.messages import Attached, Role, Usage
from gateway.storage.archives import ArchiveRow, Source, Trigger
from gateway.storage.artifacts import EXAMPLES, LOCATORS, Kind
from gateway.storage.turns import MAX_INSTRUCTIONS, OnConflict, Origin

LATEST = 2**53
"""No time, seq or count is beyond it: whole numbers up to there are the same in JSON, SQL and Python."""
MAX_EXAMPLE_LENGTH = 1_000
"""Characters of a query that reads a part of an artifact: a key or a word of it may be in it."""


def _no_nul(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain NUL characters")
    return text


_WITHOUT_JOINERS = str.maketrans("", "", "\u200c\u200d")


def _printable(text: str) -> str:
    if not text.translate(_WITHOUT_JOINERS).isprintable():
        raise ValueError("must be one line that can be printed")
    return text


def _with_examples(metadata: dict[str, Any]) -> dict[str, Any]:
    examples: object = metadata.get(EXAMPLES, {})
    if not isinstance(examples, dict):
        raise ValueError(f"{EXAMPLES} must be an object")
    for name, value in cast("dict[str, object]", examples).items():
        if name not in LOCATORS or not isinstance(value, str) or len(value) > MAX_EXAMPLE_LENGTH:
            raise ValueError(f"{EXAMPLES} must be short texts, one for each way to read a part")
    return metadata


Id = Annotated[str, Field(pattern=ID_PATTERN)]
Words = Annotated[str, AfterValidator(_no_nul)]
Count = Annotated[int, Field(ge=0, le=LATEST)]
Number = Annotated[int, Field(ge=1, le=LATEST)]
Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Ref = Annotated[str, Field(pattern=f"^{ARTIFACT_PATTERN}$")]
FileName = Annotated[str, Field(max_length=255, pattern=r"^[^/\\]+$"), AfterValidator(_printable)]
Mime = Annotated[
    str, Field(max_length=255, pattern=r"^[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*$")
]
SHOWN = {
    "image": frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"}),
    "document": frozenset({"application/pdf"}),
}
"""Mime types of what the Messages API shows to a model (docs.claude.com "Vision", "PDF support")."""


class Copied(BaseModel):
    """One part of a copy; every field is always there, None where there is no value."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SessionCopy(Copied):
    """The session itself. `head` is the seq of its last event, `last_position` that of its last message, 0
    without any. The other fields are the columns of those names."""

    id: Id
    title: Words | None
    project_id: Words | None
    created_at: Count
    updated_at: Count
    head: Count
    last_position: Count
    compression: Number | None
    failed_compressions: Count
    epoch_from: Count
    carried: Words | None
    prefix_hash: Words | None
    role_id: Words | None
    instructions: Digest | None
    branch: Count | None


class Attachment(Attached):
    """A file that was attached, as it is taken from a copy."""

    ref: Ref
    name: FileName
    mime: Mime
    size: Count
    text: Words

    @model_validator(mode="after")
    def _can_be_shown(self) -> Self:
        if self.shown in SHOWN and self.mime not in SHOWN[self.shown]:
            raise ValueError(f"{self.mime} is no type that is shown as {self.shown}")
        return self


class TurnCopy(Copied):
    """A turn that is over."""

    id: Id
    input: Words
    model: Words
    outcome: Outcome
    client_message_id: Id | None
    on_conflict: OnConflict
    epoch: Count
    created_at: Count
    ended_at: Count | None
    first_seq: Number
    last_seq: Number
    cancel_requested: bool
    iterations: Count
    usage: Usage | None
    cost: Dollars | None
    attachments: Annotated[list[Attachment], Field(min_length=1)] | None
    instructions: Digest | None
    branch: Count
    parent: Id | None
    origin: Origin | None


class InstructionsCopy(Copied):
    """Instructions of a client application; sessions and turns name them by the SHA-256 of their text."""

    digest: Digest
    text: Annotated[Words, Field(min_length=1, max_length=MAX_INSTRUCTIONS)]

    @model_validator(mode="after")
    def _named_by_its_text(self) -> Self:
        if sha256(self.text.encode()).hexdigest() != self.digest:
            raise ValueError("the digest is not that of the text")
        return self


class BranchCopy(Copied):
    """A branch of a session that has several; see `BranchRow`. `ranges` is where its messages lie, up to OPEN
    of the active one. What belongs to its prompt is as it was when it was left."""

    branch: Count
    parent: Count | None
    fork_turn_id: Id | None
    created_at: Count
    ranges: list[tuple[Count, Count]]
    compression: Number | None
    generation_from: Count
    prefix_hash: Words | None
    instructions: Digest | None


class VersionCopy(Copied):
    """A version of the compressed history; see `CompressionRow`. Its archive is named by its hash."""

    version: Number
    parent: Number | None
    from_position: Number
    to_position: Number
    kept_position: Number | None
    sha256: Digest
    summary: dict[str, Any]
    source: Source
    model: Words
    prompt_digest: Words
    tokens_before: Count
    tokens_after: Count
    trigger: Trigger
    usage: Usage | None
    cost: Dollars | None
    created_at: Count
    branch: Count


class SummaryCopy(Copied):
    """The session's summary; see `SummaryRow`."""

    to_position: Count
    summary: dict[str, Any]
    trigger: Literal["manual", "idle", "archive"]
    model: Words
    prompt_digest: Words
    usage: Usage | None
    cost: Dollars | None
    created_at: Count


class ArtifactCopy(Copied):
    """An artifact that the session uses; see `ArtifactRow`, whose kind is `holds` here: kinds of lines are
    something else. `session_id` is None where another session made it.
    The bounds are far above what is ever written: they are what a file may make the gateway hold."""

    ref: Ref
    mime: Mime
    holds: Kind
    size: Count
    lines: Count | None
    sha256: Digest
    chunks: list[tuple[Digest, Count]]
    compact: Annotated[Words, Field(max_length=20_000)]
    created_at: Count
    expires_at: Count
    name: FileName | None
    session_id: Id | None
    turn_id: Id | None
    tool_call_id: Words | None
    project_id: Words | None
    summary: Annotated[Words, Field(max_length=4_000)] | None
    metadata: Annotated[dict[str, Any], AfterValidator(_with_examples)]


class MessageCopy(NamedTuple):
    """A message with its content and usage as the JSON that is stored."""

    position: int
    turn_id: str
    role: Role
    content: str
    usage: str | None


class EventCopy(NamedTuple):
    """An event as it is stored."""

    seq: int
    type: str
    turn_id: str
    body: bytes


class Moment(NamedTuple):
    """A session at one moment at which no turn runs or waits: from then on nothing of it changes but that
    something is added. `artifacts` are the references of those it uses, in order."""

    session: SessionCopy
    versions: Sequence[VersionCopy]
    summary: SummaryCopy | None
    artifacts: Sequence[str] = ()
    branches: Sequence[BranchCopy] = ()


class VersionArchive(NamedTuple):
    """Where the archive of a version was written: path and size in bytes."""

    path: str
    size: int


class Incoming(NamedTuple):
    """What an import adds. The iterables are read once, in the transaction and off the event loop; `archives`
    has the place of each version's archive, by its number. Messages and events are rows, or they were written
    to blobs before and `archived` names these: inserting very many would keep all turns from writing. The
    contents of `artifacts` are in blobs already, whose paths `contents` has by their hashes. `began` has by
    turn the position after which its messages come, `feedback` its owner's last rating. `seeded`: nothing is
    a copy; what is attached to a turn is there already, and the session is the first to use it. `said` are
    the bytes of its messages, `session_quota` those that all sessions of the owner may count."""

    moment: Moment
    archives: dict[int, VersionArchive]
    turns: Iterable[TurnCopy]
    instructions: Iterable[InstructionsCopy] = ()
    artifacts: Iterable[ArtifactCopy] = ()
    contents: Mapping[str, str] = MappingProxyType({})
    messages: Iterable[MessageCopy] = ()
    events: Iterable[EventCopy] = ()
    archived: ArchiveRow | None = None
    began: Mapping[str, int] = MappingProxyType({})
    feedback: Mapping[str, Feedback] = MappingProxyType({})
    seeded: bool = False
    said: int = 0
    session_quota: int | None = None

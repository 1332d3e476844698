"""A session as a whole: what an export reads of it and an import writes. Events and messages have their own
way, page by page; the rest is small and is here.

Owners are no part of a copy: whoever imports it owns it. Neither are the places of archives.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from gateway.events.lifecycle import Outcome
from gateway.ids import ID_PATTERN
from gateway.messages import Role, Usage
from gateway.storage.base import OnConflict, SessionRow
from gateway.storage.records import ArchiveRow, Source, Trigger

LATEST = 2**53
"""No time, seq or count is beyond it: whole numbers up to there are the same in JSON, SQL and Python."""


def _no_nul(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain NUL characters")
    return text


Id = Annotated[str, Field(pattern=ID_PATTERN)]
Words = Annotated[str, AfterValidator(_no_nul)]
Count = Annotated[int, Field(ge=0, le=LATEST)]
Number = Annotated[int, Field(ge=1, le=LATEST)]
Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


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


class VersionCopy(Copied):
    """A version of the compressed history; see `CompressionRow`. Its archive is told by its hash."""

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
    something is added."""

    session: SessionCopy
    versions: Sequence[VersionCopy]
    summary: SummaryCopy | None


class Stored(NamedTuple):
    """Where the archive of a version was written: path and size in bytes."""

    path: str
    size: int


class Incoming(NamedTuple):
    """What an import adds. The iterables are read once, in the transaction and off the event loop; `archives`
    has the place of each version's archive, by its number. Messages and events are rows, or they were written
    to blobs before and `archived` tells of them: inserting very many would keep all turns from writing."""

    moment: Moment
    archives: dict[int, Stored]
    turns: Iterable[TurnCopy]
    messages: Iterable[MessageCopy] = ()
    events: Iterable[EventCopy] = ()
    archived: ArchiveRow | None = None


class Copies(Protocol):
    """Whole sessions, out of the tables and into them. Raises `errors.StorageError` as all storage does."""

    async def moment(self, session_id: str, owner: str) -> Moment:
        """Raises errors.NotFound (session_not_found), and errors.TurnInProgress while a turn is running or
        waiting."""
        ...

    async def turns(self, session_id: str, *, after: int, limit: int) -> Sequence[tuple[int, TurnCopy]]:
        """Turns that are over, in the order in which they were accepted, each with a number that grows: those
        after the number `after`, at most `limit`."""
        ...

    async def taken(self, session_id: str) -> bool:
        """Whether there is a session of that id, whoever's it is."""
        ...

    async def add(self, owner: str, incoming: Incoming) -> SessionRow:
        """Adds all of it, in one transaction.

        Raises:
            errors.Conflict: the id of the session or of one of its turns is taken; nothing was added.
        """
        ...

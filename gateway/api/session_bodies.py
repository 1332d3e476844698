"""Sessions and their events as JSON: snake_case out, snake_case or camelCase in, strict either way."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gateway.api.attachment_body import AttachmentBody, WordsBesideFiles
from gateway.api.turn_bodies import Turn
from gateway.artifacts.attachment_budget import MAX_FILES
from gateway.auth import Principal, user_of
from gateway.http.json_types import Body, Id, Line, Query, Reply, without_nul
from gateway.service.seeding import MAX_SEEDED, SeedMessage
from gateway.storage.branches import MAX_BRANCHES
from gateway.storage.projects import Standing
from gateway.storage.sessions import (
    FoundIn,
    MarkedText,
    MatchedText,
    OpenStatus,
    Order,
    SessionRow,
    Shared,
    Sharing,
    TitleBy,
    Whose,
)
from gateway.storage.turns import MAX_INSTRUCTIONS

Title = Annotated[Line, Field(max_length=200)]
Instructions = Annotated[str, Field(max_length=MAX_INSTRUCTIONS), AfterValidator(without_nul)]


class SeedBody(Body):
    """A message that was said elsewhere."""

    role: Literal["user", "assistant"]
    attachments: list[AttachmentBody] = Field(
        default_factory=list[AttachmentBody], max_length=MAX_FILES, description="Of a message of the user."
    )
    content: WordsBesideFiles = Field(description="What was said. It may be empty where files came with it.")

    def message(self) -> SeedMessage:
        return SeedMessage(self.role, self.content, [each.given() for each in self.attachments])


class SessionBody(Body):
    id: Id | None = Field(None, description="What you call it; absent: only by the id that it gets.")
    title: Title | None = None
    project_id: Id | None = Field(
        None, description="Sessions of a project, in one role, know of each other's summaries."
    )
    role_id: Id | None = Field(None, description="The role, or interface, that it is in.")
    instructions: Instructions | None = Field(
        None, description="For its turns. Absent: those of its project. Empty: none."
    )
    temporary: bool = Field(
        False,
        description="In no list and no search, without memories in it and without any from it; deleted after "
        "a day without use (GATEWAY_DELETE_TEMPORARY_AFTER).",
    )
    messages: list[SeedBody] = Field(
        default_factory=list[SeedBody],
        max_length=MAX_SEEDED,
        description="A history that it begins with, the user's message first. Each message of the user is a "
        "turn then, marked as seeded, with the answers up to the next one; its tokens are unknown.",
    )

    @model_validator(mode="after")
    def _brings_nothing_that_stays(self) -> Self:
        if self.temporary and self.messages:
            raise ValueError("temporary: goes without messages")
        return self


class SessionRetentionBody(Body):
    """Days without use, counted from the last turn; 0: never. What is absent follows the tenant's rule."""

    archive_days: int | None = Field(None, ge=0, le=36_500)
    delete_days: int | None = Field(None, ge=0, le=36_500)


class SessionChanges(Body):
    """What changes of a session; what is absent stays."""

    title: Title | None = None
    pinned: bool | None = None
    archived: bool | None = Field(None, description="Listed only where archived ones are asked for.")
    project_id: Id | Literal[""] | None = Field(
        None, description="A project of yours to move it into; nobody else sees it. Empty: into none."
    )
    shared: Sharing | None = Field(
        None, description="read: the members of its project see all of it. none: nobody else does."
    )
    retention: SessionRetentionBody | None = Field(
        None, description="Its own, in place of the one that it had; {}: its tenant's holds again."
    )
    instructions: Instructions | None = Field(None, description="From its next turn on. Empty: none.")

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if all(getattr(self, name) is None for name in type(self).model_fields):
            raise ValueError(
                "must have title, pinned, archived, project_id, shared, retention or instructions"
            )
        return self


class BranchQuery(Query):
    branch: int | None = Field(None, ge=0, lt=MAX_BRANCHES, description="Absent: the active one.")


CURSOR = MappingProxyType({"Last-Event-ID": "Cursor; wins over `after`."})


class CursorQuery(Query):
    after: int = Field(0, ge=0, le=10**12, description="Cursor: the seq of the last event seen.")


class EventsQuery(CursorQuery):
    turn_id: Id | None = Field(None, description="Only this turn; the stream ends after its done.")
    types: str | None = Field(None, description="Comma-separated event types.")
    follow: Literal["0", "1"] = Field("1", description="0: end at the session's last event.")
    limit: int = Field(500, ge=1, le=1000, description="Events of a JSON page.")
    before: int | None = Field(
        None,
        ge=1,
        le=10**12,
        description="A JSON page of the newest events before this seq, after `after`; beyond the last one: "
        "from the end.",
    )
    branch: int | None = Field(
        None,
        ge=0,
        lt=MAX_BRANCHES,
        description="Only the turns of that branch, and what happened beside turns; not with a live stream.",
    )


class SessionsQuery(Query):
    limit: int = Field(50, ge=1, le=200)
    before: str | None = Field(None, description="The `next` of the former page.")
    q: str | None = Field(None, max_length=200, description="Words in the title or in one turn, all of them.")
    found_in: FoundIn | None = Field(None, description="Where `q` looks; absent: in both.")
    used_after: int | None = Field(
        None, ge=0, le=2**53, description="Only those used at this time or later, Unix milliseconds."
    )
    used_before: int | None = Field(
        None, ge=0, le=2**53, description="Only those last used before this time, Unix milliseconds."
    )
    pinned: bool | None = Field(None, description="Only those that are pinned, or are not.")
    archived: Literal["false", "true", "all"] = Field("false", description="true: only the archived ones.")
    order: Order = Field("updated", description="The last used first, or the last made.")
    project_id: Id | None = Field(
        None, description="Only those of that project, also what its members share with you."
    )
    whose: Whose | None = Field(
        None,
        description="others: what is shared with you in any of your projects. Absent: mine, and with "
        "`project_id` all.",
    )


class SessionRetention(Reply):
    """Days without use; 0: never. What is absent follows the tenant's rule."""

    archive_days: int | None = None
    delete_days: int | None = None


class Session(Reply):
    id: str
    title: str | None = None
    created_at: int
    updated_at: int = Field(description="When a turn was accepted or ended last.")
    head: int = Field(description="seq of the last event; 0 before the first.")
    project_id: str | None = None
    role_id: str | None = None
    active_branch: int = Field(description="The branch in which turns go on: 0 where there is no other.")
    pinned: bool
    archived: bool
    title_by: TitleBy | None = Field(
        None, description="Who gave it its title; absent where that is the beginning of the first message."
    )
    status: OpenStatus | None = Field(None, description="Of the turn that is open; absent: none is.")
    shared: Shared | None = Field(
        None, description="What the members of its project may do with it; absent: nothing."
    )
    shared_by: str | None = Field(None, description="The user whose it is; absent: it is yours.")
    shared_in: str | None = Field(None, description="The name of the project in which it is shared.")
    may: list[Literal["read", "write", "manage"]] | None = Field(
        None,
        description="What you may do with another's. read: see all of it; write: send, stop, decide, rate; "
        "manage: rename, unshare, delete. Absent: it is yours.",
    )
    retention: SessionRetention | None = Field(None, description="Its own; absent: its tenant's holds.")
    temporary: bool | None = Field(None, description="true: it is in no list, and ends soon.")

    @classmethod
    def from_row(cls, row: object, **fields: object) -> Self:
        own = SessionRetention.from_row(row)
        if own.model_fields_set and own != SessionRetention():
            fields = {"retention": own, **fields}
        return super().from_row(row, **fields)

    @classmethod
    def seen_by(
        cls, who: Principal, row: SessionRow, standing: Standing | None = None, **fields: object
    ) -> Self:
        """The session as the caller sees it; `standing`: of one that others see, too."""
        owner = user_of(row.owner) if row.owner != who.user_id else None
        if standing is not None:
            project = standing.project if row.shared is not None else None
            may = [*standing.may] if owner is not None else None
            fields = {"may": may, "shared_in": project.name if project is not None else None, **fields}
        return cls.from_row(row, shared_by=owner, temporary=row.is_temporary or None, **fields)


class SessionDetails(Session):
    """One session, and what became of its history."""

    compressed_context: str | None = Field(
        None, description="The summary that is in force, as the model reads it."
    )
    compressed_rounds: int = Field(description="How many versions the one in force is made of.")
    last_compressed_at: int | None = None
    instructions: str | None = Field(
        None, description="Yours or the client application's, as its next turn has them."
    )
    carried_context: str | None = Field(
        None, description="Summaries of former sessions in its first turn, as the model reads them."
    )
    versions: list[int] = Field(description="Every version there is; any can be activated.")


class PieceReply(Reply):
    """A part of a text: `hit` where it is one that was looked for."""

    text: str
    hit: bool


class FoundReply(Reply):
    """Where the words of a search stand, in pieces that make one text."""

    title: list[PieceReply] | None = Field(None, description="All of it; absent: none of them is in it.")
    turn_id: str | None = Field(None, description="The newest turn that has all of them.")
    text: list[PieceReply] | None = Field(
        None, description="What was said in that turn around them, on one line."
    )

    @classmethod
    def of(cls, found: MatchedText) -> Self:
        return cls(
            title=_marked_texts(found.title),
            turn_id=found.turn_id,
            text=_marked_texts(found.text),
        )


def _marked_texts(pieces: Sequence[MarkedText] | None) -> list[PieceReply] | None:
    if pieces is None:
        return None
    return [PieceReply(text=piece.text, hit=piece.hit) for piece in pieces]


class ListedSession(Session):
    found: FoundReply | None = Field(None, description="With `q`: why it is here.")


class SessionPage(Reply):
    sessions: list[ListedSession]
    next: str | None = Field(None, description="Cursor of the next page; absent on the last one.")


class ModelMessage(Reply):
    role: Literal["user", "assistant"]
    content: list[dict[str, Any]]


class Messages(Reply):
    messages: list[ModelMessage]


class SnapshotReply(Messages):
    open_turn: Turn | None = None
    as_of_seq: int = Field(description="Follow the events after this one.")


class EventPage(Reply):
    events: list[dict[str, Any]]
    head: int
    next: int | None = Field(None, description="Cursor of the next page; absent on the last one.")
    previous: int | None = Field(
        None, description="With `before`: that of the page of older events; absent on the first one."
    )

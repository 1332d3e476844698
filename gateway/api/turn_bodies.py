"""Turns as JSON: snake_case out, snake_case or camelCase in, strict either way."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field

from gateway.api.attachment_body import AttachmentBody, WordsBesideFiles
from gateway.artifacts.attachment_budget import MAX_FILES
from gateway.auth import Principal
from gateway.events.session_changes import Rating
from gateway.http.json_types import Body, Id, Prose, Query, Reply, no_nul, not_blank, without_nul
from gateway.messages import Usage
from gateway.service.abandoned_turns import GRACE, MAX_GRACE
from gateway.storage.limits import SideUsage, Standing
from gateway.storage.turns import MAX_INSTRUCTIONS, TurnRow, TurnState, TurnStatus
from gateway.tools.client_tools import MAX_TOOLS


class ClientToolBody(Body):
    """A tool that the client runs: the model calls it, and the turn waits for the result."""

    name: Id = Field(description="Not one of the gateway's own.")
    description: Annotated[str, AfterValidator(no_nul)] = Field("", max_length=20_000)
    input_schema: dict[str, Any] = Field(description="A JSON Schema (2020-12) of type object.")


class RegenerateBody(Body):
    """How a message that is asked anew is treated."""

    client_message_id: Id | None = Field(
        None, description="Repeating a request with the same id returns the same turn."
    )
    on_conflict: Literal["reject", "queue", "interrupt"] = Field(
        "reject", description="What to do when another turn of the session runs."
    )
    on_disconnect: Literal["continue", "release"] = Field(
        "continue",
        description="What to do when the connection of this stream ends before `done`. release: the turn is "
        f"cancelled unless somebody reads it again within {GRACE:g} seconds.",
    )
    model: str | None = Field(None, description="One of the allowed models.")


class TurnOptions(RegenerateBody):
    """A message, and how it is treated."""

    attachments: list[AttachmentBody] = Field(
        default_factory=list[AttachmentBody],
        max_length=MAX_FILES,
        description="Files that the message brings along.",
    )
    message: WordsBesideFiles = Field(
        description="The user's message. It may be empty where files come with it."
    )
    parent_turn_id: Id | None = Field(
        None,
        description="The turn after which this one comes, in a new branch where others do already; `root`: "
        "before all turns. Absent: the last one of the active branch.",
    )
    tools: list[ClientToolBody] = Field(
        default_factory=list[ClientToolBody],
        max_length=MAX_TOOLS,
        description="Tools that you run yourself, beside those of the gateway, in this turn.",
    )
    instructions: Annotated[str, AfterValidator(without_nul)] | None = Field(
        None,
        description="What the client application tells the model, from this turn on, below the gateway's own "
        f"prompt: at most {MAX_INSTRUCTIONS} characters. Absent: those of the turn before stay. Empty: none.",
    )


class ChatBody(TurnOptions):
    session_id: Id | None = Field(
        None, description="Its id, or what you call it: made if it does not exist. Absent: a new session."
    )
    project_id: Id | None = Field(
        None, description="The project of a new session; an older one keeps its own."
    )
    role_id: Id | None = Field(
        None, description="The role, or interface, that a new session is in; an older one keeps its own."
    )


class ReleaseBody(Body):
    grace_seconds: float = Field(GRACE, ge=0, le=MAX_GRACE, description="So long may nobody read the turn.")


class FeedbackBody(Body):
    """What a person thinks of a turn."""

    rating: Rating = Field(description="none takes it back.")
    reason: Annotated[Prose, AfterValidator(not_blank)] | None = Field(None, max_length=2000)
    of: Literal["turn", "message"] = Field(
        "turn", description="What it is about: all that was done, or the answer alone."
    )


class FeedbackReply(Reply):
    rating: Rating
    reason: str | None = None
    of: Literal["turn", "message"]


class TurnsQuery(Query):
    status: TurnState | None = Field(
        None, description="Only turns of that status or, of those that are done, with that outcome."
    )
    limit: int = Field(50, ge=1, le=200)
    before: str | None = Field(None, description="The `next` of the former page.")


class Turn(Reply):
    turn_id: str
    session_id: str
    status: TurnStatus
    outcome: str | None = None
    model: str
    client_message_id: str | None = None
    instructions: str | None = Field(
        None, description="SHA-256 in hex of the client's instructions that it has, cleaned."
    )
    cancel_requested: bool | None = None
    created_at: int
    ended_at: int | None = None
    first_seq: int | None = None
    last_seq: int | None = Field(None, description="Of its last event, while it runs of the newest.")
    iterations: int | None = Field(None, description="Model calls; like usage and cost once it is done.")
    usage: Usage | None = None
    cost: float | None = Field(None, description="US dollars; absent where a price is unknown.")
    branch: int | None = Field(None, description="Its branch; absent while it waits.")
    parent_turn_id: str | None = Field(
        None,
        description="What it was asked after, a turn or `root`; absent where that is the one before it.",
    )
    origin: Literal["seeded", "imported"] | None = Field(
        None,
        description="Of a turn that did not run here. seeded: a client brought it along when the session was "
        "made; imported: it was in a file.",
    )
    feedback: FeedbackReply | None = Field(None, description="What its owner thinks of it.")

    @classmethod
    def of(cls, row: TurnRow, who: Principal) -> "Turn":
        """As `who` may see it: what a client tells the model is the session's owner's."""
        names = ("cancel_requested", "first_seq", "last_seq", "iterations")
        branch = row.branch if row.status != "accepted" else None
        known = {name: getattr(row, name) or None for name in names}
        digest = row.instructions if row.session_owner == who.user_id else None
        return cls.from_row(row, turn_id=row.id, branch=branch, instructions=digest, **known)


class TurnPage(Reply):
    turns: list[Turn]
    next: str | None = Field(None, description="Cursor of the next page; absent on the last one.")


class UsageQuery(Query):
    days: int = Field(30, ge=1, le=366, description="Turns that were accepted so many days ago, or later.")


class ModelUsageReply(Reply):
    model: str
    turns: int
    usage: Usage
    cost: float | None = Field(
        None, description="US dollars of the turns whose price is known; absent: that of none is."
    )
    unpriced: int = Field(description="Turns that used tokens of which no price is known.")


class LimitReply(Reply):
    """One of the operator's limits, as it stands. Cost is in US dollars."""

    policy: str = Field(description="What it is called, as in the header RateLimit: user:turns/minute.")
    unit: Literal["requests", "turns", "tokens", "dollars"]
    limit: float
    used: float = Field(description="What was taken of it in this period.")
    held: float = Field(description="What open turns may still take.")
    left: float
    resets_at: int | None = Field(None, description="When it begins anew; absent: it has no period.")

    @classmethod
    def of(cls, standing: Standing) -> Self:
        counter = standing.counter
        per = 1_000_000 if counter.measure == "cost" else 1
        return cls(
            policy=counter.title,
            unit=_UNITS[counter.measure],
            limit=counter.most / per,
            used=standing.used / per,
            held=standing.held / per,
            left=standing.left / per,
            resets_at=counter.ends or None,
        )


_UNITS: dict[str, Literal["requests", "turns", "tokens", "dollars"]] = {
    "requests": "requests",
    "turns": "turns",
    "concurrent": "turns",
    "tokens": "tokens",
    "cost": "dollars",
}


class SideUsageReply(Reply):
    """What the calls of one purpose beside turns used. Cost is in US dollars."""

    purpose: str = Field(
        description="compression, summary, memory, memory_control, artifact_summary or title."
    )
    model: str
    calls: int
    input_tokens: int = Field(description="Those of the prompt cache too.")
    output_tokens: int
    cost: float = Field(description="Of the calls whose price is known.")
    unpriced: int = Field(description="Calls of which no price is known.")

    @classmethod
    def of(cls, used: SideUsage) -> Self:
        return cls(
            purpose=used.purpose,
            model=used.model,
            calls=used.calls,
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            cost=used.cost / 1_000_000,
            unpriced=used.unpriced,
        )


class StoredSessions(Reply):
    """What was said in all of your sessions, in bytes."""

    used: int
    quota: int


class UsageReply(Reply):
    since: int
    models: list[ModelUsageReply]
    beside: list[SideUsageReply] = Field(
        description="What was asked of models for you beside the answers of turns: by days of UTC."
    )
    sessions: StoredSessions
    limits: list[LimitReply] = Field(description="Those that hold for you (GATEWAY_LIMITS).")


class AcceptedTurn(Reply):
    turn_id: str
    session_id: str
    status: TurnStatus
    seq: int = Field(description="Follow the session's events after this one to see the whole turn.")

"""What happens to a session beside its turns: compression, a title, feedback, schedules."""

from typing import ClassVar, Literal

from pydantic import Field

from gateway.events.envelope import Event, EventData, Part
from gateway.messages import Usage

Rating = Literal["up", "down", "none"]


class Covered(Part):
    """The messages that were archived, by their position in the session."""

    first: int = Field(ge=1)
    last: int = Field(ge=1)


class Compression(EventData):
    """The history is being compressed: archived, with a summary in its place."""

    event_type: ClassVar[str] = "compression"

    phase: Literal["started", "completed", "failed"]
    trigger: Literal["manual", "automatic", "overflow"] | None = None
    version: int | None = Field(default=None, ge=1)
    covers: Covered | None = None
    tokens_before: int | None = Field(default=None, ge=0, description="Of the whole view, estimated.")
    tokens_after: int | None = Field(default=None, ge=0)
    model: str | None = Field(
        default=None, description="The model that was asked for the summary; absent when it has only started."
    )
    usage: Usage | None = Field(default=None, description="Of the summary; not part of the turn's usage.")
    cost: float | None = Field(default=None, ge=0, description="US dollars. Absent means unknown.")
    duration_ms: int | None = Field(default=None, ge=0)
    reason: str | None = Field(
        default=None,
        description="Why it failed, or why no model wrote the summary: a code and a sentence.",
    )
    without_model: bool | None = Field(
        default=None,
        description="true: no model could write the summary, so it was made of the facts that are known, "
        "and of first and last lines.",
    )


class Title(EventData):
    """A model gave the session its title, once, in place of the beginning of its first message."""

    event_type: ClassVar[str] = "title"

    title: str
    model: str
    usage: Usage | None = Field(default=None, description="Of the call; in no turn's usage.")
    cost: float | None = Field(default=None, ge=0, description="US dollars. Absent means unknown.")
    duration_ms: int = Field(ge=0)


class Feedback(EventData):
    """What a person thinks of a turn that is over: it has the turn's id, and comes some time after its
    `done`. The last one holds."""

    event_type: ClassVar[str] = "feedback"

    rating: Rating = Field(description="none: taken back.")
    reason: str | None = Field(default=None, description="Why, in the person's words.")
    of: Literal["turn", "message"] = Field(
        description="What it is about: all that was done, or the answer alone."
    )


class Schedule(EventData):
    """A schedule of this session was changed, or did not run when it was due. A run itself is a turn, with
    `dialect` schedule in its `turn_start`."""

    event_type: ClassVar[str] = "schedule"

    schedule_id: str
    name: str
    action: Literal["created", "paused", "resumed", "run_asked", "deleted", "missed", "refused"]
    due_at: int | None = Field(
        default=None, ge=0, description="The time that was missed, or at which the turn was refused."
    )
    next_due_at: int | None = Field(
        default=None,
        ge=0,
        description="When it runs next. Absent: not any more, or not before it is resumed.",
    )
    code: str | None = Field(default=None, description="Why: late, or the code of the refusal.")
    by: str | None = Field(default=None, description="The user's id, or `model`. Absent: the gateway itself.")


CompressionEvent = Event[Literal["compression"], Compression]
TitleEvent = Event[Literal["title"], Title]
FeedbackEvent = Event[Literal["feedback"], Feedback]
ScheduleEvent = Event[Literal["schedule"], Schedule]

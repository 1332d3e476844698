"""The model's text and thinking in deltas, and what was retrieved for it."""

from typing import ClassVar, Literal

from pydantic import Field

from gateway.events.envelope import Event, EventData, Part


class Text(EventData):
    """A piece of the answer. The pieces of one iteration concatenate to its text byte for byte."""

    event_type: ClassVar[str] = "text"

    text: str = Field(min_length=1)


class Thinking(EventData):
    """A piece of the model's thinking."""

    event_type: ClassVar[str] = "thinking"

    text: str = Field(min_length=1)


class RetrievalHit(Part):
    """One thing that was found."""

    id: str
    source: str
    snippet: str
    score: float = Field(description="Higher is better; comparable within one retrieval only.")
    title: str | None = None
    type: str | None = Field(default=None, description="Of a memory: preference, fact, ...")
    importance: int | None = Field(default=None, ge=1, le=5)
    lexical_rank: int | None = Field(default=None, ge=1, description="Its place by words.")
    vector_rank: int | None = Field(default=None, ge=1, description="Its place by meaning.")
    freshness: float | None = Field(default=None, ge=0, le=1)
    version: int | None = Field(default=None, ge=1)
    told: Literal["now", "before"] | None = Field(
        default=None,
        description="`before`: it is in the context of this session already and not repeated.",
    )
    form: Literal["full", "passage", "summary"] | None = Field(
        default=None, description="How a memory is shown; of a passage `snippet` is its text."
    )
    passage: int | None = Field(default=None, ge=1, description="The number of that passage.")


class Omission(Part):
    """Something that was found and not shown, and why; `too_long`: it is shown by its summary alone."""

    id: str
    reason: Literal["budget", "similar", "too_long"]


class Retrieval(EventData):
    """Something was looked up. Never emitted with empty results."""

    event_type: ClassVar[str] = "retrieval"

    query: str
    source: str
    results: list[RetrievalHit] = Field(min_length=1)
    omitted: int | None = Field(default=None, ge=1, description="Hits that were found and not shown.")
    tokens: int = Field(ge=0, description="Estimated size of the results in tokens.")
    degraded: bool | None = Field(default=None, description="True when a part of the search did not work.")
    duration_ms: int | None = Field(default=None, ge=0, description="How long the search took.")
    omissions: list[Omission] | None = Field(
        default=None,
        description="The first of what `omitted` counts, and of what is shown by its summary alone for want "
        "of room.",
    )
    mode: Literal["snapshot", "changes", "catalog", "details"] | None = Field(
        default=None,
        description="Of memories: what stands in the prompt for the session, what changed since, or what was "
        "looked up: summaries, or everything.",
    )
    notes: list[str] | None = Field(default=None, description="Why it was looked for, in words.")


TextEvent = Event[Literal["text"], Text]
ThinkingEvent = Event[Literal["thinking"], Thinking]
RetrievalEvent = Event[Literal["retrieval"], Retrieval]

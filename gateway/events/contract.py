"""The closed union of all events, and its JSON Schema."""

from typing import Annotated, Any, get_args

import orjson
from pydantic import Field, TypeAdapter

from gateway.events.content import RetrievalEvent, TextEvent, ThinkingEvent
from gateway.events.lifecycle import (
    DoneEvent,
    ErrorEvent,
    IterationEndEvent,
    IterationStartEvent,
    IterationSupersededEvent,
    TurnStartEvent,
    WarningEvent,
)
from gateway.events.memory_skill_artifact import ArtifactEvent, MemoryEvent, SkillEvent
from gateway.events.session_changes import CompressionEvent, FeedbackEvent, ScheduleEvent, TitleEvent
from gateway.events.tool_calls import (
    ApprovalRequestEvent,
    ApprovalResponseEvent,
    ToolCallEvent,
    ToolProgressEvent,
    ToolResultEvent,
)

AnyEvent = Annotated[
    TurnStartEvent
    | IterationStartEvent
    | RetrievalEvent
    | ThinkingEvent
    | TextEvent
    | ToolCallEvent
    | ToolProgressEvent
    | ToolResultEvent
    | ApprovalRequestEvent
    | ApprovalResponseEvent
    | MemoryEvent
    | SkillEvent
    | ArtifactEvent
    | CompressionEvent
    | TitleEvent
    | ScheduleEvent
    | IterationEndEvent
    | IterationSupersededEvent
    | WarningEvent
    | ErrorEvent
    | DoneEvent
    | FeedbackEvent,
    Field(discriminator="type"),
]

EVENT: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)


def event_types() -> list[str]:
    """Every event type, in the order of the contract."""
    union, _ = get_args(AnyEvent)
    return [get_args(event.model_fields["type"].annotation)[0] for event in get_args(union)]


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of one event; it takes a good twentieth of a second."""
    schema = EVENT.json_schema(mode="serialization")
    text = orjson.dumps(schema).decode()
    for name, definition in schema["$defs"].items():
        text = text.replace(f'{name}"', f'{definition["title"]}"') if name.startswith("Event_") else text
    schema = orjson.loads(text)
    for definition in schema["$defs"].values():  # of parts that are also read, and strictly then
        definition.pop("additionalProperties", None)  # clients must accept fields that come later
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Chat Gateway event, contract v1",
        **schema,
    }

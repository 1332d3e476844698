"""The envelope around every event, and the one place where an event becomes bytes.

`encode` is on the path of every token, so it works on plain values; the models are the contract that tests,
the JSON Schema and `docs/events.md` read. That both agree is checked by the test suite for every event
emitted."""

from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from gateway.ids import ID_PATTERN

VERSION = 1


class Part(BaseModel):
    """A frozen value inside an event. Optional fields are left out when they have no value, never null."""

    # Built when it is used first, not at the start.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        described = handler.resolve_ref_schema(handler(schema))
        described.pop("additionalProperties", None)  # clients must accept fields that come later
        for name, field in described.get("properties", {}).items():
            described["properties"][name] = _without_null(field)
        return described


class EventData(Part):
    """The `data` of one event type; `event_type` is its name on the wire."""

    event_type: ClassVar[str]


Name = TypeVar("Name", bound=str)
Data = TypeVar("Data", bound=EventData)


class Event(Part, Generic[Name, Data]):
    """One event as a client receives it: the JSON object in an SSE frame's `data:` line."""

    v: Literal[1] = Field(description="Version of the contract; additive changes keep it.")
    seq: int = Field(
        ge=1, description="Position in the session: from 1, without gaps, never reused. The one cursor."
    )
    type: Name
    ts: int = Field(ge=0, description="Unix time in milliseconds.")
    session_id: str = Field(pattern=ID_PATTERN)
    turn_id: str = Field(pattern=ID_PATTERN)
    iteration: int | None = Field(default=None, ge=1, description="Number of the model call in the turn.")
    tool_call_id: str | None = Field(default=None, description="The model's id of the tool call.")
    data: Data

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        return f"{params[1].__name__}Event"


class StoredEvent(NamedTuple):
    """An event that is durable: what readers of the log get. `body` is the JSON object, encoded once."""

    seq: int
    type: str
    turn_id: str
    body: bytes

    @property
    def ts(self) -> int:
        """The event's `ts`, Unix milliseconds, read without parsing the body: this runs for every write."""
        body = self.body
        start = body.find(b',"ts":') + 6
        return int(body[start : body.index(b",", start)])

    def load(self) -> dict[str, Any]:
        """The body as a JSON object."""
        return orjson.loads(self.body)


def encode(  # noqa: PLR0917 - positional: this runs for every token
    seq: int,
    event_type: str,
    ts: int,
    scope: bytes,
    data: bytes,
    iteration: int | None = None,
    tool_call_id: str | None = None,
) -> bytes:
    """The bytes of one event. `scope` comes from `encode_scope`, `data` is a JSON object as bytes."""
    return encode_frame(event_type, scope, iteration, tool_call_id) % (seq, ts, data)


def encode_frame(
    event_type: str, scope: bytes, iteration: int | None = None, tool_call_id: str | None = None
) -> bytes:
    """What is the same in many events, with places (`%`) for seq, ts and data."""
    places = b""
    if iteration is not None:
        places = b'"iteration":%d,' % iteration
    if tool_call_id is not None:
        places += b'"tool_call_id":%b,' % orjson.dumps(tool_call_id).replace(b"%", b"%%")
    return b'{"v":1,"seq":%%d,"type":"%b","ts":%%d,%b,%b"data":%%b}' % (event_type.encode(), scope, places)


def encode_scope(session_id: str, turn_id: str) -> bytes:
    """The part of the envelope that is the same for all events of a turn."""
    return b'"session_id":"%b","turn_id":"%b"' % (session_id.encode(), turn_id.encode())


def encode_data(data: EventData) -> bytes:
    """`data` as JSON bytes, without the fields that have no value.

    Raises:
        TypeError: a value is not JSON, such as a lone surrogate (`messages.clean_text` mends text before).
    """
    return orjson.dumps(data.model_dump(mode="python", exclude_none=True))


def _without_null(field: JsonSchemaValue) -> JsonSchemaValue:
    choices = [choice for choice in field.get("anyOf", []) if choice != {"type": "null"}]
    if len(choices) == 1:
        rest = {key: value for key, value in field.items() if key not in {"anyOf", "default"}}
        return {**choices[0], **rest}
    if choices:
        return {**field, "anyOf": choices}
    return field

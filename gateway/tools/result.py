"""A function's result with suggestions for the memory and the steps it took."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

import orjson
from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    SkipValidation,
    ValidationError,
    field_validator,
)
from pydantic.alias_generators import to_camel

from gateway.errors import ToolError, plain_words, problems_of
from gateway.events.tool_calls import MemoryWriteSuggestion, StepTrace
from gateway.messages import clean_text
from gateway.tools.base import File, ToolOutput

WRITES_SIZE = 16 * 1024
"""Bytes of JSON of all memory writes of one call. With the steps (steps.STEPS_SIZE) and the content they are
one event, which has 64 kB at most."""
METADATA_SIZE = 4096
"""Bytes of JSON of the metadata of one memory write."""
MAX_ITEMS = 1000
"""Memory writes, or steps, of one call that are looked at."""
MAX_FILES = 16
"""Files of one call that are kept."""
MAX_PROBLEMS = 10
PROBLEM_LENGTH = 200

Item = TypeVar("Item")


class ToolResult(BaseModel):
    """A result with all its reports. Every field is optional, and may be named in camelCase too.

    `result` is what the function would have returned otherwise, `error` is the message when `status` is
    "error". `memory_writes`, `intermediate_steps` and `files` are looked at one by one: what is wrong with
    one of them is named in a warning, and the others count. `request_id` is for the log; by default the
    call's idempotency key.
    """

    model_config = ConfigDict(frozen=True, extra="allow", alias_generator=to_camel, populate_by_name=True)

    request_id: str | None = None
    status: Literal["success", "error"] = "success"
    result: Any = None
    error: str | None = None
    memory_writes: SkipValidation[Sequence[MemoryWriteSuggestion | Mapping[str, Any]]] = ()
    intermediate_steps: SkipValidation[Sequence[StepTrace | Mapping[str, Any]]] = ()
    files: SkipValidation[Sequence[File | bytes]] = ()

    def to_output(self, content: str, *first: File) -> ToolOutput:
        """This as a tool's output; `content` is `result` as text, or `first` is that as a file."""
        problems = [f"ToolResult has no field {name[:64]!r}" for name in self.model_extra or {}]
        steps = _each("intermediate_steps", self.intermediate_steps, _step, problems)
        failed = self.status == "error"
        if failed:
            content = "\n".join(filter(None, [self.error or "The tool failed.", content]))
        files = with_files(first, self.files, problems)
        output = ToolOutput(content, failed, steps=steps, problems=problems, files=files)
        return with_writes(output, self.memory_writes)


def sound(output: ToolOutput) -> ToolOutput:
    """The output with all that an event can carry; what is wrong with the rest joins its problems.

    Raises:
        errors.ToolError: its content is no text, so there is nothing for the model to read.
    """
    if not isinstance(output.content, str):  # pyright: ignore[reportUnnecessaryIsInstance] - hints bind nobody
        kind = type(output.content).__name__
        raise ToolError(f"It was carried out, but the content of its ToolOutput is no text: {kind}.")
    if all(each == () for each in (output.problems, output.steps, output.memory_writes, output.files)):
        return output
    found: list[str] = []
    problems = _each("problems", output.problems, _problem, found)
    steps = _each("steps", output.steps, _step, found)
    files = with_files((), output.files, found)
    made = replace(output, steps=steps, problems=[*problems, *found], files=files)
    return with_writes(made, output.memory_writes)


def with_files(first: Sequence[File], items: object, problems: list[str]) -> tuple[File, ...]:
    """`first` and those of `items` that are files, MAX_FILES at most; the others join `problems`."""
    files = [*first, *_each("files", items, _file, problems)]
    if (more := len(files) - MAX_FILES) > 0:
        problems.append(f"files: more than {MAX_FILES}, {more} of them are left out")
    return tuple(files[:MAX_FILES])


def with_writes(output: ToolOutput, items: object) -> ToolOutput:
    """The output with those of the memory writes `items` that can be used; the others join its problems."""
    problems = list(output.problems)
    writes = _each("memory_writes", items, _write, problems)
    size = kept = 0
    for write in writes:
        size += len(orjson.dumps(write.model_dump())) + 1
        kept += size <= WRITES_SIZE
    if kept < len(writes):
        left_out = len(writes) - kept
        problems.append(f"memory_writes: over {WRITES_SIZE} bytes together, {left_out} of them are left out")
    if len(problems) > MAX_PROBLEMS:
        problems[MAX_PROBLEMS - 1 :] = [f"and {len(problems) - MAX_PROBLEMS + 1} more problems"]
    return replace(output, memory_writes=writes[:kept], problems=problems)


class _Given(BaseModel):
    """What a tool wrote by hand, in either spelling."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        loc_by_alias=False,
        coerce_numbers_to_str=True,
        allow_inf_nan=False,
    )


class _GivenStep(_Given):
    step_id: str = ""
    step_name: str = Field(min_length=1)
    input: Any = None
    output: Any = None
    duration_ms: float = Field(
        0, ge=0, le=2**53, validation_alias=AliasChoices("duration_ms", "durationMs", "duration")
    )
    error: str | None = None
    timestamp: datetime | None = None


class _GivenWrite(_Given, MemoryWriteSuggestion):
    @field_validator("content", "owner_id", mode="before")
    @classmethod
    def _clean(cls, text: object) -> object:
        return clean_text(text) if isinstance(text, str) else text

    @field_validator("metadata")
    @classmethod
    def _plain(cls, metadata: dict[str, Any] | None) -> dict[str, Any] | None:
        try:
            encoded = orjson.dumps(metadata)
        except TypeError:
            raise ValueError("is no JSON") from None
        if len(encoded) > METADATA_SIZE:
            raise ValueError(f"is larger than {METADATA_SIZE} bytes of JSON")
        return orjson.loads(encoded)


def _each(name: str, items: object, read: Callable[[object], Item], problems: list[str]) -> list[Item]:
    """Those of `items` that can be read; what is wrong with the others joins `problems`."""
    if not isinstance(items, list | tuple):
        problems.append(f"{name}: is no list")
        return []
    if len(items) > MAX_ITEMS:
        problems.append(f"{name}: only the first {MAX_ITEMS} of {len(items)} are looked at")
    good: list[Item] = []
    for position, item in enumerate(items[:MAX_ITEMS]):
        try:
            good.append(read(item))
        except ValidationError as error:
            wrong = problems_of(error)[0]
            problem = plain_words(wrong["type"], wrong["msg"], unknown="there is no such field")
            problems.append(
                f"{'.'.join(map(str, (f'{name}[{position}]', *wrong['loc'])))}: {problem}"[:PROBLEM_LENGTH]
            )
        except Exception as error:  # noqa: BLE001 - an item may do anything when it is looked at
            problems.append(f"{name}[{position}]: cannot be read: {type(error).__name__}")
    return good


def _problem(item: object) -> str:
    if not isinstance(item, str):
        raise TypeError
    return clean_text(item[:PROBLEM_LENGTH])


def _step(item: object) -> StepTrace:
    if isinstance(item, StepTrace):
        return StepTrace(**dict(item))  # it may have been made without its checks
    given = _GivenStep.model_validate(item)
    began = given.timestamp
    if began is not None and began.tzinfo is None:
        began = began.replace(tzinfo=UTC)
    return StepTrace(
        step_id=given.step_id,
        step_name=given.step_name,
        input=given.input,
        output=given.output,
        duration_ms=int(given.duration_ms),
        error=given.error,
        timestamp=None if began is None else int(began.timestamp() * 1000),
    )


def as_file(value: object) -> File | None:
    """A value that is no text for the model; None for any other."""
    match value:
        case File(bytes()):
            return value
        case bytes() | bytearray() | memoryview():
            return File(bytes(value))
        case _:
            return None


def _file(item: object) -> File:
    file = as_file(item)
    if file is None:
        raise TypeError
    for text in (file.mime, file.name):
        if not isinstance(text, str | None):  # pyright: ignore[reportUnnecessaryIsInstance] - hints bind nobody
            raise TypeError
    return file


def _write(item: object) -> MemoryWriteSuggestion:
    given = _GivenWrite.model_validate(dict(item) if isinstance(item, MemoryWriteSuggestion) else item)
    return MemoryWriteSuggestion(**dict(given))

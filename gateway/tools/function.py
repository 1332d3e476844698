"""A tool made of a typed function: its hints become the JSON Schema, its docstring the description."""

import asyncio
import inspect
import json
import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, to_json

from gateway.errors import BadArguments, ToolError
from gateway.events.calls import Effect
from gateway.messages import ToolSpec
from gateway.tools.base import FunctionTool, ToolContext, ToolOutput

DEFAULT_TIMEOUT = 30.0
_SECTION = re.compile(
    r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*$", re.MULTILINE
)
_ARGUMENT = re.compile(r"^(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
_STRICT = ConfigDict(strict=True, extra="forbid", frozen=True)
_PROBLEMS_SHOWN = 5
_VALUE_SHOWN = 60


def tool(
    *, effect: Effect, timeout: float = DEFAULT_TIMEOUT, name: str | None = None
) -> Callable[[Callable[..., Any]], FunctionTool]:
    """Makes a function a tool: `@tool(effect="read_only")`. `timeout` is in seconds, `name` defaults to the
    function's.

    Each parameter needs a type hint; descriptions come from an "Args:" section of the docstring or from
    `Annotated[..., Field(description=...)]`. A parameter hinted `ToolContext` is filled in and not shown to
    the model. An async function runs in the event loop, a plain one in a thread (which no timeout can stop).
    It returns text, a `ToolOutput`, or a value that is told as JSON.

    Running the tool raises errors.BadArguments when the arguments do not fit: types are strict, so "1" is no
    number. Decorating raises TypeError for a function that cannot be a tool.
    """

    def made(function: Callable[..., Any]) -> FunctionTool:
        description, documented = _read_docstring(function)
        tool_name = function.__name__ if name is None else name
        parameters, context_name = _parameters(function)
        arguments_model = _arguments_model(tool_name, parameters, documented)
        call = _as_coroutine(function)

        async def run(arguments: dict[str, Any], context: ToolContext) -> ToolOutput:
            given = _validated(tool_name, arguments_model, arguments)
            if context_name is not None:
                given[context_name] = context
            return _as_output(tool_name, await call(**given))

        schema = arguments_model.model_json_schema(schema_generator=_PlainSchema)
        spec = ToolSpec(tool_name, description, {**schema, "properties": schema.get("properties", {})})
        return FunctionTool(spec, effect, timeout, run)

    return made


class _PlainSchema(GenerateJsonSchema):
    """JSON Schema without the titles pydantic makes up from names: they tell the model nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def generate(self, schema: Any, mode: Any = "validation") -> dict[str, Any]:
        made = super().generate(schema, mode)
        made.pop("title", None)
        return made


def _parameters(function: Callable[..., Any]) -> tuple[dict[str, tuple[Any, Any]], str | None]:
    """Name -> (hint, default or ...), and the name of the parameter that takes the context."""
    hints = get_type_hints(function, include_extras=True)
    parameters: dict[str, tuple[Any, Any]] = {}
    context_name = None
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise TypeError(f"{function.__name__}: a tool cannot have the parameter {parameter}")
        if name not in hints:
            raise TypeError(f"{function.__name__}: the parameter {name} has no type hint")
        if hints[name] is ToolContext:
            context_name = name
        else:
            parameters[name] = (
                hints[name],
                ... if parameter.default is parameter.empty else parameter.default,
            )
    return parameters, context_name


def _arguments_model(
    tool_name: str, parameters: dict[str, tuple[Any, Any]], documented: dict[str, str]
) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for position, (name, (hint, default)) in enumerate(parameters.items()):
        shown = Field(alias=name, description=documented[name]) if name in documented else Field(alias=name)
        # The alias leaves parameters free to be called like a method of BaseModel, such as `json` or `copy`.
        fields[f"argument_{position}"] = (Annotated[hint, shown], default)
    return create_model(tool_name, __config__=_STRICT, **fields)


def _validated(tool_name: str, model: type[BaseModel], arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        given = model.model_validate_json(json.dumps(arguments))
    except ValidationError as error:
        problems = [_told(problem) for problem in error.errors(include_url=False)[:_PROBLEMS_SHOWN]]
        accepted = ", ".join(str(field.alias) for field in model.model_fields.values()) or "none"
        raise BadArguments(
            f"The arguments of {tool_name} are wrong. {'; '.join(problems)}. Its parameters: {accepted}."
        ) from None
    except RecursionError:
        raise BadArguments(f"The arguments of {tool_name} are nested too deeply.") from None
    return {str(field.alias): getattr(given, name) for name, field in model.model_fields.items()}


def _told(problem: Any) -> str:
    place = ".".join(map(str, problem["loc"])) or "arguments"
    if problem["type"] == "missing":
        return f"{place}: is required and missing"
    if problem["type"] == "extra_forbidden":
        return f"{place}: there is no such parameter"
    value = repr(problem["input"])
    value = value if len(value) <= _VALUE_SHOWN else value[:_VALUE_SHOWN] + "…"
    return f"{place}: {problem['msg']}, got {value}"


def _as_coroutine(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    if inspect.iscoroutinefunction(function):
        return function

    async def in_thread(**given: Any) -> Any:
        return await asyncio.to_thread(function, **given)

    return in_thread


def _as_output(tool_name: str, value: Any) -> ToolOutput:
    if isinstance(value, ToolOutput):
        return value
    if isinstance(value, str):
        return ToolOutput(value)
    try:
        return ToolOutput(to_json(value, inf_nan_mode="null").decode())
    except PydanticSerializationError:
        raise ToolError(f"{tool_name} gave back something that cannot be told as JSON.") from None


def _read_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The description (all before the first section) and what the "Args:" section says of each parameter."""
    text = inspect.getdoc(function)
    if not text:
        raise TypeError(f"{function.__name__}: a tool needs a docstring, it is what the model is told")
    parts = _SECTION.split(text)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    body = next((sections[title] for title in ("Args", "Arguments", "Parameters") if title in sections), "")
    documented: dict[str, str] = {}
    current = None
    for line in inspect.cleandoc(body).splitlines():
        started = None if line[:1].isspace() else _ARGUMENT.match(line)
        if started:
            current = started[1]
            documented[current] = started[2].strip()
        elif current and line.strip():
            documented[current] = f"{documented[current]} {line.strip()}".strip()
    return parts[0].strip(), documented

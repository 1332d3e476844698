"""A tool made of a typed function: its hints become the JSON Schema, its docstring the description."""

import asyncio
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, get_type_hints

import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from gateway.errors import MAX_WORDED, BadArguments, ToolError, plain_words
from gateway.events.tool_calls import Effect
from gateway.messages import ToolSpec
from gateway.tools.arguments import is_large
from gateway.tools.base import Changes, File, FunctionTool, ToolContext, ToolOutput
from gateway.tools.progress import Progress
from gateway.tools.registry import Tools
from gateway.tools.result import ToolResult, as_file
from gateway.tools.result_content import content_of
from gateway.tools.schema_unions import explodes
from gateway.tools.short_specs import short_spec
from gateway.tools.threads import in_thread

__all__ = [  # what authors import
    "File",
    "Progress",
    "ToolContext",
    "ToolError",
    "ToolOutput",
    "ToolResult",
    "tool",
]

DEFAULT_TIMEOUT = 30.0
_SECTION = re.compile(
    r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*$", re.MULTILINE
)
_ARGUMENT = re.compile(r"^(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
_STRICT = ConfigDict(strict=True, extra="forbid", frozen=True)
_PROBLEMS_SHOWN = 5
_VALUE_SHOWN = 60

log = structlog.get_logger(__name__)


def tool(
    *,
    effect: Effect,
    timeout: float = DEFAULT_TIMEOUT,
    name: str | None = None,
    category: str | None = None,
    examples: Sequence[str] = (),
    changes: Changes | None = None,
    short: str | None = None,
) -> Callable[[Callable[..., Any]], FunctionTool]:
    """Makes a function a tool: `@tool(effect="read_only")`. `timeout` is in seconds, `name` defaults to the
    function's; `category` and `examples` are for people who look at the catalog of skills; `changes` is as
    in `FunctionTool`. `short` is a docstring for models with a small window: a sentence, and in "Args:" the
    parameters beside the required ones that they are told of; absent: it is made of the docstring.

    Each parameter needs a type hint; descriptions come from an "Args:" section of the docstring or from
    `Annotated[..., Field(description=...)]`. Parameters hinted `ToolContext` and `Progress` are filled in and
    not shown to the model. An async function runs in the event loop, a plain one in a thread (which no
    timeout can stop). It returns text, a value that becomes JSON, bytes or a `File` that become an
    artifact, or a `ToolResult` or `ToolOutput` with any of these.

    Running the tool raises errors.BadArguments when the arguments do not fit: types are strict, so "1" is no
    number; and errors.ToolError when what comes back is no JSON or too large. Decorating raises TypeError for
    a function that cannot be a tool, such as one with a recursive union that takes exponential time to check,
    and ValueError for a name that the model cannot use.
    """

    def make(function: Callable[..., Any]) -> FunctionTool:
        description, documented = _read_docstring(function)
        tool_name = function.__name__ if name is None else name
        parameters, provided = _parameters(function)
        arguments_model = _arguments_model(tool_name, parameters, documented)
        call = _as_coroutine(tool_name, function)

        def check(arguments: dict[str, Any]) -> dict[str, Any]:
            return _validated(tool_name, arguments_model, arguments)

        async def run(arguments: dict[str, Any], context: ToolContext) -> ToolOutput:
            given = await asyncio.to_thread(check, arguments) if is_large(arguments) else check(arguments)
            progress = Progress(context.emit)
            at_hand = {ToolContext: context, Progress: progress}
            given |= {parameter: at_hand[kind] for parameter, kind in provided.items()}
            try:
                value = await call(**given)
            finally:
                progress.close()
            return await _as_output(tool_name, value, context)

        schema = arguments_model.model_json_schema(schema_generator=_PlainSchema)
        if explodes(schema):
            raise TypeError(
                f"{function.__name__}: a recursive union of its parameters takes exponential time to check: "
                "give its members a field that tells them apart, and the union Field(discriminator=...)"
            )
        spec = ToolSpec(tool_name, description, {**schema, "properties": schema.get("properties", {})})
        told = short_spec(spec, *_sections(inspect.cleandoc(short))) if short is not None else None
        made = FunctionTool(spec, effect, timeout, run, category, tuple(examples), check, changes, told)
        Tools([made])  # refuses a name that the model cannot use
        return made

    return make


class _PlainSchema(GenerateJsonSchema):
    """JSON Schema without the titles pydantic makes up from names: they have no information for the model."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def generate(self, schema: Any, mode: Any = "validation") -> dict[str, Any]:
        made = super().generate(schema, mode)
        made.pop("title", None)
        return made


def _parameters(function: Callable[..., Any]) -> tuple[dict[str, tuple[Any, Any]], dict[str, type]]:
    """Name -> (hint, default or ...) of what the model gives, and name -> class of what we provide."""
    hints = get_type_hints(function, include_extras=True)
    parameters: dict[str, tuple[Any, Any]] = {}
    provided: dict[str, type] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise TypeError(f"{function.__name__}: a tool cannot have the parameter {parameter}")
        if name not in hints:
            raise TypeError(f"{function.__name__}: the parameter {name} has no type hint")
        if hints[name] in {ToolContext, Progress}:
            provided[name] = hints[name]
        else:
            default = ... if parameter.default is parameter.empty else parameter.default
            parameters[name] = (hints[name], default)
    return parameters, provided


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
        problems = [f"{error.error_count():,} values of them do not fit"]
        if error.error_count() <= MAX_WORDED:
            found = error.errors(include_url=False)[:_PROBLEMS_SHOWN]
            problems = [_problem_text(problem) for problem in found]
        named = (
            f"{field.alias}{'' if field.is_required() else '?'}" for field in model.model_fields.values()
        )
        accepted = ", ".join(named) or "none"
        raise BadArguments(
            f"The arguments of {tool_name} are wrong. {'; '.join(problems)}. Its parameters: {accepted}."
        ) from None
    except RecursionError:
        raise BadArguments(f"The arguments of {tool_name} are nested too deeply.") from None
    except Exception as error:  # noqa: BLE001 - a validator of the function's author may raise anything
        message = f"The arguments of {tool_name} cannot be checked: {type(error).__name__}."
        raise BadArguments(message) from None
    return {str(field.alias): getattr(given, name) for name, field in model.model_fields.items()}


def _problem_text(problem: Any) -> str:
    place = ".".join(map(str, problem["loc"])) or "arguments"
    if problem["type"] == "missing":
        return f"{place}: is required and missing"
    if problem["type"] == "extra_forbidden":
        return f"{place}: there is no such parameter"
    value = repr(problem["input"])
    value = value if len(value) <= _VALUE_SHOWN else value[:_VALUE_SHOWN] + "…"
    return f"{place}: {plain_words(problem['type'], problem['msg'], unknown='')}, got {value}"


def _as_coroutine(tool_name: str, function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{function.__name__}: a tool cannot yield; return a list, and tell how far it is")
    if inspect.iscoroutinefunction(function):
        return function

    async def call(**given: Any) -> Any:
        return await in_thread(tool_name, lambda: function(**given))

    return call


async def _as_output(tool_name: str, value: Any, context: ToolContext) -> ToolOutput:
    if isinstance(value, ToolOutput):
        return value
    if isinstance(value, ToolResult):
        request_id = value.request_id or context.idempotency_key
        log.debug("tool_reported", tool=tool_name, request_id=request_id, status=value.status)
        if value.result is None:
            return value.to_output("")
        if (file := as_file(value.result)) is not None:
            return value.to_output("", file)
        return value.to_output(await content_of(tool_name, value.result))
    if (file := as_file(value)) is not None:
        return ToolOutput("", files=(file,))
    return ToolOutput(await content_of(tool_name, value))


def _read_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The description (all before the first section) and the text about each parameter in the "Args:"
    section."""
    text = inspect.getdoc(function)
    if not text:
        raise TypeError(f"{function.__name__}: a tool needs a docstring, it is what the model is told")
    return _sections(text)


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """As `_read_docstring` gives them, of the text of one."""
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

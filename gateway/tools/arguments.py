"""The arguments of a call against what its tool accepts."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

from gateway.errors import BadArguments
from gateway.tools.base import FunctionTool, Tool, parameters

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator


def check_arguments(tool: Tool, arguments: dict[str, Any]) -> None:
    """Raises errors.BadArguments, with what is wrong, when they do not fit the tool."""
    if isinstance(tool, FunctionTool) and tool.check is not None:
        tool.check(arguments)
        return
    schema = orjson.dumps(tool.spec.input_schema, option=orjson.OPT_SORT_KEYS)
    for problem in _validator(schema).iter_errors(arguments):
        where = "/".join(str(part) for part in problem.absolute_path) or "the arguments"
        accepted = parameters(tool) or "none"
        raise BadArguments(
            f"The arguments of {tool.spec.name} are wrong. {where}: {problem.message[:500]}. "
            f"Its parameters: {accepted}."
        )


def prepare_checks() -> None:
    """Loads ahead what the first call would have to wait for. Calling it is optional."""
    _validator(b"{}")


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> "Draft202012Validator":
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - 0.1 s, and only tools need it

    return Draft202012Validator(orjson.loads(schema))

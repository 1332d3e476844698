"""Tools that a client brings along with its message, and runs itself."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import orjson

from gateway.errors import ToolError
from gateway.events.tool_calls import Effect
from gateway.ids import is_id
from gateway.messages import ToolSpec
from gateway.tools.base import ToolContext, ToolOutput
from gateway.tools.mcp.tool_schemas import shown, usable_schema

MAX_TOOLS = 128
MAX_OBJECTS = 4000
"""Objects in the schemas of a turn's tools: to look at them takes a second."""
MAX_SIZE = 131_072
"""Bytes of JSON of a turn's tools: each model call carries them."""


@dataclass(frozen=True, slots=True)
class ClientTool:
    """The model calls it as any other; what it gives back comes from the client."""

    spec: ToolSpec
    effect: Effect = "effectful"
    timeout: float = 1.0

    async def run(self, arguments: dict[str, Any], context: ToolContext) -> ToolOutput:
        """Only for a call that does not leave the gateway: its arguments fit as contents of artifacts."""
        raise ToolError(
            f"{self.spec.name} runs in the user's client, which cannot read references to artifacts: pass "
            "the text itself."
        )


def usable_tools(given: Iterable[ToolSpec]) -> list[ToolSpec]:
    """The tools as the model is shown them, sorted by name: the same ones are always the same.

    Raises:
        ValueError: one cannot be used; the message names it and the reason.
    """
    tools: dict[str, ToolSpec] = {}
    size = objects = 0
    for tool in sorted(given, key=lambda each: each.name):
        if not is_id(tool.name):
            raise ValueError(f"The name {tool.name[:64]!r} must be 1 to 64 letters, digits, '_' or '-'.")
        if tool.name in tools:
            raise ValueError(f"Two tools are named {tool.name}.")
        try:
            written = orjson.dumps(tool.input_schema)
            size += len(written) + len(tool.name) + len(tool.description.encode())
            if size > MAX_SIZE:
                raise ValueError(f"all tools together have more than {MAX_SIZE} bytes")
            if (objects := objects + written.count(b"{")) > MAX_OBJECTS:
                raise ValueError(f"the schemas of all tools have more than {MAX_OBJECTS} objects")
            schema = orjson.loads(_usable(written))
        except (TypeError, ValueError) as error:
            raise ValueError(f"The tool {tool.name} cannot be used: {error}.") from None
        tools[tool.name] = replace(tool, description=shown(tool.description), input_schema=schema)
    return list(tools.values())


@lru_cache(maxsize=512)
def _usable(schema: bytes) -> bytes:
    return orjson.dumps(usable_schema(orjson.loads(schema)))

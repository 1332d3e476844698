"""A server's list of tools as it is read: page by page, within bounds, and without what is no tool.

page ──▶ mended: entries that are tools are kept here ──▶ the SDK gets names, and headers
"""

from collections.abc import Iterable
from typing import Any, Final

from pydantic_core import from_json, to_json

from gateway.tools.mcp import bounds
from gateway.tools.mcp.remote_tools import LeftOutTool, ListedTool
from gateway.tools.mcp.wire_messages import is_within

PAGE: Final = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""What must be there in a page of any list, since 2026."""
_SCHEMA_NAMES: Final = ("inputSchema", "input_schema", "parameters", "schema")
_HEADER: Final = b'"x-mcp-header"'
_NO_PARAMETERS: Final = (None, [], {}, "")


class ToolList:
    """One reading of a list. `tools` are those that the server offers, in its own order; `left_out` is what
    of the list is no tool."""

    def __init__(self) -> None:
        self.tools: list[ListedTool] = []
        self.left_out: list[LeftOutTool] = []
        self._found: dict[str, ListedTool] = {}
        self._looked_at = 0
        self._budget = bounds.LIST
        self._with_headers = 0

    @property
    def is_full(self) -> bool:
        return len(self.tools) > bounds.TOOLS or self._looked_at >= bounds.LISTED

    def mended(self, page: dict[str, Any]) -> dict[str, Any]:
        """The page as one that the SDK takes, whatever is in it: it would refuse all tools for one. It keeps
        no schema of results, against whose patterns it would check each result."""
        entries = _entries(page.get("tools"))[: max(0, bounds.LISTED - self._looked_at)]
        self._looked_at += len(entries)
        if "tools" in page:  # else it may answer another question, as whether the server is there
            self._found = {}
        told: list[dict[str, Any]] = []
        for entry in entries:
            try:
                tool = self._read(entry)
                parameters = self._told(tool.schema)
            except ValueError as error:
                name = entry.get("name", "?") if isinstance(entry, dict) else "?"
                self._leave_out(str(name), str(error))
                continue
            if tool.name in self._found:
                self._leave_out(tool.name, "another tool has its name")
                continue
            self._found[tool.name] = tool
            told.append({"name": tool.name, "inputSchema": parameters})
        mended = {**PAGE, "tools": told}
        cursor = page.get("nextCursor")
        if isinstance(cursor, str | int) and not isinstance(cursor, bool):
            mended["nextCursor"] = str(cursor)
        return mended

    def take(self, names: Iterable[str]) -> None:
        """Adds the tools of the page that was mended last; `names` are those that the SDK has kept. (It drops
        tools with parameters that cannot be sent as headers: MCP specification 2026-07-28, "x-mcp-header")"""
        kept = set(names)
        known = {tool.name: tool for tool in self.tools}
        found, self._found = self._found, {}
        for name, tool in found.items():
            if name not in kept:
                self._leave_out(name, "its parameters cannot be sent as the headers that it asks for")
            elif known.get(name) != tool:  # else a page that came again
                self.tools.append(tool)

    def _read(self, entry: Any) -> ListedTool:
        """Raises ValueError: it is no tool, or too much."""
        if not isinstance(entry, dict):
            raise ValueError("it is no JSON object")
        name, hints = entry.get("name"), entry.get("annotations")
        if not isinstance(name, str) or not name:
            raise ValueError("name: must be text")
        words = next((entry[key] for key in ("description", "title") if entry.get(key)), "")
        tool = ListedTool(
            name,
            words if isinstance(words, str) else to_json(words).decode(),
            _schema(entry),
            is_read_only=isinstance(hints, dict) and hints.get("readOnlyHint") is True,
            is_idempotent=isinstance(hints, dict) and hints.get("idempotentHint") is True,
        )
        self._budget -= len(to_json((name, tool.description, tool.schema))) if self._budget > 0 else 0
        if self._budget <= 0:
            raise ValueError(f"the list has more than {bounds.LIST} bytes")
        return tool

    def _told(self, schema: dict[str, Any]) -> dict[str, Any]:
        """What the SDK looks at of a schema, on the event loop: parameters, if any are to be sent as headers.
        Raises ValueError: that is too much."""
        if _HEADER not in to_json(schema):
            return {"type": "object"}
        self._with_headers += 1
        if self._with_headers > bounds.WITH_HEADERS or not is_within(schema, bounds.DETAILS):
            raise ValueError("it asks for headers in a schema that is too large, or as one of too many")
        properties = schema.get("properties")
        found = properties.items() if isinstance(properties, dict) else ()
        told = {key: value for key, value in found if isinstance(value, dict)}
        return {"type": "object", "properties": told}

    def _leave_out(self, tool: str, reason: str) -> None:
        self.left_out.append(LeftOutTool(tool[: bounds.LINE], reason[: bounds.LINE]))


def _entries(tools: Any) -> list[Any]:
    """A list, or an object with each tool under its name."""
    if isinstance(tools, dict):
        return [{"name": name, **tool} if isinstance(tool, dict) else tool for name, tool in tools.items()]
    return tools if isinstance(tools, list) else []


def _schema(entry: dict[str, Any]) -> dict[str, Any]:
    """The schema of the arguments; a tool without one takes none. Raises ValueError: it cannot be read."""
    schema = next((entry[name] for name in _SCHEMA_NAMES if entry.get(name) not in _NO_PARAMETERS), {})
    if isinstance(schema, str):
        schema = from_json(schema)
    if not isinstance(schema, dict):
        raise ValueError("its schema is no JSON object")
    return schema

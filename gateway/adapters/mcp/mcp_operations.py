"""Messages of MCP clients as operations of `auth.operations`."""

from collections.abc import Mapping
from typing import Any, cast

from gateway.memory.tool import NAME as MEMORY_TOOL
from gateway.memory.tool import OPERATIONS as MEMORY_OPERATIONS

CHAT = "chat"
"""The tool that is a turn."""
MEMORY, SESSION = "memory:///", "session:///"
"""How the URIs of resources begin."""
_READ: Mapping[str, str] = {MEMORY: "memory.read", SESSION: "message.list"}
_LISTED = ("memory.list", "session.list")
_OF_CHAT = ("turn.start", "turn.read", "approval.decide")
CARRIED: tuple[str, ...] = tuple(
    dict.fromkeys((*_OF_CHAT, *MEMORY_OPERATIONS.values(), *_LISTED, *_READ.values()))
)
"""All of them."""


def operations_of(method: object, params: object) -> tuple[str, ...]:
    """The operations of a message; none of one that only says what there is, or that nobody serves. `params`
    are as they came, or as the SDK read them."""
    given = cast("Mapping[str, Any]", params) if isinstance(params, Mapping) else {}
    match method:
        case "tools/call":
            return _of_tool(given)
        case "resources/list":
            return _LISTED
        case "resources/read":
            uri = str(given.get("uri"))
            return next(((name,) for start, name in _READ.items() if uri.startswith(start)), ())
        case _:
            return ()


def _of_tool(given: Mapping[str, Any]) -> tuple[str, ...]:
    raw = given.get("arguments")
    arguments = cast("Mapping[str, Any]", raw) if isinstance(raw, Mapping) else {}
    if given.get("name") == CHAT:
        if given.get("requestState") is not None:
            return ("approval.decide",)
        return ("turn.start",) if arguments.get("message") else ("turn.read",)
    if given.get("name") == MEMORY_TOOL:
        wanted = arguments.get("action")
        return tuple(name for action, name in MEMORY_OPERATIONS.items() if action == wanted)
    return ()

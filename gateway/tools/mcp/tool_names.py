"""The names that the tools of MCP servers go by."""

import re
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

MAX_NAME_LENGTH = 64  # Anthropic Messages API, "tools.name"
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_DIGITS = 8


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """`mcp__server__tool` for each tool of one server: characters that a name cannot have become `_`.

    A name that is too long, has nothing of the tool's own name left, or would be that of two tools, ends in a
    hash of the tool's own name; a tool that is really called so keeps it. The order of `tools` does not
    matter. With server names as the settings demand them, two servers never have a name in common.
    """
    fit = {tool: f"mcp__{server}__{_UNFIT.sub('_', tool)}" for tool in tools}
    bearers = Counter(fit.values())
    return {
        tool: name
        if len(name) <= MAX_NAME_LENGTH
        and (bearers[name] == 1 or name.endswith(f"__{tool}"))
        and _is_distinct(tool)
        else _hashed(name, tool)
        for tool, name in fit.items()
    }


def _is_distinct(tool: str) -> bool:
    return any(character.isascii() and character.isalnum() for character in tool)


def _hashed(name: str, tool: str) -> str:
    return f"{name[: MAX_NAME_LENGTH - 1 - _DIGITS]}_{sha256(tool.encode()).hexdigest()[:_DIGITS]}"

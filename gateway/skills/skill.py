"""A skill of any source, and the sources of skills besides SKILL.md files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from gateway.tools.base import FunctionTool, Tool

SkillType = Literal["function", "markdown", "mcp"]

BUILT_IN = "built-in"
"""The source of the functions that come with the gateway."""

READ_SKILL = "read_skill"
"""The built-in tool that written skills are read with."""


def some_of(names: Sequence[str], most: int) -> str:
    """The first `most` names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


class FunctionSkill(NamedTuple):
    """A tool made of a function. `source` is the module it was loaded from, or BUILT_IN; `location` is where
    it stands: `module:attribute`."""

    tool: FunctionTool
    source: str
    location: str


class ServerTool(Tool, Protocol):
    """A tool of an MCP server; `spec.name` is `mcp__server__tool`."""

    @property
    def server(self) -> str: ...


@dataclass(frozen=True, slots=True)
class CatalogSkill:
    """A row of the catalog. `name` is how it is called there, unique; `source` where it comes from: project,
    user or bundled for written ones, a module or `built-in` for functions, a server's name for MCP tools.
    `location` is relative to that. `metadata` holds JSON values: parameters (a JSON Schema), category,
    examples, effect, license, compatibility, allowed_tools, diagnostics, digest, ..., as far as known."""

    name: str
    type: SkillType
    description: str
    location: str
    source: str
    enabled: bool = True
    metadata: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def switched_as(self) -> str:
        """What a switch of it is stored under: the name that a function or a server's tool owns, and where a
        written skill lies, since its name depends on the others that are there."""
        return f"{self.source}/{self.location}" if self.type == "markdown" else self.name

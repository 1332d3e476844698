"""Skills made for tests: written ones on the disk or as values, functions, and tools of a server."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.events.calls import Effect
from gateway.messages import ToolSpec
from gateway.skills.catalog import Catalog, build_catalog
from gateway.skills.markdown import MarkdownSkill, Tier
from gateway.skills.skill import FunctionSkill
from gateway.tools.base import ToolContext, ToolOutput
from gateway.tools.function import tool

PLENTY = 100_000


def skill_text(name: str, description: str = "Does a thing.", body: str = "Do it.", **fields: str) -> str:
    more = "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in fields.items())
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n\n{body}\n"


def write_skill(root: Path, name: str, *, under: str = "", **parts: str) -> Path:
    """A folder with a valid SKILL.md, and where it is."""
    folder = root / under / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill_text(name, **parts), encoding="utf-8")
    return folder


def skill(
    name: str,
    tier: Tier = "project",
    *,
    location: str | None = None,
    digest: str = "",
    allowed: tuple[str, ...] | None = None,
    description: str = "Does a thing.",
) -> MarkdownSkill:
    """A written skill that is on no disk. Without a digest its text is like no other's."""
    location = location or f"{name}/SKILL.md"
    digest = digest or f"digest of {tier} {location}"
    return MarkdownSkill(name, description, tier, Path("/nowhere"), location, digest, allowed)


def function(name: str, source: str = "acme.tools") -> FunctionSkill:
    @tool(effect="read_only", name=name)
    async def say() -> str:
        """Says something."""
        return name

    return FunctionSkill(say, source, f"{source}:{name}")


@dataclass(frozen=True)
class Served:
    """A tool of a server that is not there."""

    server: str
    spec: ToolSpec
    effect: Effect = "effectful"
    timeout: float = 5

    async def run(self, arguments: dict[str, Any], context: ToolContext) -> ToolOutput:
        return ToolOutput("served")


def served(server: str, name: str) -> Served:
    return Served(server, ToolSpec(f"mcp__{server}__{name}", "Serves.", {"type": "object", "properties": {}}))


def catalog_of(*parts: MarkdownSkill | FunctionSkill | Served, disabled: tuple[str, ...] = ()) -> Catalog:
    return build_catalog(
        [part for part in parts if isinstance(part, FunctionSkill)],
        [part for part in parts if isinstance(part, MarkdownSkill)],
        [part for part in parts if isinstance(part, Served)],
        disabled,
        share_tokens=PLENTY,
    )

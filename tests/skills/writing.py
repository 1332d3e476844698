"""Skills made for tests: written ones on the disk or as values, functions, and tools of a server."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.events.tool_calls import Effect
from gateway.skills.catalog import Catalog, build_catalog
from gateway.skills.definition import MarkdownSkill, Tier
from gateway.skills.library import SkillLibrary
from gateway.skills.skill import FunctionSkill
from gateway.storage.decisions import SkillSwitches
from tests.product import ToolContext, ToolOutput, ToolSpec, tool

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
    folder = Path("/nowhere", tier, location).parent
    return MarkdownSkill(name, description, tier, folder, location, digest, allowed)


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
    """Without those of the names `disabled`."""
    functions = [part for part in parts if isinstance(part, FunctionSkill)]
    written = [part for part in parts if isinstance(part, MarkdownSkill)]
    servers = [part for part in parts if isinstance(part, Served)]
    named = build_catalog(functions, written, servers, (), share_tokens=PLENTY)
    off = {row.switched_as for row in named.skills if row.name in disabled}
    return build_catalog(functions, written, servers, off, share_tokens=PLENTY)


class Servers:
    """MCP servers whose tools can change."""

    def __init__(self, *tools: Served) -> None:
        self.tools = tools

    def __call__(self) -> tuple[Served, ...]:
        return self.tools


def library_of(
    tmp_path: Path,
    switches: SkillSwitches,
    *functions: FunctionSkill,
    servers: Servers | None = None,
    folders: Mapping[Tier, Path | None] | None = None,
) -> SkillLibrary:
    return SkillLibrary(
        folders=folders or {"project": tmp_path / "skills"},
        functions=functions,
        server_tools=servers or Servers(),
        switches=switches,
        share_tokens=PLENTY,
        snapshot_path=tmp_path / "SKILLS_SNAPSHOT.md",
    )

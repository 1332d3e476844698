"""All skills under one rule of names. Immutable: a turn keeps the catalog that it began with."""

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from gateway.lexical import estimate_tokens
from gateway.skills.definition import MarkdownSkill
from gateway.skills.name_conflicts import MARKED, named
from gateway.skills.skill import READ_SKILL, CatalogSkill, FunctionSkill, ServerTool
from gateway.skills.snapshot import TOKENS_PER_SKILL, SkillsSnapshot, snapshot
from gateway.tools.base import Tool
from gateway.tools.registry import Tools

SHORT_TOKENS = 130
"""Most tokens (estimated) of the written skills in a prompt for a small window: their names, and descriptions
where these are few."""


@dataclass(frozen=True, slots=True, eq=False)
class Catalog:
    """`skills` are sorted by type and name. `tools` are those that may be called: of enabled skills, and
    read_skill when there is anything to read. `written` are the enabled markdown skills by their names in the
    catalog. `snapshot` is its part of the prompt, "" when that is empty, `short_snapshot` the
    same for a model with a small window; `warnings` are the conflicts, the
    files that could not be used, and what the snapshot had no room for."""

    skills: tuple[CatalogSkill, ...]
    tools: Tools
    written: Mapping[str, MarkdownSkill]
    snapshot: str
    warnings: tuple[str, ...] = ()
    short_snapshot: str = ""

    def find(self, name: str) -> CatalogSkill | None:
        """The skill of that name, enabled or not."""
        return next((skill for skill in self.skills if skill.name == name), None)

    def find_written(self, name: str) -> CatalogSkill | None:
        """The written skill that `name` means, enabled or not: its name in the catalog, or another form of it
        that leaves no doubt (`md:name`, `name@source`, the bare name although a tool owns that)."""
        rows = {skill.name: skill for skill in self.skills if skill.type == "markdown"}
        wanted = unicodedata.normalize("NFKC", name).strip()
        if wanted in rows:
            return rows[wanted]
        bare, at, source = wanted.removeprefix(MARKED).partition("@")
        found = rows.get(bare) or rows.get(MARKED + bare)
        return found if found is not None and (not at or found.source == source) else None


def build_catalog(
    functions: Sequence[FunctionSkill],
    written: Sequence[MarkdownSkill],
    server_tools: Sequence[ServerTool],
    disabled: Collection[str],
    *,
    share_tokens: int,
    warnings: Sequence[str] = (),
) -> Catalog:
    """One catalog of all of it. No order makes a difference, but that of several functions of one
    name the first has it. Functions win over tools of MCP servers, and both over written skills
    (`name_conflicts.named`).

    `disabled` holds values of `CatalogSkill.switched_as`; names do not depend on it. `share_tokens` is the
    most that the snapshot may take, `warnings` come from the search for the files. Anything unusable is left
    out with a warning.
    """
    problems = list(warnings)
    own = _functions(functions, problems)
    served = _served(server_tools, own, problems)
    names, conflicts = named(written, {*own, *served})
    readable = {name: names[name] for name in sorted(names) if names[name].switched_as not in disabled}

    def enabled(name: str) -> bool:
        return bool(readable) if name == READ_SKILL else name not in disabled

    rows = [
        *(_function_row(each, enabled(name)) for name, each in own.items()),
        *(_markdown_row(name, each, name in readable, {*own, *served}) for name, each in names.items()),
        *(_server_row(each, enabled(name)) for name, each in served.items()),
    ]
    callable_now: list[Tool] = [each.tool for name, each in own.items() if enabled(name)]
    callable_now += [each for name, each in served.items() if enabled(name)]
    by_server: defaultdict[str, list[str]] = defaultdict(list)
    for name, tool in served.items():
        if enabled(name):
            by_server[tool.server].append(name)
    by_source: defaultdict[str, list[str]] = defaultdict(list)
    for name, function in own.items():
        if enabled(name):
            by_source[function.source].append(name)
    text = snapshot(readable, by_source, by_server, share_tokens)
    return Catalog(
        skills=tuple(sorted(rows, key=lambda row: (row.type, row.name))),
        tools=Tools(callable_now),
        written=MappingProxyType(readable),
        snapshot=text.text,
        short_snapshot=snapshot(readable, {}, {}, SHORT_TOKENS if share_tokens else 0).text,
        warnings=(*problems, *conflicts, *_over_share(text)),
    )


def _functions(functions: Sequence[FunctionSkill], problems: list[str]) -> dict[str, FunctionSkill]:
    own: dict[str, FunctionSkill] = {}
    for function in functions:
        if fault := _unusable(function.tool):
            problems.append(f"The function {function.location} is left out: {fault}.")
            continue
        owner = own.setdefault(function.tool.spec.name, function)
        if owner is not function:
            problems.append(
                f"The function {function.location} is left out: {owner.location} owns the name "
                f"{function.tool.spec.name}."
            )
    return own


def _served(
    server_tools: Sequence[ServerTool], own: Mapping[str, FunctionSkill], problems: list[str]
) -> dict[str, ServerTool]:
    served: dict[str, ServerTool] = {}
    for tool in sorted(server_tools, key=lambda each: (each.server, each.spec.name)):
        name = tool.spec.name
        if fault := _unusable(tool):
            problems.append(f"A tool of MCP server {tool.server} is left out: {fault}.")
        elif name in own or name in served:
            owner = own[name].location if name in own else f"the server {served[name].server}"
            problems.append(
                f"The tool {name} of MCP server {tool.server} is left out: {owner} owns the name."
            )
        else:
            served[name] = tool
    return served


def _unusable(tool: Tool) -> str | None:
    """Why no model could call it; None when one can."""
    try:
        Tools((tool,))
    except ValueError as error:
        return str(error)
    return None


def _function_row(function: FunctionSkill, enabled: bool) -> CatalogSkill:
    tool = function.tool
    metadata = {**_contract(tool), **_known(category=tool.category, examples=list(tool.examples))}
    return CatalogSkill(
        tool.spec.name,
        "function",
        tool.spec.description,
        function.location,
        function.source,
        enabled,
        metadata,
    )


def _server_row(tool: ServerTool, enabled: bool) -> CatalogSkill:
    spec = tool.spec
    location = spec.name.removeprefix(f"mcp__{tool.server}__")
    return CatalogSkill(spec.name, "mcp", spec.description, location, tool.server, enabled, _contract(tool))


def _markdown_row(name: str, skill: MarkdownSkill, enabled: bool, tools: Collection[str]) -> CatalogSkill:
    diagnostics = list(skill.diagnostics)
    if skill.allowed_tools and not any(skill.allows(tool) for tool in tools):
        diagnostics.append(
            f"it allows no tool that there is: after reading it only {READ_SKILL} can be called"
        )
    if (cost := estimate_tokens(f"- {name}")) > TOKENS_PER_SKILL:
        diagnostics.append(
            f"its name alone takes about {cost} tokens, more than {TOKENS_PER_SKILL}: the model is not told "
            "its description. Shorten it"
        )
    metadata = {
        "digest": skill.digest,
        **_known(
            license=skill.license,
            compatibility=skill.compatibility,
            metadata=dict(skill.metadata),
            diagnostics=diagnostics,
        ),
    }
    if skill.allowed_tools is not None:  # an empty list means that none is allowed
        metadata["allowed_tools"] = list(skill.allowed_tools)
    return CatalogSkill(name, "markdown", skill.description, skill.location, skill.tier, enabled, metadata)


def _contract(tool: Tool) -> dict[str, Any]:
    return {"parameters": tool.spec.input_schema, "effect": tool.effect}


def _known(**metadata: Any) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if value}


def _over_share(snapshot: SkillsSnapshot) -> list[str]:
    if not snapshot.without_description and not snapshot.left_out:
        return []
    return [
        f"The prompt has no room for the descriptions of {snapshot.without_description} written skills and "
        f"the names of {snapshot.left_out} more: raise GATEWAY_SKILLS_SHARE, or disable what is not needed."
    ]

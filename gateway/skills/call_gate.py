"""Read, then act: which calls the state of the written skills forbids."""

from collections.abc import Collection, Sequence
from typing import TypeAlias

from gateway.skills.catalog import Catalog
from gateway.skills.definition import allowed_by
from gateway.skills.skill import READ_SKILL, some_of
from gateway.tools.base import READ_ARTIFACT

_NAMED = 5  # skills or tools that a reason names


Active: TypeAlias = Collection[tuple[str, Sequence[str] | None]]
"""The written skills that a turn has read, each with the globs of tools that it allows; None: no limit. They
are those of its `skill` event: the definition that the model has read holds, also after an edit."""


def refusal(tool: str, catalog: Catalog, active: Active, only_with_skill: Collection[str]) -> str | None:
    """Why `tool` may not be called now, in words for the model; None when nothing speaks against it.

    `only_with_skill` are globs of tools that need an active skill which allows them. Each active skill can
    only narrow: a tool must be allowed by all of those that name any. read_skill may always be called, and so
    may read_artifact: what an allowed tool gave must not be out of reach because it is long. An unknown name
    is left to the registry.
    """
    if tool in {READ_SKILL, READ_ARTIFACT}:
        return None
    return (
        _no_tool(tool, catalog)
        or _needs_skill(tool, catalog, active, only_with_skill)
        or _narrowed(tool, active)
    )


def _no_tool(tool: str, catalog: Catalog) -> str | None:
    if tool in catalog.tools:
        return None
    found = catalog.find(tool) or catalog.find_written(tool)
    if found is not None and not found.enabled:
        return f"{found.name} is switched off, so it cannot be used."
    if found is not None:
        return (
            f"{found.name} is a written skill, not a tool: read it with {READ_SKILL}(name={found.name!r}) "
            "first, then follow it with the tools you have."
        )
    return None


def _needs_skill(tool: str, catalog: Catalog, active: Active, only_with_skill: Collection[str]) -> str | None:
    if not allowed_by(only_with_skill, tool) or any(allowed_by(globs or (), tool) for _, globs in active):
        return None
    allowing = [name for name, skill in catalog.written.items() if skill.allows(tool)]
    if not allowing:
        return f"{tool} may be called only while a skill that allows it is active, and none here does."
    return (
        f"{tool} may be called only while a skill that allows it is active. Read one with {READ_SKILL} "
        f"first: {some_of(allowing, _NAMED)}."
    )


def _narrowed(tool: str, active: Active) -> str | None:
    for name, globs in active:
        if globs is not None and not allowed_by(globs, tool):
            allowed = some_of(globs, _NAMED) or f"none but {READ_SKILL}"
            return f"The skill {name}, which this turn follows, does not allow {tool}. It allows: {allowed}."
    return None

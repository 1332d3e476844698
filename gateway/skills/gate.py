"""Read, then act: which calls the state of the written skills forbids."""

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

from gateway.skills.catalog import Catalog
from gateway.skills.skill import READ_SKILL

_NAMED = 5  # skills or tools that a reason names


def refusal(
    tool: str, catalog: Catalog, active: Sequence[str], only_with_skill: Collection[str]
) -> str | None:
    """Why `tool` may not be called now, in words for the model; None when nothing speaks against it.

    `active` are the names of the written skills that this turn has read, `only_with_skill` globs of tools
    that need one which allows them. Each active skill can only narrow: a tool must be allowed by all of those
    that name any, and one that is there no more allows none. read_skill itself may always be called. A name
    that nobody knows is left to the registry.
    """
    if tool == READ_SKILL:
        return None
    return (
        _no_tool(tool, catalog)
        or _needs_skill(tool, catalog, active, only_with_skill)
        or _narrowed(tool, catalog, active)
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


def _needs_skill(
    tool: str, catalog: Catalog, active: Sequence[str], only_with_skill: Collection[str]
) -> str | None:
    if not any(fnmatchcase(tool, glob) for glob in only_with_skill):
        return None
    allowing = [name for name, skill in catalog.written.items() if skill.allows(tool)]
    if any(name in active for name in allowing):
        return None
    if not allowing:
        return f"{tool} may be called only while a skill that allows it is active, and there is none."
    return (
        f"{tool} may be called only while a skill that allows it is active. Read one with {READ_SKILL} "
        f"first: {_some(allowing)}."
    )


def _narrowed(tool: str, catalog: Catalog, active: Sequence[str]) -> str | None:
    for name in active:
        skill = catalog.written.get(name)
        if skill is None:
            return (
                f"The skill {name[:64]}, which this turn follows, is there no more, so it is not known what "
                f"it allows: only {READ_SKILL} may be called. Tell the person."
            )
        if skill.allowed_tools is not None and not skill.allows(tool):
            allowed = _some(skill.allowed_tools) or f"none but {READ_SKILL}"
            return f"The skill {name}, which this turn follows, does not allow {tool}. It allows: {allowed}."
    return None


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more

"""The names of written skills when several want the same one."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path

from gateway.skills.definition import MAX_REFERENCE, TIERS, MarkdownSkill
from gateway.skills.files import digest_of

MARKED = "md:"
"""Before the name of a written skill whose bare name is a tool's."""


def named(
    written: Iterable[MarkdownSkill], tools: Collection[str]
) -> tuple[dict[str, MarkdownSkill], list[str]]:
    """Every written skill by its name in the catalog, and a warning for each conflict.

    A tool owns its bare name, and a written skill of that name becomes `md:name`. Among written ones the
    project's comes before the user's and that before the bundled one, within a tier the first by location.
    Those that lose are called `name@tier`, or `name@tier-2` and so on when that is taken; copies of a
    stronger one that are byte-identical with all their files, which are looked at where two SKILL.md are the
    same, are left out silently. No order of `written` makes a difference.
    """
    same_name: defaultdict[str, list[MarkdownSkill]] = defaultdict(list)
    kept: defaultdict[tuple[str, str], list[MarkdownSkill]] = defaultdict(list)
    beside: dict[Path, str | None] = {}
    for skill in sorted(written, key=lambda each: (each.name, TIERS.index(each.tier), each.location)):
        same_text = kept[skill.name, skill.digest]
        if not any(_same_files(skill, stronger, beside) for stronger in same_text):
            same_text.append(skill)
            same_name[skill.name].append(skill)
    names: dict[str, MarkdownSkill] = {}
    warnings: list[str] = []
    for name, (winner, *losers) in same_name.items():
        names[MARKED + name if name in tools else name] = winner
        if name in tools:
            warnings.append(f"The {_place(winner)} is called {MARKED}{name}: a tool owns the name {name}.")
        for loser in losers:
            called = _free(f"{name}@{loser.tier}", names)
            names[called] = loser
            warnings.append(f"The {_place(loser)} is called {called}: the {_place(winner)} comes first.")
    return names, warnings


def _same_files(one: MarkdownSkill, other: MarkdownSkill, known: dict[Path, str | None]) -> bool:
    for skill in (one, other):
        if skill.folder not in known:
            known[skill.folder] = digest_of(skill.folder, MAX_REFERENCE, skill.root)
    return known[one.folder] is not None and known[one.folder] == known[other.folder]


def _free(name: str, taken: Collection[str]) -> str:
    """`name`, or the first of name-2, name-3, … that is not taken."""
    called, number = name, 1
    while called in taken:
        number += 1
        called = f"{name}-{number}"
    return called


def _place(skill: MarkdownSkill) -> str:
    return f"{skill.tier} skill {skill.location}"

"""The folders that written skills are found in, one for each tier.

A skill is a folder with a SKILL.md, at most DEPTH folders down; what lies below it belongs to that skill.
Hidden folders and links to folders are not entered.
"""

import os
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from gateway.files.confined_read import State, state_at
from gateway.skills.definition import SKILL_FILE, TIERS, MarkdownSkill, Tier, read_definition
from gateway.skills.files import NotNow

DEPTH, MAX_FOLDERS, MAX_SKILLS = 4, 2000, 1000
"""How far down a tier's folder is looked into, at how many folders, and for how many skills."""
MAX_ENTRIES = 10_000
"""Entries of one folder that are looked at."""
MAX_WARNINGS = 100

_SKIPPED = frozenset({"node_modules", "__pycache__"})


@dataclass(frozen=True, slots=True, eq=False)
class FoundSkills:
    """The written skills, the strongest tier first and by location within, and what could not be used."""

    skills: tuple[MarkdownSkill, ...] = ()
    warnings: tuple[str, ...] = ()


class SkillFolders:
    """Not for use by several threads at once."""

    def __init__(self, folders: Mapping[Tier, Path | None]) -> None:
        self._folders: dict[Tier, Path] = {
            tier: folder for tier in TIERS if (folder := folders.get(tier)) is not None
        }
        self._read: dict[tuple[Tier, str], _Reading] = {}
        self._last = FoundSkills()

    def scan(self) -> FoundSkills:
        """The contents now; the same object as before when nothing has changed. A file is read again only
        when its state (times, size, inode) is another, so that a look costs a listing per folder and a stat
        per SKILL.md. An absent folder is an empty one. Never raises: what cannot be used is a warning."""
        read: dict[tuple[Tier, str], _Reading] = {}
        warnings: list[str] = []
        for tier, folder in self._folders.items():
            look = _walk(folder)
            warnings += [f"{tier} skills: {warning}" for warning in look.warnings]
            for location, state in sorted(look.files.items()):
                known = self._read.get((tier, location))
                if known is None or known.state != state:
                    known = _read(tier, folder, location, state)
                read[tier, location] = known
        self._read = read
        for (tier, location), reading in read.items():
            if reading.skill is None:
                warnings.append(f"{tier} skills: {location} cannot be used: {reading.problem}.")
        skills = tuple(reading.skill for reading in read.values() if reading.skill is not None)
        shown = tuple(warnings[:MAX_WARNINGS])
        if (skills, shown) != (self._last.skills, self._last.warnings):
            self._last = FoundSkills(skills, shown)
        return self._last


@dataclass(frozen=True, slots=True)
class _Reading:
    """A SKILL.md as it was read in a certain state: the skill, or why there is none."""

    state: State | None  # None: to be read again the next time
    skill: MarkdownSkill | None
    problem: str = ""


@dataclass(slots=True)
class _Look:
    """What a walk through one folder saw: each SKILL.md with its state."""

    files: dict[str, State] = field(default_factory=dict[str, State])
    warnings: list[str] = field(default_factory=list[str])


def bundled_folder() -> Path:
    """Where the skills that come with the gateway are."""
    return Path(__file__).parent / "bundled"


def _read(tier: Tier, root: Path, location: str, state: State) -> _Reading:
    folder = root / Path(location).parent
    try:
        return _Reading(state, read_definition(folder, root).as_skill(tier, folder, location))
    except NotNow as error:
        return _Reading(None, None, str(error))
    except ValueError as error:
        return _Reading(state, None, str(error))


def _walk(root: Path) -> _Look:
    """Breadth first and by name, so that it is always the same files that stay within the limits."""
    look, waiting, entered = _Look(), deque([("", 0)]), 0
    while waiting:
        prefix, depth = waiting.popleft()
        entered += 1
        if entered > MAX_FOLDERS:
            look.warnings.append(f"there are more than {MAX_FOLDERS} folders: the rest is left out.")
            break
        try:
            entries = _entries(root / prefix)
        except FileNotFoundError:
            continue
        except OSError as error:
            look.warnings.append(f"{prefix or 'the folder'} cannot be listed: {error.strerror}.")
            continue
        if SKILL_FILE in entries and prefix:
            if len(look.files) == MAX_SKILLS:
                look.warnings.append(f"there are more than {MAX_SKILLS} skills: the rest is left out.")
                break
            look.files[prefix + SKILL_FILE] = state_at(entries[SKILL_FILE])
            continue
        if SKILL_FILE in entries:
            look.warnings.append(f"{SKILL_FILE} must lie in a folder of its own, named like the skill.")
        if depth < DEPTH:
            inner = [name for name in sorted(entries) if _is_entered(entries[name], prefix, root, look)]
            waiting.extend((f"{prefix}{name}/", depth + 1) for name in inner)
    return look


def _entries(folder: Path) -> dict[str, os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return {entry.name: entry for entry in islice(entries, MAX_ENTRIES)}


def _is_entered(entry: os.DirEntry[str], prefix: str, root: Path, look: _Look) -> bool:
    if entry.name.startswith(".") or entry.name in _SKIPPED or not _is_folder(entry):
        return False
    if not entry.name.isprintable():
        look.warnings.append(f"{prefix}{entry.name!a} has a name that cannot be shown: not looked into.")
        return False
    if entry.is_symlink():  # a folder within the root is found where it is
        if not Path(entry.path).resolve().is_relative_to(root.resolve()):
            look.warnings.append(
                f"{prefix}{entry.name} is a link that leads out of the folder: not followed."
            )
        return False
    return True


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False

"""Functions that become skills: those of the modules that settings name, and of installed packages."""

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from gateway.errors import SettingsError
from gateway.skills.skill import FunctionSkill
from gateway.tools.base import FunctionTool

ENTRY_POINTS = "gateway.skills"
"""The group of entry points (packaging.python.org, "Entry points specification") by which a package brings
its tools along: each names a module, a tool, or a list of tools."""

_WHY_LENGTH = 300


def load_functions(modules: Sequence[str]) -> tuple[list[FunctionSkill], list[str]]:
    """The tools of `modules`, which may stand in the working directory, and of installed packages; and
    warnings. A module's tools come in the order of their names there. A tool that is met again is not a
    second one; two of one name are the catalog's matter.

    Raises:
        errors.SettingsError: one of `modules` cannot be imported.
    """
    found: list[FunctionSkill] = []
    warnings: list[str] = []
    here = str(Path.cwd())
    if modules and here not in sys.path:
        sys.path.append(here)
    for name in modules:
        try:
            found += (tools := list(_of_module(import_module(name))))
        except (Exception, SystemExit) as error:
            raise SettingsError(
                f"GATEWAY_SKILL_MODULES names {name}, which cannot be imported: {_why(error)}"
            ) from error
        if not tools:
            warnings.append(f"The module {name} has no tools: decorate its functions with @tool.")
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: (entry.name, entry.value)):
        try:
            found += _of_entry(entry.load(), entry.module, entry.value)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a package that breaks must not stop the others
            warnings.append(f"The tools of {entry.value} are left out: {_why(error)}")
    once: dict[int, FunctionSkill] = {}
    for skill in found:
        once.setdefault(id(skill.tool), skill)
    return list(once.values()), warnings


def _of_module(module: ModuleType) -> Iterator[FunctionSkill]:
    name = module.__name__
    for attribute, value in sorted(vars(module).items()):
        if isinstance(value, FunctionTool):
            yield FunctionSkill(value, name, f"{name}:{attribute}")


def _of_entry(loaded: object, module: str, value: str) -> list[FunctionSkill]:
    """Raises TypeError for what is none of the three."""
    match loaded:
        case ModuleType():
            return list(_of_module(loaded))
        case FunctionTool():
            return [FunctionSkill(loaded, module, value)]
        case list() | tuple() if all(isinstance(each, FunctionTool) for each in loaded):
            return [FunctionSkill(each, module, f"{value}[{place}]") for place, each in enumerate(loaded)]
        case _:
            raise TypeError("it is neither a module nor a tool nor a list of tools")


def _why(error: BaseException) -> str:
    reason = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {reason}"[:_WHY_LENGTH]

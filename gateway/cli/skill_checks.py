"""Checks of `gateway skills check`."""

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from gateway import wiring
from gateway.cli.findings import Finding
from gateway.settings import Settings
from gateway.skills.definition import SKILL_FILE, read_definition
from gateway.skills.folders import SkillFolders
from gateway.skills.skill import READ_SKILL
from gateway.skills.template import template


def check_skills(path: Path, settings: Settings, *, lenient: bool) -> list[Finding]:
    """At least one finding for each SKILL.md at or below `path`: a skill's folder, its SKILL.md, or a folder
    of skills. With `lenient` only what makes a skill unusable is bad.

    Raises:
        SettingsError: a module with tools that settings name cannot be used.
    """
    if path.is_file() and path.name != SKILL_FILE:
        return [Finding("bad", str(path), f"it must be called {SKILL_FILE}")]
    folder = path.parent if path.is_file() else path
    functions, _ = wiring.find_functions(settings)
    tools = {READ_SKILL, *wiring.TAKEN, *(each.tool.spec.name for each in functions)}
    checks = _Checks(tools, settings.mcp_servers, lenient)
    if (folder / SKILL_FILE).exists():
        return list(checks.of(folder))
    found = SkillFolders({"project": folder}).scan()
    problems = [warning.removeprefix("project skills: ") for warning in found.warnings]
    findings = [Finding("bad", str(path), problem) for problem in problems]
    for skill in found.skills:
        findings += checks.of(skill.folder)
    return findings or [
        Finding("bad", str(path), f"there is no {SKILL_FILE} in it. `gateway skills new` writes one")
    ]


class _Checks:
    """The checks of one skill, in a gateway with these tools and servers."""

    def __init__(self, tools: Collection[str], servers: Collection[str], lenient: bool) -> None:
        self._tools = tools
        self._servers = servers
        self._lenient = lenient

    def of(self, folder: Path) -> Iterator[Finding]:
        file = str(folder / SKILL_FILE)
        try:
            definition = read_definition(folder.resolve())  # "." is no name
        except ValueError as error:
            yield Finding("bad", file, str(error))
            return
        notes = [*definition.advice, *self._unknown(definition.allowed_tools or ())]
        if definition.description in template(definition.name):
            notes.append("the description is still the template's: say what it does, and when to use it")
        if not definition.problems and not notes:
            yield Finding("good", file, f"{definition.name} is as the specification has it")
        for problem in definition.problems:
            yield Finding("warning" if self._lenient else "bad", file, problem)
        for note in notes:
            yield Finding("warning", file, note)

    def _unknown(self, allowed: Collection[str]) -> Iterator[str]:
        """Finds names that are no tool here. Which tools an MCP server has is not known before it is
        started."""
        for entry in allowed:
            kind, _, rest = entry.partition("__")
            if kind == "mcp" and rest:
                server = rest.partition("__")[0]
                if not any(fnmatchcase(name, server) for name in self._servers):
                    yield f"allowed-tools: {entry} is of no MCP server in GATEWAY_MCP_SERVERS"
            elif not any(fnmatchcase(tool, entry) for tool in self._tools):
                close = get_close_matches(entry, self._tools, n=1)
                advice = (
                    f"did you mean {close[0]}?" if close else "`gateway tools list` shows those there are"
                )
                yield f"allowed-tools: {entry} is no tool of this gateway: {advice}"

"""A written skill: a folder with a SKILL.md, as the Agent Skills specification (agentskills.io) has it.

Files from elsewhere are read leniently, as the specification's guide for clients asks: what can be mended is
mended and noted, and only a file without description or readable front matter is refused.
"""

import hashlib
import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from gateway.files.front_matter import Value, parse, quoted, split
from gateway.lexical import estimate_tokens
from gateway.skills.files import as_text, read_inside
from gateway.tools.wrapping import visible

Tier = Literal["project", "user", "bundled"]
"""Where written skills come from, the strongest first."""
TIERS: tuple[Tier, ...] = ("project", "user", "bundled")

SKILL_FILE = "SKILL.md"
MAX_FILE_SIZE = 1_048_576
"""Bytes of a SKILL.md; of a larger one nothing is read."""
MAX_REFERENCE = 262_144
"""Bytes of a file beside it that can be read."""

# Lengths as in the specification.
MAX_NAME, MAX_DESCRIPTION, MAX_COMPATIBILITY = 64, 1024, 500
ADVISED_LINES, ADVISED_TOKENS = 500, 5000
MAX_TOOLS = 100
"""Entries of allowed-tools."""
MAX_PROBLEMS = 20
"""Problems of one file that are listed."""

_KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_WORD = re.compile(r"[^\W_]+")
_TOOL = re.compile(r"[^\s,()]*\([^)]*\)?|[^\s,()]+")
_TOOL_GLOB = re.compile(r"[A-Za-z0-9_*?\[\]!-]{1,128}")


@dataclass(frozen=True, slots=True)
class MarkdownSkill:
    """The fields of SKILL.md. `allowed_tools` are globs of tool names, None when the file has none; `digest`
    is the SHA-256 of the file in hex. `folder` never reaches the model: it reads `location`, which is
    relative to the tier's folder."""

    name: str
    description: str
    tier: Tier
    folder: Path
    location: str
    digest: str
    allowed_tools: tuple[str, ...] | None = None
    license: str | None = None
    compatibility: str | None = None
    metadata: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    diagnostics: tuple[str, ...] = ()

    def allows(self, tool: str) -> bool:
        """Whether its allowed-tools name `tool`. A skill without them names none."""
        return allowed_by(self.allowed_tools or (), tool)

    @property
    def root(self) -> Path:
        """The tier's folder."""
        above = len(Path(self.location).parent.parts)
        return self.folder.parents[above - 1] if above else self.folder

    @property
    def switched_as(self) -> str:
        """The name under which it is switched off: its tier and where it stands there."""
        return f"{self.tier}/{self.location}"


@dataclass(frozen=True, slots=True)
class Definition:
    """A SKILL.md that can be used. `problems` are what the specification forbids, `advice` what it advises
    against; both are sentences for the author."""

    name: str
    description: str
    body: str
    digest: str
    allowed_tools: tuple[str, ...] | None
    license: str | None
    compatibility: str | None
    metadata: Mapping[str, str]
    problems: tuple[str, ...]
    advice: tuple[str, ...]

    def as_skill(self, tier: Tier, folder: Path, location: str) -> MarkdownSkill:
        return MarkdownSkill(
            name=self.name,
            description=self.description,
            tier=tier,
            folder=folder,
            location=location,
            digest=self.digest,
            allowed_tools=self.allowed_tools,
            license=self.license,
            compatibility=self.compatibility,
            metadata=self.metadata,
            diagnostics=(*self.problems, *self.advice),
        )


def allowed_by(globs: Collection[str], tool: str) -> bool:
    """Whether one of the globs of tool names fits `tool`."""
    return any(fnmatchcase(tool, glob) for glob in globs)


def read_definition(folder: Path, root: Path | None = None) -> Definition:
    """The SKILL.md in `folder` as it is now, leniently. It is strictly valid when it has no `problems`. With
    a `root`, no link may lie on the way from there to `folder`.

    Raises:
        ValueError: it cannot be used; the message has the reason, without an absolute path. NotNow, which is
            one: it could not be read just now.
    """
    content = read_inside(folder, SKILL_FILE, MAX_FILE_SIZE, root)
    head, body = split(as_text(content))
    problems: list[str] = []
    fields = _Fields(_mapping(head, problems), problems)
    name = _name(fields.text("name"), unicodedata.normalize("NFKC", folder.name), problems)
    description = fields.text("description", MAX_DESCRIPTION)
    if description is None:
        raise ValueError("it has no description, so nobody could know when to use it")
    license_, compatibility = fields.text("license"), fields.text("compatibility", MAX_COMPATIBILITY)
    metadata, allowed_tools = fields.metadata(), fields.allowed_tools()
    problems += [
        f"{key[:64]} is no field of the specification and is ignored"
        for key in fields.given
        if key not in _KEYS
    ]
    return Definition(
        name=name,
        description=description,
        body=body,
        digest=hashlib.sha256(content).hexdigest(),
        allowed_tools=allowed_tools,
        license=license_,
        compatibility=compatibility,
        metadata=MappingProxyType(metadata),
        problems=tuple(problems[:MAX_PROBLEMS]),
        advice=tuple(_advice(body)),
    )


def check(folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The problems of a skill under the strict rules, and advice. Never raises."""
    try:
        definition = read_definition(folder)
    except ValueError as error:
        return (str(error),), ()
    return definition.problems, definition.advice


def name_problem(name: str) -> str | None:
    """Why `name`, in Unicode form NFKC, cannot be a skill's name; None when it can. Letters and digits of any
    script count, as in the specification's reference implementation (skills-ref)."""
    if not 1 <= len(name) <= MAX_NAME:
        return f"must have 1 to {MAX_NAME} characters"
    if name != name.lower():
        return "must be lower case"
    if not all(character.isalnum() or character == "-" for character in name):
        return "may have letters, digits and hyphens only"
    if name.startswith("-") or name.endswith("-") or "--" in name:
        return "must not begin or end with a hyphen, nor have two in a row"
    return None


class _Fields:
    """The front matter, field by field; what is wrong with one goes to `problems`."""

    def __init__(self, given: Mapping[str, Value], problems: list[str]) -> None:
        self.given = given
        self._problems = problems

    def text(self, key: str, most: int | None = None) -> str | None:
        """The field in one piece of at most `most` characters; None when it is absent or empty."""
        value = self.given.get(key, "")
        if not isinstance(value, str):
            self._problems.append(f"{key} must be text")
            return None
        value = visible(value).strip()
        if most is not None and len(value) > most:
            self._problems.append(f"{key} has {len(value)} characters, more than {most}: the rest is cut")
            value = value[:most]
        return value or None

    def metadata(self) -> dict[str, str]:
        value = self.given.get("metadata") or {}
        if not isinstance(value, dict):
            self._problems.append("metadata must be a list of `key: value` lines")
            return {}
        texts = {key: visible(each) for key, each in value.items() if isinstance(each, str)}
        self._problems += [f"metadata.{key[:64]} must be text" for key in value if key not in texts]
        return texts

    def allowed_tools(self) -> tuple[str, ...] | None:
        """An entry that this gateway cannot hold a call to is dropped, and so allows nothing."""
        value = self.given.get("allowed-tools")
        if value is None:
            return None
        if isinstance(value, list):
            self._problems.append("allowed-tools must be one text with spaces between the names, not a list")
            value = " ".join(item for item in value if isinstance(item, str))
        if not isinstance(value, str):
            self._problems.append("allowed-tools must be text: no tool is allowed")
            return ()
        if "," in re.sub(r"\([^)]*\)?", "", value):
            self._problems.append("allowed-tools has commas: put spaces between the names")
        entries = _TOOL.findall(value)
        usable = tuple(entry for entry in entries if _TOOL_GLOB.fullmatch(entry))
        self._problems += [_unusable(entry) for entry in entries[:MAX_TOOLS] if entry not in usable]
        if not entries or len(usable) > MAX_TOOLS:
            fault = "is empty: no tool is allowed" if not entries else f"has more than {MAX_TOOLS} entries"
            self._problems.append(f"allowed-tools {fault}")
        return usable[:MAX_TOOLS]


def _unusable(entry: str) -> str:
    if "(" in entry:
        return f"allowed-tools: {entry[:64]} allows nothing: limits of a tool's arguments cannot be kept here"
    return f"allowed-tools: {entry[:64]} allows nothing: it is no tool's name"


def _mapping(head: str, problems: list[str]) -> Mapping[str, Value]:
    try:
        return parse(head)
    except ValueError as error:
        try:
            given = parse(quoted(head))
        except ValueError:
            raise error from None
        problems.append(f"{error}: put quotes around a value that has a colon")
        return given


def _name(given: str | None, folder: str, problems: list[str]) -> str:
    """The name, mended when it has to be."""
    if given is None:
        problems.append("name is missing: the folder's is taken")
    name = visible(unicodedata.normalize("NFKC", given or folder))
    if fault := name_problem(name):
        name = "-".join(_WORD.findall(name.lower()))[:MAX_NAME].strip("-")
        if name_problem(name):
            raise ValueError(f"its name {fault}")
        problems.append(f"name {fault}: it is called {name}")
    elif name != folder:
        problems.append(f"name differs from the folder's, which is {folder[:MAX_NAME]}")
    return name


def _advice(body: str) -> list[str]:
    lines, tokens = body.count("\n") + 1, estimate_tokens(body)
    advice: list[str] = []
    if hidden := len(body) - len(visible(body)):
        advice.append(f"the body has {hidden} invisible characters, which the model is not shown")
    if not body:
        advice.append("the body is empty: say what to do, step by step")
    if lines > ADVISED_LINES:
        advice.append(f"the body has {lines} lines, more than {ADVISED_LINES}: move parts to references/")
    if tokens > ADVISED_TOKENS:
        advice.append(
            f"the body has about {tokens} tokens, more than {ADVISED_TOKENS}: move parts to references/"
        )
    return advice

"""What comes before the messages of a session: tools, components, skills, memories, former sessions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Self

import orjson

from gateway.bounded_dict import BoundedDict
from gateway.history.tokens import overhead_of
from gateway.lexical import estimate_tokens
from gateway.messages import ToolSpec
from gateway.prompt.components import Components, PromptFolder
from gateway.prompt.prompt_profile import (
    COMPONENTS_SHARE,
    Offered,
    Profile,
    is_too_large,
    offered,
    room_in,
    small_window,
)
from gateway.prompt.system_prompt import Prefix, PromptLimits, prefix_of
from gateway.settings import Settings
from gateway.skills.catalog import Catalog
from gateway.skills.skill import READ_SKILL
from gateway.storage.messages import History
from gateway.tools.base import Tool
from gateway.tools.client_tools import ClientTool
from gateway.tools.registry import Tools
from gateway.turn.dependencies import TurnDependencies

NEW_SESSION = History([])
MEMORIES_SHARE, MIN_MEMORIES = 16, 100
"""Memories may take one of so many parts of a small window, or so many tokens."""
MIN_COMPONENTS = 300
"""Tokens that components may take in the smallest of windows: the bundled short ones need no more."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prompt components and the skills as they were when a turn began; the rest of a prompt belongs to
    the session's history. `limits` are those of the system prompt, `skills` is the part of the prompt about
    the catalog, `client_tools` are the tools that the user's client runs. `offers_tools` is False for a
    model of which the endpoint says that it calls none: it is offered none, and is told of no skills.
    `profile` is the form of it all, `policy` denies tools, `window` is the model's where that is small and
    the form is, and `room` what it leaves for tools, as they are estimated (None: as much as they take)."""

    components: Components
    catalog: Catalog
    skills: str
    limits: PromptLimits
    read_archive: Tool
    client_tools: Tools
    offers_tools: bool = True
    profile: Profile = "full"
    policy: tuple[str, ...] = ()
    window: int | None = None
    room: int | None = None

    @classmethod
    def read(
        cls, deps: TurnDependencies, client_tools: Sequence[ToolSpec] = (), *, model: str | None = None
    ) -> Self:
        """As files and catalog are now, for `model` (None: the default one). Of the `client_tools` those are
        left out whose names the catalog has got meanwhile."""
        settings: Settings = deps.settings
        catalog = deps.skills.catalog
        offers_tools = model is None or deps.model.facts.of(model).tools is not False
        full = cls(
            deps.prompts.read(),
            catalog,
            catalog.snapshot if settings.skills_in_prompt and offers_tools else "",
            PromptLimits(settings.prompt_tokens, settings.instructions_tokens),
            deps.read_archive,
            Tools(ClientTool(spec) for spec in client_tools if spec.name not in catalog.tools),
            offers_tools,
            policy=tuple(settings.tool_policy),
        )
        if settings.prompt_profile == "full":
            return full
        window = small_window(settings, deps.model.facts, model or settings.model)
        if settings.prompt_profile == "auto" and (window is None or not full.is_too_large(window)):
            return full
        has_skills = settings.skills_in_prompt and offers_tools
        return full.short(deps.prompts, window, has_skills=has_skills)

    def is_too_large(self, window: int) -> bool:
        """Whether the prompt of a new session takes too much of a model's `window`."""
        new = self.prefix(NEW_SESSION)
        return is_too_large(window, size_of(new))

    def short(self, folder: PromptFolder, window: int | None, *, has_skills: bool) -> Self:
        """The short form, for a small `window`; None: nobody knows how small."""
        room, limits = None, self.limits
        if window is not None:
            most = room_in(window)
            limits = PromptLimits(
                min(limits.total_tokens, max(most // COMPONENTS_SHARE, MIN_COMPONENTS)),
                min(limits.instructions_tokens, most),
            )
        short = replace(
            self,
            components=folder.read(short=True),
            skills=self.catalog.short_snapshot if has_skills else "",
            limits=limits,
            profile="small",
            window=window,
        )
        if window is not None:
            bare = replace(short, skills="", room=0, client_tools=Tools())
            room = max(0, room_in(window) - size_of(bare.prefix(NEW_SESSION, compressed=True)))
        return replace(short, room=room)

    @property
    def memory_tokens(self) -> int | None:
        """The most tokens of memories in the prompt, and with a message, beside what is set for them."""
        return None if self.window is None else max(MIN_MEMORIES, self.window // MEMORIES_SHARE)

    def tools(self, *, compressed: bool) -> Tools:
        """What may be called in a session: what was compressed can be looked up."""
        if not self.offers_tools:
            return Tools(())
        more = [*self.client_tools, *([self.read_archive] if compressed else ())]
        return self.catalog.tools.plus(*more) if more else self.catalog.tools

    def offered(self) -> Offered:
        """The tools that the model is told of, but `read_archive`."""
        tools, room = self.tools(compressed=False), self.room
        if room is None:
            return offered(tools, self.policy, self.profile, None)
        # The list of skills comes and goes with the tool that reads them.
        if self.skills:
            left = max(0, room - estimate_tokens(self.skills))
            found = offered(tools, self.policy, self.profile, left)
            if found.has(READ_SKILL):
                return found
        return offered(tools, self.policy, self.profile, room, unless=READ_SKILL)

    def prefix(self, history: History, *, compressed: bool | None = None) -> Prefix:
        """What comes before the messages of a session: as it is, or as if it were `compressed` or not."""
        compressed = history.compression is not None if compressed is None else compressed
        told = self.offered()
        specs = told.specs
        if compressed and self.offers_tools:
            archive = offered(_alone(self.read_archive), self.policy, self.profile, None)
            specs = (*specs, *archive.specs)
        return prefix_of(
            self.components,
            tools=specs,
            skills=self.skills if told.has(READ_SKILL) else "",
            limits=self.limits,
            carried=history.carried,
            memories=history.memories.text if history.memories is not None else "",
            instructions=history.instructions,
        )

    def description(self) -> dict[str, str]:
        """Digests of the components and the catalog: where they differ, replicas prompt a model
        differently."""
        told = [self.catalog.snapshot, self.catalog.tools.specs()]
        offered = orjson.dumps(told, option=orjson.OPT_SORT_KEYS)
        components = orjson.dumps([(item.name, item.digest) for item in self.components.items])
        return {
            "prompts": sha256(components).hexdigest()[:12],
            "skills": sha256(offered).hexdigest()[:12],
        }

    def digests(self) -> dict[str, str]:
        """The components by name, and the skills, each with the beginning of its digest."""
        found = {item.name: item.digest[:12] for item in self.components.items}
        if self.skills and self.offered().has(READ_SKILL):
            found["skills"] = sha256(self.skills.encode()).hexdigest()[:12]
        return found


def size_of(prefix: Prefix) -> int:
    """The estimate, without any factor, of prompt and tools."""
    size = _sizes.get(prefix.prefix_hash)
    if size is None:
        size = _sizes[prefix.prefix_hash] = overhead_of(prefix.system, prefix.tools)
    return size


_sizes = BoundedDict[str, int](16)


_sets_of_one = BoundedDict[int, tuple[Tool, Tools]](4)


def _alone(tool: Tool) -> Tools:
    """A set of that tool, the same each time: what is made of it is remembered by the set."""
    found = _sets_of_one.get(id(tool))
    if found is None or found[0] is not tool:
        found = _sets_of_one[id(tool)] = (tool, Tools((tool,)))
    return found[1]

"""What comes before the messages of a session: tools, components, skills, memories, former sessions."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Self

import orjson

from gateway.messages import ToolSpec
from gateway.prompt.components import Components
from gateway.prompt.system_prompt import Prefix, PromptLimits, prefix_of
from gateway.settings import Settings
from gateway.skills.catalog import Catalog
from gateway.storage.messages import History
from gateway.tools.base import Tool
from gateway.tools.client_tools import ClientTool
from gateway.tools.registry import Tools
from gateway.turn.dependencies import TurnDependencies


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prompt components and the skills as they were when a turn began; the rest of a prompt belongs to
    the session's history. `limits` are those of the system prompt, `skills` is the part of the prompt about
    the catalog, `client_tools` are the tools that the user's client runs. `offers_tools` is False for a
    model of which the endpoint says that it calls none: it is offered none, and is told of no skills."""

    components: Components
    catalog: Catalog
    skills: str
    limits: PromptLimits
    read_archive: Tool
    client_tools: Tools
    offers_tools: bool = True

    @classmethod
    def read(
        cls, deps: TurnDependencies, client_tools: Sequence[ToolSpec] = (), *, model: str | None = None
    ) -> Self:
        """As files and catalog are now, for `model`. Of the `client_tools` those are left out whose names the
        catalog has got meanwhile."""
        settings: Settings = deps.settings
        catalog = deps.skills.catalog
        offers_tools = model is None or deps.model.facts.of(model).tools is not False
        tools = Tools(ClientTool(spec) for spec in client_tools if spec.name not in catalog.tools)
        return cls(
            deps.prompts.read(),
            catalog,
            catalog.snapshot if settings.skills_in_prompt and offers_tools else "",
            PromptLimits(settings.prompt_tokens, settings.instructions_tokens),
            deps.read_archive,
            tools,
            offers_tools,
        )

    def tools(self, *, compressed: bool) -> Tools:
        """What may be called in a session: what was compressed can be looked up."""
        if not self.offers_tools:
            return Tools(())
        more = [*self.client_tools, *([self.read_archive] if compressed else ())]
        return self.catalog.tools.plus(*more) if more else self.catalog.tools

    def prefix(self, history: History, *, compressed: bool | None = None) -> Prefix:
        """What comes before the messages of a session: as it is, or as if it were `compressed` or not."""
        compressed = history.compression is not None if compressed is None else compressed
        return prefix_of(
            self.components,
            tools=self.tools(compressed=compressed).specs(),
            skills=self.skills,
            limits=self.limits,
            carried=history.carried,
            memories=history.memories.text if history.memories is not None else "",
            instructions=history.instructions,
        )

    def description(self) -> dict[str, str]:
        """Digests of the components and the catalog: where they differ, replicas prompt a model
        differently."""
        specs = [asdict(spec) for spec in self.catalog.tools.specs()]
        offered = orjson.dumps([self.catalog.snapshot, specs], option=orjson.OPT_SORT_KEYS)
        components = orjson.dumps([(item.name, item.digest) for item in self.components.items])
        return {
            "prompts": sha256(components).hexdigest()[:12],
            "skills": sha256(offered).hexdigest()[:12],
        }

    def digests(self) -> dict[str, str]:
        """The components by name, and the skills, each with the beginning of its digest."""
        found = {item.name: item.digest[:12] for item in self.components.items}
        if self.skills:
            found["skills"] = sha256(self.skills.encode()).hexdigest()[:12]
        return found

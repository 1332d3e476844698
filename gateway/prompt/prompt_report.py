"""What an author may see of the prompt: the components with their limits, and the text the model gets."""

from collections.abc import Sequence
from itertools import groupby
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from gateway.history.tokens import overhead_of
from gateway.prompt.components import Component, Components, Source
from gateway.prompt.manifest import Layer
from gateway.prompt.prompt_profile import LeftOut, Profile, Why
from gateway.prompt.system_prompt import AnyLayer, Prefix, Section


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ComponentReport(_Shape):
    """One component: its file, its limits, and what became of it in the prompt."""

    name: str
    layer: Layer
    file: str
    source: Source = Field(
        description="`default` when the file is not in the prompts folder or unusable; `edited` when the "
        "operator has written something in its place."
    )
    text: str = Field(description="Cleaned, before it is cut.")
    digest: str = Field(description="SHA-256 of the text, in hex.")
    tokens: int = Field(description="Estimated size in the prompt.")
    tokens_before: int = Field(description="Estimated size before it was cut.")
    truncated: bool
    priority: int
    min_tokens: int
    max_tokens: int
    never_cut: bool


class PromptReport(_Shape):
    """All components in their order."""

    components: list[ComponentReport]
    profile: Profile = Field(description="Form of the prompt: `small` has the short variants.")
    tokens: int
    prefix_hash: str
    warnings: list[str]


class PartReport(_Shape):
    """What stands in a block: a component, the skills, or what is the session's alone."""

    name: str
    digest: str = Field(description="SHA-256 of the text before it was cut, in hex.")
    tokens: int = Field(description="Estimated size in the prompt.")
    tokens_before: int = Field(description="Estimated size before it was cut.")
    truncated: bool

    @classmethod
    def of(cls, section: Section) -> Self:
        return cls(**{name: getattr(section, name) for name in cls.model_fields})


class LayerText(_Shape):
    """A block of the system prompt, as the model gets it."""

    layer: AnyLayer
    text: str
    components: list[str]
    parts: list[PartReport] = Field(description="The components with their digests and sizes.")


class LeftOutTool(_Shape):
    """A tool that the model is not told of."""

    name: str
    why: Why = Field(description="`denied` by the tool policy; `no_room` in a quarter of the model's window.")


class PromptPreview(_Shape):
    """The assembled prompt by layer, and the names of its tools."""

    layers: list[LayerText]
    retrieved: str | None = Field(
        default=None, description="What the memory would add to the message that was given, at its end."
    )
    tools: list[str]
    tool_tokens: int = Field(description="Estimated size of the tools' descriptions and schemas.")
    left_out: list[LeftOutTool] = Field(description="Tools that the model is not told of.")
    profile: Profile = Field(description="Form of the prompt and the tools.")
    tokens: int
    prefix_hash: str
    warnings: list[str]


def describe(components: Components, prefix: Prefix, profile: Profile = "full") -> PromptReport:
    """The report on `components`, of which `prefix` was made."""
    sections = {section.name: section for section in prefix.sections}

    def report(item: Component) -> ComponentReport:
        section = sections[item.name]
        return ComponentReport(
            name=item.name,
            layer=item.layer,
            file=item.file,
            source=item.source,
            text=item.text,
            digest=item.digest,
            tokens=section.tokens,
            tokens_before=section.tokens_before,
            truncated=section.truncated,
            priority=item.priority,
            min_tokens=item.min_tokens,
            max_tokens=item.max_tokens,
            never_cut=item.fixed,
        )

    return PromptReport(
        components=[report(item) for item in components.items],
        profile=profile,
        tokens=prefix.tokens,
        prefix_hash=prefix.prefix_hash,
        warnings=list(prefix.warnings),
    )


def preview(
    prefix: Prefix,
    retrieved: str | None = None,
    *,
    profile: Profile = "full",
    left_out: Sequence[LeftOut] = (),
) -> PromptPreview:
    """The text that the model is given, layer by layer."""
    blocks = groupby(prefix.sections, key=lambda section: (section.layer, section.own))
    runs = [[*run] for _, run in blocks]
    return PromptPreview(
        layers=[
            LayerText(
                layer=run[0].layer,
                text=block["text"],
                components=[section.name for section in run],
                parts=[PartReport.of(section) for section in run],
            )
            for run, block in zip(runs, prefix.system, strict=True)
        ],
        retrieved=retrieved,
        tools=[tool.name for tool in prefix.tools],
        tool_tokens=overhead_of((), prefix.tools),
        left_out=[LeftOutTool(name=each.name, why=each.why) for each in left_out],
        profile=profile,
        tokens=prefix.tokens,
        prefix_hash=prefix.prefix_hash,
        warnings=list(prefix.warnings),
    )

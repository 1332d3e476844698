"""What an endpoint says of itself and of its models, as far as it has been asked. Pure: no I/O.

Whoever asks it fills this in; what nobody has said is None, and settings win over all of it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

ANTHROPIC = "anthropic"
"""The kind of Anthropic's own API."""

Lifecycle = Literal["active", "deprecated", "retired"]
STAGES: tuple[Lifecycle, ...] = ("active", "deprecated", "retired")


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of one model: tokens that it reads (with what it writes), the most tokens that it writes,
    whether it looks at images and PDFs, whether it calls tools, and the ways it takes to think
    ("enabled", "adaptive"); where its maker is with it, and the day (ISO) when it is to be retired."""

    context_window: int | None = None
    max_output: int | None = None
    images: bool | None = None
    pdfs: bool | None = None
    tools: bool | None = None
    thinking: frozenset[str] | None = None
    lifecycle: Lifecycle | None = None
    retires_at: str | None = None

    def over(self, other: "ModelFacts") -> "ModelFacts":
        """This, and what `other` knows where this knows nothing."""
        return ModelFacts(
            *(
                mine if (mine := getattr(self, name)) is not None else getattr(other, name)
                for name in self.__slots__
            )
        )


NOTHING = ModelFacts()


@dataclass(frozen=True, slots=True)
class Listed:
    """A model as an endpoint lists it. `is_loaded` None: the endpoint does not say; `chats` is False for
    models of embeddings and the like."""

    name: str
    facts: ModelFacts = NOTHING
    is_loaded: bool | None = None
    chats: bool = True


@dataclass(slots=True)
class EndpointFacts:
    """The knowledge about one endpoint: `kind` is the server behind it ("anthropic", "llama.cpp", "vllm",
    "ollama", …), `slots` how many requests it answers at once, `listed` the models that it lists. `any_model`
    is what holds for a name that is in no list, where one model answers to every name. `choice` is a sentence
    for the operator about which model is the default, where the settings do not say. It `is_asking` while the
    endpoint is asked for the first time: waiting for a moment may be worth it.

    What its refusals told, of models by name: those that `wants_thinking` of earlier turns back, those that
    `refuses_unsigned` thinking, and those that are `without_thinking`. `name` distinguishes it from other
    endpoints: a digest of its address. `adapted` is given a sentence for the operator when something was
    learned."""

    kind: str | None = None
    slots: int | None = None
    listed: tuple[str, ...] = ()
    models: dict[str, ModelFacts] = field(default_factory=dict[str, ModelFacts])
    any_model: ModelFacts = NOTHING
    choice: str | None = None
    is_asking: bool = False
    name: str | None = None
    wants_thinking: set[str] = field(default_factory=set[str])
    refuses_unsigned: set[str] = field(default_factory=set[str])
    without_thinking: set[str] = field(default_factory=set[str])
    adapted: Callable[[str], None] = lambda _: None

    def of(self, model: str) -> ModelFacts:
        """What is known of that model."""
        found = self.models.get(model)
        if found is None:
            found = self.models.get(f"{model}:latest", self.any_model)  # as Ollama completes a name
        return found

    def lists(self, model: str) -> bool:
        """Whether the model is among those that the endpoint lists."""
        return model in self.listed or f"{model}:latest" in self.listed

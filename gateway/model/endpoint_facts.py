"""What an endpoint says of itself and of its models, as far as it has been asked. Pure: no I/O.

Whoever asks it fills this in; what nobody has said is None, and settings win over all of it.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of one model: tokens that it reads (with what it writes), the most tokens that it writes,
    whether it looks at images and PDFs, whether it calls tools, and the ways it takes to think
    ("enabled", "adaptive")."""

    context_window: int | None = None
    max_output: int | None = None
    images: bool | None = None
    pdfs: bool | None = None
    tools: bool | None = None
    thinking: frozenset[str] | None = None


NOTHING = ModelFacts()


class EndpointFacts:
    """The knowledge about one endpoint: `kind` is the server behind it ("anthropic", "llama.cpp", "vllm",
    "ollama", …), `slots` how many requests it answers at once, `listed` the models that it lists. It
    `is_asking` while the endpoint is asked for the first time: waiting for a moment may be worth it.

    What its refusals told, of models by name: those that `wants_thinking` of earlier turns back, those that
    `refuses_unsigned` thinking, and those that are `without_thinking`. `name` distinguishes it from other
    endpoints: a digest of its address. `adapted` is given a sentence for the operator when something was
    learned."""

    def __init__(self) -> None:
        self.kind: str | None = None
        self.slots: int | None = None
        self.listed: tuple[str, ...] = ()
        self.models: dict[str, ModelFacts] = {}
        self.name: str | None = None
        self.wants_thinking: set[str] = set()
        self.refuses_unsigned: set[str] = set()
        self.without_thinking: set[str] = set()
        self.adapted: Callable[[str], None] = lambda _: None
        self.is_asking = False

    def of(self, model: str) -> ModelFacts:
        """What is known of that model."""
        return self.models.get(model, NOTHING)

"""How much a model reads and writes: as set, as its endpoint says, as the price list has it, or assumed; and
what an operator should know of it."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from gateway.model.endpoint_facts import ANTHROPIC, EndpointFacts, ModelFacts
from gateway.model.prices import DEFAULT_WINDOW, window_of
from gateway.settings import Settings

Source = Literal["setting", "endpoint", "price_list", "assumed"]
"""Who says it: the operator, the endpoint, the list of prices and models that comes with the gateway, or
nobody."""

OUTPUT_SHARE = 4
"""An answer may take one of so many parts of the window: the rest is for what the model reads."""
MIN_OUTPUT = 256
"""Tokens of an answer that are asked for in the smallest of windows."""
_INSTEAD = "choose another with GATEWAY_MODEL or GATEWAY_ALLOWED_MODELS."


@dataclass(frozen=True, slots=True)
class Limit:
    """A number of tokens, and who says it."""

    tokens: int
    source: Source


async def window(settings: Settings, model: str, facts: EndpointFacts | None = None) -> int:
    """The tokens that `model` can read at once: as set, as `facts` of its endpoint say, as known for it, or
    DEFAULT_WINDOW."""
    return (await window_limit(settings, model, facts)).tokens


async def window_limit(settings: Settings, model: str, facts: EndpointFacts | None = None) -> Limit:
    """As `window`, with who says it."""
    if settings.context_window is not None:
        return Limit(settings.context_window, "setting")
    if facts is not None and (said := facts.of(model).context_window) is not None:
        return Limit(said, "endpoint")
    # In a thread: the first time it loads a list of all models.
    listed = await asyncio.to_thread(window_of, model)
    return Limit(DEFAULT_WINDOW, "assumed") if listed is None else Limit(listed, "price_list")


def output_limit(settings: Settings, facts: ModelFacts) -> Limit:
    """The most tokens that a call of a model asks for: as set; else the default, or less where the model
    writes less or its window is small."""
    if "max_tokens" in settings.model_fields_set:
        return Limit(settings.max_tokens, "setting")
    most, window_ = settings.max_tokens, settings.context_window or facts.context_window
    if window_ is not None:
        most = min(most, max(window_ // OUTPUT_SHARE, MIN_OUTPUT))
    if facts.max_output is not None:
        most = min(most, facts.max_output)
    if settings.thinking_budget is not None:  # which is set, and a part of the answer
        most = max(most, min(settings.max_tokens, settings.thinking_budget + 1))
    return Limit(most, "assumed" if most == settings.max_tokens else "endpoint")


def notices(settings: Settings, facts: EndpointFacts) -> list[str]:
    """What an operator should know of the models that may be chosen, in sentences."""
    found = [facts.choice] if facts.choice is not None else []
    for model in settings.models:
        about = facts.of(model)
        if about.lifecycle == "retired":
            found.append(f"{model} is retired: {_INSTEAD}")
        elif about.lifecycle == "deprecated":
            when = f" and is to be retired on {about.retires_at}" if about.retires_at else ""
            found.append(f"{model} is deprecated{when}: {_INSTEAD}")
    return found


def unlisted(settings: Settings, facts: EndpointFacts) -> list[str]:
    """The models that may be chosen and are not listed by an endpoint that lists some. Proxies may know names
    that they do not list."""
    if not facts.listed or facts.kind == ANTHROPIC:  # which also takes names that are short for others
        return []
    return [model for model in settings.models if not facts.lists(model)]

"""What genai-prices knows of models by its own list: what a call costs, how much they can read at once.
Nothing is ever fetched."""

import asyncio
from functools import lru_cache
from typing import TYPE_CHECKING

from gateway.messages import Usage
from gateway.settings import Settings

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo

DEFAULT_WINDOW = 200_000
"""Tokens of a model nobody knows: the smallest window of the Claude models since version 2.1."""

_LONGEST_NAME = 512
"""Characters. What an endpoint calls its model is remembered, so it must not be anything."""


def cost_of(model: str, usage: Usage) -> float | None:
    """US dollars for `usage` of `model` by Anthropic's list prices of today; None when the model has none
    there: unknown is never 0. The first call takes a good tenth of a second to load the prices."""
    listed = _listed(model)
    if listed is None:
        return None
    import genai_prices  # noqa: PLC0415 - already imported by now

    # Anthropic's input_tokens leave the cached ones out, genai-prices counts them in: its own extractor for
    # Anthropic's usage object knows that.
    told = genai_prices.extract_usage({"usage": usage.model_dump()}, provider_id="anthropic")
    try:
        return float(told.calc_price(model=listed).total_price)
    except ValueError:
        return None


async def window(settings: Settings, model: str) -> int:
    """The tokens that `model` can read at once: as set, as known for it, or DEFAULT_WINDOW."""
    if settings.context_window is not None:
        return settings.context_window
    # In a thread: the first time it loads a list of all models.
    return await asyncio.to_thread(window_of, model) or DEFAULT_WINDOW


def window_of(model: str) -> int | None:
    """The tokens that `model` can read at once, by the same list; None when it is not on it. The first call
    takes as long as that of `cost_of`."""
    listed = _listed(model)
    return None if listed is None else listed.context_window


def _listed(model: str) -> "ModelInfo | None":
    return _look_up(model) if len(model) <= _LONGEST_NAME else None


@lru_cache(maxsize=256)
def _look_up(model: str) -> "ModelInfo | None":
    """What the list has of `model`: all its prices; which of them holds is found out for each sum."""
    import genai_prices  # noqa: PLC0415 - 0.3 s of import that only a priced answer needs

    told = {"model": model, "usage": {"input_tokens": 0, "output_tokens": 0}}
    try:
        return genai_prices.extract_usage(told, provider_id="anthropic").model
    except (LookupError, ValueError):
        return None

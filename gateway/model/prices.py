"""What genai-prices knows of models by its own list: what a call costs, how much they can read at once.
Nothing is ever fetched."""

import asyncio
from functools import lru_cache

from gateway.messages import Usage
from gateway.settings import Settings

DEFAULT_WINDOW = 200_000
"""Tokens of a model nobody knows: the smallest window of the Claude models since version 2.1."""


def cost_of(model: str, usage: Usage) -> float | None:
    """US dollars for `usage` of `model` by Anthropic's list prices of today; None when the model has none
    there: unknown is never 0. The first call takes a good tenth of a second to load the prices."""
    import genai_prices  # noqa: PLC0415 - 0.3 s of import that only a priced answer needs

    # Anthropic's input_tokens leave the cached ones out, genai-prices counts them in: its own extractor for
    # Anthropic's usage object knows that.
    told = {"model": model, "usage": usage.model_dump()}
    try:
        priced = genai_prices.extract_usage(told, provider_id="anthropic").calc_price()
    except (LookupError, ValueError):
        return None
    return float(priced.total_price)


async def window(settings: Settings, model: str) -> int:
    """The tokens that `model` can read at once: as set, as known for it, or DEFAULT_WINDOW."""
    if settings.context_window is not None:
        return settings.context_window
    # In a thread: the first time it loads a list of all models.
    return await asyncio.to_thread(window_of, model) or DEFAULT_WINDOW


@lru_cache(maxsize=256)
def window_of(model: str) -> int | None:
    """The tokens that `model` can read at once, by the same list; None when it is not on it. The first call
    takes as long as that of `cost_of`."""
    import genai_prices  # noqa: PLC0415 - see cost_of

    told = {"model": model, "usage": {"input_tokens": 0, "output_tokens": 0}}
    try:
        known = genai_prices.extract_usage(told, provider_id="anthropic").model
    except (LookupError, ValueError):
        return None
    return known.context_window if known is not None else None

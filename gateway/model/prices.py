"""Prices and context windows of models, from the list of genai-prices.
Nothing is ever fetched."""

from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from gateway.messages import Usage

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice

DEFAULT_WINDOW = 200_000
"""Tokens of an unknown model: the smallest window of the Claude models since version 2.1."""

_MILLION = 1_000_000
_MAX_NAME_LENGTH = 512
"""Characters. What an endpoint calls its model is remembered, so it must not be anything."""


def cost_of(model: str, usage: Usage) -> float | None:
    """US dollars for `usage` of `model` by Anthropic's list prices of today; None when the model has none
    there: unknown is never 0. The first call takes a good tenth of a second to load the prices."""
    listed = _listed(model)
    return None if listed is None else float(_sum(listed.get_prices(datetime.now(UTC)), usage))


def _sum(prices: "ModelPrice", usage: Usage) -> Decimal:
    """What genai-prices' own `calc_price` gives, at a twentieth of its time: it is made for any unit that any
    provider has. A tier of prices is chosen by all that was read; what of that has no price as read from or
    written to the cache, costs what input costs."""
    from genai_prices.types import calc_unit_price  # noqa: PLC0415 - already imported by now

    cached, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    read = usage.input_tokens + cached + written
    input_tokens = read
    if prices.cache_read_mtok is not None:
        input_tokens -= cached
    if prices.cache_write_mtok is not None:
        input_tokens -= written
    counts = (
        (prices.input_mtok, input_tokens),
        (prices.cache_read_mtok, cached),
        (prices.cache_write_mtok, written),
        (prices.output_mtok, usage.output_tokens),
    )
    return sum((calc_unit_price(price, count, read, _MILLION) for price, count in counts), Decimal(0))


def window_of(model: str) -> int | None:
    """The tokens that `model` can read at once, by the same list; None when it is not on it. The first call
    takes as long as that of `cost_of`."""
    listed = _listed(model)
    return None if listed is None else listed.context_window


def _listed(model: str) -> "ModelInfo | None":
    return _find(model) if len(model) <= _MAX_NAME_LENGTH else None


@lru_cache(maxsize=256)
def _find(model: str) -> "ModelInfo | None":
    """What the list has of `model`: all its prices; which of them holds is found out for each sum."""
    import genai_prices  # noqa: PLC0415 - 0.3 s of import that only a priced answer needs

    sample = {"model": model, "usage": {"input_tokens": 0, "output_tokens": 0}}
    try:
        return genai_prices.extract_usage(sample, provider_id="anthropic").model
    except (LookupError, ValueError):
        return None

"""What a model call costs, by the list prices that come with genai-prices. Nothing is ever fetched."""

from gateway.messages import Usage


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

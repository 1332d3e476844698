"""Costs come from the list prices, and only where there are any."""

import socket
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from genai_prices import extract_usage
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ConditionalPrice, ModelPrice, StartDateConstraint

from gateway.model.prices import cost_of, window_of
from tests.product import Usage

MILLION = 1_000_000


def price(**tokens: int) -> float:
    cost = cost_of("claude-sonnet-4-5", Usage(**{"input_tokens": 0, "output_tokens": 0, **tokens}))
    assert cost is not None
    return cost


def test_each_kind_of_token_has_its_price() -> None:
    """Claude Sonnet 4.5 up to 200k tokens: $3 in, $15 out, $0.30 read from the cache, $3.75 written to it,
    per million; cached tokens are not among the input tokens."""
    assert price(input_tokens=1000) == pytest.approx(1000 * 3 / MILLION)
    assert price(output_tokens=1000) == pytest.approx(1000 * 15 / MILLION)
    assert price(cache_read_input_tokens=1000) == pytest.approx(1000 * 0.3 / MILLION)
    assert price(cache_creation_input_tokens=1000) == pytest.approx(1000 * 3.75 / MILLION)
    together = price(
        input_tokens=1000, output_tokens=500, cache_read_input_tokens=2000, cache_creation_input_tokens=3000
    )
    assert together == pytest.approx((3000 + 7500 + 600 + 11_250) / MILLION)


def test_every_listed_price_is_summed_as_genai_prices_does() -> None:
    """Each of Anthropic's models, below and above the tiers of its prices, with and without a cache."""
    listed = get_snapshot().find_provider(None, "anthropic", None).models
    assert len(listed) > 20
    for model in listed:
        for counts in [(7, 11, 0, 0), (1234, 5, 67, 890), (150_000, 9, 50_000, 0), (150_000, 9, 50_000, 1)]:
            names = (
                "input_tokens",
                "output_tokens",
                "cache_read_input_tokens",
                "cache_creation_input_tokens",
            )
            usage = dict(zip(names, counts, strict=True))
            priced = extract_usage({"model": model.id, "usage": usage}, provider_id="anthropic").calc_price()
            assert cost_of(model.id, Usage(**usage)) == float(priced.total_price)


def test_a_price_holds_from_its_day_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of a model are all its prices: the one of today is found for each call."""
    listed = next(iter(get_snapshot().find_provider(None, "anthropic", None).models))
    dated = [ConditionalPrice(prices=ModelPrice(input_mtok=Decimal(1)))]
    monkeypatch.setattr(listed, "prices", dated)
    usage = Usage(input_tokens=MILLION, output_tokens=0)
    assert cost_of(listed.id, usage) == 1
    today = StartDateConstraint(datetime.now(UTC).date())
    dated.append(ConditionalPrice(today, prices=ModelPrice(input_mtok=Decimal(2))))
    assert cost_of(listed.id, usage) == 2


def test_a_name_of_any_length_is_no_price() -> None:
    """Nor is it remembered."""
    assert cost_of("claude-sonnet-4-5" + "x" * 10_000, Usage(input_tokens=10, output_tokens=10)) is None


@pytest.mark.parametrize("model", ["demo", "llama3", "", "claude-of-the-future", "gpt-4o"])
def test_an_unknown_price_is_not_a_price_of_nothing(model: str) -> None:
    """None says that nobody knows; 0 would be a lie on a bill."""
    assert cost_of(model, Usage(input_tokens=10, output_tokens=10)) is None


@pytest.mark.parametrize(
    ("model", "window"),
    [("claude-sonnet-4-5", 200_000), ("claude-opus-4-1-20250805", 200_000), ("claude-sonnet-5-5", 1_000_000)],
)
def test_the_window_of_a_listed_model_is_known(model: str, window: int) -> None:
    """Anthropic's context windows, also for a dated name."""
    assert window_of(model) == window


@pytest.mark.parametrize("model", ["demo", "llama3", "", "claude-of-the-future"])
def test_the_window_of_another_model_is_not(model: str) -> None:
    """None: whoever asks has to choose a careful one."""
    assert window_of(model) is None


def test_no_price_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices come with the package: a server without a way out costs the same."""

    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert price(input_tokens=1) > 0

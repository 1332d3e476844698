"""Costs come from the list prices, and only where there are any."""

import socket

import pytest

from gateway.messages import Usage
from gateway.model.prices import cost_of, window_of

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

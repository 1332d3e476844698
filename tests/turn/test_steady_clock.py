"""Durations where somebody sets the system's clock meanwhile."""

import time

import pytest

from gateway.ids import SteadyClock
from gateway.turn.progress import TurnProgress
from tests.product import TurnStart, now_ms

HOUR = 3_600_000


def set_by(monkeypatch: pytest.MonkeyPatch, milliseconds: int) -> None:
    """Sets the system's clock."""
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + milliseconds * 1_000_000)


@pytest.mark.parametrize("jump", [2 * HOUR, -26 * HOUR])
def test_a_steady_clock_goes_on_where_the_systems_was_set(monkeypatch: pytest.MonkeyPatch, jump: int) -> None:
    """What is asked of it stays near what has passed, and an undisturbed time stays what it is."""
    clock = SteadyClock()
    began = clock.now()
    assert clock.of(began) == began

    set_by(monkeypatch, jump)

    assert 0 <= clock.now() - began < HOUR / 60
    assert 0 <= clock.of(now_ms()) - began < HOUR / 60


@pytest.mark.parametrize("jump", [2 * HOUR, -26 * HOUR])
def test_a_turn_lasts_as_long_as_it_took(monkeypatch: pytest.MonkeyPatch, jump: int) -> None:
    """Its start is of the clock that its end is measured by."""
    progress = TurnProgress()
    start = TurnStart(input="hi", model="m", trace_id="0" * 32)
    progress.apply(start, progress.clock.of(now_ms()), None, None)
    set_by(monkeypatch, jump)

    assert progress.started_at is not None
    assert -1 <= progress.clock.of(now_ms()) - progress.started_at < HOUR / 60  # of rounding

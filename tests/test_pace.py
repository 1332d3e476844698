"""Looks at the same pace are made in one wake-up."""

import pytest

from gateway import pace
from gateway.pace import until_next


@pytest.mark.parametrize("every", [0.01, 1.0, 2.0, 30.0])
def test_all_that_look_so_often_look_at_the_same_moment(
    monkeypatch: pytest.MonkeyPatch, every: float
) -> None:
    """Whenever they looked before; none twice in a moment, and none much later than it should."""
    for now in (0.0, 0.4 * every, 0.74 * every, 0.76 * every, 12345.678):
        monkeypatch.setattr(pace, "monotonic", lambda now=now: now)
        pause = until_next(every)
        assert 0.25 * every <= pause <= 1.25 * every + 1e-9
        of_beat = (now + pause) / every
        assert of_beat == pytest.approx(round(of_beat))

"""When another attempt is made, and how long it waits."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.model.retry_delay import retry_delay
from tests.product import ModelError


def failed(*, retryable: bool = True, retry_after: float | None = None) -> ModelError:
    return ModelError("x", code="upstream_error", retryable=retryable, retry_after=retry_after)


def test_waits_double_from_half_a_second() -> None:
    """0.5, 1, 2, 4 s, never more than the cap."""
    waits = [retry_delay(failed(), n, attempts=9, cap=3, jitter=0) for n in range(1, 5)]
    assert waits == [0.5, 1, 2, 3]


def test_attempts_are_counted_with_the_first() -> None:
    """After the last attempt, or a failure that stays, nobody waits."""
    assert retry_delay(failed(), 3, attempts=3, cap=30, jitter=0) is None
    assert retry_delay(failed(), 1, attempts=1, cap=30, jitter=0) is None
    assert retry_delay(failed(retryable=False), 1, attempts=3, cap=30, jitter=0) is None


def test_the_endpoints_wish_is_honoured_up_to_the_cap() -> None:
    """An hour is not waited for."""
    assert retry_delay(failed(retry_after=7), 1, attempts=3, cap=30, jitter=0) == 7
    assert retry_delay(failed(retry_after=0), 1, attempts=3, cap=30, jitter=0) == 0
    assert retry_delay(failed(retry_after=31), 1, attempts=3, cap=30, jitter=0) is None


@given(
    st.integers(1, 10_000),
    st.floats(0, 1, exclude_max=True),
    st.floats(0, 1000),
    st.none() | st.floats(0, 1e9),
)
def test_a_wait_is_never_negative_over_the_cap_or_before_its_time(
    attempt: int, jitter: float, cap: float, retry_after: float | None
) -> None:
    """Jitter moves a wait only within its bounds."""
    wait = retry_delay(failed(retry_after=retry_after), attempt, attempts=20_000, cap=cap, jitter=jitter)
    if wait is None:
        assert retry_after is not None
        assert retry_after > cap
    else:
        assert (retry_after or 0) <= wait <= cap

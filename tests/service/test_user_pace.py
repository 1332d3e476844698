"""The pace of one user's requests: a burst comes in at once, more waits for its time, too much is refused."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from gateway.auth import Principal
from gateway.service import user_pace
from gateway.service.request_rates import RequestRates
from gateway.service.user_pace import AT_ONCE, PER_SECOND, WAIT_TIMEOUT, UserPace
from tests.harness import running_gateway, settings_for
from tests.product import LimitReached, load_settings, open_storage

pytestmark = pytest.mark.anyio

MOST = AT_ONCE + int(WAIT_TIMEOUT * PER_SECOND) + 1
"""Requests of a moment that come in: those at once, and those for which there is time."""
KEY = "ada-secret-0123456789"
ADA = Principal("ada")


class Time:
    """Seconds that pass when the test says so; `waits` are those that were waited, which take none."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waits.append(round(seconds, 3))


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr(user_pace, "monotonic", time)
    monkeypatch.setattr(user_pace.asyncio, "sleep", time.sleep)
    return time


async def test_what_a_page_asks_at_once_does_not_wait(time: Time) -> None:
    """Again and again, with a pause; and as many in a second as may be, for ever."""
    pace = UserPace()
    for _ in range(3):
        for _ in range(AT_ONCE):
            await pace.keep("ada")
        time.now += AT_ONCE / PER_SECOND
    for _ in range(10 * PER_SECOND):
        await pace.keep("ada")
        time.now += 1 / PER_SECOND
    assert time.waits == []


async def test_more_waits_each_longer_than_the_one_before(time: Time) -> None:
    """So that they come in evenly, and somebody else's do not wait for them."""
    pace = UserPace()
    for _ in range(AT_ONCE + 3):
        await pace.keep("ada")
    await pace.keep("bob")
    assert time.waits == [round(n / PER_SECOND, 3) for n in (1, 2)]


async def test_too_many_are_refused_after_a_wait_and_take_no_place(time: Time) -> None:
    """With what to wait for; of a thousand as many come in as of a hundred."""
    told: list[tuple[str, str]] = []
    pace = UserPace(lambda who, measure: told.append((who, measure)))
    refused: list[LimitReached] = []
    for _ in range(1000):
        try:
            await pace.keep("ada")
        except LimitReached as error:
            refused.append(error)
    assert abs(1000 - len(refused) - MOST) <= 1
    assert max(time.waits) <= WAIT_TIMEOUT
    assert time.waits[-len(refused) :] == [WAIT_TIMEOUT] * len(refused)
    assert refused[0].code == "rate_limited"
    assert refused[0].details is not None
    assert refused[0].details["policy"] == "user:requests/second"
    assert set(told) == {("user", "requests")}
    time.now += WAIT_TIMEOUT + AT_ONCE / PER_SECOND
    await pace.keep("ada")


@pytest.mark.parametrize(
    ("given", "is_paced"),
    [
        ({}, False),
        ({"api_keys": SecretStr(f"ada:{KEY}")}, True),
        ({"api_keys": SecretStr(f"ada:{KEY}"), "limits": ("user:requests=100k/day",)}, True),
        ({"api_keys": SecretStr(f"ada:{KEY}"), "limits": ("user:requests=5000/second",)}, False),
    ],
)
async def test_who_is_paced(tmp_path: Path, time: Time, given: dict[str, object], is_paced: bool) -> None:
    """Everybody where people have accounts, unless the operator says how much a user may ask in a second."""
    settings = load_settings(data_dir=tmp_path, **given)
    async with open_storage(settings) as storage:
        rates = RequestRates(settings, storage.limits)
        for _ in range(MOST):
            await rates.take(ADA)
        assert bool(time.waits) is is_paced
        assert rates.are_counted is bool(given)


async def test_a_user_who_floods_is_held_back_on_their_connections(tmp_path: Path, demo_url: str) -> None:
    """Over a socket: what is too much is 429 with Retry-After, and another user's chat goes through
    meanwhile; no headers tell of limits that nobody has set."""
    keys = SecretStr(f"ada:{KEY},bob:{KEY.replace('ada', 'bob')}")
    async with running_gateway(settings_for(tmp_path, demo_url, api_keys=keys)) as client:
        headers = {"authorization": f"Bearer {KEY}"}
        client.app.state.request_rates._pace._next["ada"] = float("inf")
        refused = await client.get("/api/me", **headers)
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "1"
        bob = {"authorization": f"Bearer {KEY.replace('ada', 'bob')}"}
        chat = await client.post("/api/chat", {"message": "/say hi"}, **bob)
        assert "event: done" in chat.text
        assert "ratelimit" not in chat.headers

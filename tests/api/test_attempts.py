"""Ten thousand attempts at keys: how many are looked at, how they are compared, and who tells of them."""

import hashlib
import hmac
from collections import Counter
from typing import Any

import pytest
from pydantic import SecretStr

from gateway.auth import failed_attempts
from gateway.auth.authentication import Authentication
from gateway.auth.failed_attempts import FIRST_LOCK, MAX_FAILURES, MAX_LOCK
from gateway.auth.static_keys import StaticKeys
from gateway.auth.stored_keys import StoredKeys, new_secret
from gateway.errors import LockedOut, NotAuthenticated
from gateway.settings import Settings
from gateway.storage.api_keys import ApiKey
from gateway.wiring import open_storage
from tests.harness import Client, Clock, running_gateway

pytestmark = pytest.mark.anyio

SECRET = "ada-secret-0123456789"
ATTEMPTS = 10_000
KEY_ID = "0123456789abcdef"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(failed_attempts, "monotonic", clock)
    return clock


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The lengths of what was compared, and how often."""
    found: list[tuple[int, int]] = []
    compare = hmac.compare_digest

    def noting(one: bytes, other: bytes) -> bool:
        found.append((len(one), len(other)))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", noting)
    return found


def wrong(number: int, key_id: str = KEY_ID) -> dict[str, str]:
    secret = hashlib.sha256(str(number).encode()).hexdigest()[:43]
    return {"authorization": f"Bearer cgk_{key_id}_{secret}"}


async def outcomes(authentication: Authentication, addresses: int, key_ids: int = 1) -> Counter[str]:
    """What becomes of all attempts, which come from so many addresses and name so many keys."""
    found = Counter[str]()
    for number in range(ATTEMPTS):
        key_id = KEY_ID if key_ids == 1 else f"{number % key_ids:016x}"
        try:
            await authentication.identify(wrong(number, key_id), f"10.0.{number % addresses}.1")
        except (NotAuthenticated, LockedOut) as refused:
            found[refused.code] += 1
    return found


async def test_of_ten_thousand_attempts_ten_are_looked_at(
    settings: Settings, clock: Clock, compared: list[tuple[int, int]]
) -> None:
    """By the address, though each names another key, and by the key, though each comes from elsewhere. Of a
    guess the digest is compared, all of it: how long that takes tells nothing of how much is right."""
    async with open_storage(settings) as storage:
        key, digest = new_secret(KEY_ID)
        row = ApiKey(KEY_ID, "default", "ada", "k", ("member",), ("read",), digest, 0, "ada")
        await storage.keys.add(row, most=10)
        for addresses, key_ids in ((1, ATTEMPTS), (ATTEMPTS, 1)):
            authentication = Authentication([StoredKeys(storage.keys), StaticKeys(f"ada:{SECRET}")])
            compared.clear()
            found = await outcomes(authentication, addresses, key_ids)
            assert found == {"unauthorized": MAX_FAILURES, "locked_out": ATTEMPTS - MAX_FAILURES}
            assert compared == [(32, 32)] * MAX_FAILURES
        right = {"authorization": f"Bearer {key}"}
        with pytest.raises(LockedOut):
            await authentication.identify(right, "10.0.0.2")
        clock.now += FIRST_LOCK
        assert (await authentication.identify(right, "10.0.0.2")).user_id == "ada"


async def test_who_goes_on_trying_waits_longer_each_time(clock: Clock) -> None:
    """Twice as long, up to a quarter of an hour: of guesses that never stop four an hour are looked at."""
    authentication = Authentication([StaticKeys(f"ada:{SECRET}")])
    waits: list[int] = []
    looked_at = 0
    for number in range(ATTEMPTS):
        try:
            await authentication.identify({"x-api-key": f"a-guess-of-a-key-{number}"}, "10.0.0.1")
        except LockedOut as refused:
            waits.append((refused.details or {})["retry_after"])
            clock.now += waits[-1]
        except NotAuthenticated:
            looked_at += 1

    assert waits[:5] == [60, 120, 240, 480, 900]
    assert set(waits[4:]) == {int(MAX_LOCK)}
    assert looked_at == MAX_FAILURES + len(waits)  # one after each wait


async def test_the_audit_tells_of_attempts_and_of_the_lock_out(settings: Settings) -> None:
    """From where, and how many, whatever they tried; never what it was."""
    given = {"api_keys": SecretStr(f"ada:{SECRET}"), "admins": ("ada",)}
    async with running_gateway(settings.model_copy(update=given)) as client:
        assert (await client.get("/api/me", **{"x-api-key": SECRET})).status_code == 200
        for number in range(300):
            assert (await client.get("/api/me", **wrong(number))).status_code in {401, 429}
        client.app.state.audit._end_counts()  # pyright: ignore[reportPrivateUsage] - as its minute would
        entries = await told(client)

    counts = Counter[str]()
    for entry in entries:
        counts[entry["result"]] += entry["times"]
        assert (entry["address"], entry.get("actor")) == ("127.0.0.1", None)
    assert counts == {"refused:unauthorized": MAX_FAILURES, "refused:locked_out": 300 - MAX_FAILURES}
    assert wrong(0)["authorization"].rpartition("_")[2] not in str(entries)


async def told(client: Client) -> list[dict[str, Any]]:
    await client.app.state.audit.flush()
    answer = await client.get("/api/audit?action=access&limit=100", **{"x-api-key": SECRET})
    return answer.json()["entries"]

"""Credentials that do not hold are counted by what is tried and by whose address it is; nobody else waits."""

import asyncio
import hashlib
import hmac
from collections import Counter
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from pydantic import SecretStr

from gateway.auth import failed_attempts
from gateway.auth.authentication import Authentication
from gateway.auth.client_addresses import MAX_HOPS, Client, ClientAddresses
from gateway.auth.failed_attempts import (
    MAX_DELAY,
    MAX_FAILURES,
    MAX_LOCK,
    MAX_SOURCES,
    RATE,
    FailedAttempts,
)
from gateway.auth.signed_in import SignedIn
from gateway.auth.static_keys import StaticKeys
from gateway.auth.stored_keys import StoredKeys, new_secret
from gateway.errors import LockedOut, NotAuthenticated
from gateway.storage.api_keys import ApiKey
from tests.harness import Client as Gateway
from tests.harness import Clock, running_gateway
from tests.product import Settings, open_storage

pytestmark = pytest.mark.anyio

SECRET = "ada-secret-0123456789"
ATTEMPTS = 2_000
KEY_ID = "0123456789abcdef"
ALONE = Client("192.0.2.1", "192.0.2.1", is_own=True)
SHARED = Client("127.0.0.1", "127.0.0.1")
PROXY = {"trusted_proxies": ("127.0.0.1",), "proxy_user_header": "none"}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of what is counted; whoever has to wait moves it on."""
    clock = Clock()

    async def sleep(seconds: float) -> None:
        clock.now += seconds

    monkeypatch.setattr(failed_attempts, "monotonic", clock)
    monkeypatch.setattr(asyncio, "sleep", sleep)
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


@pytest.fixture
async def keyed(settings: Settings, anyio_backend: str) -> AsyncGenerator[Gateway]:
    """Ada is an admin; a proxy on this machine tells whose requests it passes on, and names no users."""
    given = {"api_keys": SecretStr(f"ada:{SECRET}"), "admins": ("ada",), **PROXY}
    async with running_gateway(settings.model_copy(update=given)) as client:
        yield client


def wrong(number: int, key_id: str = KEY_ID) -> dict[str, str]:
    secret = hashlib.sha256(str(number).encode()).hexdigest()[:43]
    return {"authorization": f"Bearer cgk_{key_id}_{secret}"}


async def outcome(authentication: Authentication, headers: dict[str, str], client: Client) -> str:
    try:
        return (await authentication.identify(headers, client)).user_id
    except (NotAuthenticated, LockedOut) as refused:
        return refused.code


async def outcomes(authentication: Authentication, client: Client) -> Counter[str]:
    """What becomes of all attempts, each another one."""
    return Counter([await outcome(authentication, wrong(number), client) for number in range(ATTEMPTS)])


async def test_a_right_key_is_let_in_whatever_was_tried_before(
    settings: Settings, clock: Clock, compared: list[tuple[int, int]]
) -> None:
    """From the address of the attempts, and though they name that key's id. Of each guess the digest is
    compared, all of it: how long that takes tells nothing of how much is right."""
    async with open_storage(settings) as storage:
        key, digest = new_secret(KEY_ID)
        row = ApiKey(KEY_ID, "default", "ada", "k", ("member",), ("read",), digest, 0, "ada")
        await storage.keys.add(row, most=10)
        authentication = Authentication([StoredKeys(storage.keys), StaticKeys(f"bob:{SECRET}")])
        assert await outcomes(authentication, ALONE) == {
            "unauthorized": MAX_FAILURES,
            "locked_out": ATTEMPTS - MAX_FAILURES,
        }
        assert set(compared) == {(32, 32)}
        for client in (ALONE, SHARED, Client("192.0.2.9", "192.0.2.9", is_own=True)):
            assert await outcome(authentication, {"x-api-key": key}, client) == "ada"
            assert await outcome(authentication, {"x-api-key": SECRET}, client) == "bob"


async def test_an_address_of_many_locks_nobody_out(clock: Clock) -> None:
    """Of a proxy that tells of no client, of this machine, of nobody knows whom: another mistyped key is told
    that it is unknown. The same one again and again is locked out, wherever it is tried."""
    authentication = Authentication([StaticKeys(f"ada:{SECRET}")])
    for client in (SHARED, Client("10.0.0.1", "10.0.0.1"), Client()):
        assert await outcomes(authentication, client) == {"unauthorized": ATTEMPTS}
    same = [await outcome(authentication, {"x-api-key": "one-that-nobody-has"}, SHARED) for _ in range(20)]
    assert same == ["unauthorized"] * MAX_FAILURES + ["locked_out"] * 10
    assert await outcome(authentication, {"x-api-key": "one-that-nobody-has"}, ALONE) == "locked_out"


async def test_who_goes_on_trying_waits_longer_each_time(clock: Clock) -> None:
    """Twice as long, up to a quarter of an hour."""
    authentication = Authentication([StaticKeys(f"ada:{SECRET}")])
    waits: list[int] = []
    counted = 0
    for number in range(500):
        try:
            await authentication.identify({"x-api-key": f"a-guess-of-a-key-{number}"}, ALONE)
        except LockedOut as refused:
            waits.append((refused.details or {})["retry_after"])
            clock.now += waits[-1]
        except NotAuthenticated:
            counted += 1

    assert waits[:5] == [60, 120, 240, 480, 900]
    assert set(waits[4:]) == {int(MAX_LOCK)}
    assert counted == MAX_FAILURES + len(waits)  # one after each wait


async def test_work_for_what_does_not_hold_is_paced(clock: Clock) -> None:
    """From where more than RATE a second come each one waits MAX_DELAY, and then is looked at; others do not
    wait, nor does who was let in lately."""
    authentication = Authentication([StaticKeys(f"ada:{SECRET},bob:bob-{SECRET},eva:eva-{SECRET}")])
    assert await outcome(authentication, {"x-api-key": SECRET}, SHARED) == "ada"
    began = clock.now
    for number in range(int(RATE * MAX_DELAY) + 1):
        await outcome(authentication, wrong(number), SHARED)
    assert clock.now == began
    assert await outcome(authentication, {"x-api-key": SECRET}, SHARED) == "ada"
    assert await outcome(authentication, {"x-api-key": f"bob-{SECRET}"}, ALONE) == "bob"
    assert clock.now == began
    assert await outcome(authentication, {"x-api-key": f"eva-{SECRET}"}, SHARED) == "eva"
    assert clock.now == began + MAX_DELAY


async def test_cookies_that_are_no_sign_in_are_paced_and_lock_nobody(
    settings: Settings, clock: Clock
) -> None:
    """Each is looked up in the database."""
    async with open_storage(settings) as storage:
        authentication = Authentication([SignedIn(storage.sign_ins, settings)], sign_in="/auth/sign-in")
        began = clock.now
        for number in range(int(RATE * MAX_DELAY) + 2):
            waited = MAX_DELAY if number > RATE * MAX_DELAY else 0
            cookie = {"cookie": f"gateway_sign_in={number:043}"}
            assert await outcome(authentication, cookie, ALONE) == "signed_out"
            assert clock.now == began + waited


async def test_what_is_remembered_of_attempts_is_bounded() -> None:
    attempts = FailedAttempts()
    for number in range(3 * MAX_SOURCES):
        client = Client(None, f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", is_own=True)
        attempts.failed(client, number.to_bytes(32))
        attempts.looked_at(client)
        attempts.held(number.to_bytes(32))
    kept = [value for name, value in vars(attempts).items() if name.startswith("_")]
    assert len(kept) == 4
    assert all(len(each) <= MAX_SOURCES for each in kept)


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.7", [], ("192.0.2.7", True)),
        ("192.0.2.7", ["203.0.113.5"], ("192.0.2.7", True)),  # anybody can write that
        ("127.0.0.1", [], ("127.0.0.1", False)),
        ("10.1.0.7", [], ("10.1.0.7", False)),
        ("10.1.0.7", ["203.0.113.5"], ("203.0.113.5", True)),
        ("::ffff:10.1.0.7", ["::ffff:203.0.113.5"], ("203.0.113.5", True)),
        ("10.1.0.7", ["198.51.100.1, 203.0.113.5"], ("203.0.113.5", True)),
        (
            "10.1.0.7",
            ["198.51.100.1", "203.0.113.5"],
            ("203.0.113.5", True),
        ),  # HAProxy adds a line of its own
        ("10.1.0.7", ["198.51.100.1, 203.0.113.5, 10.1.9.9"], ("203.0.113.5", True)),
        ("10.1.0.7", ["203.0.113.5:4711"], ("203.0.113.5", True)),
        ("10.1.0.7", ["[2001:db8::7]:443"], ("2001:db8::7", True)),
        ("10.1.0.7", ["2001:db8::7"], ("2001:db8::7", True)),
        ("10.1.0.7", ["203.0.113.5, unknown"], ("10.1.0.7", False)),
        ("10.1.0.7", ["198.51.100.1, ' OR 1=1 --, 10.1.9.9"], ("10.1.9.9", False)),
        ("10.1.0.7", [""], ("10.1.0.7", False)),
        ("10.1.0.7", ["127.0.0.1"], ("127.0.0.1", False)),
        ("10.1.0.7", [", ".join(["10.1.0.8"] * 3000)], ("10.1.0.8", False)),
        ("10.1.0.7", [", ".join(["203.0.113.5", *["10.1.0.8"] * MAX_HOPS])], ("10.1.0.8", False)),
        ("a:socket", ["203.0.113.5"], ("a:socket", False)),
        (None, ["203.0.113.5"], (None, False)),
    ],
)
def test_the_address_is_the_last_one_that_is_no_listed_proxys(
    settings: Settings, peer: str | None, forwarded: list[str], client: tuple[str | None, bool]
) -> None:
    """Where a listed proxy sent it; else that of the connection."""
    addresses = ClientAddresses(settings.model_copy(update={"trusted_proxies": ("10.1.0.0/16",)}))
    headers = [(b"x-forwarded-for", each.encode()) for each in forwarded]
    found = addresses.of({"client": peer and (peer, 1), "headers": headers})
    assert found == Client(peer, *client)


async def test_behind_a_proxy_the_address_of_the_client_is_counted_audited_and_logged(
    keyed: Gateway,
) -> None:
    """And only that client is told to wait; everybody's right keys go on, new ones too."""
    eve, bob = ({"x-forwarded-for": f"198.51.100.1, 203.0.113.{number}"} for number in (5, 6))
    tried = [(await keyed.get("/api/me", **eve, **wrong(number))).status_code for number in range(20)]
    others = [(await keyed.get("/api/me", **bob, **wrong(number + 100))).status_code for number in range(5)]
    assert tried == [401] * MAX_FAILURES + [429] * 10
    assert others == [401] * 5
    made = await keyed.post("/api/keys", {"name": "new"}, **eve, **{"x-api-key": SECRET})
    assert made.status_code == 201
    assert (await keyed.get("/api/me", **eve, **{"x-api-key": made.json()["key"]})).status_code == 200

    entries = await told(keyed)
    assert {each["address"] for each in entries} == {"203.0.113.5", "203.0.113.6"}


async def test_ten_nonsense_keys_hold_up_nobody_on_the_same_machine(settings: Settings) -> None:
    """Neither a key that was never used before, nor the owner of a key whose id was tried from elsewhere."""
    given = {"api_keys": SecretStr(f"ada:{SECRET}"), "admins": ("ada",)}
    async with running_gateway(settings.model_copy(update=given)) as client:
        made = (await client.post("/api/keys", {"name": "k"}, **{"x-api-key": SECRET})).json()
        for number in range(50):
            refused = await client.get("/api/me", **wrong(number, made["id"]))
            assert refused.status_code == 401
        assert (await client.get("/api/me", **{"x-api-key": made["key"]})).status_code == 200
        again = [(await client.get("/api/me", **wrong(1))).status_code for _ in range(MAX_FAILURES + 1)]
        assert again[-1] == 429
        assert (await client.get("/api/me", **{"x-api-key": made["key"]})).status_code == 200


async def test_the_audit_tells_of_attempts_and_of_the_lock_out(keyed: Gateway) -> None:
    """From where, and how many, whatever they tried; never what it was."""
    assert (await keyed.get("/api/me", **{"x-api-key": SECRET})).status_code == 200
    for number in range(100):
        answer = await keyed.get("/api/me", **wrong(number), **{"x-forwarded-for": "203.0.113.5"})
        assert answer.status_code in {401, 429}
    keyed.app.state.audit._end_counts()  # pyright: ignore[reportPrivateUsage] - as its minute would
    entries = await told(keyed)

    counts = Counter[str]()
    for entry in entries:
        counts[entry["result"]] += entry["times"]
        assert (entry["address"], entry.get("actor")) == ("203.0.113.5", None)
    assert counts == {"refused:unauthorized": MAX_FAILURES, "refused:locked_out": 100 - MAX_FAILURES}
    assert wrong(0)["authorization"].rpartition("_")[2] not in str(entries)


async def told(client: Gateway) -> list[dict[str, Any]]:
    await client.app.state.audit.flush()
    answer = await client.get("/api/audit?action=access&limit=100", **{"x-api-key": SECRET})
    return answer.json()["entries"]

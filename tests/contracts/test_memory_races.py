"""What storage owes where two processes change what is remembered at the same time."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.errors import DuplicateMemory, MemoryChanged, MemoryFull
from gateway.storage.memories import AllScopes, Evidence, Filter, Link, Profile, Scope, Vector
from gateway.storage.memories.store import MemoryStore
from tests.product import GatewayError
from tests.storage.remembering import ANN, MemoryFactory, became, document, listed, memory, remember, step

pytestmark = pytest.mark.anyio

MAX_MEMORIES = 10_000
TIMES = 12
HOME = (Scope("ann", households=("home",)), Scope("bert", households=("home",)))

Stores = Sequence[MemoryStore]


@pytest.fixture
async def stores(opens: MemoryFactory, tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Stores]:
    """Two of them on one database, as two processes have."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(opens(tmp_path)) for _ in range(2)]


async def outcomes(*works: Awaitable[object]) -> Counter[str]:
    """What became of those that ran at once: how often each kind of refusal, and `done`."""
    results = await asyncio.gather(*works, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, GatewayError):
            raise result
    return Counter(
        type(result).__name__ if isinstance(result, GatewayError) else "done" for result in results
    )


async def test_what_both_remember_at_once_is_kept_once(stores: Stores) -> None:
    """The other is told which it is. In a household it may be two members."""
    for number in range(TIMES):
        content, shared = f"the same {number}", {"owner_type": "household", "owner_id": "home"}
        alone = [remember(store, memory(f"m_{number}_{at}", content)) for at, store in enumerate(stores)]
        assert await outcomes(*alone) == {"done": 1, DuplicateMemory.__name__: 1}
        members = [
            remember(store, memory(f"h_{number}_{user}", content, user_id=user, **shared))
            for user, store in zip(("ann", "bert"), stores, strict=True)
        ]
        assert await outcomes(*members) == {"done": 1, DuplicateMemory.__name__: 1}

    assert await stores[0].count(AllScopes("ann", ("home",))) == 2 * TIMES


async def test_a_key_is_used_once(stores: Stores) -> None:
    for number in range(TIMES):
        works = [
            store.write([step(memory(f"m_{number}_{at}"), key=f"k_{number}")], most=MAX_MEMORIES)
            for at, store in enumerate(stores)
        ]
        assert await outcomes(*works) == {"done": 1, DuplicateMemory.__name__: 1}


async def test_no_limit_is_exceeded(stores: Stores) -> None:
    """However many come at once; another user's memories take no room of it."""
    works = [
        remember(stores[number % 2], memory(f"m_{user}_{number}", user_id=user), most=5)
        for number in range(TIMES)
        for user in ("ann", "bob")
    ]
    assert await outcomes(*works) == {"done": 10, MemoryFull.__name__: 2 * (TIMES - 5)}

    assert await stores[0].count(AllScopes("ann")) == await stores[1].count(AllScopes("bob")) == 5


async def test_of_changes_of_one_version_one_is_made(stores: Stores) -> None:
    """A memory's, whichever member of the household makes them, and a profile's."""
    row = memory("m_1", owner_type="household", owner_id="home")
    await remember(stores[0], row)
    for number in range(2, 2 + TIMES):
        changes = [became(row, content=f"version {number} of {at}", updated_at=number) for at in range(2)]
        works = [
            store.write([replace(change, evidence=[Evidence("s", number, "q")], stated_by=user)], most=99)
            for store, change, user in zip(stores, changes, ("ann", "bert"), strict=True)
        ]
        assert await outcomes(*works) == {"done": 1, MemoryChanged.__name__: 1}
        (row,) = await stores[0].get(HOME[1], "m_1")
        profiles = [Profile("user", "ann", {"of": str(at)}, number - 1, number, "ann") for at in range(2)]
        put = [store.put_profile(each) for store, each in zip(stores, profiles, strict=True)]
        assert await outcomes(*put) == {"done": 1, MemoryChanged.__name__: 1}

    versions = await stores[1].versions(HOME[0], "m_1")
    assert [each.version for each in versions] == list(range(1, 2 + TIMES))
    assert versions[-1].row == row
    profile = await stores[1].profile("user", "ann")
    assert profile is not None
    assert profile.version == TIMES


async def test_what_is_erased_while_it_is_changed_leaves_nothing(stores: Stores) -> None:
    """Whichever comes first: no version, no quote, no vector, no word; and a change of what is gone is
    refused."""
    erasing, changing = stores
    for number in range(TIMES):
        row, other = memory(f"m_{number}", f"zebra {number}"), memory(f"o_{number}")
        await remember(erasing, row, other)
        link = Link(other.id, row.id, "depends_on")
        change = replace(became(row, content=f"zebra again {number}"), evidence=[Evidence("s", 1, "q")])
        found = await outcomes(
            changing.write([change, replace(became(other), links=[link])], most=MAX_MEMORIES),
            changing.put_vectors("small", [Vector(row.id, row.digest, b"\0" * 8)]),
            erasing.erase(ANN, row.id),
        )
        assert found["done"] + found[MemoryChanged.__name__] == 3
        assert await changing.versions(ANN, row.id) == await changing.evidence(ANN, row.id) == []
        assert await changing.links(other.id) == []

    assert await changing.match(AllScopes("ann"), ["zebra"], Filter(), limit=9) == ()
    assert await changing.vectors(ANN, "small") == []


async def test_a_version_is_changed_or_erased(stores: Stores) -> None:
    """Who erases what they have seen does not erase what somebody has just made of it."""
    for number in range(TIMES):
        row = memory(f"m_{number}")
        await remember(stores[0], row)
        works = [
            stores[number % 2].write([became(row, content=f"changed {number}")], most=MAX_MEMORIES),
            stores[1 - number % 2].erase(ANN, row.id, version=1),
        ]
        assert await outcomes(*works) == {"done": 1, MemoryChanged.__name__: 1}


async def test_those_who_touch_the_same_rows_in_another_order_are_both_done(stores: Stores) -> None:
    """Neither is refused because it waited for the other."""
    rows = [memory(f"m_{number}") for number in range(9)]
    await remember(stores[0], *rows)
    ids = [row.id for row in rows]
    vectors = [Vector(row.id, row.digest, b"\0" * 8) for row in rows]
    for at in range(TIMES):
        both = [
            [store.use(ids[::way], 9 + at), store.put_vectors("small", vectors[::way])]
            for store, way in zip(stores, (1, -1), strict=True)
        ]
        assert await outcomes(*both[0], *both[1]) == {"done": 4}

    assert len(await stores[0].vectors(ANN, "small")) == len(rows)


async def test_many_changes_at_once_lose_nothing(stores: Stores) -> None:
    """Of memories that are apart: each is made, found by its words, and counted."""
    works = [
        stores[number % 2].write([step(memory(f"m_{number}", f"common word{number}"))], most=MAX_MEMORIES)
        for number in range(40)
    ]
    assert await outcomes(*works) == {"done": 40}

    found = await stores[0].match(ANN, ["common"], Filter(recallable=True), limit=99)
    assert {match.row.id for match in found} == set(await listed(stores[1]))
    assert len(found) == 40


async def test_documents_that_two_put_at_once_are_those_of_one(stores: Stores) -> None:
    """All of one or all of the other."""
    for number in range(TIMES // 2):
        some = [[document(f"d_{number}_{at}_{each}") for each in range(3)] for at in range(2)]
        works = [store.put_documents(rows) for store, rows in zip(stores, some, strict=True)]
        assert await outcomes(*works) == {"done": 2}
        there = sorted(await listed(stores[0]))
        assert there in [[row.id for row, _ in rows] for rows in some]

"""What storage owes about whose a memory and a quote is, and how much of it one user may have."""

from dataclasses import replace

import pytest

from gateway.errors import MemoryFull
from gateway.storage.memories import MAX_QUARANTINED, AllScopes, Evidence, MemoryRow, Scope, Viewer
from gateway.storage.memories.store import MemoryStore
from tests.storage.remembering import ANN, became, listed, memory, remember, step

pytestmark = pytest.mark.anyio

MAX_MEMORIES = 10_000
ANNAS = Evidence("s_ann", 1, "我的病又復發了, so we eat at seven")
BERTS = Evidence("s_bert", 3, "I am home at seven")
HERE: tuple[Viewer, ...] = (Scope("ann", households=("home",)), AllScopes("ann", ("home",)))
THERE: tuple[Viewer, ...] = (Scope("bert", households=("home",)), AllScopes("bert", ("home",)))


async def test_each_member_of_a_household_is_shown_their_own_quotes_alone(store: MemoryStore) -> None:
    """Of one memory, whoever made it and whoever changed it last."""
    row = memory("m_1", "We eat at seven.", owner_type="household", owner_id="home")
    await store.write([step(row, evidence=[ANNAS], stated_by="ann")], most=MAX_MEMORIES)
    second = replace(row, version=2)
    await store.write([step(second, "reinforced", evidence=[BERTS], stated_by="bert")], most=MAX_MEMORIES)

    for viewer in HERE:
        assert await store.evidence(viewer, "m_1") == [ANNAS]
    for viewer in THERE:
        assert await store.evidence(viewer, "m_1") == [BERTS]
    assert await store.evidence(Scope("carl", households=("home",)), "m_1") == []


async def test_what_is_in_quarantine_takes_no_room_from_the_rest(store: MemoryStore) -> None:
    """It has little of its own: what a tool says can fill neither the store nor, for long, the quarantine."""
    await remember(store, *unconfirmed(0, MAX_QUARANTINED), most=3)
    await remember(store, *[memory(f"m_{number}") for number in range(3)], most=MAX_MEMORIES)
    with pytest.raises(MemoryFull) as refused:
        await remember(store, *unconfirmed(MAX_QUARANTINED, 2), most=MAX_MEMORIES)

    assert refused.value.details == {"of": "quarantined", "count": 100, "limit": MAX_QUARANTINED}
    assert "quarantine" in refused.value.message
    await remember(store, *unconfirmed(MAX_QUARANTINED, 1, user_id="bob"), most=MAX_MEMORIES)
    # One that is confirmed or deleted makes room there, one that is only frozen does not.
    first, second, third = unconfirmed(0, 3)
    await store.write([became(first, "frozen", status="frozen")], most=3)
    with pytest.raises(MemoryFull):
        await remember(store, *unconfirmed(MAX_QUARANTINED, 1), most=MAX_MEMORIES)
    await store.write([became(second, "confirmed", quarantined=False)], most=MAX_MEMORIES)
    await remember(store, *unconfirmed(MAX_QUARANTINED, 1), most=MAX_MEMORIES)
    await store.write([became(third, "deleted")], most=MAX_MEMORIES)
    await remember(store, *unconfirmed(MAX_QUARANTINED + 1, 1), most=MAX_MEMORIES)


async def test_what_is_confirmed_counts_as_the_rest_does(store: MemoryStore) -> None:
    await remember(store, memory("m_1"), *unconfirmed(0, 2), most=2)
    first, second = unconfirmed(0, 2)
    await store.write([became(first, "confirmed", quarantined=False)], most=2)
    with pytest.raises(MemoryFull) as refused:
        await store.write([became(second, "confirmed", quarantined=False)], most=2)

    assert refused.value.details == {"of": "live", "count": 2, "limit": 2}
    assert [row.quarantined for row in await store.get(ANN, second.id)] == [True]


async def test_frozen_and_replaced_ones_are_bounded_too(store: MemoryStore) -> None:
    """All there are of a user outside of quarantine are at most twice as many as may be live. One that stays,
    however it changes, is not refused."""
    frozen = [memory(f"m_{number}", status="frozen") for number in range(3)]
    replaced = [memory(f"m_{number}", status="replaced") for number in range(3, 6)]
    await remember(store, *frozen, *replaced, most=3)
    gone = replace(unconfirmed(0, 1)[0], status="replaced")
    for one_more in (memory("m_7"), memory("m_8", status="frozen"), gone):
        with pytest.raises(MemoryFull) as refused:
            await remember(store, one_more, most=3)
        assert refused.value.details == {"of": "all", "count": 6, "limit": 6}

    await store.write([became(frozen[0], "activated", status="active")], most=3)
    await store.write([became(frozen[1], "deleted")], most=3)
    await remember(store, memory("m_7"), most=3)
    assert "m_7" in await listed(store)


def unconfirmed(first: int, count: int, user_id: str = "ann") -> list[MemoryRow]:
    """So many memories in quarantine."""
    return [
        memory(f"m_q{user_id}{number}", user_id=user_id, source="model", quarantined=True)
        for number in range(first, first + count)
    ]

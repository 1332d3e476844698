"""What storage owes about limits that are added."""

import pytest

from gateway.storage.limit_rules import AddedRule
from tests.product import Storage

pytestmark = pytest.mark.anyio


async def test_rules_take_the_place_of_those_before(storage: Storage) -> None:
    """In their order; one that stays is still its author's, and every change is told of."""
    told: list[str] = []
    storage.signals.on("configured", told.append)
    store = storage.limit_rules
    assert await store.list() == []

    await store.replace(["user:turns=2/day", "all:cost=5/month"], "ada", 1)
    await store.replace(["all:cost=5/month", "user=bob:turns=9/day"], "bob", 2)

    assert await store.list() == [
        AddedRule(0, "all:cost=5/month", "ada", 1),
        AddedRule(1, "user=bob:turns=9/day", "bob", 2),
    ]
    await store.replace([], "bob", 3)
    assert await store.list() == []
    assert told == ["limit_rules"] * 3

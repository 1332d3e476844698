"""What storage owes about what the gateways of one database have in common."""

import asyncio

import pytest

from tests.product import Storage

pytestmark = pytest.mark.anyio


async def test_a_secret_is_made_once_whoever_asks_first(storage: Storage) -> None:
    """Several at the same time have the same one; another name has another."""
    first = await asyncio.gather(*(storage.installation.secret("ids") for _ in range(5)))
    other = await storage.installation.secret("other")

    assert len({*first, await storage.installation.secret("ids")}) == 1
    assert len(first[0]) == len(other) == 32
    assert other not in first

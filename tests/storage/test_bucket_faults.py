"""An object store that is slow, overloaded, cut off or away: nothing is lost, and what failed has a name."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import get_args

import pytest

from gateway.errors import BlobMissing
from gateway.storage.blobs import Blobs
from gateway.storage.blobs.addresses import open_blobs
from gateway.storage.blobs.objects import PART
from tests.bucket import Bucket, Fault, bucket
from tests.loopback import TIMEOUT
from tests.product import StorageError

pytestmark = [pytest.mark.anyio, pytest.mark.long]

SMALL, LARGE = [b"some ", b"lines"], [b"x" * PART, b"y" * 100_000]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with bucket(monkeypatch) as found:
        yield found


@pytest.fixture
def blobs(store: Bucket) -> Blobs:
    return open_blobs(f"{store.address}/p", Path("unused"))


async def whole(blobs: Blobs, path: str) -> bytes:
    return b"".join([chunk async for chunk in blobs.stream(path)])


@pytest.mark.parametrize("fault", get_args(Fault))
async def test_a_fault_that_passes_costs_one_attempt_at_most(
    fault: Fault, store: Bucket, blobs: Blobs
) -> None:
    """Who reads does not notice it. What cannot be asked for twice, as the end of an upload in parts or a
    deletion, fails with a name, and the next attempt does it."""
    async with asyncio.timeout(TIMEOUT):
        for path, content in (("small", SMALL), ("large", LARGE)):
            store.fail(fault, 1)
            with suppress(StorageError):
                await blobs.put(path, content)
            await blobs.put(path, content)
            store.fail(fault, 1)
            assert await blobs.read(path, start=3, length=9) == b"".join(content)[3:12]
            store.fail(fault, 1)
            assert await whole(blobs, path) == b"".join(content)
            store.fail(fault, 1)
            with suppress(StorageError):
                await blobs.delete(path)
            await blobs.delete(path)
    assert store.objects() == []


@pytest.mark.parametrize("fault", ["overloaded", "silent", "away"])
async def test_a_fault_that_lasts_is_a_named_error_and_no_end(
    fault: Fault, store: Bucket, blobs: Blobs
) -> None:
    """Each attempt ends; what was there is there when the store is, and nothing else."""
    await blobs.put("before", SMALL)
    async with asyncio.timeout(TIMEOUT):
        store.fail(fault)
        for attempt in (
            lambda: blobs.put("new", LARGE),
            lambda: blobs.read("before"),
            lambda: whole(blobs, "before"),
        ):
            with pytest.raises(StorageError) as failed:
                await attempt()
            assert not isinstance(failed.value, BlobMissing)
            assert (failed.value.code, failed.value.retryable) == ("storage_unavailable", True)
            assert "\n" not in failed.value.message
    store.fail(None)

    assert await blobs.read("before") == b"some lines"
    await blobs.put("new", SMALL)
    assert await blobs.read("new") == b"some lines"


async def test_a_lost_object_is_missing(store: Bucket, blobs: Blobs) -> None:
    await blobs.put("a/b", SMALL)
    store.lose("p/a/b")

    with pytest.raises(BlobMissing, match="a/b"):
        await blobs.read("a/b")

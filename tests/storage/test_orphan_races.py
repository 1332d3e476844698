"""Two replicas that add and remove the same blob at the same moment: it is there for whoever names it."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.storage.artifacts import blob_path
from tests.postgres import needs_postgres
from tests.product import Storage
from tests.storage.artifact_rows import artifact
from tests.storage.writing import OWNER, postgres_storage

pytestmark = [*needs_postgres, pytest.mark.anyio]

ROUNDS = 40
QUOTA = 1_000_000_000


@pytest.fixture
async def two(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[tuple[Storage, Storage]]:
    async with postgres_storage(tmp_path) as one, postgres_storage(tmp_path) as other:
        yield one, other


async def test_a_blob_is_claimed_or_condemned(two: tuple[Storage, Storage]) -> None:
    """Never both, and never neither."""
    one, other = two
    for number in range(ROUNDS):
        row = replace(artifact(number, str(number)), path=blob_path(OWNER, f"{number:064}"))
        await one.orphans.suspect([row.path], 5)
        adding = one.artifacts.add(row, quota=QUOTA)
        added, condemned = await asyncio.gather(
            adding, other.orphans.condemn(row.path, 9), return_exceptions=True
        )
        assert (added is None) != (condemned is True)


async def test_a_content_that_goes_is_not_shared_any_more(two: tuple[Storage, Storage]) -> None:
    """Its last artifact is deleted while another one of the same content is added."""
    one, other = two
    for number in range(ROUNDS):
        row = replace(artifact(number, str(number)), path=blob_path(OWNER, f"{number:064}"))
        await one.orphans.suspect([row.path], 5)
        await one.artifacts.add(row, quota=QUOTA)
        adding = one.artifacts.add(replace(row, ref=f"ART-b{number:09}"), quota=QUOTA)
        added, _ = await asyncio.gather(
            adding, other.artifacts.delete(OWNER, row.ref, 9), return_exceptions=True
        )
        assert (added is None) != await other.orphans.condemn(row.path, 9)
